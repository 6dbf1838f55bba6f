import { createHash } from 'node:crypto'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RENDERER_VERSION } from '../../src/core/rendering/render.ts'
import { openStore, renderView, type Store, type ViewMessage } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

let file: string
let store: Store
beforeEach(async () => {
  file = newFile()
  store = await openStore(file, { estimator: 'neurolink', env: false })
})
afterEach(() => store.close())

const SYSTEM = 'You are a careful assistant.'
const TOOLS = [{ name: 'read', description: units(30), parameters: { type: 'object' } }]

async function ask(prompt: string, session = 's'): Promise<string> {
  const request = await store.prepareRequest(session, { prompt, system: SYSTEM, tools: TOOLS })
  const { requestId } = await store.recordResponse(session, {
    request,
    messages: [say('assistant', 'Yes')],
    usage: { inputTokens: 100, outputTokens: 4 },
  })
  return requestId!
}

/** Changes a row as only another program could. */
function damaged(statement: string): void {
  const database = new Database(file)
  database.exec("insert into undertext_meta (key, value) values ('purging', 'x')")
  for (const name of ['blobs_are_written_once', 'blobs_are_kept', 'requests_are_written_once'])
    database.exec(`drop trigger undertext_${name}`)
  database.prepare(statement).run()
  database.exec("delete from undertext_meta where key = 'purging'")
  database.close()
}

function rows(statement: string): unknown[][] {
  const database = new Database(file, { readonly: true })
  const found = database.prepare(statement).raw().all() as unknown[][]
  database.close()
  return found
}

describe('a recorded request', () => {
  it('does not match when a stored text is gone, and the session says so', async () => {
    const id = await ask('Hi')
    damaged("delete from undertext_blobs where cast(bytes as text) like '%careful%'")
    const seen = await store.requests.get('s', id)
    expect(seen).toMatchObject({ matches: false, reason: 'purged', tools: TOOLS })
    expect(seen).not.toHaveProperty('system')
    const { findings } = await store.sessions.verify('s')
    expect(findings.map(({ code }) => code)).toContain('BLOB_MISSING')
  })

  it('does not match after a change of the renderer that changes the bytes', async () => {
    const id = await ask('Hi')
    // What an earlier version of the package wrote: another renderer, and the hash of another rendering.
    damaged('update undertext_requests set renderer = 0, hash = zeroblob(32)')
    expect(await store.requests.get('s', id)).toMatchObject({
      matches: false,
      reason: 'renderer',
      renderer: 0,
    })
  })

  it('matches after a change of the renderer that does not change its bytes', async () => {
    const id = await ask('Hi')
    damaged('update undertext_requests set renderer = 0')
    expect(await store.requests.get('s', id)).toMatchObject({ matches: true, renderer: 0 })
  })

  it('is found damaged by sessions.verify when a blob has lost references', async () => {
    await ask('Hi')
    await ask('Again')
    damaged('update undertext_blobs set reference_count = 1')
    const codes = (await store.sessions.verify('s')).findings.map(({ code }) => code)
    expect(codes.filter((code) => code === 'BLOB_REFERENCES')).toHaveLength(2)
  })

  it('takes about 200 bytes, and its texts are stored once', async () => {
    await store.append('s', [say('user', 'first')])
    for (let number = 0; number < 200; number++) await ask(`question ${number}`)
    expect(rows('select reference_count from undertext_blobs')).toEqual([[200], [200]])
    const [[payload, all]] = rows(
      "select sum(payload) / 200, sum(pgsize) / 200 from dbstat where name = 'undertext_requests' and aggregate = 1",
    ) as [[number, number]]
    expect(payload).toBeLessThan(180)
    expect(all).toBeLessThan(220)
  })

  it('leaves no text when its session is purged, and the texts of other sessions stay', async () => {
    await ask('Hi')
    const other = await ask('Hi', 't')
    await store.sessions.purge('s')
    expect(rows('select session, count(*) from undertext_requests group by session')).toHaveLength(1)
    expect(rows('select reference_count from undertext_blobs')).toEqual([[1], [1]])
    expect(await store.requests.get('t', other)).toMatchObject({ matches: true, system: SYSTEM })
    expect(await store.sessions.purge('t')).toMatchObject({ blobs: 2 })
    expect(rows('select count(*) from undertext_blobs')).toEqual([[0]])
  })

  it('is not recorded for tools that JSON cannot express; the answer is', async () => {
    const loop: Record<string, unknown> = { name: 'loop' }
    const request = await store.prepareRequest('s', { prompt: 'Hi' })
    loop.self = loop
    const recorded = await store.recordResponse('s', {
      request: { ...request, tools: [loop] },
      messages: [say('assistant', 'Yes')],
    })
    expect(recorded).not.toHaveProperty('requestId')
    expect(recorded.appended.position).toBe(2)
  })
})

describe('the version of the renderer', () => {
  it('is that of these bytes: raise RENDERER_VERSION with a change of them', () => {
    const view: ViewMessage[] = [
      { ...say('system', 'Be brief.'), id: '1', kind: 'message', createdAt: 1, position: 1 },
      { ...say('assistant', 'They greeted.'), id: '2', kind: 'summary', createdAt: 1, condenseId: 'c' },
      { ...say('user', 'Read it.'), id: '3', kind: 'message', createdAt: 1, position: 4 },
      { ...call('c1', 'read', { path: 'a' }), id: '4', kind: 'message', createdAt: 1, position: 5 },
      { ...result('c1', 'text', 'read'), id: '5', kind: 'message', createdAt: 1, position: 6 },
      { ...say('user', 'And?'), id: '6', kind: 'message', createdAt: 1, position: 7 },
      { ...call('c2', 'read', { path: 'b' }), id: '7', kind: 'message', createdAt: 1, position: 8 },
    ] as ViewMessage[]
    const hash = createHash('sha256')
    for (const provider of ['openai', 'anthropic', 'google-ai', 'mistral', 'bedrock', 'other'])
      hash.update(JSON.stringify(renderView(view, { provider }).messages))
    expect([RENDERER_VERSION, hash.digest('hex').slice(0, 16)]).toEqual([2, '03c0be3d4ecf305a'])
  })
})
