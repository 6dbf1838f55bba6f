import { withoutCacheMarks } from '../../core/messages/cache-marks.ts'
import { readable } from '../../core/messages/check.ts'
import { compactionBlock } from '../../core/messages/compaction-block.ts'
import { isObject, type JsonObject, objectInput } from '../../core/messages/json.ts'
import {
  type Message,
  type NewMessage,
  type Part,
  type ProviderPart,
  partsOf,
  textsOf,
} from '../../core/messages/message.ts'
import { readMessages } from '../../core/messages/message-check.ts'
import { wellFormedMessages } from '../../core/messages/well-formed.ts'
import { CONTINUATION_TEXT } from '../../core/rendering/contents.ts'
import {
  AI_SDK,
  fileFrom,
  fileTo,
  keptOptions,
  keptPartTo,
  messageOptions,
  nonEmpty,
  opaquePart,
  ownOf,
  ownOfMessage,
  sdkJson,
  sentOptions,
} from './fields.ts'
import { itemTo, outputFrom, outputTo } from './tool-output.ts'
import type { SdkMessage, SdkMessageLike, SdkPart, SdkVersion } from './types.ts'

const ANTHROPIC = 'anthropic'

/**
 * Converts a part of a prompt, or of a response (where options are called metadata), to the neutral form. Parts that only a provider
 * knows are kept for `provider`.
 */
export function partFrom(part: SdkPart, provider: string): Part {
  const given = part.providerOptions ?? part.providerMetadata
  const { type, toolName } = part
  switch (type) {
    case 'text': {
      const text = asText(part.text)
      if (optionsUnder(given, ANTHROPIC)?.type === 'compaction')
        return { type: 'provider', provider: ANTHROPIC, data: { type: 'compaction', content: text } }
      // A text that its provider stores is sent as its id; the length shows whether it was changed since.
      const own = itemIdIn(given) === undefined ? {} : { length: text.length }
      return { type, text, ...keptOptions(given, own) }
    }
    case 'reasoning': {
      const text = asText(part.text)
      // Anthropic's redacted block has no text, and its data must be sent back.
      const data = optionsUnder(given, ANTHROPIC)?.redactedData
      if (typeof data === 'string' && text === '')
        return { type: 'provider', provider: ANTHROPIC, data: { type: 'redacted_thinking', data } }
      return { type, text, ...keptOptions(given) }
    }
    case 'file':
      return fileFrom(part, provider)
    case 'image':
      // Only an application's messages have images; models receive files.
      return fileFrom({ mediaType: 'image/*', ...part, type: 'file', data: part.image }, provider)
    case 'tool-call':
      return {
        type,
        toolCallId: asText(part.toolCallId),
        toolName: asText(toolName),
        input: part.input === undefined ? {} : sdkJson(part.input),
        ...(part.providerExecuted === true && { providerExecuted: true }),
        ...keptOptions(given, part.malformed === true ? { malformed: true } : {}),
      }
    case 'tool-result': {
      const { output, own } = outputFrom(part.output, provider)
      return {
        type,
        toolCallId: asText(part.toolCallId),
        ...(typeof toolName === 'string' && { toolName }),
        output,
        ...keptOptions(given, own),
      }
    }
    default:
      return opaquePart(part, provider)
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : String(value ?? '')
}

function optionsUnder(options: unknown, name: string): { readonly [field: string]: unknown } | undefined {
  const fields = isObject(options) ? options[name] : undefined
  return isObject(fields) ? fields : undefined
}

/** Providers that store items of a response, and accept their ids instead of them. */
const HOLDERS = ['openai', 'azure'] as const

/** The id under which OpenAI stores an item. Source: `itemId` of `@ai-sdk/openai`, its Responses model. */
function itemIdIn(options: unknown): string | undefined {
  for (const name of HOLDERS) {
    const id = optionsUnder(options, name)?.itemId
    if (typeof id === 'string') return id
  }
  return undefined
}

/**
 * Marks items that came with reasoning. OpenAI rejects the id of such an item without the id of its reasoning, so once the reasoning is no
 * longer sent, the content of the item must be. With `isCut`, the answer was stopped, and all its items are marked.
 */
export function markReasoned(parts: readonly Part[], isCut = false): readonly Part[] {
  if (!isCut && !hasReasoningItem(parts)) return parts
  return parts.map((part) => {
    if ((part.type !== 'text' && part.type !== 'tool-call') || itemIdIn(part.providerOptions) === undefined)
      return part
    return { ...part, ...keptOptions(part.providerOptions, { ...ownOf(part), reasoned: true }) }
  })
}

/** Whether parts contain reasoning that OpenAI stores under an id. */
export function hasReasoningItem(parts: readonly Part[]): boolean {
  return parts.some((part) => part.type === 'reasoning' && itemIdIn(part.providerOptions) !== undefined)
}

/** The content of a message: a single plain text becomes a string. */
export function contentOf(parts: readonly Part[]): string | readonly Part[] {
  const [first] = parts
  const isPlain = parts.length === 1 && first?.type === 'text' && first.providerOptions === undefined
  return isPlain ? first.text : parts
}

/** The version and provider that parts are written for. */
export type Target = {
  readonly version: SdkVersion
  /** Our name of the provider. */
  readonly provider: string
  /** Names of tools by the ids of their calls. */
  readonly names?: ReadonlyMap<string, string>
}

/** Converts a part to what the AI SDK sends; returns no part for a part of another provider. */
export function partTo(part: Part, target: Target, hasReasoning = false): readonly SdkPart[] {
  const { version, provider, names } = target
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text, ...itemOptions(part, hasReasoning) }]
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text, ...sentOptions(part.providerOptions) }]
    case 'image':
    case 'file': {
      const file = fileTo(part, version)
      // The AI SDK throws for other texts; Anthropic reads all of them as plain text.
      const isText = provider === ANTHROPIC && part.mediaType?.startsWith('text/') === true
      return [isText ? { ...file, mediaType: 'text/plain' } : file]
    }
    case 'tool-call': {
      const { type, toolCallId, toolName, input } = part
      // An application's own messages are restored as they were.
      const isExact = provider === AI_SDK && ownOf(part).malformed !== true
      const sent = { type, toolCallId, toolName, input: isExact ? input : objectInput(input) }
      const executed = part.providerExecuted === true && { providerExecuted: true }
      return [{ ...sent, ...executed, ...itemOptions(part, hasReasoning) }]
    }
    case 'tool-result': {
      const { type, toolCallId } = part
      const toolName = part.toolName ?? names?.get(toolCallId) ?? 'unknown'
      const output = outputTo(part.output, ownOf(part), version, (item) => itemTo(item, version, provider))
      return [{ type, toolCallId, toolName, output, ...sentOptions(part.providerOptions) }]
    }
    case 'provider':
      return providerPartTo(part, provider)
  }
}

function itemOptions(part: Part & { readonly type: 'text' | 'tool-call' }, hasReasoning: boolean): object {
  const own = ownOf(part)
  const isChanged = part.type === 'text' && typeof own.length === 'number' && own.length !== part.text.length
  const isAlone = own.reasoned === true && !hasReasoning
  const sent = sentOptions(part.providerOptions)
  if ((!isChanged && !isAlone) || sent.providerOptions === undefined) return sent
  const rest = Object.entries(sent.providerOptions).map(([name, { itemId: _, ...others }]) => [name, others])
  return { providerOptions: Object.fromEntries(rest) }
}

function providerPartTo(part: ProviderPart, provider: string): readonly SdkPart[] {
  if (part.provider !== provider) return []
  const own = keptPartTo(part)
  if (own !== undefined) return [own]
  if (provider !== ANTHROPIC) return []
  const text = compactionBlock(part)?.text
  if (text !== undefined)
    return [{ type: 'text', text, providerOptions: { anthropic: { type: 'compaction' } } }]
  const { data } = part
  if (!isObject(data) || data.type !== 'redacted_thinking' || typeof data.data !== 'string') return []
  return [{ type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: data.data } } }]
}

/** Splits parts of one message by role: tool results and approval responses, and the user's own parts. */
export function runsByRole(parts: readonly SdkPart[]) {
  const runs: { readonly role: 'user' | 'tool'; readonly content: SdkPart[] }[] = []
  for (const part of parts) {
    const role = part.type === 'tool-result' || part.type === 'tool-approval-response' ? 'tool' : 'user'
    const last = runs.at(-1)
    if (last?.role === role) last.content.push(part)
    else runs.push({ role, content: [part] })
  }
  return runs
}

/**
 * Converts the messages of a prompt, or of a response (`result.response.messages`), to the neutral form, one for each. `provider` is our
 * name of the model's provider. Fields without a place in the neutral form are kept under `ai-sdk`.
 */
export function fromSdkPrompt(prompt: readonly SdkMessageLike[], provider: string): NewMessage[] {
  return readable('fromSdkPrompt', () => {
    return prompt.map((message) => {
      const { role, content, providerOptions } = message as SdkMessage
      const { providerOptions: options } = keptOptions(providerOptions)
      const metadata = options && { metadata: { [AI_SDK]: { options: options as JsonObject } } }
      if (typeof content === 'string') return { role, content, ...metadata }
      const parts = markReasoned(content.map((part) => partFrom(part, provider)))
      return { role, content: contentOf(parts), ...metadata }
    })
  })
}

/**
 * Converts the messages of a rendered view to a prompt for a model of the AI SDK. Results among a user's parts become separate messages,
 * and consecutive results one message, as the AI SDK itself sends them. If the input of a call isn't an object, it becomes one; an unpaired
 * surrogate becomes U+FFFD.
 */
export function toSdkPrompt(
  messages: readonly Message[],
  target: { readonly version: SdkVersion; readonly provider: string },
): SdkMessage[] {
  return readMessages(messages, 'toSdkPrompt', () => {
    const { version, provider } = target
    const names = new Map<string, string>()
    const writing: Target = { version, provider, names }
    const prompt: SdkMessage[] = []
    for (const message of wellFormedMessages(messages)) {
      const { role, metadata } = message
      const options = sentOptions(messageOptions(metadata))
      const parts = partsOf(message)
      for (const part of parts) if (part.type === 'tool-call') names.set(part.toolCallId, part.toolName)
      if (role === 'system') {
        const text = textsOf(message).join('')
        prompt.push({ role, content: text, ...options })
        continue
      }
      const hasReasoning = hasReasoningItem(parts)
      const content = parts.flatMap((part) => partTo(part, writing, hasReasoning))
      if (role !== 'assistant') for (const run of runsByRole(content)) addRun(prompt, run, options)
      else if (content.length > 0) prompt.push({ role, content, ...options })
    }
    // The only part may have been one that only Gemini's own format has.
    const isEmpty = messages.length > 0 && prompt.every(({ role }) => role === 'system')
    if (isEmpty && messages.some(({ role }) => role !== 'system'))
      prompt.push({ role: 'user', content: [{ type: 'text', text: CONTINUATION_TEXT }] })
    return prompt
  })
}

function addRun(
  prompt: SdkMessage[],
  { role, content }: ReturnType<typeof runsByRole>[number],
  options: object,
): void {
  const last = prompt.at(-1)
  if (role === 'tool' && last?.role === 'tool')
    prompt[prompt.length - 1] = { ...last, ...options, content: [...(last.content as SdkPart[]), ...content] }
  else prompt.push({ role, content, ...options })
}

/** A message as it is stored: without cache marks. */
export function storedMessage(message: NewMessage): NewMessage {
  const { metadata, content } = message
  const given = messageOptions(metadata)
  const { options: _, ...own } = ownOfMessage(metadata)
  const options = given && withoutCacheMarks(given)
  return {
    ...message,
    ...(given !== undefined && {
      metadata: { ...metadata, [AI_SDK]: { ...own, ...nonEmpty({ options }) } as JsonObject },
    }),
    content: typeof content === 'string' ? content : content.map(storedPart),
  }
}

function storedPart(part: Part): Part {
  if (part.type === 'provider' || part.providerOptions === undefined) return part
  const { providerOptions, ...rest } = part
  const options = withoutCacheMarks(providerOptions)
  return (options === undefined ? rest : { ...rest, providerOptions: options }) as Part
}
