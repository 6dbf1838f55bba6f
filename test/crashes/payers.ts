import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type Compaction, openStore, type Store } from '../../src/index.ts'
import { type Bundled, bundle } from '../support/bundled.ts'
import { COST, conversation, OPENING, type Paying, pay, SESSION } from './paying.ts'
import type { PayingJob, PayingReport } from './paying-child.ts'

/* Processes that are killed or suspended between a model's answer and the commit, and what they left. */

/** A process at work: what it said so far, and the end of it. */
export type Payer = {
  readonly child: ChildProcess
  readonly said: readonly PayingReport[]
  /** Waits until it has answered so many times. */
  readonly answered: (times: number) => Promise<void>
  /** Lets one that was suspended go on, to its end. */
  readonly goesOn: () => Promise<void>
  readonly gone: Promise<void>
}

export class Payers {
  readonly #bundled: Bundled
  #waiting: ChildProcess[] = []
  readonly #working = new Set<ChildProcess>()
  #files = 0

  private constructor(bundled: Bundled) {
    this.#bundled = bundled
  }

  static async start(): Promise<Payers> {
    const payers = new Payers(await bundle('test/crashes/paying-child.ts'))
    const store = await openStore(payers.#base, OPENING)
    await store.append(SESSION, conversation())
    await store.close()
    payers.#prepare()
    return payers
  }

  get #base(): string {
    return join(this.#bundled.folder, 'base.db')
  }

  /** The next process starts while the last one is looked into. */
  #prepare(): void {
    if (this.#waiting.length < 2)
      this.#waiting.push(
        spawn(process.execPath, [this.#bundled.script], { stdio: ['pipe', 'pipe', 'inherit'] }),
      )
  }

  /** A file of its own with the conversation in it. */
  file(): string {
    const file = join(this.#bundled.folder, `${++this.#files}.db`)
    copyFileSync(this.#base, file)
    return file
  }

  work(job: PayingJob): Payer {
    this.#prepare()
    const child = this.#waiting.shift()!
    this.#prepare()
    const said: PayingReport[] = []
    let rest = ''
    let heard: () => void = () => {}
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) said.push(JSON.parse(line) as PayingReport)
      heard()
    })
    this.#working.add(child)
    const gone = once(child, 'close').then(() => void this.#working.delete(child))
    child.stdin!.write(`${JSON.stringify(job)}\n`)
    const answered = async (times: number): Promise<void> => {
      while (said.filter(({ event }) => event === 'answered').length < times)
        await Promise.race([
          new Promise<void>((resolve) => {
            heard = resolve
          }),
          gone.then(() => Promise.reject(new Error('it ended before it was answered'))),
        ])
    }
    const goesOn = async (): Promise<void> => {
      // Again and again: the first may come before it stands still.
      const waking = setInterval(() => child.kill('SIGCONT'), 20)
      await gone
      clearInterval(waking)
    }
    return { child, said, answered, goesOn, gone }
  }

  remove(): void {
    for (const child of [...this.#waiting, ...this.#working]) child.kill('SIGKILL')
    this.#bundled.remove()
  }
}

/** A view's words, without ids and times. */
export async function wordsOf(store: Store): Promise<string> {
  return JSON.stringify(
    (await store.getEffectiveHistory(SESSION)).map(({ role, content }) => ({ role, content })),
  )
}

/** The view before a run and after it, as nobody disturbed shows them; and how often the model answers in it. */
export type Course = { readonly before: string; readonly after: string; readonly answers: number }

export async function courseOf(how: Paying): Promise<Course> {
  const store = await openStore(':memory:', OPENING)
  await store.append(SESSION, conversation())
  const before = await wordsOf(store)
  let answers = 0
  await pay(store, how, () => {
    answers += 1
  })
  const after = await wordsOf(store)
  expect(after, `${how} changes the view`).not.toBe(before)
  await store.close()
  return { before, after, answers }
}

/** Statements in which an answer's cost is written down: a transaction's beginning, the update, the size of the file, its end. */
export const NOTING = 4

/** How a process that was killed left its file, and how many statements it had got to. */
export type Found = {
  readonly state: 'before' | 'after'
  readonly ended: boolean
  /** Answers it got, and how many of them are on record with their cost. */
  readonly heard: number
  readonly noted: number
}

/** Lets a process be killed after an answer and so many statements, and holds its file to the promises. */
export async function killedWhilePaying(
  payers: Payers,
  how: Paying,
  course: Course,
  { answers, killedAfter }: { readonly answers: number; readonly killedAfter: number },
): Promise<Found> {
  const what = `${how}, killed ${killedAfter} statements after answer ${answers}`
  const file = payers.file()
  const { said, gone } = payers.work({ file, how, answers, fate: { killedAfter } })
  await gone
  const heard = said.filter(({ event }) => event === 'answered').length
  expect(heard, `${what}: answers`).toBeGreaterThanOrEqual(answers)
  const store = await openStore(file, OPENING)
  try {
    const words = await wordsOf(store)
    expect([course.before, course.after], `${what}: the view is as before or as after`).toContain(words)
    const state = words === course.before ? 'before' : 'after'
    await expectNothingHalfDone(store, state, what)
    const noted = costOf(await store.listCompactions(SESSION)) / COST
    const paid = how === 'offline instead' ? 0 : heard
    expect([Math.max(0, paid - 1), paid], `${what}: all but the last answer is on record`).toContain(noted)
    await expectGoesOn(store, state, what)
    return { state, ended: said.some(({ event }) => event === 'ended'), heard: paid, noted }
  } finally {
    await store.close()
    for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
  }
}

/** No row is hidden by nothing, and what was asked is on record. */
async function expectNothingHalfDone(store: Store, state: Found['state'], what: string): Promise<void> {
  expect((await store.sessions.verify(SESSION)).findings, what).toEqual([])
  const compactions = await store.listCompactions(SESSION)
  const live = new Set(compactions.filter(({ status }) => status === 'active').map(({ id }) => id))
  const hidden = (await store.getMessages(SESSION)).filter((row) => row.hidden)
  for (const { condenseParent, position } of hidden)
    expect(live.has(condenseParent!), `${what}: ${position} is hidden by what is in force`).toBe(true)
  expect(live.size, what).toBe(state === 'after' ? 1 : 0)
  expect(paidFor(compactions), `${what}: an attempt on record`).not.toEqual([])
}

/** The dead is in nobody's way, what it left is brought to an end, and all of it can be taken back. */
async function expectGoesOn(store: Store, state: Found['state'], what: string): Promise<void> {
  const found = await store.listCompactions(SESSION)
  // Opening the store ended the attempt of the dead process.
  expect(
    found.filter(({ status }) => status === 'running'),
    `${what}: nothing goes on`,
  ).toEqual([])
  const left = found.filter(({ status }) => status === 'expired')
  if (state === 'after') expect(left, `${what}: nothing was left`).toEqual([])
  await store.append(SESSION, [{ role: 'user', content: 'Still there?' }])
  const attempts = (await store.listCompactions(SESSION)).map(({ id }) => id)
  const cost = costOf(await store.listCompactions(SESSION))
  await pay(store, 'one summary')
  const after = await store.listCompactions(SESSION)
  const active = after.filter(({ status }) => status === 'active')
  expect(active.length, `${what}: compacts at once`).toBe(1)
  expect(
    after.filter(({ status }) => status === 'running'),
    what,
  ).toEqual([])
  const earlier = after.filter(({ id }) => attempts.includes(id))
  expect(costOf(earlier), `${what}: what was on record stays there`).toBe(cost)
  const expired = (await store.sessions.audit(SESSION)).filter(({ event }) => event === 'expired')
  if (state === 'before')
    expect(
      expired.map(({ compactionId }) => compactionId),
      `${what}: in the audit`,
    ).toEqual(left.map(({ id }) => id))
  for (const { id } of active.toReversed()) await store.undoCompaction(SESSION, id, { cascade: true })
  const plain = [...conversation(), { role: 'user', content: 'Still there?' }]
  expect(await wordsOf(store), `${what}: the plain log`).toBe(
    JSON.stringify(plain.map(({ role, content }) => ({ role, content }))),
  )
  expect((await store.sessions.verify(SESSION)).findings, what).toEqual([])
}

export function paidFor(compactions: readonly Compaction[]): Compaction[] {
  return compactions.filter(({ summarizer }) => summarizer === 'paid')
}

function costOf(compactions: readonly Compaction[]): number {
  return paidFor(compactions).reduce((sum, { cost }) => sum + (cost ?? 0), 0)
}
