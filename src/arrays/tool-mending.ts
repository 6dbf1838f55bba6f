import type { PlainMessage } from '../model/message-parts.ts'
import {
  callPart,
  callsFor,
  fieldOf,
  isSpoken,
  resultPart,
  resultsFor,
  saysSomething,
  type ToolSlot,
  textPart,
  toolCallUnavailable,
} from './tool-slots.ts'

/** What is put where, collected before anything is done. Neither the list nor its messages are changed. */
export class Mending<M extends PlainMessage> {
  readonly #messages: readonly M[]
  readonly #before = new Map<number, M[]>()
  readonly #callsBehind = new Map<number, M[]>()
  readonly #resultsBehind = new Map<number, M[]>()
  readonly #dropped = new Map<number, ToolSlot[]>()
  readonly #inside = new Map<number, ToolSlot[]>()

  constructor(messages: readonly M[]) {
    this.#messages = messages
  }

  /** Puts calls for results before the message at `index`. */
  addCallsBefore(index: number, results: readonly ToolSlot[]): void {
    addTo(this.#before, index, callsFor(results) as M[])
  }

  /** Puts calls for results behind the message at `index`. */
  addCallsBehind(index: number, results: readonly ToolSlot[]): void {
    addTo(this.#callsBehind, index, callsFor(results) as M[])
  }

  /** Puts results for calls behind the message at `index`, and behind calls put there. */
  addResultsBehind(index: number, calls: readonly ToolSlot[]): void {
    addTo(this.#resultsBehind, index, resultsFor(calls) as M[])
  }

  /** Puts the other halves of some slots into their own message. */
  addInside(index: number, slots: readonly ToolSlot[]): void {
    addTo(this.#inside, index, slots)
  }

  /** Takes calls or results out of the message at `index`. */
  drop(index: number, slots: readonly ToolSlot[]): void {
    addTo(this.#dropped, index, slots)
  }

  /** Whether something is put before the message at `index`. */
  hasBefore(index: number): boolean {
    return this.#before.has(index)
  }

  /** The list as it is with all of that. */
  done(): M[] {
    return this.#messages.flatMap((message, index) => {
      const own = this.#mended(message, index)
      return [
        ...(this.#before.get(index) ?? []),
        ...(own === undefined ? [] : [own]),
        ...(this.#callsBehind.get(index) ?? []),
        ...(this.#resultsBehind.get(index) ?? []),
      ]
    })
  }

  #mended(message: M, index: number): M | undefined {
    const dropped = this.#dropped.get(index) ?? []
    const inside = this.#inside.get(index) ?? []
    if (dropped.length === 0 && inside.length === 0) return message
    if (dropped.some(isMessage)) return undefined
    const mended = withCallsApart(withContent(message, dropped, inside), dropped)
    return dropped.length > 0 && isEmpty(mended) ? undefined : (mended as M)
  }
}

function addTo<T>(lists: Map<number, T[]>, index: number, added: readonly T[]): void {
  if (added.length === 0) return
  const list = lists.get(index) ?? []
  lists.set(index, list)
  for (const one of added) list.push(one)
}

/** Whether a call or result is the whole message it stands in. */
function isMessage({ kind, form }: ToolSlot): boolean {
  return form === 'flat' || (kind === 'result' && (form === 'openai' || form === 'function'))
}

function isInContent({ form }: ToolSlot): boolean {
  return form === 'parts' || form === 'blocks'
}

/** The message without some of its parts, and with partners of others: results behind calls, calls before results. */
function withContent(
  message: PlainMessage,
  dropped: readonly ToolSlot[],
  alone: readonly ToolSlot[],
): PlainMessage {
  const gone = new Set(dropped.filter(isInContent).map(({ at }) => at))
  const aloneAt = new Map(alone.map((slot) => [slot.at, slot]))
  if (gone.size === 0 && aloneAt.size === 0) return message
  const content = listOf(message.content).flatMap((part, at) => {
    const slot = aloneAt.get(at)
    if (gone.has(at)) return []
    if (slot === undefined) return [part]
    if (slot.kind === 'call') return [part, resultPart(slot)]
    return [textPart(toolCallUnavailable(slot.tool)), callPart(slot), part]
  })
  return { ...message, content }
}

/** The message without some of the calls it keeps beside its content. */
function withCallsApart(message: PlainMessage, dropped: readonly ToolSlot[]): PlainMessage {
  const gone = new Set(dropped.filter((slot) => !isInContent(slot)).map(({ at }) => at))
  if (gone.size === 0) return message
  const { tool_calls: calls, function_call: _, ...rest } = message as PlainMessage & Apart
  const left = listOf(calls).filter((_call, at) => !gone.has(at))
  return left.length === 0 ? rest : ({ ...rest, tool_calls: left } as PlainMessage)
}

type Apart = { readonly tool_calls?: unknown; readonly function_call?: unknown }

/** Whether nothing is left that says something, calls and results included. */
function isEmpty(message: PlainMessage): boolean {
  const { content } = message
  if (listOf(fieldOf(message, 'tool_calls')).length > 0) return false
  if (Array.isArray(content)) return !content.some(saysSomething)
  return typeof content !== 'string' || !isSpoken(content)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
