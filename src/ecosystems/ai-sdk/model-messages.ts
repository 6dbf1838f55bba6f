import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import { isObject, type JsonObject } from '../../messages/json.ts'
import {
  type Message,
  type NewMessage,
  type Part,
  type ProviderPart,
  partsOf,
} from '../../messages/message.ts'
import { checkMessageList } from '../../messages/message-check.ts'
import { Conversion, type ConversionOptions, isSilent, UNREAD } from '../conversion.ts'
import { listAt, stringAt, withoutUndefined } from '../wire.ts'
import {
  AI_SDK,
  jsonAt,
  keptOptions,
  keptWith,
  oneOfAt,
  optionalBooleanAt,
  optionalStringAt,
  optionsAt,
  otherFields,
  ownOf,
  ownOfMessage,
  partAt,
  sentOptions,
  withKeptFields,
} from './fields.ts'
import { keptPart, keptPartTo, mediaFrom, mediaTo } from './media.ts'
import { hasReasoningItem, markReasoned, partFrom, partTo } from './parts.ts'
import { modelOutputTo, outputAt } from './tool-output.ts'
import type { SdkMessageLike, SdkModelMessage, SdkOptions, SdkPart, SdkVersion } from './types.ts'

/** How `toModelMessages` writes. */
export type ModelMessageOptions = ConversionOptions & {
  /**
   * For which version: `'v2'` is ai 5, `'v3'` ai 6, `'v4'` ai 7, as the models of these name themselves. Default: `'v3'`, which ai 7
   * reads as well; only what ai 7 alone can say needs `'v4'`.
   */
  readonly version?: SdkVersion | undefined
}

/** The course of writing. */
type Writing = {
  readonly conversion: Conversion
  readonly version: SdkVersion
  /** Names of tools by the ids of their calls, as far as the list has been read. */
  readonly names: Map<string, string>
}

/**
 * Messages as an application hands them to `generateText` and `streamText` (`ModelMessage[]`): what `fromModelMessages` read comes out as it
 * was, messages of other origins as the AI SDK writes them. Results that stand beside words of a user become a message of their own.
 *
 * What has no place is left out and noted: parts of other providers, unread parts, what a version cannot say. A message of which nothing
 * is left, or reasoning alone, is left out. Give it what `renderHistory` or `prepareRequest` made of a view, so that calls and results are paired;
 * with `alsoReads: ['ai-sdk']` there, so that approvals of tools are in it.
 *
 * Throws `INVALID_INPUT` for a list that is none and for options that are none.
 */
export function toModelMessages(
  messages: readonly Message[],
  options: ModelMessageOptions = {},
): SdkModelMessage[] {
  checkMessageList(messages, 'toModelMessages')
  const conversion = new Conversion('ai-sdk ModelMessage', options)
  const { version = 'v3' } = options
  if (version !== 'v2' && version !== 'v3' && version !== 'v4')
    throw invalid('toModelMessages: options.version must be v2, v3 or v4')
  const writing: Writing = { conversion, version, names: new Map() }
  return messages.flatMap((message, index) => {
    conversion.at(index)
    // The parts are those of `SdkModelMessage`, or what one version alone has and was read from it.
    return messageTo(message, `[${index}]`, writing) as SdkModelMessage[]
  })
}

type Written = { readonly role: string; readonly content: string | readonly SdkPart[] }

function messageTo(message: Message, place: string, writing: Writing): readonly Written[] {
  const { role, content } = message
  const own = ownOfMessage(message.metadata)
  const finish = (written: Written): Written => withKeptFields({ ...written, ...optionsOf(own) }, own)
  if (role === 'system') return [finish({ role, content: systemText(message, place, writing) })]
  if (typeof content === 'string') {
    if (role !== 'tool') return [finish({ role, content })]
    writing.conversion.note('changed', `${place}.content`, 'a tool cannot say a text: it is the user’s')
    return [finish({ role: 'user', content })]
  }
  if (content.length === 0) return [finish({ role, content: [] })]
  const hasReasoning = hasReasoningItem(content)
  const written = content.map((part, index) =>
    modelPartTo(part, `${place}.content[${index}]`, role, hasReasoning, writing),
  )
  const parts = written.flat()
  if (parts.length === 0) return []
  // Providers refuse reasoning alone; here it led to what was left out.
  if (written.some(({ length }) => length === 0) && parts.every(isSilent)) return []
  if (role === 'assistant') return [finish({ role, content: parts })]
  return runsOf(parts).map(finish)
}

function optionsOf({ options }: JsonObject): { readonly providerOptions?: SdkOptions } {
  return isObject(options) ? sentOptions(options as Parameters<typeof sentOptions>[0]) : {}
}

function systemText(message: Message, place: string, { conversion }: Writing): string {
  return partsOf(message)
    .map((part, index) => {
      if (part.type === 'text') return part.text
      conversion.note('not-sent', `${place}.content[${index}]`, 'a system message is a text')
      return ''
    })
    .join('')
}

function modelPartTo(
  part: Part,
  place: string,
  role: Message['role'],
  hasReasoning: boolean,
  writing: Writing,
): readonly SdkPart[] {
  const { conversion, version, names } = writing
  const notSent = (why: string): readonly SdkPart[] => {
    conversion.note('not-sent', place, why)
    return []
  }
  switch (part.type) {
    case 'text':
      if (role === 'tool') conversion.note('changed', place, 'a tool cannot say a text: it is the user’s')
      return [exactly(part, writing, hasReasoning)]
    case 'reasoning':
      if (role !== 'assistant') return notSent('only an assistant reasons')
      return [exactly(part, writing, hasReasoning)]
    case 'image':
      if (role === 'assistant') return [mediaTo(assistantImage(part, place, conversion), version)]
      return [mediaTo(part, version)]
    case 'file':
      return [mediaTo(part, version)]
    case 'tool-call': {
      if (role !== 'assistant') return notSent('only an assistant calls tools')
      names.set(part.toolCallId, part.toolName)
      const { input, ...written } = exactly(part, writing, hasReasoning)
      const isNone = ownOf(part).noInput === true && isObject(input) && Object.keys(input).length === 0
      return [{ ...written, type: 'tool-call', ...(!isNone && { input }), ...ranAs(part) }]
    }
    case 'tool-result': {
      const own = ownOf(part)
      const output = modelOutputTo(part.output, own, version, `${place}.output`, conversion)
      const toolName = part.toolName ?? names.get(part.toolCallId) ?? 'unknown'
      const { type, toolCallId } = part
      return [
        withKeptFields({ type, toolCallId, toolName, output, ...sentOptions(part.providerOptions) }, own),
      ]
    }
    case 'provider':
      return providerPartTo(part, role, writing) ?? notSent(whyNot(part))
  }
}

/** A text, reasoning or call with what was kept of it. */
function exactly(part: Exclude<Part, ProviderPart>, { version }: Writing, hasReasoning: boolean): SdkPart {
  const [written] = partTo(part, { version, provider: 'ai-sdk', nameOf: () => 'unknown' }, hasReasoning)
  return withKeptFields(written!, ownOf(part))
}

/** That a provider did not run a tool, where that was said. */
function ranAs({ providerExecuted }: { readonly providerExecuted?: boolean }): object {
  return providerExecuted === undefined ? {} : { providerExecuted }
}

function assistantImage(
  part: Part & { readonly type: 'image' },
  place: string,
  conversion: Conversion,
): Part & { readonly type: 'file' } {
  conversion.note('changed', place, 'an assistant shows pictures as files')
  const { image, mediaType = 'image/*', providerOptions } = part
  return { type: 'file', data: image, mediaType, ...(providerOptions !== undefined && { providerOptions }) }
}

/** Where parts that are kept whole may stand, and since which version. */
const KEPT: { readonly [type: string]: readonly [role: string, since: SdkVersion] } = {
  'tool-approval-request': ['assistant', 'v3'],
  'tool-approval-response': ['tool', 'v3'],
  'reasoning-file': ['assistant', 'v4'],
  custom: ['assistant', 'v4'],
  image: ['user', 'v4'],
  file: ['any', 'v4'],
}

/** `undefined` for what cannot be said here. */
function providerPartTo(
  part: ProviderPart,
  role: Message['role'],
  { version }: Writing,
): readonly SdkPart[] | undefined {
  const kept = keptPartTo(part)
  if (kept !== undefined) {
    const [place, since] = KEPT[kept.type] ?? ['any', 'v4']
    // Answers to requests for approval that were merged with a user's words part from them again.
    const isHere = place === 'any' || place === role || (place === 'tool' && role === 'user')
    return isHere && version >= since ? [kept] : undefined
  }
  const target = { version, provider: part.provider, nameOf: (): string => 'unknown' }
  const written = role === 'assistant' ? partTo(part, target, false) : []
  return written.length === 0 ? undefined : written
}

function whyNot({ provider }: ProviderPart): string {
  return provider === UNREAD ? 'it could not be read' : 'its provider alone knows it'
}

/** What a user and what tools say, apart. */
function runsOf(parts: readonly SdkPart[]): Written[] {
  const runs: { role: 'user' | 'tool'; content: SdkPart[] }[] = []
  for (const part of parts) {
    const role = part.type === 'tool-result' || part.type === 'tool-approval-response' ? 'tool' : 'user'
    const last = runs.at(-1)
    if (last?.role === role) last.content.push(part)
    else runs.push({ role, content: [part] })
  }
  return runs
}

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
