import { listPrices } from '../../core/tokens/prices.ts'
import type { RequestKey } from '../../storage/storage.ts'
import type { StoreContext } from '../context.ts'
import { type RenderedRequest, renderedRequest } from './recorded.ts'

/** Reads a recorded request and renders it again; `no` is its number in the session. Throws as `requests.get` does. */
export async function readRenderedRequest(
  context: StoreContext,
  sessionId: string,
  key: RequestKey,
): Promise<{ readonly no: number; readonly request: RenderedRequest }> {
  const found = await context.storage.request(sessionId, key)
  const view = await context.namedView(sessionId, found.view)
  const priceOf = found.request.billed && (await listPrices())
  const request = await context.rendered((resizeImage) =>
    renderedRequest(sessionId, { ...found, view }, priceOf, resizeImage),
  )
  return { no: found.request.no, request }
}
