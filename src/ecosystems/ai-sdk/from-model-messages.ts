import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import type { NewMessage, Part } from '../../messages/message.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { isObject, listAt, stringAt, withoutUndefined } from '../wire.ts'
import {
  jsonAt,
  keptWith,
  oneOfAt,
  optionalBooleanAt,
  optionalStringAt,
  optionsAt,
  otherFields,
  partAt,
} from './checks.ts'
import { keptPart, mediaFrom } from './model-media.ts'
import { outputAt } from './model-output.ts'
import { AI_SDK, keptOptions, ownOf } from './options.ts'
import { markReasoned, partFrom, partTo } from './parts.ts'
import type { SdkMessageLike, SdkPart } from './sdk-types.ts'

/** What may stand in a message of each role. Source: `modelMessageSchema` of ai 6 and 7. */
const ALLOWED: { readonly [role: string]: readonly string[] } = {
  user: ['text', 'image', 'file'],
  assistant: [
    'text',
    'file',
    'reasoning',
    'reasoning-file',
    'custom',
    'tool-call',
    'tool-result',
    'tool-approval-request',
  ],
  tool: ['tool-result', 'tool-approval-response'],
}

/**
 * Messages of an application (`ModelMessage` of ai 5, 6 and 7) in the neutral form, one for each, ready to be appended: what
 * `generateText` takes and `result.response.messages` holds.
 *
 * What the neutral form has no place for is kept under `ai-sdk`: options of a message and unknown fields in `metadata`, those of a part in
 * `providerOptions`; parts of which only the AI SDK knows (approvals, files by reference, `custom`) whole, as parts of the provider
 * `ai-sdk`. `toModelMessages` gives back what was read, `URL` objects and bytes included; an `ArrayBuffer` and a `Buffer` come back as
 * `Uint8Array`, and values that JSON cannot say (dates) as JSON says them. Nothing given is changed; bytes are shared with it.
 *
 * Throws `INVALID_INPUT`, with the place and without the text, for what a `ModelMessage` cannot be: unknown roles and parts, parts where
 * they may not stand, calls and results without ids, binary that is no base64. With `lenient` such a part is kept unread.
 */
export function fromModelMessages(
  messages: readonly SdkMessageLike[],
  options?: ConversionOptions,
): NewMessage[] {
  const conversion = new Conversion('ai-sdk ModelMessage', options)
  return listAt(messages, 'messages').map((message, index) => {
    conversion.at(index)
    const place = `[${index}]`
    const read = conversion.reading(message, place, () => fromMessage(message, place, conversion))
    return 'role' in read ? read : { role: 'user', content: [read] }
  })
}

function fromMessage(given: unknown, place: string, conversion: Conversion): NewMessage {
  if (!isObject(given)) throw invalid(`${place}: must be an object`)
  const message = given as { readonly [field: string]: unknown }
  const { role, content, providerOptions } = message
  if (role !== 'system' && role !== 'user' && role !== 'assistant' && role !== 'tool')
    throw invalid(`${place}.role: must be system, user, assistant or tool`)
  optionsAt(providerOptions, `${place}.providerOptions`)
  const metadata = metadataOf(message, place, conversion)
  if (typeof content === 'string') {
    if (role === 'tool') throw invalid(`${place}.content: must be an array`)
    return { role, content, ...metadata }
  }
  if (role === 'system') throw invalid(`${place}.content: must be a string`)
  const parts = listAt(content, `${place}.content`).map((part, index) => {
    const at = `${place}.content[${index}]`
    return conversion.reading(part, at, () => modelPartFrom(part, at, role, conversion))
  })
  return { role, content: markReasoned(parts), ...metadata }
}

function metadataOf(
  message: { readonly [field: string]: unknown },
  place: string,
  conversion: Conversion,
): { readonly metadata?: JsonObject } {
  const { providerOptions } = message
  const { providerOptions: options } = keptOptions(providerOptions)
  const fields = otherFields(message, ['role', 'content', 'providerOptions'], place, conversion)
  const own: JsonObject = {
    ...(options !== undefined && { options: options as JsonObject }),
    ...(options === undefined && isObject(providerOptions) && { bare: true }),
    ...(Object.keys(fields).length > 0 && { fields }),
  }
  return Object.keys(own).length === 0 ? {} : { metadata: { [AI_SDK]: own } }
}

function modelPartFrom(given: unknown, place: string, role: string, conversion: Conversion): Part {
  const part = partAt(given, place)
  oneOfAt(part.type, ALLOWED[role]!, `${place}.type`)
  optionsAt(part.providerOptions, `${place}.providerOptions`)
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return saidFrom(part, place, role, conversion)
    case 'image':
    case 'file':
      return mediaFrom(part, place, conversion)
    case 'tool-call':
      return callFrom(part, place, conversion)
    case 'tool-result':
      return resultFrom(part, place, conversion)
    default:
      checkKept(part, place)
      return keptPart(part, place, conversion)
  }
}

/** A text or reasoning. What Anthropic's provider makes of a block of its own becomes that block, where nothing is lost by it. */
export function saidFrom(part: SdkPart, place: string, role: string, conversion: Conversion): Part {
  const type = part.type as 'text' | 'reasoning'
  const text = stringAt(part.text, `${place}.text`)
  const fields = otherFields(part, ['type', 'text', 'providerOptions'], place, conversion)
  const read = partFrom(part, AI_SDK)
  if (read.type === 'provider') {
    const [back] = partTo(read, { version: 'v3', provider: read.provider, nameOf: () => '' }, false)
    if (role === 'assistant' && isDeepStrictEqual(back, withoutUndefined(part))) return read
    return { type, text, ...keptWith(part.providerOptions, {}, fields) }
  }
  const own = read.type === 'text' ? ownOf(read) : {}
  return { type, text, ...keptWith(part.providerOptions, own, fields) }
}

function callFrom(part: SdkPart, place: string, conversion: Conversion): Part {
  const toolCallId = stringAt(part.toolCallId, `${place}.toolCallId`)
  const toolName = stringAt(part.toolName, `${place}.toolName`)
  const ran = optionalBooleanAt(part.providerExecuted, `${place}.providerExecuted`)
  const known = ['type', 'toolCallId', 'toolName', 'input', 'providerExecuted', 'providerOptions']
  const own: JsonObject = part.input === undefined ? { noInput: true } : {}
  return {
    type: 'tool-call',
    toolCallId,
    toolName,
    input: part.input === undefined ? {} : jsonAt(part.input, `${place}.input`, conversion),
    ...(ran !== undefined && { providerExecuted: ran }),
    ...keptWith(part.providerOptions, own, otherFields(part, known, place, conversion)),
  }
}

function resultFrom(part: SdkPart, place: string, conversion: Conversion): Part {
  const toolCallId = stringAt(part.toolCallId, `${place}.toolCallId`)
  const toolName = stringAt(part.toolName, `${place}.toolName`)
  const { output, own } = outputAt(part.output, `${place}.output`, conversion)
  const known = ['type', 'toolCallId', 'toolName', 'output', 'providerOptions']
  const fields = otherFields(part, known, place, conversion)
  return { type: 'tool-result', toolCallId, toolName, output, ...keptWith(part.providerOptions, own, fields) }
}

/** What must be there of a part that is kept whole, so that the AI SDK takes it back. */
function checkKept(part: SdkPart, place: string): void {
  if (part.type === 'tool-approval-request') {
    stringAt(part.approvalId, `${place}.approvalId`)
    stringAt(part.toolCallId, `${place}.toolCallId`)
  } else if (part.type === 'tool-approval-response') {
    stringAt(part.approvalId, `${place}.approvalId`)
    if (typeof part.approved !== 'boolean') throw invalid(`${place}.approved: must be true or false`)
    optionalStringAt(part.reason, `${place}.reason`)
  } else if (part.type === 'custom') stringAt(part.kind, `${place}.kind`)
  else if (part.type === 'reasoning-file') {
    // Its data may be whatever a file's may be; only what it is, is kept.
    mediaFrom({ ...part, type: 'file' }, place, QUIET)
  }
}

/** Hears nothing: for a check that reads what is then kept whole. */
const QUIET = new Conversion('ai-sdk ModelMessage')
