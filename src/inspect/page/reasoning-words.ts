import { type Part, partsOf, type ReasoningPart } from '../../core/messages/message.ts'
import type { RenderedRequest } from '../../store/requests/recorded.ts'

/* Whether a model receives reasoning, and why not. */

/** Whether a model can receive reasoning, as far as the row tells. */
export function reasoningState(part: Part, row: { readonly hidden: boolean }, isReplaced: boolean): string {
  if (row.hidden) return 'not sent: the message is hidden'
  if (isReplaced) return 'not sent: left out by a compaction'
  if (part.type === 'provider') return `sent to ${part.provider} only`
  if (part.type !== 'reasoning') return ''
  const options = Object.entries(part.providerOptions ?? {}).filter(([name]) => name !== 'undertext')
  const signed = options.find(([, fields]) => hasSignature(fields))
  if (signed !== undefined) return `signed for ${signed[0]}`
  return options.length > 0
    ? `with fields of ${options[0]![0]}`
    : 'no signature: providers that need one don’t receive it'
}

const SIGNATURES = /signature|encrypted|redacted/i
function hasSignature(fields: { readonly [name: string]: unknown }): boolean {
  return Object.entries(fields).some(
    ([name, value]) => SIGNATURES.test(name) && typeof value === 'string' && value !== '',
  )
}

type Sent = Pick<
  RenderedRequest,
  'messages' | 'position' | 'provider' | 'model' | 'changed' | 'answerPositions'
>

/** Whether a request contains a block. */
export function isSent(part: ReasoningPart, { messages }: Pick<Sent, 'messages'>): boolean {
  const key = keyOf(part)
  return messages.some((message) =>
    partsOf(message as { content: string | readonly Part[] }).some(
      (one) => one.type === 'reasoning' && keyOf(one) === key,
    ),
  )
}

/** Blocks without a readable text differ in their signatures. */
function keyOf({ text, providerOptions }: ReasoningPart): string {
  return text === '' ? JSON.stringify(providerOptions ?? null) : text
}

/** `Sent in`, as the beginning of a sentence about a request. */
export function sentWords(part: ReasoningPart, position: number | undefined, request: Sent): string {
  if (position !== undefined && position > request.position) return 'Made after'
  return isSent(part, request) ? 'Sent in' : 'Not sent in'
}

/** Why a request doesn't contain a block, as the end of that sentence; empty if it does. */
export function whyNotSent(part: ReasoningPart, position: number | undefined, request: Sent): string {
  if ((position !== undefined && position > request.position) || isSent(part, request)) return ''
  const { provider, model, changed } = request
  const makers = Object.keys(part.providerOptions ?? {}).filter((name) => name !== 'undertext')
  if (makers.length > 0 && !makers.includes(provider))
    return `: it was signed for ${makers.join(', ')}, and the request went to ${[provider, model].filter(Boolean).join(' / ')}.`
  if (changed !== undefined) return ': the system prompt or the tools had changed since it was made.'
  if (makers.length === 0) return ': it has no signature.'
  return ': its turn was over, or something before it had changed since it was made.'
}
