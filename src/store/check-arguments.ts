import { type StatsOptions, statsSchema } from '../config/store-options.ts'
import { check, nameSchema } from '../messages/check.ts'

/** The session id that was checked last: verbs of one conversation follow each other, and this stands before all of them. */
let lastId: unknown

export function checkId(value: unknown, what = 'sessionId'): string {
  if (value === lastId && typeof value === 'string') return value
  // The usual id takes no detour through zod.
  const isUsual = typeof value === 'string' && value.length <= 200 && /^[\x20-\x7e]+$/.test(value)
  lastId = isUsual ? value : check(nameSchema, value, what)
  return lastId as string
}

export function checkStats(
  sessionId: unknown,
  provider: unknown,
  model: unknown,
  options: unknown,
): StatsOptions {
  checkId(sessionId)
  if (provider !== undefined) checkId(provider, 'provider')
  if (model !== undefined) checkId(model, 'model')
  if (isEmptyObject(options)) return {}
  return check(statsSchema, options, 'options') as StatsOptions
}

export function isEmptyObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  for (const _ in value) return false
  return true
}
