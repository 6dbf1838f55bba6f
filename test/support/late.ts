import { taken } from '../../src/core/messages/check.ts'

/** Waits with the timer there was when this module was loaded: a test may replace the timers. */
const realTimeout = globalThis.setTimeout
const realImmediate = globalThis.setImmediate
const wait = (ms: number): Promise<void> =>
  new Promise((resolve) => (ms > 0 ? realTimeout(resolve, ms) : realImmediate(resolve)))

/** How late each verb begins, and how late it returns after its work, milliseconds. */
export type Delays = { readonly before: () => number; readonly after: () => number }

/** A storage each of whose verbs begins and returns late, as one over a network does. */
export function late<T extends object>(target: T, delays: Delays): T {
  return new Proxy(target, {
    get(object, name) {
      const value = Reflect.get(object, name) as unknown
      if (typeof value === 'object' && value !== null) return late(value, delays)
      if (typeof value !== 'function') return value
      // The one method that answers with a storage, and at once: what it answers with is late too.
      if (name === 'seenBy')
        return (...given: unknown[]) => late(Reflect.apply(value, object, given) as object, delays)
      return async (...given: unknown[]) => {
        const args = taken(given)
        await wait(delays.before())
        const answer: unknown = await Reflect.apply(value, object, args)
        await wait(delays.after())
        return answer
      }
    },
  })
}
