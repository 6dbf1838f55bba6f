import { isObject } from '../../../messages/json.ts'
import type { SdkPart } from '../sdk-types.ts'
import type { SdkUIMessage, UIMessageLike } from '../ui-types.ts'
import { type Given, givenAt, type Standing } from './versions.ts'

/** States in which a browser may bring what came of a call. */
const OPEN = ['input-streaming', 'input-available', 'approval-requested', 'approval-responded']

/**
 * A message that stands, with what a browser's version of it tells came of its calls: outputs (`addToolOutput`) and answers to requests for
 * approval. Everything else is what the log says: arguments, outputs that are there already, texts and metadata are not a browser's to
 * change, and what it shows behind them (an answer that was never stored) is not read. `undefined` where it is no version of the message.
 */
export function grownFrom(given: UIMessageLike, { message: there }: Standing): Given | undefined {
  const shown: readonly unknown[] = Array.isArray(given.parts) ? given.parts : []
  if (given.role !== there.role || shown.length < there.parts.length) return undefined
  const parts: SdkPart[] = []
  for (const [index, part] of (there.parts as readonly SdkPart[]).entries()) {
    const now = shown[index]
    if (!isObject(now) || !isVersionOf(now as SdkPart, part)) return undefined
    parts.push(typeof part.toolCallId === 'string' ? withOutcome(part, now as SdkPart) : part)
  }
  return givenAt({ ...there, parts } as unknown as SdkUIMessage, 'request.message')
}

function isVersionOf(now: SdkPart, part: SdkPart): boolean {
  if (now.type !== part.type || now.toolCallId !== part.toolCallId) return false
  return (part.type !== 'text' && part.type !== 'reasoning') || now.text === part.text
}

function withOutcome(part: SdkPart, now: SdkPart): SdkPart {
  const isOpen = OPEN.includes(part.state as string) || part.preliminary === true
  if (!isOpen || now.state === part.state || now.state === 'input-streaming') return part
  const { approval: asked, preliminary, output, errorText, ...call } = part
  const approval = isObject(asked) ? { approval: answered(asked, now.approval) } : {}
  const needsAnswer = now.state === 'approval-responded' || now.state === 'output-denied'
  if (needsAnswer && typeof (approval.approval as { approved?: unknown })?.approved !== 'boolean') return part
  switch (now.state) {
    case 'approval-responded':
    case 'output-denied':
      return { ...call, ...approval, state: now.state }
    case 'output-available':
      return { ...call, ...approval, state: now.state, output: now.output }
    case 'output-error':
      return { ...call, ...approval, state: now.state, errorText: now.errorText }
    default:
      return part
  }
}

/** A request for approval, with the answer to it where one was given to this one. */
function answered(asked: object, now: unknown): object {
  if (!isObject(now) || now.id !== (asked as { readonly id?: unknown }).id) return asked
  const { approved, reason } = now
  if (typeof approved !== 'boolean') return asked
  return { ...asked, approved, ...(reason !== undefined && { reason }) }
}
