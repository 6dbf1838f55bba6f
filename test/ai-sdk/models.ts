import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider'
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'
import type { Store } from '../../src/index.ts'

export type Content = LanguageModelV3Content
export type StreamPart = LanguageModelV3StreamPart
export type CallOptions = LanguageModelV3CallOptions

export const text = (value: string): Content => ({ type: 'text', text: value })
export const call = (toolCallId: string, input: unknown = {}, toolName = 'look'): Content => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input: JSON.stringify(input),
})

export function usage(input = 10, output = 5): LanguageModelV3Usage {
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  }
}

export function finishOf(content: readonly Content[]): LanguageModelV3FinishReason {
  const unified = content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop'
  return { unified, raw: undefined }
}

/** What a model says, in turn: contents, or what it does instead. */
export type Said = readonly Content[] | (() => never | Promise<never>)

export function result(content: readonly Content[], input?: number): LanguageModelV3GenerateResult {
  return { content: [...content], finishReason: finishOf(content), usage: usage(input), warnings: [] }
}

/** The same as parts of a stream; texts in pieces. */
export function partsOf(content: readonly Content[], input?: number): StreamPart[] {
  const parts = content.flatMap((part, index): StreamPart[] => {
    if (part.type !== 'text' && part.type !== 'reasoning') return [part as StreamPart]
    const { type, providerMetadata } = part
    const id = String(index)
    const half = Math.ceil(part.text.length / 2)
    const deltas = [part.text.slice(0, half), part.text.slice(half)]
    return [
      { type: `${type}-start`, id },
      ...deltas.map((delta): StreamPart => ({ type: `${type}-delta`, id, delta })),
      { type: `${type}-end`, id, ...(providerMetadata !== undefined && { providerMetadata }) },
    ]
  })
  return [
    { type: 'stream-start', warnings: [] },
    ...parts,
    { type: 'finish', finishReason: finishOf(content), usage: usage(input) },
  ]
}

export function streamOf(parts: readonly StreamPart[]) {
  return {
    stream: simulateReadableStream({ chunks: [...parts], initialDelayInMs: null, chunkDelayInMs: null }),
  }
}

/** What a provider would report of a prompt, roughly: the store believes it. */
function tokensOf({ prompt }: CallOptions): number {
  return Math.ceil(sent({ prompt }).join('').length / 4)
}

/** A model that says what it is told, in turn, whole or streamed, and the calls it got. */
export function scripted(
  script: readonly Said[],
  { provider = 'openai.chat', modelId = 'gpt-4o' }: { provider?: string; modelId?: string } = {},
): MockLanguageModelV3 & { readonly calls: CallOptions[] } {
  const calls: CallOptions[] = []
  const next = async (options: CallOptions): Promise<readonly Content[]> => {
    const said = script[calls.length]
    calls.push(options)
    if (said === undefined) throw new Error('the script is at its end')
    return typeof said === 'function' ? said() : said
  }
  const model = new MockLanguageModelV3({
    provider,
    modelId,
    doGenerate: async (options) => result(await next(options), tokensOf(options)),
    doStream: async (options) => streamOf(partsOf(await next(options), tokensOf(options))),
  })
  return Object.assign(model, { calls })
}

/** The log as short texts: who speaks, and what. */
export async function logOf(store: Store, sessionId = 's'): Promise<string[]> {
  const rows = await store.getMessages(sessionId)
  const messages = rows.filter(({ kind }) => kind === 'message')
  // Each message stands at its own position, without gaps.
  if (messages.some(({ position }, index) => position !== index + 1)) throw new Error('positions have gaps')
  return messages.map(short)
}

export function short({ role, content }: { readonly role: string; readonly content: unknown }): string {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly Part[])
  return `${role}: ${parts.map(said).join(' | ')}`
}

type Part = { readonly type: string; readonly [name: string]: unknown }

function said(part: Part): string {
  if (part.type === 'text') return String(part.text)
  if (part.type === 'tool-call') return `call ${String(part.toolCallId)}`
  if (part.type !== 'tool-result') return part.type
  const { value } = part.output as { readonly value: unknown }
  return `result ${String(part.toolCallId)} ${typeof value === 'string' ? value : JSON.stringify(value)}`
}

/** What a model was sent, the same way. */
export function sent(options: Pick<CallOptions, 'prompt'> | undefined): string[] {
  return options?.prompt.map(short) ?? []
}
