import { type ChildProcess, fork } from 'node:child_process'
import { compile } from '../support/compiled.ts'
import type { Answers, JobName, Jobs } from './jobs.ts'

/*
 * Processes of their own that do jobs (jobs.ts) when told. Starting them takes seconds, so a test file starts its
 * fleet once and uses it in every test.
 */

type Answer = { readonly id: number; readonly answer?: unknown; readonly error?: string }

class Member {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  #last = 0

  constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', ({ id, answer, error }: Answer) => {
      const waiting = this.#waiting.get(id)!
      this.#waiting.delete(id)
      if (error === undefined) waiting.resolve(answer as never)
      else waiting.reject(new Error(error))
    })
    child.on('exit', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the process ended (${code})`))
    })
  }

  /** Gives a job and waits until it is done. */
  do<N extends JobName>(name: N, argument: Jobs[N]): Promise<Answers[N]> {
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#child.send({ id, name, argument })
    })
  }

  /** Ends jobs that go on until they are told to stop. */
  stop(): void {
    this.#child.send({ stop: true })
  }

  end(): Promise<void> {
    return new Promise((resolve) => {
      this.#child.once('exit', () => resolve())
      this.#child.kill()
    })
  }
}

export type Fleet = { readonly members: readonly Member[]; readonly end: () => Promise<void> }
export type { Member }

/** Starts so many processes and waits until each of them is ready. */
export async function startFleet(size: number): Promise<Fleet> {
  const compiled = compile('test/processes')
  const script = compiled.script('test/processes/worker.ts')
  const members = Array.from({ length: size }, () => new Member(fork(script, [], { execArgv: [] })))
  await Promise.all(members.map((member) => member.do('ready', {})))
  const end = async (): Promise<void> => {
    await Promise.all(members.map((member) => member.end()))
    compiled.remove()
  }
  return { members, end }
}
