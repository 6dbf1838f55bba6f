import type { Part, ToolResultContent } from '../../messages/message.ts'
import type { BytesPlace } from './records.ts'

/*
 * Bytes in a content, as JSON has none: base64 in their place, and beside the content a list of the places, so that nothing somebody said
 * can be taken for it.
 */

type Media = Part | ToolResultContent

/** A content without bytes, and where base64 stands for them now. */
export function withoutBytes(content: string | readonly Part[]): {
  readonly content: string | readonly Part[]
  readonly bytes: readonly BytesPlace[]
} {
  const bytes: BytesPlace[] = []
  if (typeof content === 'string') return { content, bytes }
  const plain = mapMedia(content, (data, place) => {
    if (typeof data === 'string') return data
    bytes.push(place)
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
  })
  return { content: bytes.length === 0 ? content : plain, bytes }
}

/** The content as it was, or `undefined` when one of the places holds no base64 or is none. */
export function withBytes(
  content: string | readonly Part[],
  bytes: readonly BytesPlace[],
): string | readonly Part[] | undefined {
  if (bytes.length === 0) return content
  if (typeof content === 'string') return undefined
  const wanted = new Set(bytes.map(String))
  let isRight = wanted.size === bytes.length
  const restored = mapMedia(content, (data, place) => {
    if (!wanted.delete(String(place))) return data
    const decoded = typeof data === 'string' ? Buffer.from(data, 'base64') : undefined
    if (decoded === undefined || decoded.toString('base64') !== data) isRight = false
    return decoded === undefined ? data : new Uint8Array(decoded)
  })
  return isRight && wanted.size === 0 ? restored : undefined
}

/** Parts with other data in their images and files, those within tool results included. */
function mapMedia(
  content: readonly Part[],
  change: (data: string | Uint8Array, place: BytesPlace) => string | Uint8Array,
): Part[] {
  return content.map((part, index) => {
    if (part.type !== 'tool-result' || part.output.type !== 'content')
      return withData(part, (data) => change(data, [index, -1]))
    const value = part.output.value.map((entry, at) => withData(entry, (data) => change(data, [index, at])))
    return { ...part, output: { ...part.output, value } }
  })
}

function withData<M extends Media>(part: M, change: (data: string | Uint8Array) => string | Uint8Array): M {
  if (part.type === 'image') return { ...part, image: change(part.image) }
  return part.type === 'file' ? { ...part, data: change(part.data) } : part
}
