/*
 * Work that may wait for a database. Its functions are generators, so that one text serves an engine that answers at once and one that
 * answers later: each call is written `yield* call(…)`, and a test finds one that is not.
 */

type Rest<T> = Iterator<Promise<unknown>, T, unknown>

/** What a call returns, for `yield*`. */
export type Step<T> = { [Symbol.iterator](): Rest<T> }

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
export function complete<T>(work: Step<T>): T {
  const { done, value } = work[Symbol.iterator]().next()
  if (done !== true) throw new Error('this work waits for a database')
  return value
}

/** Runs work, and waits for what it yields. */
export async function drive<T>(work: Rest<T>, first = work.next()): Promise<T> {
  let step = first
  while (step.done !== true) {
    let answer: unknown
    try {
      answer = await step.value
    } catch (error) {
      if (work.throw === undefined) throw error
      step = work.throw(error)
      continue
    }
    step = work.next(answer)
  }
  return step.value
}

/** Begins work, which sends what it can, and returns the rest of it: works that were begun wait together. */
export function begun<T>(rest: Step<T>): Step<T> {
  const work = rest[Symbol.iterator]()
  let step = work.next()
  // The caller may fail before it comes to this.
  if (step.done !== true) step.value.catch(() => {})
  return {
    *[Symbol.iterator]() {
      while (step.done !== true) {
        let answer: unknown
        try {
          answer = yield step.value
        } catch (error) {
          if (work.throw === undefined) throw error
          step = work.throw(error)
          continue
        }
        step = work.next(answer)
      }
      return step.value
    },
  }
}

/** The results of works that are begun together and then waited for, in order. */
export function* together<T, U>(values: Iterable<T>, work: (value: T) => Step<U>): Work<U[]> {
  const works = new Set<Step<U>>()
  for (const value of values) works.add(begun(work(value)))
  return yield* mapped(works, (one) => one)
}

/** Does work for each value of a list, in order; returns the results. */
export function* mapped<T, U>(values: Iterable<T>, work: (value: T) => Step<U>): Work<U[]> {
  const results: U[] = []
  for (const value of values) results.push(yield* work(value))
  return results
}
