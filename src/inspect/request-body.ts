import { invalid } from '../core/errors.ts'
import { parsedJson } from '../core/messages/json.ts'
import { Refusal } from './security.ts'

/** The largest body of a request, in bytes. */
const MAX_BODY_BYTES = 1_000_000

/** Returns the JSON of a request. A form of another site can't send this type without asking. */
export async function jsonBody(request: Request): Promise<unknown> {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/json')
    throw new Refusal('WRONG_TYPE', 415, 'The body must be JSON, with the content type application/json.')
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = request.body?.getReader()
  for (;;) {
    const { value, done = true } = (await reader?.read()) ?? {}
    if (done || value === undefined) break
    size += value.byteLength
    if (size > MAX_BODY_BYTES) {
      await reader?.cancel()
      throw tooLarge()
    }
    chunks.push(value)
  }
  const value = parsedJson(Buffer.concat(chunks).toString())
  if (value === undefined) throw invalid('the body isn’t JSON')
  return value
}

function tooLarge(): Refusal {
  return new Refusal('TOO_LARGE', 413, `The body must not be longer than ${MAX_BODY_BYTES} bytes.`)
}
