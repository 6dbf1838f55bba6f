import { z } from 'zod'
import { isUndertextError } from '../core/errors.ts'
import { check, nameSchema, readable } from '../core/messages/check.ts'
import { withRequestNames } from '../core/tokens/budget.ts'
import type { Awaitable } from '../storage/jobs.ts'
import { type CheckedStats, statsSchema } from './config/store-options.ts'

/** The last valid id: consecutive calls for one conversation check the same one. */
let lastId: unknown

export function checkId(value: unknown, what = 'sessionId'): string {
  if (value === lastId && typeof value === 'string') return value
  // A regular expression is much faster than zod, and most ids match it.
  const isUsual = typeof value === 'string' && value.length <= 200 && /^[\x20-\x7e]+$/.test(value)
  lastId = isUsual ? value : check(nameSchema, value, what)
  return lastId as string
}

export function checkStats(
  sessionId: unknown,
  provider: unknown,
  model: unknown,
  options: unknown,
): CheckedStats {
  checkId(sessionId)
  if (provider !== undefined) checkId(provider, 'provider')
  if (model !== undefined) checkId(model, 'model')
  if (isEmptyObject(options)) return {}
  return check(statsSchema, withRequestNames(options), 'options')
}

export function isEmptyObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return readable('options', () => {
    if (Array.isArray(value)) return false
    for (const _ in value) return false
    return true
  })
}

/**
 * Returns a schema for a store passed to an adapter, recognized by the methods and topics that the adapter uses. A store of another copy of
 * this package passes, and so does a wrapper around one.
 */
export function storeSchema<S extends object>(...members: readonly (keyof S & string)[]): z.ZodType<S, S> {
  return z.custom<S>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      members.every((name) =>
        ['function', 'object'].includes(typeof (value as { readonly [name: string]: unknown })[name]),
      ),
    'must be a store, as `await openStore(…)` returns it',
  )
}

/** Resolves to `undefined` if there is no such session (yet). Other errors are thrown. A storage may be synchronous: pass a function. */
export async function unlessUnknown<T>(result: Promise<T> | (() => Awaitable<T>)): Promise<T | undefined> {
  try {
    return await (typeof result === 'function' ? result() : result)
  } catch (error) {
    if (isUndertextError(error, 'SESSION_NOT_FOUND')) return undefined
    throw error
  }
}
