import { defined, isObject, type JsonObject } from '../../core/messages/json.ts'
import type { NewMessage, Part } from '../../core/messages/message.ts'
import { stopReasonOf } from '../../core/messages/stop-reason.ts'
import { type OverflowOptions, readOverflow } from '../../core/overflow/read-overflow.ts'
import { readRefusal } from '../../core/overflow/read-refusal.ts'
import { type ReportedUsage, sdkUsage } from '../../core/tokens/provider-usage.ts'
import type { PreparedRequest } from '../../store/requests/prepared.ts'
import { parsedArguments } from '../wire.ts'
import { AI_SDK, nonEmpty, sdkJson } from './fields.ts'
import { contentOf, markReasoned, partFrom } from './prompt.ts'
import { providerResult } from './tool-output.ts'
import type { SdkAnswer, SdkModel, SdkParams, SdkPart, SdkStreamAnswer } from './types.ts'

/** A complete answer of a model: the result of `doGenerate`, or collected from a stream. */
export type Answer = {
  readonly content: readonly SdkPart[]
  readonly finishReason: unknown
  readonly usage: unknown
  readonly providerMetadata: unknown
  /** The provider's id of the answer. */
  readonly responseId?: string | undefined
}

/** An answer, or the beginning of one. */
export type PartialAnswer = Pick<Answer, 'content'> & Partial<Answer>

/**
 * Converts an answer to an assistant message; returns `undefined` for an empty answer. Sources and approval requests are not sent again:
 * the metadata keeps them, with the answer's id.
 */
export function messageOfAnswer(answer: PartialAnswer, provider: string): NewMessage | undefined {
  const sources: unknown[] = []
  const approvals: unknown[] = []
  const parts: Part[] = []
  for (const part of answer.content) {
    switch (part.type) {
      case 'source':
        sources.push(part)
        break
      case 'tool-approval-request':
        approvals.push(part)
        break
      case 'tool-result':
        if (part.preliminary !== true) parts.push(resultFrom(part, provider))
        break
      case 'tool-call':
        parts.push(callFrom(part, provider))
        break
      default:
        if (part.type !== 'text' || part.text !== '' || part.providerMetadata !== undefined)
          parts.push(partFrom(part, provider))
    }
  }
  if (parts.length === 0) return undefined
  const kept: JsonObject = {
    ...defined({ id: answer.responseId }),
    ...(sources.length > 0 && { sources: sdkJson(sources) }),
    ...(approvals.length > 0 && { approvals: sdkJson(approvals) }),
  }
  const metadata = nonEmpty({ metadata: nonEmpty({ [AI_SDK]: kept }) as JsonObject })
  return { role: 'assistant', content: contentOf(markReasoned(parts)), ...metadata }
}

/** Reads a tool call from an answer. Its arguments are text. */
function callFrom(part: SdkPart, provider: string): Part {
  if (typeof part.input !== 'string') return partFrom(part, provider)
  const input = parsedArguments(part.input)
  const malformed = typeof input === 'string' && input === part.input
  return partFrom({ ...part, input, ...(malformed && { malformed }) }, provider)
}

function resultFrom({ result, isError, ...part }: SdkPart, provider: string): Part {
  const output = providerResult(result, isError === true)
  return partFrom({ ...part, type: 'tool-result', output }, provider)
}

/** Returns why an answer ended: the provider's own reason if known, else the AI SDK's. */
export function stopReasonIn(finishReason: unknown): string | undefined {
  if (typeof finishReason === 'string') return finishReason
  if (!isObject(finishReason)) return undefined
  const { raw, unified } = finishReason
  if (typeof raw === 'string' && raw.length <= 200 && stopReasonOf(raw) !== 'other') return raw
  return typeof unified === 'string' ? unified : undefined
}

export function isFailedFinish(finishReason: unknown): boolean {
  return (isObject(finishReason) ? finishReason.unified : finishReason) === 'error'
}

/** Providers whose V2 models do not include cached tokens in the input tokens. */
const COUNTED_APART: ReadonlySet<string> = new Set(['anthropic', 'bedrock'])

/** Returns the usage of an answer, or `undefined` if the provider reported none. */
export function usageIn(
  { usage, providerMetadata }: Pick<Answer, 'usage' | 'providerMetadata'>,
  provider: string,
): ReportedUsage | undefined {
  if (!isObject(usage)) return undefined
  if (typeof usage.inputTokens !== 'number' || !COUNTED_APART.has(provider)) return sdkUsage(usage)
  const own = isObject(providerMetadata) ? providerMetadata.anthropic : undefined
  return sdkUsage({
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    // `sdkUsage` adds tokens with these names to the input.
    cacheReadInputTokens: usage.cachedInputTokens ?? 0,
    cacheWriteInputTokens: isObject(own) ? own.cacheCreationInputTokens : undefined,
  })
}

/** Parts of a stream that are part of the answer unchanged. */
const WHOLE_PARTS: ReadonlySet<string> = new Set([
  'tool-call',
  'tool-result',
  'tool-approval-request',
  'file',
  'reasoning-file',
  'source',
  'custom',
])
/** Parts of a stream that are pieces of text or reasoning. Pieces of tool inputs are skipped, because the complete call follows. */
const PIECE = /^(text|reasoning)-(start|delta|end)$/

/** Whether a part is Anthropic's first event in AI SDK 7, which `doGenerate` doesn't have. */
function isMessageStart({ type, kind }: SdkPart): boolean {
  return type === 'custom' && kind === 'anthropic.message_start'
}

type Pieces = { readonly type: string; readonly texts: string[]; metadata: unknown }

/** Collects an answer from the parts of a stream. The last metadata of a text's pieces is used, as in the AI SDK. */
class AnswerBuilder {
  readonly #entries: (SdkPart | Pieces)[] = []
  readonly #open = new Map<string, Pieces>()
  #finish: SdkPart | undefined
  #hasFailed = false
  #responseId: string | undefined

  add(part: SdkPart): void {
    const [, type, step] = PIECE.exec(part.type) ?? []
    if (type !== undefined) this.#addPiece(part, type, step === 'start')
    else if (isMessageStart(part)) return
    else if (WHOLE_PARTS.has(part.type)) this.#entries.push(part)
    else if (part.type === 'response-metadata' && typeof part.id === 'string') this.#responseId = part.id
    else if (part.type === 'error') this.#hasFailed = true
    else if (part.type === 'finish') this.#finish = part
  }

  #addPiece(part: SdkPart, type: string, isStart: boolean): void {
    const key = `${type}:${String(part.id)}`
    let entry = isStart ? undefined : this.#open.get(key)
    if (entry === undefined) {
      entry = { type, texts: [], metadata: undefined }
      this.#open.set(key, entry)
      this.#entries.push(entry)
    }
    if (typeof part.delta === 'string') entry.texts.push(part.delta)
    entry.metadata = part.providerMetadata ?? entry.metadata
  }

  /** The complete answer; `undefined` before its end or after an error. */
  answer(): Answer | undefined {
    if (this.#finish === undefined || this.#hasFailed || isFailedFinish(this.#finish.finishReason))
      return undefined
    const { finishReason, usage, providerMetadata } = this.#finish
    return { ...this.sofar(), finishReason, usage, providerMetadata }
  }

  /** The content so far, without pieces of tool inputs. */
  sofar(): PartialAnswer {
    const content = this.#entries.map((entry): SdkPart => {
      if (!('texts' in entry)) return entry
      const { type, texts, metadata } = entry as Pieces
      return { type, text: texts.join(''), ...defined({ providerMetadata: metadata }) }
    })
    return { content, responseId: this.#responseId }
  }
}

/** Parts of a stream before any content of the model. */
const PRELUDE: ReadonlySet<string> = new Set(['stream-start', 'response-metadata', 'raw', 'ping'])

type PartReader = Pick<ReadableStreamDefaultReader<SdkPart>, 'read' | 'cancel'>

/**
 * Reads the prelude of a stream. If an error precedes all content and a different request may avoid it, it is thrown; other errors stay in
 * the stream.
 */
async function readerUnlessRefused(
  stream: ReadableStream<SdkPart>,
  isRefusal: (error: unknown) => boolean,
): Promise<PartReader> {
  const reader = stream.getReader()
  const ahead: ReturnType<PartReader['read']>[] = []
  let failure: unknown
  try {
    for (let isPrelude = true; isPrelude; ) {
      const part = reader.read()
      ahead.push(part)
      const { value } = await part
      isPrelude = value !== undefined && (PRELUDE.has(value.type) || isMessageStart(value))
      if (value?.type === 'error') failure = value.error
    }
  } catch (error) {
    failure = error
  }
  if (failure !== undefined && isRefusal(failure)) {
    await reader.cancel().catch(() => {})
    throw failure
  }
  return { read: () => ahead.shift() ?? reader.read(), cancel: (reason) => reader.cancel(reason) }
}

/** Callbacks for a stream. At its end exactly one of `whole` and `broken` is called, once. */
type StreamEnd = {
  /** The answer is complete. An error thrown here breaks the stream before its last part. */
  readonly whole: (answer: Answer) => Promise<void>
  /** The stream broke, was cancelled, had an error or ended early. */
  readonly broken: () => Promise<void>
  /** More of the answer has arrived. The function returns all of it, and must be called at once. */
  readonly grown?: ((sofar: () => PartialAnswer) => void) | undefined
}

/**
 * Passes on the parts of a stream. The last part, `finish`, waits until `whole` is done, so that everything is stored when a consumer has
 * read the stream.
 */
function watchedStream(reader: PartReader, end: StreamEnd): ReadableStream<SdkPart> {
  const builder = new AnswerBuilder()
  let isOver = false
  const breakOff = async (): Promise<void> => {
    if (isOver) return
    isOver = true
    await end.broken()
  }
  return new ReadableStream<SdkPart>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (done) {
            await breakOff()
            controller.close()
            return
          }
          if (!isOver) {
            builder.add(value)
            end.grown?.(() => builder.sofar())
          }
          const answer = value.type === 'finish' && !isOver ? builder.answer() : undefined
          if (answer !== undefined) {
            isOver = true
            await end.whole(answer)
          } else if (value.type === 'finish') await breakOff()
          controller.enqueue(value)
        } catch (error) {
          await breakOff()
          controller.error(error)
          // The source may be broken already; the consumer gets the first error.
          reader.cancel(error).catch(() => {})
        }
      },
      async cancel(reason) {
        await breakOff()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

/** One attempt to call a model, and the rules that recognize its refusals. */
export type ModelWork<R> = (params: SdkParams, rules: OverflowOptions | undefined) => PromiseLike<R>
/** The result of a call, and the request that led to it. */
export type SentRequest<R> = { readonly request: PreparedRequest; readonly result: R }

/** How a model call is handled. */
export type CallHandling = {
  readonly send: <R>(work: ModelWork<R>) => Promise<SentRequest<R>>
  readonly whole: (answer: Answer, request: PreparedRequest) => Promise<void>
  readonly broken: () => Promise<void>
  readonly grown?: StreamEnd['grown']
}

/** Calls a model through `send`, and passes the complete answer to `whole` before the caller receives its end. */
export async function callModel(
  model: SdkModel,
  method: 'doGenerate' | 'doStream',
  { send, whole, broken, grown }: CallHandling,
): Promise<unknown> {
  if (method === 'doGenerate') {
    const { request, result } = await send((params) => model.doGenerate(params as never))
    const { content, finishReason, usage, providerMetadata, response } = result as SdkAnswer
    const responseId = typeof response?.id === 'string' ? response.id : undefined
    await whole({ content, finishReason, usage, providerMetadata, responseId }, request)
    return result
  }
  const { request, result } = await send(async (params, rules) => {
    const answer = (await model.doStream(params as never)) as SdkStreamAnswer
    const isRefusal = (error: unknown): boolean =>
      readOverflow(error, rules) !== undefined || readRefusal(error, rules) !== null
    return { answer, reader: await readerUnlessRefused(answer.stream, isRefusal) }
  })
  const end = { whole: (answer: Answer) => whole(answer, request), broken, grown }
  return { ...result.answer, stream: watchedStream(result.reader, end) }
}
