import { describe, expect, test } from 'vitest'
import { toAnthropic } from '../../../src/adapters/anthropic/index.ts'
import type { NewMessage, Part, Store } from '../../../src/index.ts'
import { call, say } from '../../support/conversation.ts'
import { randomFrom } from '../../support/random.ts'
import { appendAll, type Contract, S } from './support.ts'

/** Base64 of `bytes` bytes, a multiple of three: four characters for each three. */
const base64 = (bytes: number): string => Buffer.alloc(bytes, 'picture').toString('base64')
const picture = (bytes = 3): NewMessage => ({
  role: 'user',
  content: [{ type: 'image', image: base64(bytes), mediaType: 'image/png' }],
})
const screenshot = (id: string, bytes: number): NewMessage => ({
  role: 'tool',
  content: [
    {
      type: 'tool-result',
      toolCallId: id,
      toolName: 'look',
      output: {
        type: 'content',
        value: [
          { type: 'text', text: 'The page.' },
          { type: 'image', image: base64(bytes), mediaType: 'image/png' },
        ],
      },
    },
  ],
})
/** So many pictures, each with an answer. */
const pictures = (count: number, bytes?: number): NewMessage[] =>
  Array.from({ length: count }, () => [picture(bytes), say('assistant', 'seen')]).flat()

/** A PNG's header, which states its pixels, and no image: 24 bytes. */
const png = (width: number, height: number): Uint8Array => {
  const bytes = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR........', 'latin1')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}
/** An image of so many pixels, and an answer. */
const sized = (width: number, height = 10): NewMessage[] => [
  { role: 'user', content: [{ type: 'image', image: png(width, height), mediaType: 'image/png' }] },
  say('assistant', 'seen'),
]
const some = <T>(count: number, make: () => readonly T[]): T[] => Array.from({ length: count }, make).flat()

const claude = { provider: 'anthropic', model: 'claude-opus-5' }
const mistral = { provider: 'mistral', model: 'pixtral-large' }

/** The positions of messages that show an image. */
async function shownImages(store: Store): Promise<number[]> {
  const view = await store.getEffectiveHistory(S)
  return view.flatMap(({ content, position }) =>
    JSON.stringify(content).includes('"type":"image"') ? [position!] : [],
  )
}

/** Images and base64 of a request as Anthropic receives it. */
async function onTheWire(store: Store): Promise<{ images: number; mediaBytes: number }> {
  const { messages } = await store.renderHistory(S, { provider: 'anthropic' })
  const sum = { images: 0, mediaBytes: 0 }
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { type, source } = value as { type?: unknown; source?: { data?: string } }
    if (type === 'image') {
      sum.images += 1
      sum.mediaBytes += source?.data?.length ?? 0
      return
    }
    for (const one of Object.values(value)) visit(one)
  }
  visit(toAnthropic(messages).messages)
  return sum
}

export function describeMedia({ open, keeps }: Contract): void {
  describe('images and bytes', () => {
    test('are counted: base64 of images and files, no bytes of URLs, no media in a text file', async () => {
      const store = await open()
      const content: Part[] = [
        { type: 'image', image: base64(300) }, // 400
        { type: 'image', image: 'https://example.com/a.png' }, // an image without bytes
        { type: 'file', data: new Uint8Array(6), mediaType: 'application/pdf' }, // 8
        { type: 'file', data: base64(30), mediaType: 'image/jpeg' }, // 40, an image
        { type: 'file', data: 'words of a file', mediaType: 'text/plain' },
      ]
      await appendAll(store, [{ role: 'user', content }, call('a', 'look'), screenshot('a', 3_000)]) // 4,000
      const stats = (await store.getContextStats(S, 'anthropic', 'claude-sonnet-4-20250514'))!
      expect(stats.sizes).toMatchObject({ images: 4, mediaBytes: 4_448 })
      expect(stats.images).toEqual({ used: 4, limit: 100 })
      // All tokens but those of the media are text, at four bytes each.
      const text = 4 * (stats.estimatedInputTokens - stats.sizes.media)
      expect(stats.bytes).toEqual({ used: 4_448 + text, limit: 32_000_000 })
      const unknown = (await store.getContextStats(S, 'acme', 'one'))!
      expect(unknown.images).toEqual({ used: 4 })
      expect(unknown.bytes.limit).toBeUndefined()
    })

    test('make compaction due when they reach the threshold, and a request too large above the limit', async () => {
      const store = await open()
      // Mistral accepts 8 images: due at 80 %, from 7 on.
      await appendAll(store, pictures(6))
      expect(await store.getContextStats(S, 'mistral')).toMatchObject({ shouldCompact: false })
      await appendAll(store, pictures(1))
      expect(await store.needsCompaction(S, 'mistral')).toBe(true)
      expect(await store.getContextStats(S, 'mistral')).toMatchObject({
        shouldCompact: true,
        withinBudget: true,
        images: { used: 7, limit: 8 },
      })
      await appendAll(store, pictures(2))
      expect(await store.getContextStats(S, 'mistral')).toMatchObject({ withinBudget: false })
      expect(await store.getContextStats(S, 'acme')).toMatchObject({ shouldCompact: false })
    })
  })

  describe('large images', () => {
    test('are those with a side above 2,000 pixels, in messages, files, tool results, and as bytes, base64 or data URL', async () => {
      const store = await open()
      const encoded = Buffer.from(png(10, 2_001)).toString('base64')
      const content: Part[] = [
        { type: 'image', image: png(2_001, 10) }, // large
        { type: 'image', image: png(2_000, 2_000) },
        { type: 'image', image: encoded }, // large
        { type: 'image', image: `data:image/png;base64,${encoded}` }, // large
        { type: 'file', data: png(9_000, 1), mediaType: 'image/png' }, // large
        { type: 'file', data: png(9_000, 1), mediaType: 'application/pdf' },
        { type: 'image', image: 'https://example.com/9000x9000.png' },
      ]
      const result: NewMessage = {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'a',
            toolName: 'look',
            output: { type: 'content', value: [{ type: 'image', image: png(2_560, 1_440) }] }, // large
          },
        ],
      }
      await appendAll(store, [{ role: 'user', content }, call('a', 'look'), result, say('assistant', 'ok')])
      const stats = (await store.getContextStats(S))!
      expect(stats.sizes).toMatchObject({ images: 7, largeImages: 5 })
      // Pruning the result takes its image out of the figures; undo adds it again.
      const run = (await store.compactSession(S, {
        stages: ['prune'],
        pruneProtectTokens: 0,
        pruneMinimumSavings: 0,
        targetTokens: 0,
      }))!
      expect(run.compacted).toBe(true)
      expect((await store.getContextStats(S))!.sizes).toMatchObject({ images: 6, largeImages: 4 })
      await store.undoCompaction(S, run.runId)
      expect((await store.getContextStats(S))!.sizes).toEqual(stats.sizes)
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    test('lower the limit of Claude to 20 images, and of no other model', async () => {
      const store = await open()
      await appendAll(
        store,
        some(15, () => sized(2_000)),
      )
      const stats = async (model: object) =>
        (await store.getContextStats(S, ...(Object.values(model) as [string, string])))!
      expect((await stats(claude)).images).toEqual({ used: 15, limit: 600 })
      await appendAll(store, sized(2_001))
      expect(await stats(claude)).toMatchObject({ images: { used: 16, limit: 20 }, shouldCompact: true })
      await appendAll(
        store,
        some(5, () => sized(10)),
      )
      expect(await stats(claude)).toMatchObject({ images: { used: 21, limit: 20 }, withinBudget: false })
      const gemini = { provider: 'google', model: 'gemini-3-pro' }
      expect(await stats(gemini)).toMatchObject({ images: { used: 21, limit: 3_600 }, shouldCompact: false })
      expect(
        await store.getContextStats(S, ...(Object.values(claude) as [string, string]), {
          pendingMedia: { images: 1, bytes: 0 },
        }),
      ).toMatchObject({ images: { used: 22, limit: 20 } })
    })

    test('alone are shown as a text where that is enough and changes less', async () => {
      const store = await open()
      // Positions 1 to 23 without pixels above 2,000, then two with them, at 25 and 27, then five more: 19 images.
      await appendAll(store, [
        ...some(12, () => sized(100)),
        ...some(2, () => sized(2_560, 1_440)),
        ...some(5, () => sized(100)),
      ])
      const run = (await store.compactSession(S, { ...claude, trigger: 'auto' }))!
      expect(run.stagesUsed).toEqual(['media'])
      const hidden = [25, 27]
      const all = Array.from({ length: 19 }, (_, index) => 2 * index + 1)
      expect(await shownImages(store)).toEqual(all.filter((position) => !hidden.includes(position)))
      expect(await store.getContextStats(S, 'anthropic', 'claude-opus-5')).toMatchObject({
        shouldCompact: false,
      })
    })

    test('that must stay reduce all images to two fifths of 20, newest kept', async () => {
      const store = await open()
      // A screen of a high resolution: all images are large.
      await appendAll(
        store,
        some(30, () => sized(2_560, 1_440)),
      )
      const run = (await store.compactSession(S, { ...claude, trigger: 'auto' }))!
      expect(run.fits).toBe(true)
      expect(await shownImages(store)).toEqual([45, 47, 49, 51, 53, 55, 57, 59])
    })
  })

  describe('the stage media', () => {
    test('shows a text in place of the oldest down to the target; the newest and pinned ones stay', async () => {
      const store = await open()
      const [first] = await appendAll(store, pictures(8))
      await store.messages.pin(S, [first!])
      const run = (await store.compactSession(S, { ...mistral, trigger: 'auto' }))!
      expect(run.stagesUsed).toEqual(['media'])
      expect(run.fits).toBe(true)
      // Two fifths of 8 are 3. The first is pinned, and of positions 3, 5 … 15 the last three stay.
      expect(await shownImages(store)).toEqual([1, 11, 13, 15])
      const view = await store.getEffectiveHistory(S)
      expect(view[2]!.content).toEqual([
        {
          type: 'text',
          text: "[image image/png, 1 KB, position 3: no longer sent, to stay within the provider's limits. It is still stored; read_history at position 3 returns the messages around it.]",
        },
      ])
      expect(await store.getContextStats(S, 'mistral')).toMatchObject({ shouldCompact: false })
    })

    test('leaves a history alone whose tokens alone are due, and acts on images alone with few tokens', async () => {
      const store = await open()
      await appendAll(store, [
        ...pictures(5),
        ...Array.from({ length: 40 }, () => say('user', 'x'.repeat(4_000))),
      ])
      const tokens = (await store.compactSession(S, { ...mistral, trigger: 'auto', targetTokens: 10_000 }))!
      expect(tokens.stagesUsed).not.toContain('media')
      const other = await open()
      // Above the target of tokens, below the threshold: only the images are due.
      await appendAll(other, [...pictures(8), say('user', 'x'.repeat(4_000)), say('assistant', 'ok')])
      const images = (await other.compactSession(S, { ...mistral, trigger: 'auto', targetTokens: 500 }))!
      expect(images.stagesUsed).toEqual(['media'])
    })

    test('keeps the text of a tool result, and the images of the current turn', async () => {
      const store = await open()
      await appendAll(store, [
        say('user', 'look'),
        call('a', 'look'),
        screenshot('a', 30),
        say('assistant', 'seen'),
        ...pictures(1),
        picture(),
        picture(),
        picture(),
        picture(),
      ])
      await store.compactSession(S, { ...mistral, trigger: 'auto', mediaLimits: { images: 7 } })
      // Of six images two are the target; the four after the last answer have not been seen.
      expect(await shownImages(store)).toEqual([7, 8, 9, 10])
      const result = (await store.getEffectiveHistory(S))[2]!.content[0] as { output: { value: string } }
      expect(result.output.value).toMatch(/^The page\.\n\[image image\/png, 1 KB, position 3: /)
    })

    test('replaces even the newest when the request would be refused, and none when asked to keep all', async () => {
      const store = await open()
      // Three times 4 MB of base64 against 9 MB: two of them fit.
      await appendAll(store, pictures(3, 3_000_000))
      const small = { provider: 'acme', mediaLimits: { bytes: 9_000_000 }, trigger: 'auto' as const }
      await store.compactSession(S, small)
      expect(await shownImages(store)).toEqual([3, 5])
      const stage = { stage: 'media', keep: 5 }
      expect((await store.compactSession(S, { stages: [stage] }))!.compacted).toBe(false)
      expect((await store.compactSession(S, { stages: [{ ...stage, keep: 1 }] }))!.compacted).toBe(true)
      expect(await shownImages(store)).toEqual([5])
      await store.compactSession(S, { stages: [{ ...stage, keep: 0 }] })
      expect(await shownImages(store)).toEqual([])
    })

    test('a preview shows the same, and undo and redo are exact, byte for byte', async () => {
      const store = await open()
      await appendAll(store, pictures(8, 30))
      const before = JSON.stringify(await store.getEffectiveHistory(S))
      const stats = await store.getContextStats(S, 'mistral')
      const preview = (await store.previewCompaction(S, { ...mistral, trigger: 'auto' }))!
      const run = (await store.compactSession(S, preview))!
      expect(run.messages).toEqual(preview.messages)
      // 30 bytes are 40 of base64.
      const change = { imagesBefore: 8, imagesAfter: 3, mediaBytesBefore: 320, mediaBytesAfter: 120 }
      expect([run, preview]).toMatchObject([change, change])
      const after = JSON.stringify(await store.getEffectiveHistory(S))
      await store.undoCompaction(S, run.runId)
      expect(JSON.stringify(await store.getEffectiveHistory(S))).toBe(before)
      const { sizes, images, bytes } = (await store.getContextStats(S, 'mistral'))!
      expect({ sizes, images, bytes }).toEqual({
        sizes: stats!.sizes,
        images: stats!.images,
        bytes: stats!.bytes,
      })
      await store.redoCompaction(S, run.runId)
      expect(JSON.stringify(await store.getEffectiveHistory(S))).toBe(after)
    })

    test('after any sequence the figures are those of the request on the wire, counted anew', async () => {
      for (let round = 0; round < 6; round++) {
        const store = await open()
        const random = randomFrom(round)
        const upTo = (end: number): number => Math.floor(random() * end)
        const runs: { id: string; undone: boolean }[] = []
        let calls = 0
        for (let step = 0; step < 25; step++) {
          const bytes = 3 * (1 + upTo(900))
          const what = upTo(7)
          if (what === 0) await appendAll(store, [picture(bytes), say('assistant', 'seen')])
          else if (what === 1) {
            const id = `c${calls++}`
            await appendAll(store, [
              say('user', 'look'),
              call(id, 'look'),
              screenshot(id, bytes),
              say('assistant', 'ok'),
            ])
          } else if (what === 2)
            await appendAll(store, [say('user', 'x'.repeat(bytes)), say('assistant', 'ok')])
          else if (what <= 4) {
            const stage = what === 3 ? { stage: 'media', keep: upTo(4) } : 'truncate'
            const run = await store.compactSession(S, { stages: [stage], targetTokens: 3_000 })
            if (run?.compacted) runs.push({ id: run.runId, undone: false })
          } else {
            const run = runs.at(-1)
            if (run === undefined) continue
            if (run.undone) await store.redoCompaction(S, run.id)
            else await store.undoCompaction(S, run.id)
            run.undone = !run.undone
          }
          const stats = await store.getContextStats(S, 'anthropic')
          if (stats === null) continue
          const { images, mediaBytes } = stats.sizes
          expect({ images, mediaBytes }, `round ${round}, step ${step}`).toEqual(await onTheWire(store))
        }
        if (keeps.verify && runs.length > 0) expect((await store.sessions.verify(S)).findings).toEqual([])
      }
    })
  })
}
