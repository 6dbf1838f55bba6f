/** A clock that stands still until it is told the time, in place of the real one while a demo store is made. */
export class DemoClock {
  #now: number

  constructor(now: number) {
    this.#now = now
  }

  get now(): number {
    return this.#now
  }

  set(ms: number): void {
    this.#now = ms
  }

  advance(ms: number): void {
    this.#now += ms
  }

  /** Runs a function with this clock as the time of the process. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const RealDate = Date
    const clock = this
    globalThis.Date = class extends RealDate {
      constructor(...given: [] | [string | number | Date]) {
        super(...((given.length === 0 ? [clock.now] : given) as [number]))
      }
      static override now(): number {
        return clock.now
      }
    } as DateConstructor
    try {
      return await work()
    } finally {
      globalThis.Date = RealDate
    }
  }
}
