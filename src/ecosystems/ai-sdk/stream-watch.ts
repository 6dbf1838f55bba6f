import { type Answer, isFailedFinish } from './response.ts'
import type { SdkPart, SdkStreamAnswer } from './sdk-types.ts'

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
