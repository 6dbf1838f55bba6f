import type { JsonObject } from '../../messages/json.ts'
import { type Message, type NewMessage, type Part, partsOf } from '../../messages/message.ts'
import { AI_SDK, keptOptions, sentOptions, withoutCacheMarks } from './fields.ts'
import { contentOf, markReasoned, partFrom, partsTo, type Target } from './parts.ts'
import type { SdkMessage, SdkMessageLike, SdkPart, SdkVersion } from './types.ts'

/*
 * The AI SDK's prompt, as a model gets it, and the neutral form. What one side has and the other has not is kept under
 * the name `ai-sdk`: in `providerOptions` of a part, in `metadata` of a message, and as a part of its provider.
 */

/**
 * Messages of a prompt in the neutral form, one for each; those of an answer (`result.response.messages`) too. `provider` is our
 * name of the model's provider.
 */
export function fromSdkPrompt(prompt: readonly SdkMessageLike[], provider: string): NewMessage[] {
  return prompt.map((message) => fromSdkMessage(message as SdkMessage, provider))
}

function fromSdkMessage({ role, content, providerOptions }: SdkMessage, provider: string): NewMessage {
  const { providerOptions: options } = keptOptions(providerOptions)
  const metadata = options === undefined ? {} : { metadata: { [AI_SDK]: { options: options as JsonObject } } }
  if (typeof content === 'string') return { role, content, ...metadata }
  const parts = markReasoned(content.map((part) => partFrom(part, provider)))
  return { role, content: contentOf(parts), ...metadata }
}

/**
 * Messages as a model of the AI SDK gets them: those of a rendered view. Results that stand beside words of a user become
 * a message of their own, results that follow each other one message, as the AI SDK itself sends them.
 */
export function toSdkPrompt(
  messages: readonly Message[],
  { version, provider }: { readonly version: SdkVersion; readonly provider: string },
): SdkMessage[] {
  const names = new Map<string, string>()
  const target: Target = { version, provider, nameOf: (id) => names.get(id) ?? 'unknown' }
  const prompt: SdkMessage[] = []
  for (const message of messages) {
    const options = messageOptions(message)
    const parts = partsOf(message)
    for (const part of parts) if (part.type === 'tool-call') names.set(part.toolCallId, part.toolName)
    if (message.role === 'system') {
      const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
      prompt.push({ role: 'system', content: text, ...options })
      continue
    }
    if (message.role === 'assistant') {
      const content = partsTo(parts, target)
      if (content.length > 0) prompt.push({ role: 'assistant', content, ...options })
      continue
    }
    for (const run of runsOf(partsTo(parts, target))) addRun(prompt, run, options)
  }
  return prompt
}

function messageOptions({ metadata }: Message): { readonly providerOptions?: SdkMessage['providerOptions'] } {
  const kept = metadata?.[AI_SDK] as { readonly options?: SdkMessage['providerOptions'] } | undefined
  return kept?.options === undefined ? {} : sentOptions(kept.options as Parameters<typeof sentOptions>[0])
}

type Run = { readonly role: 'user' | 'tool'; readonly content: SdkPart[] }

/** What a user and what tools say, apart. */
function runsOf(parts: readonly SdkPart[]): Run[] {
  const runs: Run[] = []
  for (const part of parts) {
    const role = part.type === 'tool-result' || part.type === 'tool-approval-response' ? 'tool' : 'user'
    const last = runs.at(-1)
    if (last?.role === role) last.content.push(part)
    else runs.push({ role, content: [part] })
  }
  return runs
}

function addRun(prompt: SdkMessage[], { role, content }: Run, options: object): void {
  const last = prompt.at(-1)
  if (role === 'tool' && last?.role === 'tool')
    prompt[prompt.length - 1] = { ...last, ...options, content: [...(last.content as SdkPart[]), ...content] }
  else prompt.push({ role, content, ...options })
}

/** A message as it is stored: without marks of caching, which belong to one request. */
export function storedMessage(message: NewMessage): NewMessage {
  const kept = message.metadata?.[AI_SDK] as
    | { readonly options?: Parameters<typeof withoutCacheMarks>[0] }
    | undefined
  const marked =
    kept?.options !== undefined ? { ...message, ...storedMetadata(message, kept.options) } : message
  if (typeof marked.content === 'string') return marked
  return { ...marked, content: marked.content.map(storedPart) }
}

function storedMetadata(
  { metadata }: NewMessage,
  given: Parameters<typeof withoutCacheMarks>[0],
): { readonly metadata: JsonObject } {
  const options = withoutCacheMarks(given)
  const { options: _, ...rest } = (metadata?.[AI_SDK] ?? {}) as JsonObject
  return {
    metadata: { ...metadata, [AI_SDK]: { ...rest, ...(options !== undefined && { options }) } as JsonObject },
  }
}

function storedPart(part: Part): Part {
  if (part.type === 'provider' || part.providerOptions === undefined) return part
  const { providerOptions, ...rest } = part
  const options = withoutCacheMarks(providerOptions)
  if (options === providerOptions) return part
  return (options === undefined ? rest : { ...rest, providerOptions: options }) as Part
}
