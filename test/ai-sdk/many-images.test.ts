import { generateText, type UIMessage, wrapLanguageModel } from 'ai'
import { beforeAll, expect, it } from 'vitest'
import { chatStore, undertext } from '../../src/adapters/ai-sdk/index.ts'
import { type NewMessage, openStore, type Store } from '../../src/index.ts'
import { type CallOptions, scripted, text } from './models.ts'

/* A session of 105 screenshots and 34 MB, which Claude refuses with less than a tenth of its window used. */

const IMAGES = 105
/** 325,000 bytes of base64. */
const BYTES = 243_750
const LIMITS = { images: 100, bytes: 32_000_000 }

const screenshots: NewMessage[] = []
beforeAll(() => {
  for (let at = 0; at < IMAGES; at++) {
    const image = Buffer.alloc(BYTES, `screen ${at} `).toString('base64')
    screenshots.push({ role: 'user', content: [{ type: 'image', image, mediaType: 'image/png' }] })
    screenshots.push({ role: 'assistant', content: `seen ${at}` })
  }
})

/** A store with the session, its third image pinned. */
async function filled(id: string): Promise<Store> {
  const store = await openStore(':memory:', { config: { mediaLimits: LIMITS } })
  const { messages } = await store.append(id, screenshots)
  await store.messages.pin(id, [messages[4]!.id])
  return store
}

/** The bytes of the images of a request, by their beginnings. */
function imagesIn({ prompt }: CallOptions): { readonly first: string; readonly bytes: number }[] {
  return prompt.flatMap(({ content }) =>
    typeof content === 'string'
      ? []
      : content.flatMap((part) => {
          if (part.type !== 'file') return []
          const data =
            typeof part.data === 'string'
              ? part.data
              : Buffer.from(part.data as Uint8Array).toString('base64')
          return [
            { first: Buffer.from(data.slice(0, 16), 'base64').toString().slice(0, 10), bytes: data.length },
          ]
        }),
  )
}

function expectWithin(call: CallOptions): void {
  const images = imagesIn(call)
  expect(images.length).toBeLessThanOrEqual(LIMITS.images)
  expect(images.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(LIMITS.bytes)
  const shown = images.map(({ first }) => first)
  expect(shown[0]).toMatch(/^screen 2 /)
  expect(shown.at(-1)).toMatch(/^screen 104/)
}

async function expectUndone(store: Store, id: string): Promise<void> {
  const [compaction] = await store.listCompactions(id)
  await store.undoCompaction(id, compaction!.runId)
  expect((await store.getContextStats(id))!.images.used).toBe(IMAGES)
  expect((await store.sessions.verify(id)).findings).toEqual([])
}

it('the middleware sends what the provider accepts: newest and pinned kept, the same bytes in the next request', async () => {
  await using store = await filled('s')
  const model = scripted([[text('one')], [text('two')]])
  const wrapped = wrapLanguageModel({ model, middleware: undertext(store, 's') })
  await generateText({ model: wrapped, messages: [{ role: 'user', content: 'And now?' }] })
  await generateText({ model: wrapped, messages: [{ role: 'user', content: 'And then?' }] })
  const [first, second] = model.calls as [CallOptions, CallOptions]
  expectWithin(first)
  const begins = first.prompt.map((message) => JSON.stringify(message))
  expect(second.prompt.slice(0, begins.length).map((message) => JSON.stringify(message))).toEqual(begins)
  await expectUndone(store, 's')
})

it('so does a turn of the chat store', async () => {
  const id = 'chat'
  await using store = await filled(id)
  const model = scripted([[text('one')]])
  const message: UIMessage = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'And now?' }] }
  const turn = await chatStore<UIMessage>(store).resume({ id, message }, { model })
  await generateText({ model: turn.model, messages: turn.messages })
  expectWithin(model.calls[0] as CallOptions)
  await expectUndone(store, id)
})
