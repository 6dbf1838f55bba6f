/* What the tests of this folder look for, written in every way. Each mark is on the line of one finding. */

/** Every way to lose a step, and every way to run one. */
const steps = `
import { complete, mapped, type Step, type Work } from './work.ts'
import type { Sql } from './sql.ts'
export declare const step: Step<unknown>
declare function some(value: unknown): void
type Asked = { readonly later: Step<number>; readonly ask: () => Step<number> }

export function* lost(sql: Sql): Work<number> {
  sql.run('1') // lost
  void sql.run('2') // lost
  if (sql.get('3')) return 1 // lost
  while (!sql.get('4')) return 1 // lost
  const five = sql.get('5') ?? 5 // lost
  const six = sql.run('6') // lost
  some(sql.run('7')) // lost
  for (const eight of [1, 2]) kept(sql, eight) // lost
  ;[1, 2].forEach((nine) => sql.run('9', nine)) // lost
  some([1, 2].map((ten) => sql.run('10', ten))) // lost
  yield sql.run('11') as never // lost
  const [twelve] = [sql.run('12')] // lost
  const isThere = (yield* sql.get('13')) !== undefined && sql.get('14') !== undefined // lost
  return [five, six, twelve, isThere].length
}

export function* kept(sql: Sql, value: number): Work<number> {
  yield* sql.run('1')
  const later = sql.run('2')
  const asked: Asked = { later: sql.run('3'), ask: () => sql.run('4') }
  yield* mapped([1], (one) => sql.run('5', one))
  yield* mapped([1], function* (one): Work<number> {
    return yield* sql.run('6', one)
  })
  if ((yield* sql.get('7')) === undefined) return complete(kept(sql, 8))
  yield* value > 1 ? sql.run('9') : sql.run('10')
  return (yield* later) + (yield* asked.later) + (yield* asked.ask())
}

export const returned = (sql: Sql): Step<number> => sql.run('11')
`

/** Every way to lose the rejection of a promise, and ways to keep it. */
const promises = `
declare function work(): Promise<number>
declare function later(callback: () => void): void
declare function some(value: unknown): void
declare const emitter: import('node:events').EventEmitter
declare const ignore: () => void

export class Lost {
  #kept: Promise<number> | undefined
  readonly #all = new Map<string, Promise<number>>()

  async lost(isDue: boolean, list: number[]): Promise<unknown> {
    work() // lost
    void work() // lost
    isDue && work() // lost
    isDue ? work() : undefined // lost
    work().then((value) => some(value)) // lost
    work().finally(ignore) // lost
    work().catch(async () => some(await work())) // lost
    list.map(() => work()) // lost
    later(async () => some(await work())) // lost
    later(() => work()) // lost
    later(() => void work()) // lost
    later(work) // lost
    list.forEach(async (one) => some(one)) // lost
    setTimeout(async () => some(await work()), 1) // lost
    emitter.on('data', async () => some(await work())) // lost
    this.#kept = work() // lost
    this.#all.set('a', work()) // lost
    const early = work() // lost
    await work()
    const mapped = list.map(() => work()) // lost
    for (const one of list) some(await one)
    const set = work() // lost
    this.#all.set('a', set)
    return [await early, mapped]
  }

  async kept(isDue: boolean, list: number[]): Promise<number> {
    await work()
    work().catch(ignore)
    work().then(some, ignore)
    work().catch(ignore).finally(ignore)
    later(() => {
      work().catch(ignore)
    })
    this.safe()
    void this.safeToo()
    this.#kept = this.safe()
    this.#kept = work().catch(() => 0)
    this.#kept = work()
    await this.#kept
    const early = work()
    early.catch(ignore)
    await work()
    some(await early)
    const all = list.map(() => work())
    await Promise.all(all)
    const set = work()
    this.#all.set('a', set)
    return isDue ? work() : await set
  }

  safe(): Promise<number> {
    const answer = work()
    answer.catch(ignore)
    return answer
  }

  safeToo(): Promise<number> {
    return this.safe()
  }
}
`

/** Lists in arguments, whose number is limited. */
const spreads = `
import type { Sql } from './sql.ts'
declare function some(...values: unknown[]): void
type Range = readonly [from: number, to: number]

export function* spread(sql: Sql, list: number[], range: Range, pair: Range | [null, null]): Generator {
  some(...list) // spread
  some(1, ...list.map(String)) // spread
  list.push(...list) // spread
  new Set<number>(...[list, list].slice(1)) // spread
  some(...[1, ...list]) // spread
  some.apply(undefined, list) // spread
  Reflect.apply(some, undefined, list) // spread
  some(...range)
  some(...pair)
  some(...[1, 2, 3])
  some([...list])
  yield* sql.run('select ?', ...list)
}
`

export const SAMPLES = { steps, promises, spreads }
