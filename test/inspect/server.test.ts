import { gunzipSync } from 'node:zlib'
import { PGlite } from '@electric-sql/pglite'
import { afterEach, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { inspector } from '../../src/inspect/index.ts'
import { CHANGES, READS } from '../../src/inspect/verbs.ts'
import { waitFor } from '../../src/inspect/watch.ts'
import { gif, jpeg, png } from '../support/image-files.ts'
import { newFile } from '../support/temporary.ts'
import { call, eventsOf, get, ORIGIN, post } from './requests.ts'

/* The handler of the inspector, called as a web framework calls it. */

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

async function newStore(path = ':memory:', options: object = {}): Promise<Store> {
  const store = (await openStore(path as string, { env: false, ...options })) as Store
  open.push(store)
  return store
}

const TALK = [
  { role: 'user', content: 'Where is the kettle?' },
  { role: 'assistant', content: 'In the kitchen.' },
] as const

async function talkingStore(): Promise<Store> {
  const store = await newStore()
  await store.append('talk', TALK)
  return store
}

describe('calls', () => {
  it('reach every method that the page may call, and each is a method of the store', async () => {
    const handle = inspector(await talkingStore())
    for (const verb of [...READS, ...CHANGES]) {
      const { error } = await call(handle, verb, [])
      expect([verb, error?.code]).not.toEqual([verb, 'UNKNOWN_VERB'])
    }
  })

  it('return at most 1,000 messages at once, of sessions of any length', async () => {
    const store = await newStore()
    await store.append(
      'long',
      Array.from({ length: 1_005 }, () => TALK[0]),
    )
    const handle = inspector(store)
    const countOf = async (...args: unknown[]) =>
      ((await call(handle, 'getMessages', ['long', ...args])).value as unknown[]).length
    expect(await countOf()).toBe(1_000)
    expect(await countOf({ limit: 2_000 })).toBe(1_000)
    expect(await countOf({ after: 1_000 })).toBe(5)
    expect(await countOf({ limit: 3 })).toBe(3)
    expect((await call(handle, 'getMessages', ['long', { limit: 'all' }])).error?.code).toBe('INVALID_INPUT')
  })

  it.each([
    'purge',
    'sessions.purge',
    'privacy.eraseOwner',
    'append',
    'close',
    'backup',
    'forOwner',
    'on',
    '__proto__',
    'constructor',
    'constructor.constructor',
    'sessions.constructor',
    'sessions.__proto__',
    'sessions.hasOwnProperty',
    'toString',
    'messages',
    'sessions.list.call',
    'SESSIONS.LIST',
    '',
    '.',
  ])('of %j, which is no method of the page, are answered with 404', async (verb) => {
    const { status, error } = await call(inspector(await talkingStore()), verb, ['talk'])
    expect([status, error!.code]).toEqual([404, 'UNKNOWN_VERB'])
  })

  it('return what the store returns', async () => {
    const store = await talkingStore()
    const { value } = await call(inspector(store), 'getMessages', ['talk', { limit: 1 }])
    expect(value).toEqual(JSON.parse(JSON.stringify(await store.getMessages('talk', { limit: 1 }))))
  })

  it('read null as an omitted argument, and pass the null of a field on', async () => {
    const store = await talkingStore()
    const handle = inspector(store)
    const stats = await call(handle, 'getContextStats', ['talk', null, null, { system: 'Be brief.' }])
    expect(stats.value).toMatchObject({ provider: 'openai' })
    await call(handle, 'sessions.update', ['talk', { title: 'Kettle' }])
    const { value } = await call(handle, 'sessions.update', ['talk', { title: null }])
    expect([value.id, value.title]).toEqual(['talk', undefined])
  })

  it('are checked by the store, whose errors have a status, a code and facts', async () => {
    const handle = inspector(await talkingStore())
    const wrong = await call(handle, 'getMessages', ['talk', { limit: -1 }])
    expect([wrong.status, wrong.error!.code]).toEqual([400, 'INVALID_INPUT'])
    const unknown = await call(handle, 'getMessages', ['walk'])
    expect([unknown.status, unknown.error]).toMatchObject([
      404,
      { code: 'SESSION_NOT_FOUND', facts: { sessionId: 'walk' } },
    ])
    const [one] = (await call(handle, 'getMessages', ['talk'])).value
    const conflict = await call(handle, 'undoCompaction', ['talk', one.id])
    expect([conflict.status, conflict.error!.code]).toEqual([404, 'COMPACTION_NOT_FOUND'])
  })

  it('that fail in the code of others tell nothing of it', async () => {
    const broken = new Error('the kettle is in the kitchen')
    const store = Object.assign(Object.create(await talkingStore()), {
      getMessages: () => Promise.reject(broken),
      sessions: {},
    })
    const { status, error } = await call(inspector(store), 'getMessages', ['talk'])
    expect([status, error!.code]).toEqual([500, 'INTERNAL'])
    expect(JSON.stringify(error)).not.toContain('kettle')
  })

  it('name the actor of the inspector in the audit, whatever actor the caller names', async () => {
    const store = await newStore()
    await store.append(
      'talk',
      TALK.map(({ role, content }) => ({ role, content: content.repeat(50) })),
    )
    const handle = inspector(store, { actor: 'operator' })
    const [first] = await store.getMessages('talk')
    await call(handle, 'messages.pin', ['talk', [first!.id]])
    await call(handle, 'messages.unpin', ['talk', [first!.id], { actor: 'ann' }])
    await call(handle, 'sessions.fork', ['talk', null])
    await call(handle, 'compactSession', ['talk', { range: { from: 1, to: 2 }, summary: 'K', actor: 'ann' }])
    await call(handle, 'undoCompaction', ['talk', { ifFits: { kinds: ['condense'], actor: 'ann' } }])
    await call(handle, 'rewind', ['talk', { from: 'start', actor: 'ann' }])
    const entries = await store.sessions.audit('talk')
    expect(entries.map(({ event, actor }) => [event, actor])).toEqual([
      ['pinned', 'operator'],
      ['unpinned', 'operator'],
      ['forked', 'operator'],
      ['created', 'operator'],
      ['undone', 'operator'],
      ['created', 'operator'],
    ])
  })

  it.each([
    ['rewind', { from: 'end', append: [{ role: 'system', content: 'Obey.' }] }, 'append'],
    ['rewind', { from: 'start', operationId: 'x' }, 'operationId'],
    ['sessions.update', { title: 'T', owner: 'bob' }, 'owner'],
    ['sessions.update', { config: { retention: { sessions: { olderThanDays: 0 } } } }, 'config'],
    ['sessions.update', { metadata: {} }, 'metadata'],
    ['sessions.update', { provider: 'google', model: 'gemini-3-pro' }, 'provider'],
  ])('write no messages, settings or owners: %s with %j', async (verb, options, field) => {
    const store = await talkingStore()
    const before = await store.sessions.list()
    for (const session of ['talk', 'new']) {
      const { status, error } = await call(inspector(store), verb, [session, options])
      expect([status, error!.code, error!.message]).toEqual([
        400,
        'INVALID_INPUT',
        expect.stringContaining(`"${field}"`),
      ])
    }
    expect(await store.sessions.list()).toEqual(before)
  })

  it('must be JSON', async () => {
    const handle = inspector(await talkingStore())
    const body = JSON.stringify({ verb: 'sessions.list', args: [] })
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''])
      expect((await post(handle, '/call', body, { 'content-type': type })).status).toBe(415)
    expect(
      (await post(handle, '/call', body, { 'content-type': 'application/json; charset=utf-8' })).status,
    ).toBe(200)
    for (const bad of [
      '{',
      '',
      'null',
      '[]',
      '"x"',
      '{"verb":"sessions.list"}',
      '{"verb":["sessions.list"],"args":[]}',
    ])
      expect((await post(handle, '/call', bad)).status, bad).toBe(400)
    expect((await post(handle, '/call', `${'['.repeat(100_000)}${']'.repeat(100_000)}`)).status).toBe(400)
  })

  it('of more than 1 MB are refused, whatever length they announce', async () => {
    const handle = inspector(await talkingStore())
    const body = JSON.stringify({ verb: 'search', args: ['x'.repeat(1_000_001)] })
    expect((await post(handle, '/call', body)).status).toBe(413)
    expect((await post(handle, '/call', '{}', { 'content-length': '1000001' })).status).toBe(413)
    let sent = 0
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += 100_000
        controller.enqueue(new Uint8Array(100_000).fill(0x20))
      },
    })
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: stream,
      duplex: 'half' as const,
    }
    expect((await handle(new Request(`${ORIGIN}/call`, init))).status).toBe(413)
    expect(sent).toBeLessThan(2_000_000)
  })

  it('that are aborted end the compaction', async () => {
    const abort = new AbortController()
    const store = await newStore(':memory:', {
      summarizer: {
        name: 'slow',
        usesModel: true,
        summarize: () => {
          abort.abort()
          return new Promise(() => {})
        },
      },
    })
    await store.append(
      'talk',
      Array.from(
        { length: 20 },
        (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: 'x '.repeat(500) }) as const,
      ),
    )
    const request = new Request(`${ORIGIN}/call`, {
      method: 'POST',
      signal: abort.signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ verb: 'compactSession', args: ['talk', { range: { from: 1, to: 10 } }] }),
    })
    const response = await inspector(store)(request)
    expect(((await response.json()) as { error: { code: string } }).error.code).toBe('ABORTED')
  })
})

describe('long texts', () => {
  it('are cut at 20,000 characters, and the row says how many are left out', async () => {
    const store = await newStore()
    await store.append('talk', [
      { role: 'user', content: 'x'.repeat(20_000) },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'y'.repeat(20_010) },
          { type: 'text', text: 'z'.repeat(20_005) },
        ],
      },
    ])
    const handle = inspector(store)
    const { value } = await call(handle, 'getMessages', ['talk'])
    expect([value[0].content.length, value[0].shortened]).toEqual([20_000, undefined])
    expect([value[1].content[0].text.length, value[1].content[1].text.length, value[1].shortened]).toEqual([
      20_000, 20_000, 15,
    ])
    const whole = await call(handle, 'getMessages', ['talk'], { whole: true })
    expect([whole.value[1].content[0].text.length, whole.value[1].shortened]).toEqual([20_010, undefined])
  })

  it('are not cut within a surrogate pair', async () => {
    const store = await newStore()
    await store.append('talk', [{ role: 'user', content: `${'x'.repeat(19_999)}😀 end` }])
    const { value } = await call(inspector(store), 'getMessages', ['talk'])
    // The pair and the four characters after it.
    expect([value[0].content.length, value[0].content.isWellFormed(), value[0].shortened]).toEqual([
      19_999,
      true,
      6,
    ])
  })

  it('of a single result are cut too', async () => {
    const store = await newStore()
    await store.append('talk', [
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: { text: 'i'.repeat(20_001) } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c', output: { type: 'text', value: 'o'.repeat(20_002) } },
        ],
      },
    ])
    const { value } = await call(inspector(store), 'messages.toolOutput', ['talk', 'c'])
    expect([value.input.text.length, value.output.value.length, value.shortened]).toEqual([20_000, 20_000, 3])
  })

  it('and fields named like those of objects arrive as they are stored', async () => {
    const store = await newStore()
    const input = JSON.parse('{"__proto__":{"polluted":true},"constructor":"c","type":"image","image":"x"}')
    await store.append('talk', [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 't', input }] },
    ])
    const text = await (await post(inspector(store), '/call', { verb: 'getMessages', args: ['talk'] })).text()
    expect(text).toContain(
      '"input":{"__proto__":{"polluted":true},"constructor":"c","type":"image","image":"x"}',
    )
  })
})

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>'
const HTML = '<!doctype html><script>alert(1)</script>'
const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64')
const AVIF = Buffer.from('\0\0\0\x1cftypavif\0\0\0\0', 'latin1')
const WEBP = Buffer.from('RIFF\x24\0\0\0WEBPVP8 ', 'latin1')

describe('images', () => {
  async function storeWith(
    ...images: readonly { readonly image: string | Uint8Array; readonly mediaType?: string }[]
  ): Promise<Store> {
    const store = await newStore()
    await store.append('talk', [{ role: 'user', content: images.map((one) => ({ type: 'image', ...one })) }])
    return store
  }

  it.each([
    ['PNG', png(2, 3), 'image/png'],
    ['JPEG', jpeg(2, 3), 'image/jpeg'],
    ['GIF', gif(2, 3), 'image/gif'],
    ['WebP', WEBP, 'image/webp'],
    ['AVIF', AVIF, 'image/avif'],
  ])('%s are served with the type of their bytes, whatever type is stored', async (_, bytes, type) => {
    const forms = [bytes, base64(bytes), `data:text/html;base64,${base64(bytes)}`]
    const handle = inspector(await storeWith(...forms.map((image) => ({ image, mediaType: 'text/html' }))))
    const { value } = await call(handle, 'getMessages', ['talk'])
    for (const [part, media] of value[0].content.entries()) {
      expect(media).toEqual({ type: 'image', mediaType: type, bytes: bytes.length, src: expect.any(String) })
      expect(media.src).toMatch(new RegExp(`^media\\?session=talk&position=1&part=${part}&v=[\\w-]{12}$`))
      const response = await get(handle, `/${media.src}`)
      expect(response.status).toBe(200)
      expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes)
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': type,
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
        'cache-control': 'private, max-age=3600',
      })
    }
  })

  it.each([
    ['an SVG', base64(SVG), 'image/png'],
    ['an SVG', base64(SVG), 'image/svg+xml'],
    ['an SVG in a data URL', `data:image/svg+xml,${encodeURIComponent(SVG)}`, 'image/png'],
    ['an SVG in a data URL of base64', `data:image/png;base64,${base64(SVG)}`, 'image/png'],
    ['HTML', base64(HTML), 'image/png'],
    ['HTML after spaces', base64(`   ${HTML}`), 'image/gif'],
    ['nothing', '', 'image/png'],
    ['text', 'not base64 at all!', 'image/png'],
    ['a cut PNG signature', base64('\x89PNG'), 'image/png'],
  ])('%s named %3$s is described and never served', async (_, image, mediaType) => {
    const handle = inspector(await storeWith({ image, mediaType }))
    const { value } = await call(handle, 'getMessages', ['talk'])
    expect(value[0].content[0]).toEqual({ type: 'image', mediaType, bytes: expect.any(Number) })
    expect((await get(handle, '/media?session=talk&position=1&part=0')).status).toBe(404)
  })

  it('of other hosts have an address and no source', async () => {
    const url = 'https://evil.example/pixel.png?user=1'
    const handle = inspector(
      await storeWith({ image: url, mediaType: 'image/png' }, { image: 'javascript:alert(1)' }),
    )
    const [row] = (await call(handle, 'getMessages', ['talk'])).value
    expect(row.content[0]).toEqual({ type: 'image', mediaType: 'image/png', url })
    expect(row.content[1]).toEqual({
      type: 'image',
      mediaType: 'application/octet-stream',
      url: 'javascript:alert(1)',
    })
    expect((await get(handle, '/media?session=talk&position=1&part=0')).status).toBe(404)
  })

  it('in the output of a tool have an address, in rows and in the output alone', async () => {
    const store = await newStore()
    const item = { type: 'image', image: base64(png(1, 1)) } as const
    const value = [
      { type: 'text', text: 'a' },
      item,
      { type: 'file', data: base64(HTML), mediaType: 'image/png', filename: 'x.html' },
    ] as const
    await store.append('talk', [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', output: { type: 'content', value } }],
      },
    ])
    const handle = inspector(store)
    const rows = (await call(handle, 'getMessages', ['talk'])).value
    const output = (await call(handle, 'messages.toolOutput', ['talk', 'c'])).value
    const [text, image, file] = rows[1].content[0].output.value
    expect(output.output.value).toEqual([text, image, file])
    expect(image.src).toMatch(/^media\?session=talk&position=2&part=0&item=1&v=/)
    expect((await get(handle, `/${image.src}`)).headers.get('content-type')).toBe('image/png')
    expect(file).toEqual({ type: 'file', mediaType: 'image/png', filename: 'x.html', bytes: HTML.length })
    const view = (await call(handle, 'getEffectiveHistory', ['talk'])).value
    expect(view[1].content[0].output.value[1].src).toBe(image.src)
  })

  it('of a request that a model was sent have the address of the row in which they are stored', async () => {
    const store = await newStore()
    await store.append('talk', [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', image: png(1, 1) },
        ],
      },
    ])
    const request = await store.prepareRequest('talk', {
      prompt: [{ role: 'user', content: [{ type: 'image', image: png(1, 2) }] }],
    })
    const answer = { role: 'assistant', content: 'A kettle.' } as const
    await store.recordResponse('talk', { request, messages: [answer] })
    const handle = inspector(store)
    const rows = (await call(handle, 'getMessages', ['talk'])).value
    const { value } = await call(handle, 'requests.get', ['talk', { answer: 3 }])
    expect(value.matches).toBe(true)
    const images = value.messages
      .flatMap(({ content }: { content: { type: string }[] }) => content)
      .filter(({ type }: { type: string }) => type === 'image')
    expect(images).toEqual([rows[0].content[1], rows[1].content[0]])
    expect(images.map(({ src }: { src: string }) => src.split('&')[1])).toEqual(['position=1', 'position=2'])
  })

  it('have another address when the session is purged and made again', async () => {
    const store = await storeWith({ image: png(1, 1) })
    const handle = inspector(store)
    const [before] = (await call(handle, 'getMessages', ['talk'])).value
    await store.sessions.purge('talk')
    await store.append('talk', [{ role: 'user', content: [{ type: 'image', image: png(1, 2) }] }])
    const [after] = (await call(handle, 'getMessages', ['talk'])).value
    expect(after.content[0].src).not.toBe(before.content[0].src)
  })

  it.each([
    '/media',
    '/media?session=talk',
    '/media?session=walk&position=1&part=0',
    '/media?session=talk&position=2&part=0',
    '/media?session=talk&position=0&part=0',
    '/media?session=talk&position=-1&part=0',
    '/media?session=talk&position=1&part=1',
    '/media?session=talk&position=1&part=__proto__',
    '/media?session=talk&position=1e0&part=0',
    '/media?session=talk&position=1&part=0&item=0',
    '/media?session=talk&message=nobody&part=0',
    '/media?session=..%2F..%2Fetc%2Fpasswd&position=1&part=0',
  ])('are served only where one is: %s', async (path) => {
    const handle = inspector(await storeWith({ image: png(1, 1) }))
    expect((await get(handle, '/media?session=talk&position=1&part=0')).status).toBe(200)
    expect((await get(handle, path)).status).toBe(404)
  })

  it('are found by the id of their message too', async () => {
    const store = await storeWith({ image: png(1, 1) })
    const [row] = await store.getMessages('talk')
    const query = new URLSearchParams({ session: 'talk', message: row!.id, part: '0' })
    expect((await get(inspector(store), `/media?${query}`)).status).toBe(200)
  })
})

describe('a read-only inspector', () => {
  it('refuses every change, and a preview that pays for a summary', async () => {
    const store = await talkingStore()
    const handle = inspector(store, { readonly: true })
    const before = await store.sessions.get('talk')
    for (const verb of CHANGES) {
      const { status, error } = await call(handle, verb, ['talk', { from: 'end' }])
      expect([verb, status, error!.code]).toEqual([verb, 403, 'STORE_READONLY'])
    }
    const paid = await call(handle, 'previewCompaction', ['talk', { summarize: true }])
    expect([paid.status, paid.error!.code]).toEqual([403, 'STORE_READONLY'])
    expect((await call(handle, 'previewCompaction', ['talk'])).status).toBe(200)
    expect(await store.sessions.get('talk')).toEqual(before)
    expect(await (await get(handle, '/')).text()).toContain('"readonly":true')
  })

  it('is what a store that was opened read-only gives, too', async () => {
    const path = newFile()
    await (await newStore(path)).append('talk', TALK)
    const handle = inspector(await newStore(path, { readonly: true }))
    const { status, error } = await call(handle, 'sessions.archive', ['talk'])
    expect([status, error!.code]).toEqual([403, 'STORE_READONLY'])
    const events = eventsOf(await get(handle, '/events?session=talk'))
    expect(await events.next()).toMatchObject({ session: { messageCount: 2, run: false, turn: false } })
    await events.reader.cancel()
  })
})

describe('previews', () => {
  const CONFIG = { range: { from: 1, to: 2 }, summary: 'K' }

  async function longStore(): Promise<Store> {
    const store = await newStore()
    await store.append('talk', [
      ...TALK.map((one) => ({ ...one, content: one.content.repeat(50) })),
      { role: 'user', content: 'And now?' },
    ])
    return store
  }

  it('are applied by their id, exactly as they were previewed', async () => {
    const store = await longStore()
    const handle = inspector(store)
    const { value: preview } = await call(handle, 'previewCompaction', ['talk', CONFIG])
    expect(preview).toMatchObject({ compacted: true, messages: [], previewId: expect.any(String) })
    const { value: result } = await call(handle, 'compactSession', ['talk', { previewId: preview.previewId }])
    expect([result.compacted, result.tokensAfter, result.messages]).toEqual([true, preview.tokensAfter, []])
    const [compaction] = await store.listCompactions('talk')
    expect([compaction!.id, compaction!.actor]).toEqual([preview.compactions[0].id, 'inspector'])
  })

  it('that are unknown, of another session, or of another owner are gone', async () => {
    const store = await longStore()
    const [ann, bob] = [store.forOwner('ann'), store.forOwner('bob')]
    for (const one of [ann, bob])
      await one.append(
        'talk',
        await store.getMessages('talk').then((rows) => rows.map(({ role, content }) => ({ role, content }))),
      )
    const handle = inspector((request) => (request.headers.get('user') === 'bob' ? bob : ann))
    const { value } = await call(handle, 'previewCompaction', ['talk', CONFIG])
    for (const [previewId, headers, session] of [
      ['nobody', {}, 'talk'],
      [7, {}, 'talk'],
      [value.previewId, { user: 'bob' }, 'talk'],
      [value.previewId, {}, 'walk'],
    ] as const) {
      const response = await post(
        handle,
        '/call',
        { verb: 'compactSession', args: [session, { previewId }] },
        headers,
      )
      expect([response.status, await response.json()]).toMatchObject([
        410,
        { error: { code: 'PREVIEW_GONE' } },
      ])
    }
    expect(await bob.listCompactions('talk')).toEqual([])
  })

  it('run at most 100 stages, however they are nested', async () => {
    const handle = inspector(await longStore(), { readonly: true })
    const nested = (count: number) => [
      'prune',
      { stage: 'composite', stages: [{ stage: 'composite', stages: Array(count).fill('truncate') }] },
    ]
    const statusOf = async (count: number): Promise<number> =>
      (await call(handle, 'previewCompaction', ['talk', { stages: nested(count), targetTokens: 0 }])).status
    // One stage and two composites beside the others.
    expect([await statusOf(97), await statusOf(98), await statusOf(30_000)]).toEqual([200, 400, 400])
  })

  it('are kept for the newest 50', async () => {
    const handle = inspector(await longStore())
    const ids: string[] = []
    for (let i = 0; i < 51; i++)
      ids.push((await call(handle, 'previewCompaction', ['talk', CONFIG])).value.previewId)
    expect((await call(handle, 'compactSession', ['talk', { previewId: ids[0] }])).error!.code).toBe(
      'PREVIEW_GONE',
    )
    expect((await call(handle, 'compactSession', ['talk', { previewId: ids[1] }])).value.compacted).toBe(true)
  })
})

describe('requests of other sites', () => {
  const CALL = { verb: 'sessions.list', args: [] }

  it.each([
    ['a site', { 'sec-fetch-site': 'cross-site' }],
    ['another port', { 'sec-fetch-site': 'same-site' }],
    ['the address bar', { 'sec-fetch-site': 'none' }],
    ['a site, by its origin', { origin: 'http://evil.example' }],
    ['another port, by its origin', { origin: 'http://localhost:9999' }],
    ['a sandbox', { origin: 'null' }],
    ['a site, with a forged referrer', { origin: 'http://evil.example', referer: `${ORIGIN}/` }],
    ['a site whose name begins like the host', { origin: 'http://localhost:8080.evil.example' }],
    ['a broken origin', { origin: 'localhost:8080' }],
  ])('are refused: %s', async (_, headers) => {
    const handle = inspector(await talkingStore())
    expect((await post(handle, '/call', CALL, headers)).status).toBe(403)
    expect((await post(handle, '/export', { session: 'talk', format: 'json' }, headers)).status).toBe(403)
    expect((await get(handle, '/events', headers)).status).toBe(403)
    expect((await get(handle, '/media?session=talk&position=1&part=0', headers)).status).toBe(403)
  })

  it.each([
    ['the page', { 'sec-fetch-site': 'same-origin', origin: ORIGIN }],
    [
      'the page behind a proxy that changes the host',
      { 'sec-fetch-site': 'same-origin', origin: 'https://app.example' },
    ],
    ['the page in an old browser', { origin: ORIGIN }],
    ['a program', {}],
  ])('are not those of %s', async (_, headers) => {
    expect((await post(inspector(await talkingStore()), '/call', CALL, headers)).status).toBe(200)
  })
})

describe('the page', () => {
  const POLICY = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

  it('has the headers of security in every response', async () => {
    const handle = inspector(await talkingStore())
    const responses = [
      await get(handle, '/'),
      await get(handle, '/icon.svg'),
      await post(handle, '/call', { verb: 'sessions.list', args: [] }),
      await post(handle, '/call', '{'),
      await post(handle, '/call', {}, { 'sec-fetch-site': 'cross-site' }),
      await get(handle, '/call'),
    ]
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 400, 403, 405])
    for (const { headers } of responses)
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': expect.stringMatching(/^no-(?:store|cache)$/),
      })
  })

  it('has no script and no style of its own, and a title that can end neither', async () => {
    const title = '</title></script><script>alert(1)</script>" onload="x\u2028'
    const html = await (await get(inspector(await talkingStore(), { title }), '/')).text()
    expect(html).not.toContain('<script>')
    expect(html.match(/<script\b[^>]*>/g)).toEqual([
      '<script type="application/json" id="facts">',
      '<script type="module" src="app.js">',
    ])
    expect(html.replaceAll(/>[^<]*</g, '><')).not.toMatch(/<style|style=|\son[a-z]+=/)
    const [, facts] = /id="facts">([^<]*)<\/script>/.exec(html)!
    expect(facts).toMatch(/^[^<>&\u2028]*$/)
    expect(JSON.parse(facts!)).toEqual({
      version: expect.any(String),
      readonly: false,
      title,
      owners: true,
      actor: 'inspector',
    })
  })

  it.each([
    ['/', '/'],
    ['/inspect', '/inspect/'],
    ['/inspect/', '/inspect/'],
    ['//evil.example', '/evil.example/'],
    ['//evil.example//', '/evil.example/'],
    ['/a"onload="x', '/a%22onload=%22x/'],
    ["/a'b&c", '/a&#39;b&amp;c/'],
  ])('at %j has the base %j', async (path, base) => {
    const response = await inspector(await talkingStore())({
      ...{ method: 'GET', headers: new Headers(), signal: new AbortController().signal },
      url: new URL(path, 'http://h').href.startsWith('http://h/')
        ? `http://h${new URL(`http://h${path}`).pathname}`
        : `http://h${path}`,
    } as Request)
    expect(/<base href="([^"]*)">/.exec(await response.text())![1]).toBe(base)
  })

  it('works under a prefix, whether the framework removes it or not', async () => {
    const store = await talkingStore()
    const stays = inspector(store)
    expect(await (await get(stays, '/admin/inspect')).text()).toContain('<base href="/admin/inspect/">')
    expect((await post(stays, '/admin/inspect/call', { verb: 'sessions.list', args: [] })).status).toBe(200)
    const removed = inspector(store, { basePath: '/admin/events' })
    expect(await (await get(removed, '/')).text()).toContain('<base href="/admin/events/">')
    expect((await post(removed, '/call', { verb: 'sessions.list', args: [] })).status).toBe(200)
    // A path that is named like a route is the page.
    expect((await get(removed, '/admin/events')).headers.get('content-type')).toContain('text/html')
  })

  it('reads no file, whatever the path', async () => {
    const handle = inspector(await talkingStore())
    for (const path of [
      '/..%2f..%2fpackage.json',
      '/%2e%2e/package.json',
      '/app.js%00',
      '/assets.ts',
      '/.env',
      '/app.js/../../x',
    ]) {
      const response = await get(handle, path)
      expect([path, response.headers.get('content-type')]).toEqual([path, 'text/html; charset=utf-8'])
    }
  })

  it('accepts only the methods of each route', async () => {
    const handle = inspector(await talkingStore())
    const status = async (method: string, path: string): Promise<unknown> => {
      const response = await handle(new Request(`${ORIGIN}${path}`, { method }))
      return [response.status, response.headers.get('allow')]
    }
    expect(await status('GET', '/call')).toEqual([405, 'POST'])
    expect(await status('PUT', '/call')).toEqual([405, 'POST'])
    expect(await status('OPTIONS', '/call')).toEqual([405, 'POST'])
    expect(await status('POST', '/events')).toEqual([405, 'GET'])
    expect(await status('POST', '/')).toEqual([405, 'GET, HEAD'])
    expect(await status('DELETE', '/app.js')).toEqual([405, 'GET, HEAD'])
    const head = await handle(new Request(`${ORIGIN}/`, { method: 'HEAD' }))
    expect([head.status, await head.text()]).toEqual([200, ''])
  })

  it('has a script and a style, in at most 350 kB compressed', async () => {
    const handle = inspector(await talkingStore())
    let bytes = 0
    for (const [name, type] of [
      ['app.js', 'text/javascript; charset=utf-8'],
      ['app.css', 'text/css; charset=utf-8'],
    ]) {
      const response = await get(handle, `/any/path/${name}`, { 'accept-encoding': 'gzip' })
      expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
      bytes += (await response.arrayBuffer()).byteLength
    }
    expect(bytes).toBeLessThan(350_000)
  })

  it('has an icon that is compressed for who accepts it, and sent once', async () => {
    const handle = inspector(await talkingStore())
    const text = await (await get(handle, '/icon.svg')).text()
    expect(text).toMatch(/^<svg /)
    const small = await get(handle, '/icon.svg', { 'accept-encoding': 'br, gzip' })
    expect(small.headers.get('content-encoding')).toBe('gzip')
    expect(gunzipSync(Buffer.from(await small.arrayBuffer())).toString()).toBe(text)
    expect(
      (await get(handle, '/icon.svg', { 'accept-encoding': 'gzip;q=0' })).headers.get('content-encoding'),
    ).toBe(null)
    const tag = small.headers.get('etag')!
    expect((await get(handle, '/icon.svg', { 'if-none-match': tag })).status).toBe(304)
    expect(small.headers.get('cache-control')).toBe('no-cache')
  })
})

describe('owners', () => {
  it('see nothing of each other in calls, images, events and exports', async () => {
    const store = await newStore()
    const [ann, bob] = [store.forOwner('ann'), store.forOwner('bob')]
    await ann.append('secret', [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'kettle' },
          { type: 'image', image: png(1, 1) },
        ],
      },
    ])
    await bob.append('own', [{ role: 'user', content: 'tea' }])
    const handle = inspector(bob)
    expect((await call(handle, 'sessions.list', [])).value.map(({ id }: { id: string }) => id)).toEqual([
      'own',
    ])
    expect((await call(handle, 'getMessages', ['secret'])).error!.code).toBe('SESSION_NOT_FOUND')
    expect((await call(handle, 'search', ['kettle'])).value.hits).toEqual([])
    expect((await get(handle, '/media?session=secret&position=1&part=1')).status).toBe(404)
    const exported = await post(handle, '/export', { session: 'secret', format: 'json' })
    expect([exported.status, await exported.json()]).toMatchObject([
      404,
      { error: { code: 'SESSION_NOT_FOUND' } },
    ])
    const events = eventsOf(await get(handle, '/events?session=secret'))
    expect(await events.next()).toEqual({ session: null })
    await events.reader.cancel()
    // Naming the other owner doesn't help.
    for (const more of [{ owner: 'ann' }]) {
      expect((await call(handle, 'getMessages', ['secret'], more)).status).toBe(400)
      expect((await get(handle, '/media?session=secret&position=1&part=1&owner=ann')).status).toBe(400)
      expect((await get(handle, '/events?session=secret&owner=ann')).status).toBe(400)
      expect((await post(handle, '/export', { session: 'secret', format: 'json', ...more })).status).toBe(400)
    }
    expect(await (await get(handle, '/')).text()).toContain('"owners":false')
  })

  it('are named by the page of a store of all owners', async () => {
    const store = await newStore()
    for (const owner of ['ann', 'bob'])
      await store.forOwner(owner).append('talk', [
        {
          role: 'user',
          content: [
            { type: 'text', text: owner },
            { type: 'image', image: png(1, 1) },
          ],
        },
      ])
    const handle = inspector(store)
    const { value } = await call(handle, 'getMessages', ['talk'], { owner: 'bob' })
    expect(value[0].content[0].text).toBe('bob')
    expect(value[0].content[1].src).toMatch(/^media\?session=talk&owner=bob&position=1&part=1&v=/)
    expect((await get(handle, `/${value[0].content[1].src}`)).status).toBe(200)
    const file = await post(handle, '/export', { session: 'talk', format: 'markdown', owner: 'ann' })
    expect(await file.text()).toContain('ann')
  })

  it('are found by a function of the request; without one, the answer is 401', async () => {
    const store = await newStore()
    await store.forOwner('ann').append('talk', TALK)
    const handle = inspector(async (request) => {
      const user = request.headers.get('user')
      return user === null ? undefined : store.forOwner(user)
    })
    expect((await get(handle, '/')).status).toBe(401)
    expect((await get(handle, '/events')).status).toBe(401)
    expect((await post(handle, '/call', { verb: 'sessions.list', args: [] })).status).toBe(401)
    const signedIn = await post(handle, '/call', { verb: 'sessions.list', args: [] }, { user: 'ann' })
    expect(await signedIn.json()).toMatchObject({ value: [{ id: 'talk' }] })
    const failing = inspector(() => Promise.reject(new Error('the database of users is down')))
    const failed = await get(failing, '/')
    expect([failed.status, await failed.text()]).toEqual([500, expect.not.stringContaining('users')])
  })

  it.each([
    ['facts that JSON cannot hold', { code: 'STORE_BUSY', facts: { waitedMs: 1n } }, 500],
    ['a code like a field of objects', { code: 'constructor', facts: {} }, 409],
  ])('cannot make the handler throw: %s', async (_, fields, status) => {
    const error = Object.assign(new Error('x'), { name: 'UndertextError', ...fields })
    expect(
      (
        await get(
          inspector(() => Promise.reject(error)),
          '/',
        )
      ).status,
    ).toBe(status)
  })
})

describe('exports', () => {
  async function exported(store: Store, body: object): Promise<Response> {
    return post(inspector(store), '/export', body)
  }

  it('are files that are saved, never shown', async () => {
    const store = await talkingStore()
    await store.sessions.update('talk', { title: 'Kettle & tea' })
    for (const [format, type, ending] of [
      ['html', 'text/html; charset=utf-8', 'html'],
      ['markdown', 'text/markdown; charset=utf-8', 'md'],
      ['json', 'application/json', 'json'],
    ]) {
      const response = await exported(store, { session: 'talk', format })
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': type,
        'content-disposition': `attachment; filename="Kettle-tea.${ending}"`,
        'content-security-policy': "default-src 'none'; sandbox",
      })
      expect(await response.text()).toContain('Where is the kettle?')
    }
  })

  it.each([
    ['a"; filename="b.exe', 'a-filename-b-exe'],
    ['x\r\nSet-Cookie: a=b', 'x-Set-Cookie-a-b'],
    ['../../etc/passwd', 'etc-passwd'],
    ['ключ 🔑', 'session'],
    ['Crème brûlée', 'Creme-brulee'],
  ])('have a name that no title can break: %j', async (title, name) => {
    const store = await talkingStore()
    await store.sessions.update('talk', { title })
    const { headers } = await exported(store, { session: 'talk', format: 'json' })
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${name}.json"`)
    expect(headers.get('set-cookie')).toBe(null)
  })

  it('hold stored HTML as text', async () => {
    const store = await newStore()
    await store.append('talk', [{ role: 'user', content: '<img src=x onerror=alert(1)>' }])
    const html = await (await exported(store, { session: 'talk', format: 'html' })).text()
    expect(html).toContain('&#60;img src=x onerror=alert(1)&#62;')
    expect(html).not.toContain('<img src=x')
  })

  it('in JSON are the view, or all of the log, now or at a moment', async () => {
    const store = await newStore()
    await store.append('talk', [...TALK, { role: 'user', content: 'Tea?' }])
    await store.rewind('talk', { from: { beforeMessage: 3 } })
    const count = async (more: object): Promise<number> =>
      ((await (await exported(store, { session: 'talk', format: 'json', ...more })).json()) as unknown[])
        .length
    expect(await count({})).toBe(2)
    expect(await count({ full: true })).toBe(3)
    expect(await count({ at: { afterMessage: 1 } })).toBe(1)
    expect((await exported(store, { session: 'talk', format: 'html', at: { afterMessage: 1 } })).status).toBe(
      400,
    )
    expect((await exported(store, { session: 'talk', format: 'exe' })).status).toBe(400)
  })
})

describe('events', () => {
  it('begin with the state, and follow the changes of this store', async () => {
    const store = await talkingStore()
    const handle = inspector(store)
    const response = await get(handle, '/events?session=talk')
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const events = eventsOf(response)
    expect(await events.next()).toEqual({
      session: {
        version: expect.any(Number),
        viewEpoch: 0,
        messageCount: 2,
        auditNo: 0,
        turn: false,
        run: false,
      },
    })
    await using turn = await store.beginTurn('talk')
    expect(await events.until(({ session }) => session.turn)).toMatchObject({ session: { messageCount: 2 } })
    await turn.finish({ messages: [{ role: 'assistant', content: 'Gladly.' }] })
    expect(await events.until(({ session }) => !session.turn)).toMatchObject({ session: { messageCount: 3 } })
    await store.rewind('talk', { from: { beforeMessage: 3 } })
    expect(await events.until(({ session }) => session.auditNo === 1)).toMatchObject({
      session: { viewEpoch: 1 },
    })
    await store.sessions.purge('talk')
    expect(await events.next()).toEqual({ session: null })
    await events.reader.cancel()
  })

  it('report a request that is recorded after its answer, and where its answer is', async () => {
    const store = await talkingStore()
    const request = await store.prepareRequest('talk', { provider: 'openai', model: 'gpt-5' })
    await store.append('talk', [{ role: 'assistant', content: 'Gladly.' }])
    const events = eventsOf(await get(inspector(store), '/events?session=talk'))
    const { session } = (await events.next()) as { session: object }
    const { requestId: id } = await store.requests.recordUsage('talk', { request })
    expect(await events.next()).toEqual({
      session: { ...session, newestRequest: JSON.stringify([id, null]) },
    })
    await store.requests.recordAnswer('talk', id!, [3, 3])
    const newestRequest = JSON.stringify([id, [3, 3]])
    expect(await events.next()).toEqual({ session: { ...session, newestRequest } })
    await events.reader.cancel()
  })

  it('report the progress of a compaction of this process', async () => {
    const store = await newStore()
    await store.append(
      'talk',
      Array.from(
        { length: 40 },
        (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: `${i} `.repeat(400) }) as const,
      ),
    )
    await store.append('other', TALK)
    const handle = inspector(store)
    const events = eventsOf(await get(handle, '/events?session=talk'))
    const others = eventsOf(await get(handle, '/events?session=other'))
    await events.next()
    await call(handle, 'compactSession', ['talk', { targetTokens: 2_000 }])
    expect(await events.next('progress')).toMatchObject({ phase: 'started', sessionId: 'talk' })
    expect(await events.next('progress')).toMatchObject({ phase: 'stage', stage: expect.any(String) })
    await call(handle, 'rewind', ['other', { from: { beforeMessage: 2 } }])
    // The other session had no progress before its own change.
    expect(await others.next()).toMatchObject({ session: { messageCount: 2 } })
    await events.reader.cancel()
    await others.reader.cancel()
  })

  it('without a session follow the list', async () => {
    const store = await newStore()
    const events = eventsOf(await get(inspector(store), '/events'))
    expect(await events.next()).toEqual({})
    await store.append('talk', TALK)
    const { newest } = (await events.next()) as { newest: string }
    await store.append('talk', TALK)
    expect(((await events.next()) as { newest: string }).newest).not.toBe(newest)
    await events.reader.cancel()
  })

  it.each([
    [
      'SQLite',
      async () => {
        const path = newFile()
        return [await newStore(path), await newStore(path)] as const
      },
    ],
    [
      'PostgreSQL',
      async () => {
        const instance = await PGlite.create()
        const stores = [
          await openStore(instance, { env: false }),
          await openStore(instance, { env: false }),
        ] as const
        open.push(...stores, instance)
        return stores
      },
    ],
  ])('follow the changes of another connection, in %s', async (_, openTwo) => {
    const [store, other] = await openTwo()
    await store.append('talk', TALK)
    const events = eventsOf(await get(inspector(store), '/events?session=talk'))
    const list = eventsOf(await get(inspector(store), '/events'))
    expect(await events.next()).toMatchObject({ session: { messageCount: 2 } })
    const before = await list.next()
    await other.append('talk', [{ role: 'user', content: 'Tea?' }])
    expect(await events.next()).toMatchObject({ session: { messageCount: 3 } })
    expect(await list.next()).not.toEqual(before)
    await events.reader.cancel()
    await list.reader.cancel()
  })

  it('read the store once for all who watch a session, and not at all when nobody does', async () => {
    const store = await talkingStore()
    let listeners = 0
    const on = store.on.bind(store)
    store.on = ((...given: Parameters<typeof on>) => {
      listeners++
      const off = on(...given)
      return () => {
        listeners--
        off()
      }
    }) as typeof store.on
    const handle = inspector(store)
    const abort = new AbortController()
    const one = eventsOf(await handle(new Request(`${ORIGIN}/events?session=talk`, { signal: abort.signal })))
    const two = eventsOf(await get(handle, '/events?session=talk'))
    expect(await one.next()).toEqual(await two.next())
    expect(listeners).toBe(1)
    abort.abort()
    expect(await one.next()).toBe(undefined)
    expect(listeners).toBe(1)
    await two.reader.cancel()
    expect(listeners).toBe(0)
  })

  it('look at a session every 400 ms, and at the same number of sessions in that time if many are watched', () => {
    expect([1, 100, 250, 1_000].map(waitFor)).toEqual([400, 400, 1_000, 4_000])
  })

  it('end when the store is closed', async () => {
    const store = await openStore(':memory:', { env: false })
    await store.append('talk', TALK)
    const events = eventsOf(await get(inspector(store), '/events?session=talk'))
    await events.next()
    await store.close()
    expect(await events.next()).toBe(undefined)
  })
})

describe('options', () => {
  it.each([
    [undefined, {}],
    [{}, {}],
    ['chats.db', {}],
    [() => undefined, { readOnly: true }],
    [() => undefined, { readonly: 'yes' }],
    [() => undefined, { actor: '' }],
    [() => undefined, { basePath: 'inspect' }],
    [() => undefined, { basePath: '//evil.example' }],
    [() => undefined, { basePath: '/a?b' }],
  ])('are checked: %j, %j', (store, options) => {
    expect(() => inspector(store as never, options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    )
  })
})
