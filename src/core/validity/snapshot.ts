/*
 * Copies a body as plain data. Bodies come from applications: they may contain getters, cycles and anything else, which the readers need
 * not handle.
 */

/** Plain data: JSON, and bytes if an SDK accepts them instead of base64. */
export type Plain = null | boolean | number | string | Bytes | readonly Plain[] | PlainObject
/** A plain object, without a prototype. */
export type PlainObject = { readonly [key: string]: Plain | undefined }

/** Bytes that an SDK encodes itself. */
export class Bytes {
  readonly data: Uint8Array
  constructor(data: Uint8Array) {
    this.data = data
  }
}

/** A path whose value JSON cannot represent, or that has a lone surrogate. */
export type Place = { readonly path: string; readonly detail: string }

/** The content of a body, and the problems noticed while it was copied. */
export type Snapshot = {
  readonly body: PlainObject
  /** The length of its JSON in UTF-8. */
  readonly bytes: number
  readonly notJson: readonly Place[]
  readonly surrogates: readonly Place[]
}

/** Names of fields of the APIs. Other names may come from a conversation (the input of a tool), so no path contains them. */
const FIELDS = new Set(
  `messages prompt input contents content parts system systemInstruction system_instruction instructions tools toolConfig role name text type
  thinking signature data source media_type url image_url file file_data file_id filename id tool_use_id tool_calls tool_call_id function
  function_call arguments custom refusal audio input_audio format call_id output summary encrypted_content reasoning_content toolUse
  toolResult toolUseId reasoningContent reasoningText redactedContent image document video bytes functionCall functionResponse args response
  thoughtSignature inlineData fileData mimeType fileUri executableCode codeExecutionResult code title context citations value reason
  toolCallId toolName mediaType cache_control json query annotations model`.split(/\s+/),
)
/** Fields that contain values of a conversation: names within them are not part of a path. */
const OPAQUE = new Set(['args', 'arguments', 'response', 'json', 'value', 'providerOptions'])

type Frame = {
  readonly target: Record<string, Plain> | Plain[]
  readonly value: object
  readonly keys: readonly string[]
  readonly count: number
  readonly path: string
  /** Whether paths end here. */
  readonly isOpaque: boolean
  next: number
  bytes: number
  readonly parent: Frame | undefined
}

const LONE_SURROGATE = /\p{Surrogate}/u
const ESCAPED = /["\\\p{Cc}]/u

/** Copies a body without recursion, in linear time. Never throws. */
export function snapshotOf(body: object): Snapshot {
  const notJson: Place[] = []
  const surrogates: Place[] = []
  const open = new Set<object>()
  const done = new Map<object, { readonly copy: Plain; readonly bytes: number }>()
  let top: Frame | undefined
  let result: { copy: Plain; bytes: number } = { copy: Object.create(null) as PlainObject, bytes: 2 }

  const begin = (value: object, path: string, isOpaque: boolean): void => {
    const isList = Array.isArray(value)
    const keys = isList ? [] : Object.keys(value)
    const count = isList ? value.length : keys.length
    const target = isList ? [] : (Object.create(null) as Record<string, Plain>)
    open.add(value)
    top = { target, value, keys, count, path, isOpaque, next: 0, bytes: 2, parent: top }
  }

  /** Returns a value that contains no other values; `undefined` if copying of the value has begun. */
  const leafOf = (value: unknown, path: string, isOpaque: boolean): Plain | undefined => {
    switch (typeof value) {
      case 'string':
        if (LONE_SURROGATE.test(value)) surrogates.push({ path, detail: 'a lone surrogate in a text' })
        return value
      case 'boolean':
        return value
      case 'number':
        if (Number.isFinite(value)) return value
        notJson.push({ path, detail: "a number that isn't finite" })
        return null
      case 'object':
        break
      default:
        notJson.push({ path, detail: `a value of type ${typeof value}` })
        return null
    }
    if (value === null) return null
    if (value instanceof Uint8Array) return new Bytes(value)
    if (value instanceof URL) return value.href
    if (open.has(value)) {
      notJson.push({ path, detail: 'an object that contains itself' })
      return null
    }
    begin(value, path, isOpaque)
    return undefined
  }

  const bytesOf = (value: Plain): number => {
    if (typeof value === 'string')
      return ESCAPED.test(value) ? Buffer.byteLength(JSON.stringify(value)) : Buffer.byteLength(value) + 2
    if (value instanceof Bytes) return Math.ceil(value.data.length / 3) * 4 + 2
    return String(value).length
  }

  try {
    begin(body, '', false)
  } catch {
    notJson.push({ path: '', detail: "the body can't be read" })
  }
  while (top !== undefined) {
    const frame: Frame = top
    const isList = Array.isArray(frame.target)
    if (frame.next >= frame.count) {
      open.delete(frame.value)
      result = { copy: frame.target, bytes: frame.bytes }
      done.set(frame.value, result)
      top = frame.parent
      if (top !== undefined) place(top, result.copy, result.bytes)
      continue
    }
    const key = isList ? String(frame.next) : frame.keys[frame.next]!
    const isNamed = !frame.isOpaque && (isList || FIELDS.has(key))
    const path = isNamed ? (frame.path === '' ? key : `${frame.path}.${key}`) : frame.path
    if (!isList && LONE_SURROGATE.test(key))
      surrogates.push({ path: frame.path, detail: 'a lone surrogate in a field name' })
    // The input of a call contains values of a conversation; the list `input` of the Responses API doesn't.
    const isOpaque = !isNamed || OPAQUE.has(key) || (key === 'input' && frame.parent !== undefined)
    try {
      const value = valueAt(frame.value, key)
      const known = typeof value === 'object' && value !== null ? done.get(value) : undefined
      if (value === undefined && !isList) frame.next++
      else if (known !== undefined) place(frame, known.copy, known.bytes)
      else {
        const leaf = leafOf(value ?? null, path, isOpaque)
        if (leaf !== undefined) place(frame, leaf, bytesOf(leaf))
      }
    } catch {
      // A getter or a proxy of the application threw.
      notJson.push({ path, detail: "a field that can't be read" })
      place(frame, null, 4)
    }
  }
  const { copy, bytes } = result
  return { body: Array.isArray(copy) ? {} : (copy as PlainObject), bytes, notJson, surrogates }
}

function valueAt(value: object, key: string): unknown {
  const found = (value as Record<string, unknown>)[key]
  return found instanceof Date ? (Number.isNaN(found.getTime()) ? null : found.toJSON()) : found
}

function place(frame: Frame, value: Plain, bytes: number): void {
  const { target } = frame
  if (Array.isArray(target)) {
    target.push(value)
    frame.bytes += bytes + 1
  } else {
    const key = frame.keys[frame.next]!
    target[key] = value
    frame.bytes += bytes + Buffer.byteLength(key) + 4
  }
  frame.next++
}

/** Returns whether a value is an object, not a list and not bytes. */
export function isObject(value: Plain | undefined): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Bytes)
}

/** Returns whether a value is a list. */
export function isList(value: Plain | undefined): value is readonly Plain[] {
  return Array.isArray(value)
}
