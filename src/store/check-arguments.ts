import { check, invalid, nameSchema } from '../core/check.ts'
import type { NewMessage } from '../core/message.ts'
import { messageProblem } from '../core/message-check.ts'
import { type StatsOptions, statsSchema } from '../store-options.ts'

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

/** `what` names the argument they are. */
export function checkMessages(
  messages: unknown,
  what = 'messages',
): asserts messages is readonly NewMessage[] {
  if (!Array.isArray(messages)) throw invalid(`${what} must be an array`)
  if (messages.length === 0) throw invalid(`${what} must not be empty`)
  for (let index = 0; index < messages.length; index++) {
    const problem = messageProblem(messages[index])
    if (problem !== undefined)
      throw invalid(`${what}[${index}]${problem.startsWith('.') ? '' : ' '}${problem}`)
  }
}
