import { describe, expect, it } from 'vitest'
import { isContextOverflowError } from '../../../src/compat/overflow.ts'
import { mediaRefusal } from '../../../src/core/overflow/read-refusal.ts'
import { growth } from '../../support/growth.ts'
import { OVERFLOWS } from './labelled.ts'

const anthropic = (status: number, type: string, message: string): unknown => ({
  status,
  error: { type: 'error', error: { type, message } },
})

/** Messages of public issue trackers, with what each says: the kind, and the most images. */
const REFUSALS: readonly (readonly [error: unknown, kind: string, most?: number])[] = [
  [
    anthropic(
      400,
      'invalid_request_error',
      'messages.38.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels',
    ),
    'media',
  ],
  [
    'messages.7.content.3.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels',
    'media',
  ],
  [
    'messages.58.content.2.image.source.base64: image exceeds 5 MB maximum: 6500712 bytes > 5242880 bytes',
    'media',
  ],
  ['An error occurred (ValidationException): too many images and documents: 21 + 0 > 20', 'media', 20],
  ['The model returned the following errors: messages: too many images: image_count > 20', 'media', 20],
  [
    anthropic(400, 'invalid_request_error', 'Too much media: 0 document pages + 103 images > 100'),
    'media',
    100,
  ],
  ['Exceeded maximum number of images (50) allowed in the request.', 'media', 50],
  ['500 too many images in the message, max allowed is 16', 'media', 16],
  [
    'Too many images in request: 11 images provided, but the model supports a maximum of 10 images.',
    'media',
    10,
  ],
  ['At most 5 image(s) may be provided in one request.', 'media', 5],
  ['error, status code: 400, message: Too many images in request. Max is 10.', 'media', 10],
  [
    'Upstream request failed: [invalid_request_error] request contains 52 images, exceeding the maximum of 50 allowed per request',
    'media',
    50,
  ],
  [anthropic(413, 'request_too_large', 'Request exceeds the maximum size'), 'bytes'],
  [{ status: 413, message: 'Payload Too Large' }, 'bytes'],
  ['<html><head><title>413 Request Entity Too Large</title></head></html>', 'bytes'],
  ['Request payload size exceeds the limit: 20971520 bytes.', 'bytes'],
  [
    { status: 413, message: '413: Maximum content size limit (26214400) exceeded (26228122 bytes read)' },
    'bytes',
  ],
  [new Error('413 status code (no body)'), 'bytes'],
]

/** Errors that fewer media do not help. */
const OTHERS: readonly unknown[] = [
  anthropic(429, 'rate_limit_error', 'Too many images in request. Max is 10.'),
  {
    status: 413,
    message:
      'Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.',
  },
  { status: 413, message: 'Request body too large for gpt-4o model. Max size: 8000 tokens.' },
  { status: 401, message: 'image exceeds 5 MB maximum' },
  'the user asked why there are too many images',
  { status: 413, url: 'https://api.openai.com/v1/files', message: 'Payload Too Large' },
  { role: 'user', content: 'too many images: image_count > 20' },
  { status: 400, message: 'Invalid API key' },
  { message: 'refused', requestBodyValues: { messages: ['Too many images in request. Max is 10.'] } },
  null,
]

describe('a refusal for media', () => {
  it.each(REFUSALS)('is read from %j', (error, kind, most) => {
    expect(mediaRefusal(error)).toEqual(most === undefined ? { kind } : { kind, maxImages: most })
  })

  it.each(OTHERS)('is not %j', (error) => {
    expect(mediaRefusal(error)).toBeUndefined()
  })

  it('is no overflow of tokens, unless nothing is said; and no overflow is a refusal for media', () => {
    const silent = REFUSALS.at(-1)![0]
    for (const [error] of REFUSALS) expect(isContextOverflowError(error)).toBe(error === silent)
    for (const [error] of OVERFLOWS)
      if (mediaRefusal(error)?.kind === 'media') expect.fail(JSON.stringify(error))
  })

  it.each([
    'too many images ',
    'image exceeds ',
    'request contains 1',
    'image count ',
    'request body exceeded the ',
    '9',
  ])('takes time that grows no faster than the text: %j', (piece) => {
    const run = (size: number) => mediaRefusal(piece.repeat(size / piece.length))
    expect(growth(run, 2_000_000)).toBeLessThan(3)
  })
})
