import { type ChildProcess, fork } from 'node:child_process'
import { bundle } from '../support/bundled.ts'
import type { LifeOptions, LifeReport } from './live.ts'

/* The processes of the load: started together, told to live, heard out. */

type Said = { readonly ready?: true; readonly report?: LifeReport; readonly error?: string }

export type Crew = {
  /** Lets all live at once; rejects with the first error when all have ended, so that the next test has them to itself. */
  readonly live: (options: readonly LifeOptions[]) => Promise<LifeReport[]>
  readonly end: () => void
}

export async function startCrew(size: number): Promise<Crew> {
  const bundled = await bundle('test/load/worker.ts')
  const children = Array.from({ length: size }, () => fork(bundled.script, [], { execArgv: [] }))
  await Promise.all(children.map(next))
  return {
    live: async (options) => {
      const lives = options.map(async (one, at) => {
        const answer = next(children[at]!)
        children[at]!.send(one)
        const { report, error } = await answer
        if (report === undefined) throw new Error(`process ${one.process}: ${error}`)
        return report
      })
      await Promise.allSettled(lives)
      return Promise.all(lives)
    },
    end: () => {
      for (const child of children) child.kill()
      bundled.remove()
    },
  }
}

/** What a process says next. */
function next(child: ChildProcess): Promise<Said> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null): void => reject(new Error(`the process ended (${code})`))
    child.once('exit', gone)
    child.once('message', (said: Said) => {
      child.off('exit', gone)
      resolve(said)
    })
  })
}
