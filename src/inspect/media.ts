import { z } from 'zod'
import { isUndertextError } from '../core/errors.ts'
import { nameSchema } from '../core/messages/check.ts'
import { partsOf, type StoredMessage } from '../core/messages/message.ts'
import type { Store } from '../store/store.ts'
import { plain, respond, STORED_POLICY } from './security.ts'
import { ownedBy } from './store-owner.ts'
import { rasterType, storedMedia } from './stored-media.ts'
import type { MediaPlace } from './values.ts'

/* Stored raster images. Nothing else is served: SVG is a document with scripts, and so is HTML under the name of an image. */

const index = z
  .string()
  .regex(/^\d{1,9}$/)
  .transform(Number)
const querySchema = z.object({
  session: nameSchema,
  owner: nameSchema.optional(),
  position: index.optional(),
  message: nameSchema.optional(),
  part: index,
  item: index.optional(),
})

type Named = MediaPlace & {
  readonly session: string
  readonly owner: string | undefined
  readonly version: string
}

/** Returns the address of an image, relative to the page. */
export function mediaAddress({ session, owner, position, message, part, item, version }: Named): string {
  const query = { session, owner, position, message, part, item, v: version }
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return `media?${new URLSearchParams(given)}`
}

/** Serves the image that the query names, with the type of its bytes, whatever type was stored. */
export async function serveMedia(store: Store, query: URLSearchParams): Promise<Response> {
  const image = await imageAt(store, query)
  if (image === undefined) return plain('There is no such image.', 404)
  return respond(new Uint8Array(image.bytes), {
    'content-type': image.type,
    'content-security-policy': STORED_POLICY,
    'cache-control': 'private, max-age=3600',
  })
}

async function imageAt(
  store: Store,
  query: URLSearchParams,
): Promise<{ readonly type: string; readonly bytes: Buffer } | undefined> {
  const read = querySchema.safeParse(Object.fromEntries(query))
  if (!read.success) return undefined
  const { session, owner, part: at, item } = read.data
  const row = await rowAt(ownedBy(store, owner), session, read.data)
  const part = row && partsOf(row)[at]
  const content = part?.type === 'tool-result' && part.output.type === 'content' ? part.output.value : []
  const media = item === undefined ? part : content[item]
  if (media?.type !== 'image' && media?.type !== 'file') return undefined
  const stored = storedMedia(media)
  const type = rasterType(stored)
  return type === undefined || stored.url !== undefined ? undefined : { type, bytes: stored.read() }
}

async function rowAt(
  store: Store,
  session: string,
  { position: named, message }: Pick<z.output<typeof querySchema>, 'position' | 'message'>,
): Promise<StoredMessage | undefined> {
  try {
    const position =
      named ??
      (message === undefined ? 0 : (await store.messages.moment(session, { afterMessage: message })).position)
    if (position < 1) return undefined
    const rows = await store.getMessages(session, { after: position - 1, limit: 1 })
    return rows.find((row) => (named === undefined ? row.id === message : row.position === named))
  } catch (error) {
    if (isUndertextError(error) && error.code.endsWith('_NOT_FOUND')) return undefined
    throw error
  }
}
