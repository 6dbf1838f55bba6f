/*
 * Work that may wait for a database. Its functions are generators, so that the same code runs on a synchronous and on an asynchronous
 * engine. Each call must be written `yield* call(…)`; a test finds calls that aren't.
 */

type Rest<T> = Iterator<Promise<unknown>, T, unknown>

/** The result of a call, for `yield*`. */
export type Step<T> = { [Symbol.iterator](): Rest<T> }

/** The work of a function: yields the promises that it waits for, and returns its result. */
export type Work<T> = Generator<Promise<unknown>, T, unknown>

/** A step that is already complete. */
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
  if (done !== true) throw new Error('work that runs synchronously must not wait')
  return value
}

/** Runs work and awaits each promise that it yields. */
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

/** Starts work, which sends as many statements as it can, and returns the rest of it. Works that were started wait together. */
export function begun<T>(rest: Step<T>): Step<T> {
  const work = rest[Symbol.iterator]()
  let step = work.next()
  // The caller may fail before it reaches this promise.
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

/** Returns the results, in order, of works that are started together and then awaited. */
export function* together<T, U>(values: Iterable<T>, work: (value: T) => Step<U>): Work<U[]> {
  const works = new Set<Step<U>>()
  for (const value of values) works.add(begun(work(value)))
  return yield* mapped(works, (one) => one)
}

/** Does work for each value of a list in turn; returns the results in order. */
export function* mapped<T, U>(values: Iterable<T>, work: (value: T) => Step<U>): Work<U[]> {
  const results: U[] = []
  for (const value of values) results.push(yield* work(value))
  return results
}
