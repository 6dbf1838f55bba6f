import { isObject, type Json, type JsonObject } from '../messages/json.ts'
import type { Part, ToolCallPart, ViewMessage } from '../messages/message.ts'
import { canonicalProvider } from '../tokens/providers.ts'
import type { Note } from './draft.ts'

/*
 * Gemini streams the arguments of a call in pieces, each in its own part, and only the first names the tool. A client that stores the
 * parts as received stores the pieces, but a request that contains a call without a name is refused.
 */

type Pieces = { readonly provider: string; readonly fields: JsonObject }

/** Returns a view in which streamed calls have their whole input instead of the pieces. */
export function withJoinedCalls(view: readonly ViewMessage[], note: Note): readonly ViewMessage[] {
  if (!view.some(isStreamed)) return view
  return view.map((row) => (isStreamed(row) ? joined(row, row.content as readonly Part[], note) : row))
}

function isStreamed({ content }: ViewMessage): boolean {
  if (typeof content === 'string') return false
  for (const part of content) if (streamedFields(part) !== undefined) return true
  return false
}

/** Returns the fields of a call whose arguments continue in the next parts; `undefined` for any other part. */
function streamedFields(part: Part): Pieces | undefined {
  if (part.type !== 'tool-call' || part.providerOptions === undefined) return undefined
  for (const provider in part.providerOptions) {
    const fields = part.providerOptions[provider]!.functionCall
    if (isObject(fields) && fields.willContinue === true) return { provider, fields }
  }
  return undefined
}

function joined(row: ViewMessage, parts: readonly Part[], note: Note): ViewMessage {
  const content: Part[] = []
  /** The original index of each part. */
  const places: number[] = []
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at]!
    places.push(at)
    const first = streamedFields(part)
    if (first === undefined || part.type !== 'tool-call') {
      content.push(part)
      continue
    }
    const pieces = [first.fields]
    for (let next = pieceOf(parts[at + 1]); next !== undefined; next = pieceOf(parts[at + 1])) {
      at += 1
      pieces.push(next)
      if (next.willContinue !== true) break
    }
    note({ kind: 'input-as-object', messageId: row.id, toolCallId: part.toolCallId })
    content.push(wholeCall(part, first, pieces))
  }
  const { replacedParts } = row
  if (replacedParts === undefined) return { ...row, content }
  const replaced = new Set(replacedParts)
  return {
    ...row,
    content,
    replacedParts: [...places.keys()].filter((index) => replaced.has(places[index]!)),
  }
}

/** Returns the fields of a piece after the first. */
function pieceOf(part: Part | undefined): JsonObject | undefined {
  if (part?.type !== 'provider' || canonicalProvider(part.provider) !== 'google-ai') return undefined
  const fields = isObject(part.data) ? part.data.functionCall : undefined
  return isObject(fields) && fields.name === undefined ? fields : undefined
}

function wholeCall(
  call: ToolCallPart,
  { provider, fields }: Pieces,
  pieces: readonly JsonObject[],
): ToolCallPart {
  const { willContinue: _, partialArgs: __, args: ___, ...kept } = fields
  const { functionCall: ____, ...others } = call.providerOptions![provider]!
  const own = { ...others, ...(Object.keys(kept).length > 0 && { functionCall: kept }) }
  const input = (isObject(call.input) ? structuredClone(call.input) : {}) as Holder
  for (const { partialArgs } of pieces)
    if (Array.isArray(partialArgs))
      for (const one of partialArgs) if (isObject(one)) add(input, one as JsonObject)
  return { ...call, input, providerOptions: { ...call.providerOptions, [provider]: own } }
}

/** A step of a path such as `$.list[0].name` or `$['a key']`. */
const STEP = /\['([^']*)'\]|\["([^"]*)"\]|\[(\d{1,6})\]|([^.[\]$]+)/g
/** The most steps of a path; deeper values are not valid JSON of a message. */
const MAX_PATH_STEPS = 100

type Holder = { [key: string]: Json }

/** Sets the value of a piece at its path; a text is appended to the text that is already there. */
function add(root: Holder, piece: JsonObject): void {
  const { jsonPath, stringValue, numberValue, boolValue, nullValue } = piece
  const value = stringValue ?? numberValue ?? boolValue ?? (nullValue === undefined ? undefined : null)
  if (typeof jsonPath !== 'string' || value === undefined) return
  const steps = [...jsonPath.matchAll(STEP)].map(([, quoted, doubly, index, name]) =>
    index === undefined ? (quoted ?? doubly ?? name!) : Number(index),
  )
  const last = steps.pop()
  if (last === undefined || steps.length > MAX_PATH_STEPS || [...steps, last].includes('__proto__')) return
  let holder = root
  for (const [at, step] of steps.entries()) {
    const inner = holder[step]
    const isHolder = typeof inner === 'object' && inner !== null
    if (!isHolder) holder[step] = typeof (steps[at + 1] ?? last) === 'number' ? [] : {}
    holder = holder[step] as Holder
  }
  // Lists must not have holes.
  if (Array.isArray(holder) && typeof last === 'number' && last > holder.length) return
  const before = holder[last]
  holder[last] = typeof before === 'string' && typeof value === 'string' ? before + value : value
}
