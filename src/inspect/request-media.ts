import { partsOf, type StoredMessage } from '../core/messages/message.ts'
import type { RenderedRequest } from '../store/requests/recorded.ts'
import type { Store } from '../store/store.ts'
import { rasterType, storedMedia, versionOf } from './stored-media.ts'
import type { MediaPlace } from './values.ts'

/*
 * The images of a recorded request. Its messages are rendered again and have no positions, so an image is found by its bytes among the rows
 * that the model was sent.
 */

/** Returns where the images of a request are stored, by their version. An image that was resized for the request is stored nowhere. */
export async function imagesOfRequest(
  store: Store,
  sessionId: string,
  request: RenderedRequest,
): Promise<ReadonlyMap<string, MediaPlace>> {
  const places = new Map<string, MediaPlace>()
  if (!request.messages.some((message) => imagesIn(message).length > 0)) return places
  const { id, promptPositions: [first, last] = [1, 0] } = request
  const view = await store.getEffectiveHistory(sessionId, { at: { request: id } })
  const prompt =
    last < first ? [] : await store.getMessages(sessionId, { after: first - 1, limit: last - first + 1 })
  for (const row of [...view, ...prompt])
    if (row.position !== undefined)
      for (const { version, ...place } of imagesIn(row))
        places.set(version, { position: row.position, ...place })
  return places
}

type Image = { readonly version: string; readonly part: number; readonly item?: number }

function imagesIn(message: Pick<StoredMessage, 'content'>): Image[] {
  return partsOf(message).flatMap((part, index) => {
    if (part.type !== 'tool-result') return imageIn(part, { part: index })
    const { output } = part
    return output.type === 'content'
      ? output.value.flatMap((one, item) => imageIn(one, { part: index, item }))
      : []
  })
}

function imageIn(
  part: ReturnType<typeof partsOf>[number],
  place: { readonly part: number; readonly item?: number },
): Image[] {
  if (part.type !== 'image' && part.type !== 'file') return []
  const media = storedMedia(part)
  return rasterType(media) === undefined ? [] : [{ version: versionOf(media), ...place }]
}
