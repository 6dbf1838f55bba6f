import { describe, expect, it, vi } from 'vitest'
import { type Part, partsOf } from '../../src/core/messages/message.ts'
import { openStore, type ResizeStoredImage } from '../../src/index.ts'
import { png } from '../support/image-files.ts'

const large = png(300, 9_000)
const smaller = png(266, 8_000)
const asked: Part[] = [
  { type: 'text', text: 'look' },
  { type: 'image', image: large.toString('base64'), mediaType: 'image/png' },
]
const options = { provider: 'anthropic', model: 'claude-sonnet-4-5' } as const

function imagesOf(messages: readonly { readonly content: string | readonly Part[] }[]): unknown[] {
  return messages.flatMap((message) =>
    partsOf(message).flatMap((part) =>
      part.type === 'image' ? [Buffer.from(part.image as Uint8Array)] : [],
    ),
  )
}

describe('images that the application resizes', () => {
  it('are asked for once while a store is open, and are the same in each request, view and record', async () => {
    const resize = vi.fn<ResizeStoredImage>(async () => ({ data: smaller, mediaType: 'image/png' }))
    const store = await openStore(':memory:', { resizeImage: resize })
    await store.append('s', [
      { role: 'user', content: asked },
      { role: 'assistant', content: 'ok' },
    ])
    const requests = await Promise.all(
      [1, 2].map(() => store.prepareRequest('s', { ...options, prompt: 'next' })),
    )
    const later = await store.prepareRequest('s', { ...options, prompt: 'again' })
    const rendered = await store.renderHistory('s', { provider: 'anthropic' })
    for (const { messages, mends } of [...requests, later, rendered]) {
      expect(imagesOf(messages)).toEqual([smaller])
      expect(mends).toEqual([{ kind: 'image-resized', messageId: expect.any(String) }])
    }
    expect(resize).toHaveBeenCalledTimes(1)
    const recorded = await store.recordResponse('s', {
      request: later,
      messages: [{ role: 'assistant', content: 'done' }],
    })
    const again = await store.requests.get('s', recorded.requestId!)
    expect(again.matches).toBe(true)
    expect(imagesOf(again.messages)).toEqual([smaller])
    expect(structuredClone(later.rendering)).toEqual(later.rendering)
    // The log is as it was.
    const [stored] = await store.getMessages('s')
    expect(stored!.content).toEqual(asked)
    await store.close()
  })

  it('in a prompt are resized as well', async () => {
    const store = await openStore(':memory:', {
      resizeImage: () => ({ data: smaller, mediaType: 'image/png' }),
    })
    const { messages } = await store.prepareRequest('s', {
      ...options,
      prompt: { role: 'user', content: asked },
    })
    expect(imagesOf(messages)).toEqual([smaller])
    await store.close()
  })

  it('for a model that binds its reasoning are resized as well', async () => {
    const store = await openStore(':memory:', {
      resizeImage: () => ({ data: smaller, mediaType: 'image/png' }),
    })
    await store.append('s', [{ role: 'user', content: asked }])
    const bound = { provider: 'anthropic', model: 'claude-opus-5-5' }
    const { messages } = await store.prepareRequest('s', { ...bound, prompt: 'next' })
    expect(imagesOf(messages)).toEqual([smaller])
    await store.sessions.update('s', bound)
    expect(imagesOf((await store.renderHistory('s')).messages)).toEqual([smaller])
    await store.close()
  })

  it.each<readonly [string, ResizeStoredImage]>([
    ['cannot', () => undefined],
    [
      'fails',
      () => {
        throw new TypeError('no decoder')
      },
    ],
  ])('are a text in each request when the function %s, which is called once', async (_, given) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const resize = vi.fn(given)
    const store = await openStore(':memory:', { resizeImage: resize })
    await store.append('s', [
      { role: 'user', content: asked },
      { role: 'assistant', content: 'ok' },
    ])
    for (const prompt of ['one', 'two']) {
      const { messages, mends } = await store.prepareRequest('s', { ...options, prompt })
      expect(JSON.stringify(messages[0])).toContain('[image is not shown: it has 300 × 9000 pixels')
      expect(mends).toEqual([{ kind: 'media-as-text', messageId: expect.any(String) }])
    }
    expect(resize).toHaveBeenCalledTimes(1)
    expect(JSON.stringify(warned.mock.calls)).not.toContain('no decoder')
    warned.mockRestore()
    await store.close()
  })

  it('are reported when the function returns something else', async () => {
    const store = await openStore(':memory:', { resizeImage: () => 'x' as never })
    await store.append('s', [{ role: 'user', content: asked }])
    await expect(store.prepareRequest('s', { ...options, prompt: 'x' })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
    await store.close()
    await expect(openStore(':memory:', { resizeImage: 1 as never })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
  })
})
