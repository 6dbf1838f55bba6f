import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isUndertextError } from '../../src/core/errors.ts'
import { imageSizeOf } from '../../src/core/messages/images.ts'
import type { Message, Part } from '../../src/core/messages/message.ts'
import { renderView, type ViewRenderOptions } from '../../src/core/rendering/render.ts'
import { validateHistory } from '../../src/core/rendering/validate.ts'
import { gif, jpeg, png, webp } from '../support/image-files.ts'
import { assistant, call, type Row, result, text, tool, user, view } from './views.ts'

function render(
  rows: readonly Row[],
  options: Partial<ViewRenderOptions> = {},
): { messages: Message[]; mends: string[] } {
  const { messages, mends } = renderView(view(...rows), { provider: 'anthropic', ...options })
  return { messages, mends: mends.map((mend) => Object.values(mend).join(' ')) }
}

const part = (file: Buffer, mediaType = 'image/png'): Part => ({
  type: 'image',
  image: file.toString('base64'),
  mediaType,
})
const first = ({ messages }: { messages: Message[] }): unknown => (messages[0]!.content as Part[])[1]

describe('the size of an image', () => {
  it('is in the header of each format, as base64 and as bytes', () => {
    const side = fc.integer({ min: 1, max: 16_383 })
    fc.assert(
      fc.property(side, side, fc.integer({ min: 1, max: 150_000 }), (width, height, metadata) => {
        const files = [png(width, height), jpeg(width, height, metadata), gif(width, height)]
        const kinds = ['VP8 ', 'VP8L', 'VP8X'] as const
        for (const file of [...files, ...kinds.map((kind) => webp(kind, width, height))]) {
          expect(imageSizeOf(file)).toEqual({ width, height })
          expect(imageSizeOf(file.toString('base64'))).toEqual({ width, height })
        }
      }),
      { numRuns: 40 },
    )
  })

  it('is unknown for other data, for a header that was cut, and for a JPEG with more than 256 KB before it', () => {
    for (const file of [png(9, 9), gif(9, 9), webp('VP8X', 9, 9), jpeg(9, 9)])
      for (let length = 0; length < 8; length++) expect(imageSizeOf(file.subarray(0, length))).toBeUndefined()
    expect(imageSizeOf(jpeg(9, 9, 300_000))).toBeUndefined()
    expect(imageSizeOf('%PDF-1.7 is no image')).toBeUndefined()
    expect(imageSizeOf('')).toBeUndefined()
  })
})

describe('an image with more pixels or bytes than the provider accepts', () => {
  const tall = part(png(300, 9_000))
  it.each<readonly [string, string, Part, string]>([
    [
      'anthropic',
      'pixels',
      tall,
      'it has 300 × 9000 pixels, and the provider accepts at most 8000 on a side',
    ],
    ['vertex', 'pixels', tall, 'it has 300 × 9000 pixels, and the provider accepts at most 8000 on a side'],
    ['bedrock', 'pixels', tall, 'it has 300 × 9000 pixels, and the provider accepts at most 8000 on a side'],
    // 10 MiB of base64 are 7,864,320 bytes; 5 MiB are 3,932,160.
    [
      'anthropic',
      'bytes',
      part(png(10, 10, 7_864_321)),
      'it has 7864321 bytes, and the provider accepts at most 7864320',
    ],
    [
      'vertex',
      'bytes',
      part(png(10, 10, 3_932_161)),
      'it has 3932161 bytes, and the provider accepts at most 3932160',
    ],
    [
      'bedrock',
      'bytes',
      part(png(10, 10, 3_750_001)),
      'it has 3750001 bytes, and the provider accepts at most 3750000',
    ],
    [
      'groq',
      'pixels in all',
      part(png(6_000, 6_000)),
      'it has 6000 × 6000 pixels, and the provider accepts at most 33177600 in all',
    ],
  ])('for %s (%s) is a text that says why', (provider, _, large, why) => {
    const rows = [user('look', large), assistant('ok'), user('x')]
    const rendered = render(rows, { provider })
    expect(first(rendered)).toEqual(text(`[image is not shown: ${why}]`))
    expect(rendered.mends).toEqual(['media-as-text m0'])
    expect(validateHistory(rendered.messages, provider)).toEqual([])
    expect(validateHistory(rows, provider).map(({ code }) => code)).toEqual(['UNREADABLE_MEDIA'])
  })

  it('stays when it is as large as the provider accepts, and for a provider without a limit', () => {
    const rows = [user('look', part(png(8_000, 8_000, 3_750_000)))]
    for (const provider of ['anthropic', 'vertex', 'bedrock'])
      expect(render(rows, { provider }).mends).toEqual([])
    for (const provider of ['openai', 'google-ai', 'mistral', 'nobody'])
      expect(render([user('look', tall)], { provider }).mends).toEqual([])
  })

  it('is resized where a function does it, also as bytes, as a data URL, as a file, and in the result of a tool', () => {
    const file = png(300, 9_000)
    const base64 = file.toString('base64')
    const smaller = png(266, 8_000)
    const forms: readonly (readonly [Part, Part])[] = [
      [tall, { type: 'image', image: smaller, mediaType: 'image/png' }],
      [
        { type: 'image', image: new Uint8Array(file) },
        { type: 'image', image: smaller, mediaType: 'image/png' },
      ],
      [
        { type: 'image', image: `data:image/png;base64,${base64}` },
        { type: 'image', image: smaller, mediaType: 'image/png' },
      ],
      [
        { type: 'file', data: base64, mediaType: 'image/png', filename: 'a.png' },
        { type: 'file', data: smaller, mediaType: 'image/png', filename: 'a.png' },
      ],
    ]
    for (const [large, sent] of forms) {
      const asked: unknown[] = []
      const resizeImage: ViewRenderOptions['resizeImage'] = ({ data, ...facts }) => {
        asked.push([Buffer.from(data).equals(file), facts.mediaType, facts.width, facts.height])
        asked.push([facts.maxWidth, facts.maxHeight, facts.maxBytes])
        return { data: smaller, mediaType: 'image/png' }
      }
      const rendered = render([user('look', large)], { resizeImage })
      expect(first(rendered)).toEqual(sent)
      expect(rendered.mends).toEqual(['image-resized m0'])
      expect(asked).toEqual([
        [true, 'image/png', 300, 9_000],
        [8_000, 8_000, 7_864_320],
      ])
      const output = { type: 'content' as const, value: [large as never] }
      const inResult = render([user('q'), assistant(call('a')), tool(result('a', output))], { resizeImage })
      expect(inResult.messages[2]!.content).toEqual([
        result('a', { type: 'content', value: [sent as never] }),
      ])
    }
  })

  it('is a text when the function returns nothing, or an image that is refused too', () => {
    const why = 'it has 300 × 9000 pixels, and the provider accepts at most 8000 on a side'
    expect(first(render([user('look', tall)], { resizeImage: () => undefined }))).toEqual(
      text(`[image is not shown: ${why}]`),
    )
    for (const data of [png(1, 8_001), png(1, 1, 7_864_321), 'PHN2Zz4=']) {
      const mediaType = data === 'PHN2Zz4=' ? 'image/svg+xml' : 'image/png'
      const rendered = render([user('look', tall)], { resizeImage: () => ({ data, mediaType }) })
      expect(first(rendered)).toEqual(
        text(`[image is not shown: ${why}; it was resized to what it does not accept]`),
      )
      expect(rendered.mends).toEqual(['media-as-text m0'])
    }
  })

  it('is reported when the function returns something else', () => {
    for (const wrong of [
      null,
      'x',
      {},
      { data: '', mediaType: 'image/png' },
      { data: 'aGk=', mediaType: 'text/plain' },
    ])
      expect(() => render([user('look', tall)], { resizeImage: (() => wrong) as never })).toThrow(
        /resizeImage/,
      )
    try {
      render([user('look', tall)], { resizeImage: 1 as never })
      expect.unreachable()
    } catch (error) {
      expect(isUndertextError(error, 'INVALID_INPUT')).toBe(true)
    }
  })

  it('has a limit of 2,000 pixels in a request of Claude with more than 20 images', () => {
    const wide = part(png(2_001, 10))
    const small = part(png(10, 10))
    const rows = (count: number): Row[] => [
      user('look', wide),
      ...Array.from({ length: count - 1 }, (): Row[] => [assistant('ok'), user('next', small)]).flat(),
    ]
    expect(render(rows(20)).mends).toEqual([])
    const many = render(rows(21))
    expect(many.mends).toEqual(['media-as-text m0'])
    expect(first(many)).toEqual(
      text(
        '[image is not shown: it has 2001 × 10 pixels, and the provider accepts at most 2000 on a side in a request with more than 20 images]',
      ),
    )
    // Those in results count too; what is not sent as an image does not.
    const output = { type: 'content' as const, value: Array.from({ length: 20 }, () => small) as never }
    expect(render([user('q', wide), assistant(call('a')), tool(result('a', output))]).mends).toEqual([
      'media-as-text m0',
    ])
    const icon: Part = { type: 'image', image: 'PHN2Zz4=', mediaType: 'image/svg+xml' }
    const icons = Array.from({ length: 20 }, () => icon)
    expect(render([user('look', wide, ...icons)]).mends).toEqual(Array(20).fill('media-as-text m0'))
    expect(first(render([user('look', wide, ...icons)]))).toEqual(wide)
  })

  it('is left alone where its header does not tell its size', () => {
    const rows = [user('look', part(jpeg(9_000, 9_000, 300_000), 'image/jpeg'))]
    expect(render(rows).mends).toEqual([])
  })

  it('that is no image but a document too large for Converse is a text', () => {
    const data = Buffer.alloc(4_500_001, '%PDF-').toString('base64')
    const pdf: Part = { type: 'file', data, mediaType: 'application/pdf', filename: 'a.pdf' }
    expect(first(render([user('look', pdf)], { provider: 'bedrock' }))).toEqual(
      text('[file a.pdf is not shown: it has 4500001 bytes, and the provider accepts at most 4500000]'),
    )
    expect(render([user('look', pdf)]).mends).toEqual([])
  })
})
