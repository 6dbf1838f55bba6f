import { errorName, invalid, isUndertextError, standingFor, UndertextError } from '../errors.ts'
import { listIn } from '../messages/lists.ts'
import type { ChatMessage, ContextStrategy } from '../model/message-parts.ts'
import { copyMessage, type Item, originsOf } from './passage.ts'

/** A strategy of your own in the manner of seed 001. It answers what is to be sent. */
export type BudgetStrategy = {
  readonly name: string
  apply(
    messages: readonly ChatMessage[],
    budget: { readonly availableForHistory: number },
  ): AppliedMessages | Promise<AppliedMessages>
}
type AppliedMessages = readonly ChatMessage[] | { readonly messages: readonly ChatMessage[] }

/** A strategy somebody wrote for arrays. */
export type UserStrategy = ContextStrategy | BudgetStrategy

/** Whether something is a strategy somebody wrote: the three methods, or a name and `apply`. */
export function isUserStrategy(value: unknown): value is UserStrategy {
  if (typeof value !== 'object' || value === null) return false
  const { name, tokenEstimate, shouldCompact, compact, apply } = value as Record<string, unknown>
  if ([tokenEstimate, shouldCompact, compact].every((method) => typeof method === 'function')) return true
  return typeof name === 'string' && name !== '' && typeof apply === 'function'
}

/** The name a strategy's stage gets: its own, in snake case. */
export function stageNameOf({ name }: UserStrategy): string {
  const plain = (typeof name === 'string' ? name : '').slice(0, 64).toLowerCase()
  const snake = plain.replaceAll(/[^a-z0-9]/g, '_')
  if (snake === '') return 'custom'
  return /^[a-z]/.test(snake) ? snake : `custom_${snake}`.slice(0, 64)
}

/**
 * Runs a strategy somebody wrote. It is given messages of its own, and may do with them what it likes. Rejects with
 * `STRATEGY_FAILED` when it throws (`originalErrorOf` has that) or answers no list of messages; an error of ours passes as it is.
 */
export async function runUserStrategy(
  strategy: UserStrategy,
  messages: readonly ChatMessage[],
  target: number | undefined,
): Promise<readonly ChatMessage[]> {
  const name = stageNameOf(strategy)
  let answer: unknown
  try {
    if ('compact' in strategy) answer = await strategy.compact(messages)
    else answer = await strategy.apply(messages, { availableForHistory: budgetOf(target, name) })
  } catch (error) {
    if (isUndertextError(error)) throw error
    throw standingFor(strategyFailed(strategy, errorName(error)), error)
  }
  const list: unknown = Array.isArray(answer)
    ? answer
    : (answer as { messages?: unknown } | undefined)?.messages
  const isList = Array.isArray(list) && list.every((one) => typeof one === 'object' && one !== null)
  if (!isList) throw strategyFailed(strategy, 'NO_MESSAGES')
  return list as readonly ChatMessage[]
}

function budgetOf(target: number | undefined, name: string): number {
  if (target === undefined) throw invalid(`${name}: needs the tokens to come down to`)
  return target
}

/** `STRATEGY_FAILED` with a code or an error's name as the reason. */
export function strategyFailed(strategy: UserStrategy, error: string): UndertextError<'STRATEGY_FAILED'> {
  return new UndertextError('STRATEGY_FAILED', { strategy: stageNameOf(strategy), error })
}

/** Messages as they come out of a strategy somebody wrote. What it added is a message without an origin. */
export async function passUserStrategy(
  items: readonly Item[],
  strategy: UserStrategy,
  target: number | undefined,
): Promise<Item[]> {
  const copies = items.map(({ message }) => copyMessage(message))
  const returned = await runUserStrategy(strategy, copies, target)
  const places = findPlaces(copies, returned)
  const kept = new Set(places)
  const gone = items.flatMap((item, at) => (kept.has(at) ? [] : originsOf(item)))
  const added = places.filter((place) => place === undefined).length
  return returned.map((message, at): Item => {
    const item = items[places[at] ?? -1]
    if (item !== undefined) return { ...item, message }
    // With one new message it is plain what it stands for; with more, nobody knows.
    const standsFor = added === 1 ? gone : []
    return { message, origin: undefined, summary: { text: textOf(message), standsFor } }
  })
}

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return Array.isArray(content)
    ? content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
    : ''
}

/**
 * Where each message that came back stood among those that were given: by the very object, else by id, else by the
 * same content. `undefined` for one that was not given. Each place is found once.
 */
export function findPlaces(
  given: readonly ChatMessage[],
  returned: readonly ChatMessage[],
): (number | undefined)[] {
  const places = returned.map((): number | undefined => undefined)
  const taken = new Set<number>()
  const take = (keyOf: (message: ChatMessage) => unknown): void => {
    const free = new Map<unknown, number[]>()
    // From the end, so that the first place is the first to be popped.
    for (let at = given.length - 1; at >= 0; at--) {
      const key = taken.has(at) ? undefined : keyOf(given[at]!)
      if (key !== undefined) listIn(free, key).push(at)
    }
    for (const [index, message] of returned.entries()) {
      if (places[index] !== undefined) continue
      const key = keyOf(message)
      const place = key === undefined ? undefined : free.get(key)?.pop()
      if (place === undefined) continue
      places[index] = place
      taken.add(place)
    }
  }
  take((message) => message)
  take(({ id }) => (typeof id === 'string' ? id : undefined))
  if (places.includes(undefined)) take(jsonOf)
  return places
}

/** A message as a text that equal messages share; `undefined` for one that is no JSON. */
function jsonOf(message: ChatMessage): string | undefined {
  try {
    return JSON.stringify(message)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
