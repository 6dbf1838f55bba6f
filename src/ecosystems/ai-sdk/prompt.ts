import type { JsonObject } from '../../messages/json.ts'
import { type Message, type NewMessage, type Part, partsOf } from '../../messages/message.ts'
import {
  AI_SDK,
  keptOptions,
  messageOptions,
  nonEmpty,
  ownOfMessage,
  sentOptions,
  withoutCacheMarks,
} from './fields.ts'
import { contentOf, markReasoned, partFrom, partsTo, runsByRole, type Target } from './parts.ts'
import type { SdkMessage, SdkMessageLike, SdkPart, SdkVersion } from './types.ts'

/*
 * The AI SDK's prompt, as a model gets it, and the neutral form. What the other side has no place for is kept under the name `ai-sdk`: in
 * `providerOptions` of a part, in `metadata` of a message, and as a part of its provider.
 */

/**
 * Messages of a prompt in the neutral form, one for each; those of an answer (`result.response.messages`) too. `provider` is our
 * name of the model's provider.
 */
export function fromSdkPrompt(prompt: readonly SdkMessageLike[], provider: string): NewMessage[] {
  return prompt.map((message) => {
    const { role, content, providerOptions } = message as SdkMessage
    const { providerOptions: options } = keptOptions(providerOptions)
    const metadata = options && { metadata: { [AI_SDK]: { options: options as JsonObject } } }
    if (typeof content === 'string') return { role, content, ...metadata }
    const parts = markReasoned(content.map((part) => partFrom(part, provider)))
    return { role, content: contentOf(parts), ...metadata }
  })
}

/**
 * Messages as a model of the AI SDK gets them: those of a rendered view. Results besides a user's parts become a message of their own,
 * results that follow each other one message, as the AI SDK itself sends them.
 */
export function toSdkPrompt(
  messages: readonly Message[],
  { version, provider }: { readonly version: SdkVersion; readonly provider: string },
): SdkMessage[] {
  const names = new Map<string, string>()
  const target: Target = { version, provider, nameOf: (id) => names.get(id) ?? 'unknown' }
  const prompt: SdkMessage[] = []
  for (const message of messages) {
    const { role, metadata } = message
    const options = sentOptions(messageOptions(metadata))
    const parts = partsOf(message)
    for (const part of parts) if (part.type === 'tool-call') names.set(part.toolCallId, part.toolName)
    if (role === 'system') {
      const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
      prompt.push({ role, content: text, ...options })
      continue
    }
    const content = partsTo(parts, target)
    if (role !== 'assistant') for (const run of runsByRole(content)) addRun(prompt, run, options)
    else if (content.length > 0) prompt.push({ role, content, ...options })
  }
  return prompt
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

/** A message as it is stored: without marks of caching, which belong to one request. */
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
