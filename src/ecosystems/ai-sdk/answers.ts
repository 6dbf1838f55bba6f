import { isObject, type JsonObject } from '../../messages/json.ts'
import type { NewMessage, Part } from '../../messages/message.ts'
import { stopReasonOf } from '../../messages/stop-reason.ts'
import { parsedArguments } from '../wire.ts'
import { AI_SDK, jsonOf } from './fields.ts'
import { contentOf, markReasoned, partFrom } from './parts.ts'
import { providerResult } from './tool-output.ts'
import type { SdkPart, SdkStreamAnswer } from './types.ts'

/** Gathers an answer from the parts of a stream. */
type Gathering = {
  readonly add: (part: SdkPart) => void
  /** The whole answer; `undefined` before its end, and when the stream told of an error. */
  readonly answer: () => Answer | undefined
}

type Growing = { readonly type: string; readonly pieces: string[]; metadata: unknown }

/** Parts that stand in the answer as they come. */
const KEPT: ReadonlySet<string> = new Set([
  'tool-call',
  'tool-result',
  'tool-approval-request',
  'file',
  'reasoning-file',
  'source',
  'custom',
])

/** Custom parts that tell of the stream and are no part of the answer: `doGenerate` has none of them. */
const ABOUT_THE_STREAM: ReadonlySet<unknown> = new Set(['anthropic.message_start'])

/** Texts and reasoning come in pieces, which are put together by their ids; of their metadata the last counts, as in the AI SDK. */
function gathering(): Gathering {
  const entries: (SdkPart | Growing)[] = []
  const open = new Map<string, Growing>()
  let finish: SdkPart | undefined
  let failed = false
  let responseId: string | undefined

  const grow = (part: SdkPart, type: string): void => {
    const key = `${type}:${String(part.id)}`
    let entry = part.type.endsWith('-start') ? undefined : open.get(key)
    if (entry === undefined) {
      entry = { type, pieces: [], metadata: undefined }
      open.set(key, entry)
      entries.push(entry)
    }
    if (typeof part.delta === 'string') entry.pieces.push(part.delta)
    entry.metadata = part.providerMetadata ?? entry.metadata
  }

  return {
    add: (part) => {
      if (part.type.startsWith('text-')) grow(part, 'text')
      else if (
        part.type === 'reasoning-start' ||
        part.type === 'reasoning-delta' ||
        part.type === 'reasoning-end'
      )
        grow(part, 'reasoning')
      else if (part.type === 'custom' && ABOUT_THE_STREAM.has(part.kind)) return
      else if (KEPT.has(part.type)) entries.push(part)
      else if (part.type === 'response-metadata' && typeof part.id === 'string') responseId = part.id
      else if (part.type === 'error') failed = true
      else if (part.type === 'finish') finish = part
    },
    answer: () => {
      if (finish === undefined || failed || isFailedFinish(finish.finishReason)) return undefined
      const { finishReason, usage, providerMetadata } = finish
      return { content: entries.map(whole), finishReason, usage, providerMetadata, responseId }
    },
  }
}

function whole(entry: SdkPart | Growing): SdkPart {
  if (!('pieces' in entry)) return entry
  const { type, pieces, metadata } = entry as Growing
  return { type, text: pieces.join(''), ...(metadata !== undefined && { providerMetadata: metadata }) }
}

/** Parts that come before a model has said anything. */
const PRELUDE: ReadonlySet<string> = new Set(['stream-start', 'response-metadata', 'raw', 'ping'])

/** An answer whose stream begins with something else than an overflow; throws the overflow, so that a shorter request can follow. */
export async function unlessOverflow(
  answer: SdkStreamAnswer,
  isOverflow: (error: unknown) => boolean,
): Promise<SdkStreamAnswer> {
  const { stream, failure } = await begun(answer.stream)
  if (failure === undefined || !isOverflow(failure)) return { ...answer, stream }
  await stream.cancel().catch(() => {})
  throw failure
}

/** A stream whose first words are there, or what came in place of them. The stream still tells everything. */
type Begun = { readonly stream: ReadableStream<SdkPart>; readonly failure?: unknown }

/** Waits for the first part that says something, so that a failure before it can be answered with another request. */
async function begun(source: ReadableStream<SdkPart>): Promise<Begun> {
  const reader = source.getReader()
  const waiting: SdkPart[] = []
  let failure: unknown
  let failed = false
  let broken = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      waiting.push(value)
      if (PRELUDE.has(value.type)) continue
      failed = value.type === 'error'
      if (failed) failure = value.error
      break
    }
  } catch (error) {
    failure = error
    failed = true
    broken = true
  }
  let next = 0
  const stream = new ReadableStream<SdkPart>(
    {
      async pull(controller) {
        if (next < waiting.length) return controller.enqueue(waiting[next++]!)
        if (broken) return controller.error(failure)
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return failed ? { stream, failure } : { stream }
}

/** What to do at the end of a stream. Each is called at most once, and one of them at least when the stream is read or cancelled. */
type StreamEnd = {
  /** The whole answer is there. What this throws breaks the stream before its last part. */
  readonly whole: (answer: Answer) => Promise<void>
  /** The stream broke, was cancelled, told of an error or ended too soon. */
  readonly broken: () => Promise<void>
}

/**
 * The same stream, watched. Parts are passed on as they come; only the last one, `finish`, waits until `whole` is done, so that
 * whoever has read to the end finds everything stored.
 */
export function watched(source: ReadableStream<SdkPart>, end: StreamEnd): ReadableStream<SdkPart> {
  const reader = source.getReader()
  const gathered = gathering()
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
            return controller.close()
          }
          if (!isOver) gathered.add(value)
          if (value.type === 'finish' && !isOver) {
            const answer = gathered.answer()
            if (answer === undefined) await breakOff()
            else {
              isOver = true
              await end.whole(answer)
            }
          }
          controller.enqueue(value)
        } catch (error) {
          await breakOff()
          controller.error(error)
          // It is broken already; the reader has been told why.
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

/** What a model answered, whole: of `doGenerate`, or gathered from a stream. */
export type Answer = {
  readonly content: readonly SdkPart[]
  readonly finishReason: unknown
  readonly usage: unknown
  readonly providerMetadata: unknown
  /** The provider's id of the answer. */
  readonly responseId?: string | undefined
}

/**
 * The answer as a message of the assistant's; `undefined` for one that says nothing. Sources and requests for approval are
 * no part of what is sent again, so they stand in the metadata, with the answer's id.
 */
export function messageOfAnswer(answer: Answer, provider: string): NewMessage | undefined {
  const sources: unknown[] = []
  const approvals: unknown[] = []
  const parts: Part[] = []
  for (const part of answer.content) {
    if (part.type === 'source') sources.push(part)
    else if (part.type === 'tool-approval-request') approvals.push(part)
    else if (part.type === 'tool-result') {
      if (part.preliminary !== true) parts.push(resultFrom(part, provider))
    } else if (part.type === 'tool-call') parts.push(callFrom(part, provider))
    else if (part.type !== 'text' || part.text !== '' || part.providerMetadata !== undefined)
      parts.push(partFrom(part, provider))
  }
  if (parts.length === 0) return undefined
  const { responseId: id } = answer
  const kept: JsonObject = {
    ...(id !== undefined && { id }),
    ...(sources.length > 0 && { sources: jsonOf(sources) }),
    ...(approvals.length > 0 && { approvals: jsonOf(approvals) }),
  }
  const metadata = Object.keys(kept).length === 0 ? {} : { metadata: { [AI_SDK]: kept } }
  return { role: 'assistant', content: contentOf(markReasoned(parts)), ...metadata }
}

/** A call as it comes from a model: its arguments are a text. */
function callFrom(part: SdkPart, provider: string): Part {
  if (typeof part.input !== 'string') return partFrom(part, provider)
  const input = parsedArguments(part.input)
  const malformed = typeof input === 'string' && input === part.input
  return partFrom({ ...part, input, ...(malformed && { malformed }) }, provider)
}

function resultFrom({ result, isError, ...part }: SdkPart, provider: string): Part {
  return partFrom(
    { ...part, type: 'tool-result', output: providerResult(result, isError === true) },
    provider,
  )
}

/** Why an answer ended, in the provider's own words where those are known, else in the AI SDK's. */
export function stopReasonIn(finishReason: unknown): string | undefined {
  if (typeof finishReason === 'string') return finishReason
  if (!isObject(finishReason)) return undefined
  const { raw, unified } = finishReason
  if (typeof raw === 'string' && raw.length <= 200 && stopReasonOf(raw) !== 'other') return raw
  return typeof unified === 'string' ? unified : undefined
}

/** Whether an answer ended because it failed. */
export function isFailedFinish(finishReason: unknown): boolean {
  return (isObject(finishReason) ? finishReason.unified : finishReason) === 'error'
}

/** Tokens as the store records them: what was read from a cache and written to it stands apart from the rest. */
type ReportedUsage = {
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
  readonly outputTokens?: number
}

/** Providers whose V2 models count what came from a cache apart; all others count it within the input. */
const COUNTED_APART: ReadonlySet<string> = new Set(['anthropic', 'bedrock'])

/** The usage of an answer; `undefined` where its provider told none. */
export function usageIn({ usage, providerMetadata }: Answer, provider: string): ReportedUsage | undefined {
  if (!isObject(usage)) return undefined
  const { inputTokens: input, outputTokens: output } = usage
  if (isObject(input)) {
    const read = countOf(input.cacheRead)
    const written = countOf(input.cacheWrite)
    const total = countOf(input.total)
    const plain =
      total === undefined ? countOf(input.noCache) : Math.max(0, total - (read ?? 0) - (written ?? 0))
    return reported(plain, read, written, countOf(isObject(output) ? output.total : output))
  }
  const total = countOf(input)
  const read = countOf(usage.cachedInputTokens)
  if (!COUNTED_APART.has(provider))
    return reported(
      total === undefined ? undefined : Math.max(0, total - (read ?? 0)),
      read,
      undefined,
      countOf(output),
    )
  const own = isObject(providerMetadata) ? providerMetadata.anthropic : undefined
  const written = isObject(own) ? countOf(own.cacheCreationInputTokens) : undefined
  return reported(total, read, written, countOf(output))
}

function reported(
  inputTokens: number | undefined,
  read: number | undefined,
  written: number | undefined,
  output: number | undefined,
): ReportedUsage | undefined {
  if (inputTokens === undefined) return undefined
  return {
    inputTokens,
    ...(read !== undefined && read > 0 && { cacheReadTokens: read }),
    ...(written !== undefined && written > 0 && { cacheCreationTokens: written }),
    ...(output !== undefined && { outputTokens: output }),
  }
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
