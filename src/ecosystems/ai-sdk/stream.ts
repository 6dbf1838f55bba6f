import { type Answer, isFailedFinish } from './response.ts'
import type { SdkPart } from './sdk-types.ts'

/** Gathers an answer from the parts of a stream. */
export type Gathering = {
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
export function gathering(): Gathering {
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
