import { isDeepStrictEqual } from 'node:util'
import { readable } from '../../core/messages/check.ts'
import { defined, isObject, type JsonObject } from '../../core/messages/json.ts'
import {
  type Message,
  type NewMessage,
  type Part,
  type ProviderPart,
  partsOf,
  ROLES,
} from '../../core/messages/message.ts'
import { readMessages } from '../../core/messages/message-check.ts'
import { Conversion, type ConversionOptions, isSilent, UNREAD } from '../conversion.ts'
import { fields, flag, oneOf, optional, type Shape, type Shapes, text } from '../shapes.ts'
import { listAt, withoutUndefined } from '../wire.ts'
import {
  AI_SDK,
  jsonAt,
  keptOptions,
  keptPart,
  keptPartTo,
  keptWith,
  mediaData,
  mediaFrom,
  mediaTo,
  messageOptions,
  nonEmpty,
  otherFields,
  ownOf,
  ownOfMessage,
  partAt,
  sdkOptions,
  sentOptions,
  withKeptFields,
} from './fields.ts'
import { hasReasoningItem, markReasoned, partFrom, partTo, runsByRole } from './prompt.ts'
import { modelOutputTo, outputAt } from './tool-output.ts'
import type { SdkMessageLike, SdkModelMessage, SdkPart, SdkVersion } from './types.ts'

/** The roles and fields of a part, and the first version that has it. Source: `modelMessageSchema` of ai 6 and 7. */
type PartRules = { readonly roles: readonly string[]; readonly fields: Shapes; readonly since?: SdkVersion }

const messageShape = fields({ role: oneOf(...ROLES), providerOptions: sdkOptions })
const any: Shape = (value) => value
const FILE: Shapes = { data: mediaData, mediaType: text, filename: optional(text) }
const PARTS: { readonly [type: string]: PartRules } = {
  text: { roles: ['user', 'assistant'], fields: { text } },
  image: { roles: ['user'], fields: { image: mediaData, mediaType: optional(text) }, since: 'v4' },
  file: { roles: ['user', 'assistant'], fields: FILE, since: 'v4' },
  reasoning: { roles: ['assistant'], fields: { text } },
  'reasoning-file': { roles: ['assistant'], fields: FILE, since: 'v4' },
  custom: { roles: ['assistant'], fields: { kind: text }, since: 'v4' },
  'tool-call': {
    roles: ['assistant'],
    fields: { toolCallId: text, toolName: text, input: any, providerExecuted: optional(flag) },
  },
  'tool-result': {
    roles: ['assistant', 'tool'],
    fields: { toolCallId: text, toolName: text, output: any },
  },
  'tool-approval-request': {
    roles: ['assistant'],
    fields: { approvalId: text, toolCallId: text },
    since: 'v3',
  },
  'tool-approval-response': {
    roles: ['tool'],
    fields: { approvalId: text, approved: flag, reason: optional(text) },
    since: 'v3',
  },
}

function typesIn(role: string): string[] {
  return Object.keys(PARTS).filter((type) => PARTS[type]!.roles.includes(role))
}

/**
 * Converts messages of an application (`ModelMessage` of ai 5, 6 and 7: the input of `generateText`, and `result.response.messages`) to
 * the neutral form, one for each, ready to append.
 *
 * Options and unknown fields are kept under `ai-sdk`: those of a message in `metadata`, those of a part in `providerOptions`. Parts that
 * only the AI SDK knows (approvals, files by reference, `custom`) are kept whole, as parts of the provider `ai-sdk`. `toModelMessages`
 * restores the messages, with `URL` objects and bytes; an `ArrayBuffer` or a `Buffer` comes back as a `Uint8Array`, and a value that is not
 * JSON (a date) as JSON. The input is not changed; bytes are shared with it.
 *
 * Throws `INVALID_INPUT`, which names the place and never quotes the text, for an invalid `ModelMessage`: an unknown role or part, a part
 * in the wrong role, a call or result without an id, invalid base64. With `lenient`, such a part is kept unread.
 */
export function fromModelMessages(
  messages: readonly SdkMessageLike[],
  options?: ConversionOptions,
): NewMessage[] {
  return readable('fromModelMessages', () => {
    const conversion = new Conversion('ai-sdk ModelMessage', options)
    return conversion.messages(messages, 'messages', (message, place) =>
      fromMessage(message, place, conversion),
    )
  })
}

function fromMessage(message: unknown, place: string, conversion: Conversion): NewMessage {
  const { role, providerOptions } = messageShape(message, place)
  const { content, ...others } = message as { readonly [field: string]: unknown }
  const { providerOptions: options } = keptOptions(providerOptions)
  const own: JsonObject = {
    ...(options !== undefined && { options: options as JsonObject }),
    ...(options === undefined && isObject(providerOptions) && { bare: true }),
    ...nonEmpty({ fields: otherFields(others, ['role', 'providerOptions'], place, conversion) }),
  }
  const metadata = nonEmpty({ metadata: nonEmpty({ [AI_SDK]: own }) as JsonObject })
  if (typeof content === 'string') {
    if (role === 'tool') listAt(content, `${place}.content`)
    return { role, content, ...metadata }
  }
  if (role === 'system') text(content, `${place}.content`)
  const parts = listAt(content, `${place}.content`).map((part, index) => {
    const at = `${place}.content[${index}]`
    return conversion.reading(part, at, () => modelPartFrom(part, at, role, conversion))
  })
  return { role, content: markReasoned(parts), ...metadata }
}

/** The checked fields of a call or a result. */
type ToolFields = {
  readonly toolCallId: string
  readonly toolName: string
  readonly input?: unknown
  readonly providerExecuted?: boolean
}

function modelPartFrom(given: unknown, place: string, role: string, conversion: Conversion): Part {
  const part = partAt(given, place, typesIn(role))
  const { fields: rules } = PARTS[part.type]!
  fields({ providerOptions: sdkOptions, ...rules })(part, place)
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return textFrom(part, place, role, conversion)
    case 'image':
    case 'file':
      return mediaFrom(part, rules, place, conversion)
    case 'tool-call': {
      const { toolCallId, toolName, input, providerExecuted } = part as SdkPart & ToolFields
      return {
        type: part.type,
        toolCallId,
        toolName,
        input: input === undefined ? {} : jsonAt(input, `${place}.input`, conversion),
        ...defined({ providerExecuted }),
        ...keptWith(part, rules, input === undefined ? { noInput: true } : {}, place, conversion),
      }
    }
    case 'tool-result': {
      const { toolCallId, toolName } = part as SdkPart & ToolFields
      const { output, own } = outputAt(part.output, `${place}.output`, conversion)
      const kept = keptWith(part, rules, own, place, conversion)
      return { type: part.type, toolCallId, toolName, output, ...kept }
    }
    default:
      return keptPart(part, place, conversion)
  }
}

/** Reads a text or reasoning. Anthropic's own blocks become provider parts if that loses nothing. */
export function textFrom(part: SdkPart, place: string, role: string, conversion: Conversion): Part {
  text(part.text, `${place}.text`)
  const { type, text: words } = part as { readonly type: 'text' | 'reasoning'; readonly text: string }
  const read = partFrom(part, AI_SDK)
  if (read.type === 'provider' && role === 'assistant') {
    const [back] = partTo(read, { version: 'v3', provider: read.provider })
    if (isDeepStrictEqual(back, withoutUndefined(part))) return read
  }
  const own = read.type === 'text' ? ownOf(read) : {}
  return { type, text: words, ...keptWith(part, { text }, own, place, conversion) }
}

/** Options of `toModelMessages`. */
export type ModelMessageOptions = ConversionOptions & {
  /**
   * The version of the models: `'v2'` for ai 5, `'v3'` for ai 6, `'v4'` for ai 7. Default: `'v3'`, which ai 7 reads as well; only parts
   * that are new in ai 7 need `'v4'`.
   */
  readonly version?: SdkVersion | undefined
}

/**
 * Converts messages to the input of `generateText` and `streamText` (`ModelMessage[]`). Messages of `fromModelMessages` are restored;
 * messages of other origins are written as the AI SDK writes them. Results among a user's parts become separate messages.
 *
 * Parts of other providers, unread parts, and parts that the version does not have are left out and noted. A message without parts, or with
 * reasoning alone, is left out. Pass the messages of `renderHistory` or `prepareRequest`, where calls and results are paired, with
 * `alsoReads: ['ai-sdk']` to include tool approvals. Throws `INVALID_INPUT` for an invalid list or invalid options.
 */
export function toModelMessages(
  messages: readonly Message[],
  options: ModelMessageOptions = {},
): SdkModelMessage[] {
  return readMessages(messages, 'toModelMessages', () => {
    const conversion = new Conversion('ai-sdk ModelMessage', options)
    const { version = 'v3' } = options
    oneOf('v2', 'v3', 'v4')(version, 'toModelMessages: options.version')
    const writer = new MessageWriter(conversion, version)
    // The parts are those of `SdkModelMessage`, or exist in one version only and were read from it.
    return conversion
      .sendable(messages)
      .flatMap((message, index) => writer.write(message, index) as SdkModelMessage[])
  })
}

type Written = { readonly role: string; readonly content: string | readonly SdkPart[] }

class MessageWriter {
  readonly #conversion: Conversion
  readonly #version: SdkVersion
  /** Names of tools by the ids of their calls. */
  readonly #names = new Map<string, string>()

  constructor(conversion: Conversion, version: SdkVersion) {
    this.#conversion = conversion
    this.#version = version
  }

  write(message: Message, index: number): readonly Written[] {
    this.#conversion.at(index)
    const { role, content, metadata } = message
    const finish = (written: Written): Written =>
      withKeptFields({ ...written, ...sentOptions(messageOptions(metadata)) }, ownOfMessage(metadata))
    if (role === 'system') return [finish({ role, content: this.#systemText(message, index) })]
    if (typeof content === 'string') {
      if (role === 'tool') this.#conversion.note('changed', `[${index}].content`, TOOL_TEXT)
      return [finish({ role: role === 'tool' ? 'user' : role, content })]
    }
    if (content.length === 0) return [finish({ role, content: [] })]
    const hasReasoning = hasReasoningItem(content)
    const written = content.map((part, at) =>
      this.#part(part, `[${index}].content[${at}]`, role, hasReasoning),
    )
    const parts = written.flat()
    // Providers reject reasoning on its own, and the part that followed it is left out.
    const isReasoningLeft = written.some(({ length }) => length === 0) && parts.every(isSilent)
    if (parts.length === 0 || isReasoningLeft) return []
    return role === 'assistant' ? [finish({ role, content: parts })] : runsByRole(parts).map(finish)
  }

  #systemText(message: Message, index: number): string {
    const texts = partsOf(message).map((part, at) => {
      if (part.type === 'text') return part.text
      this.#conversion.note('not-sent', `[${index}].content[${at}]`, 'a system message can only contain text')
      return ''
    })
    return texts.join('')
  }

  #part(part: Part, place: string, role: Message['role'], hasReasoning: boolean): readonly SdkPart[] {
    const [conversion, version] = [this.#conversion, this.#version]
    const notSent = (why: string): readonly SdkPart[] => {
      conversion.note('not-sent', place, why)
      return []
    }
    /** A text, reasoning or call with its kept fields. */
    const exactly = (one: Exclude<Part, ProviderPart>): SdkPart => {
      const [written] = partTo(one, { version, provider: AI_SDK }, hasReasoning)
      return withKeptFields(written!, ownOf(one))
    }
    switch (part.type) {
      case 'text':
        if (role === 'tool') conversion.note('changed', place, TOOL_TEXT)
        return [exactly(part)]
      case 'reasoning':
        return role === 'assistant'
          ? [exactly(part)]
          : notSent('only assistant messages can contain reasoning')
      case 'image': {
        if (role !== 'assistant') return [mediaTo(part, version)]
        conversion.note('changed', place, 'images in assistant messages are sent as files')
        const { image, mediaType = 'image/*', providerOptions } = part
        return [mediaTo({ type: 'file', data: image, mediaType, ...defined({ providerOptions }) }, version)]
      }
      case 'file':
        return [mediaTo(part, version)]
      case 'tool-call': {
        if (role !== 'assistant') return notSent('only assistant messages can contain tool calls')
        this.#names.set(part.toolCallId, part.toolName)
        const { input, ...written } = exactly(part)
        const isNone = ownOf(part).noInput === true && isObject(input) && Object.keys(input).length === 0
        const { type, providerExecuted } = part
        return [{ ...written, type, ...(!isNone && { input }), ...defined({ providerExecuted }) }]
      }
      case 'tool-result': {
        const { type, toolCallId, toolName = this.#names.get(toolCallId) ?? 'unknown' } = part
        const own = ownOf(part)
        const output = modelOutputTo(part.output, own, version, `${place}.output`, conversion)
        const written = { type, toolCallId, toolName, output, ...sentOptions(part.providerOptions) }
        return [withKeptFields(written, own)]
      }
      case 'provider': {
        const written = this.#providerPart(part, role)
        if (written !== undefined) return [written]
        return notSent(part.provider === UNREAD ? "it couldn't be read" : 'only its provider can read it')
      }
    }
  }

  /** Returns `undefined` for a part that this role or version does not have. */
  #providerPart(part: ProviderPart, role: Message['role']): SdkPart | undefined {
    const kept = keptPartTo(part)
    if (kept === undefined)
      return role === 'assistant'
        ? partTo(part, { version: this.#version, provider: part.provider })[0]
        : undefined
    const { roles, since = 'v4' } = Object.hasOwn(PARTS, kept.type) ? PARTS[kept.type]! : { roles: [role] }
    // Approval responses may have been merged with a user's parts.
    const isHere = kept.type === 'file' || roles.includes(role) || (role === 'user' && roles.includes('tool'))
    return isHere && this.#version >= since ? kept : undefined
  }
}

const TOOL_TEXT = 'text in a tool message becomes user text'
