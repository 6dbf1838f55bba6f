import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openStore, type Part } from '../../src/index.ts'

/** A part with media, and the figures that it has: images, bytes of base64, images above 2,000 pixels. */
type Case = readonly [part: Part, images: number, bytes: number, large: number]

/** A PNG's header with its pixels, followed by other bytes. */
function png(width: number, rest: number): Buffer {
  const bytes = Buffer.concat([
    Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
    Buffer.alloc(8 + rest),
  ])
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(1, 20)
  return bytes
}
/** Four characters for each three bytes, and for what is left of them. */
const encoded = (bytes: number): number => Math.floor((bytes + 2) / 3) * 4
const lines = (base64: string): string => base64.replace(/.{76}/g, '$&\r\n')

const image = fc
  .record({
    width: fc.constantFrom(1, 2_000, 2_001, 9_000),
    rest: fc.integer({ min: 0, max: 500 }),
    as: fc.constantFrom('bytes', 'base64', 'lines', 'data URL', 'file', 'URL', 'document'),
  })
  .map(({ width, rest, as }): Case => {
    const bytes = png(width, rest)
    const base64 = bytes.toString('base64')
    const large = width > 2_000 ? 1 : 0
    const length = encoded(24 + rest)
    switch (as) {
      case 'bytes':
        return [{ type: 'image', image: new Uint8Array(bytes) }, 1, length, large]
      case 'base64':
        return [{ type: 'image', image: base64 }, 1, length, large]
      case 'lines':
        // They are sent as they are: two characters for each 76.
        return [{ type: 'image', image: lines(base64) }, 1, length + 2 * Math.floor(length / 76), large]
      case 'data URL':
        return [{ type: 'image', image: `data:image/png;base64,${base64}` }, 1, length + 22, large]
      case 'file':
        return [{ type: 'file', data: base64, mediaType: 'image/png' }, 1, length, large]
      case 'URL':
        return [{ type: 'image', image: `https://example.com/${width}.png` }, 1, 0, 0]
      default:
        // A document.
        return [{ type: 'file', data: base64, mediaType: 'application/pdf' }, 0, length, 0]
    }
  })

it('the figures of media are the sum of those of each part, however it is given, in messages and tool results', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(image, { minLength: 1, maxLength: 12 }), async (cases) => {
      await using store = await openStore(':memory:')
      const parts = cases.map(([part]) => part)
      const value = parts as Extract<Part, { type: 'image' | 'file' }>[]
      await store.append('s', [
        { role: 'user', content: parts },
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} }] },
        {
          role: 'tool',
          content: [
            { type: 'tool-result', toolCallId: 'a', toolName: 'look', output: { type: 'content', value } },
          ],
        },
      ])
      const sum = (at: 1 | 2 | 3): number => 2 * cases.reduce((all, one) => all + one[at], 0)
      expect((await store.getContextStats('s'))!.sizes).toMatchObject({
        images: sum(1),
        mediaBytes: sum(2),
        largeImages: sum(3),
      })
      // Repair counts anew, and finds nothing to change.
      expect((await store.sessions.verify('s', { repair: true })).findings).toEqual([])
    }),
    { numRuns: 60 },
  )
})
