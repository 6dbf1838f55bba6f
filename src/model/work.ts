/*
 * Work that may wait for a database. Its functions are generators, so that one text serves an engine that answers at once and one that
 * answers later: each call is written `yield* call(…)`, and a test finds one that is not.
 */

/** What a call returns, for `yield*`. */
export type Step<T> = { [Symbol.iterator](): Iterator<Promise<unknown>, T, unknown> }

/** A function's work: it yields what it waits for, and returns its result. */
export type Work<T> = Generator<Promise<unknown>, T, unknown>

/** A step that is complete already. */
export class Done<T> {
  readonly done = true
  readonly value: T

  constructor(value: T) {
    this.value = value
  }

  [Symbol.iterator](): Iterator<never, T, unknown> {
    return this
  }

  next(): IteratorReturnResult<T> {
    return this
  }
}

/** Runs work that never waits. */
export function complete<T>(work: Work<T>): T {
  const { done, value } = work.next()
  if (done !== true) throw new Error('this work waits for a database')
  return value
}

/** Does work for each value of a list, in order; returns the results. */
export function* mapped<T, U>(values: Iterable<T>, work: (value: T) => Step<U>): Work<U[]> {
  const results: U[] = []
  for (const value of values) results.push(yield* work(value))
  return results
}
