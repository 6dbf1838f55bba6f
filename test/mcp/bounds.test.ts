import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tokensOfText } from '../../src/core/tokens/measure.ts'
import { openStore, type Store } from '../../src/index.ts'
import { contextOf } from '../../src/store/store.ts'
import type { Bundled } from '../support/bundled.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { calls, result, say } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'
import { type Connected, connect } from './connect.ts'

/* The text of every answer is within --max-tokens, by the estimator of the session, whatever is stored. */

const LIMITS = [300, 2_000] as const
const CALLS = 2_000
/** An id, a title and an owner of many characters that are many tokens each. */
const LONG = '界'.repeat(860)
const BIDI = '\u202e'.repeat(1_000)

/** Sessions of two messages or more, by their ids. The last message of each is "The end.". */
const CONTENTS: { readonly [id: string]: readonly string[] } = {
  chinese: ['我们昨天在港口讨论了新的大门密码。'.repeat(400)],
  emoji: ['👩‍👩‍👧‍👦🏳️‍🌈🇩🇪'.repeat(1_500)],
  lines: ['\n'.repeat(20_000)],
  escapes: ['\x1b[31m\x1b[0m'.repeat(3_000)],
  bidi: [BIDI.repeat(10)],
  many: Array.from({ length: 300 }, (_, at) => `ok ${at}`),
  quotes: ['"\\'.repeat(8_000)],
  other: ['🦄界'.repeat(3_000)],
  [LONG]: Array.from({ length: 30 }, (_, at) => `hi ${at}`),
  calls: [],
}

let bundled: Bundled
let db: string
let store: Store
const servers = new Map<number, Connected>()
beforeAll(async () => {
  bundled = await bundleCli()
  db = newFile()
  store = await openStore(db, { env: false })
  for (const [id, texts] of Object.entries(CONTENTS)) {
    await store.sessions.create({
      id,
      owner: '主'.repeat(800),
      title: id === LONG ? LONG : BIDI,
      provider: BIDI,
      model: '模'.repeat(200),
      ...(id === 'other' && { config: { estimator: 'promptfleet' } }),
    })
    await store.append(
      id,
      [...texts, 'The end.'].map((text, at) => ({
        ...say(at % 2 === 0 ? 'user' : 'assistant', text),
        ...(id === LONG && { id: `${at} ${'号'.repeat(800)}` }),
      })),
    )
  }
  const ids = Array.from({ length: CALLS }, (_, at) => `c${at}`)
  await store.append('calls', [
    calls(...ids.map((id) => [id, `tool_number_${id}_with_a_name`] as const)),
    ...ids.map((id) => result(id, 'gate', `tool_number_${id}_with_a_name`)),
  ])
  for (let at = 0; at < 12; at += 1) {
    await store.compactSession('many', {
      range: { from: 1, to: 4 + at * 4 },
      summary: `Summary ${at}`,
      actor: '主'.repeat(200),
      reason: '理由'.repeat(400),
    })
    await store.sessions.fork('many', { id: `fork ${at} ${'叉'.repeat(500)}`, title: BIDI })
  }
  for (let at = 0; at < 5; at += 1) await store.notes.add('便'.repeat(4_000), { session: 'many' })
  for (const limit of LIMITS)
    servers.set(
      limit,
      await connect(bundled.script, { db, argv: ['--max-tokens', String(limit), '--allow', 'fork,compact'] }),
    )
}, 60_000)
afterAll(async () => {
  for (const server of servers.values()) await server.close()
  await store.close()
  bundled.remove()
})

function tokensIn(text: string, id?: string): number {
  const context = contextOf(store)
  const estimator = id === 'other' ? context.estimatorNamed('promptfleet', id) : context.estimators.standard
  return tokensOfText(text, estimator, id === undefined ? undefined : BIDI)
}

/** All pages of a tool. */
async function pagesOf({ call }: Connected, name: string, given: object, most = 8) {
  const pages = []
  let cursor: string | undefined
  do {
    const page = await call(name, { ...given, ...(cursor !== undefined && { cursor }) })
    expect([name, page.isError, page.isError ? page.text : '']).toEqual([name, false, ''])
    pages.push(page)
    cursor = page.data.next_cursor
  } while (cursor !== undefined && pages.length < most)
  return pages
}

describe.each(LIMITS)('with --max-tokens %i', (limit) => {
  it.each(Object.keys(CONTENTS).map((id) => [id.slice(0, 10), id]))(
    'every answer about the session %s is within it',
    async (_name, id) => {
      const server = servers.get(limit)!
      const session = { session_id: id }
      const asked: readonly (readonly [name: string, given: object])[] = [
        ['get_view', session],
        ['get_stats', session],
        ['read_history', { ...session, before: 20 }],
        ['open_history', { ...session, position: 1 }],
        ['search_history', { ...session, query: '密码 ok gate hi end' }],
        ['list_compactions', session],
        ['list_forks', session],
        ['diff_views', { ...session, from: 'position:1' }],
        ['preview_compaction', { ...session, target_tokens: 10 }],
        ['recall_notes', session],
      ]
      for (const [name, given] of asked)
        for (const { text } of await pagesOf(server, name, given)) {
          const counted = name.startsWith('search') ? undefined : id
          expect([name, tokensIn(text, counted)]).toSatisfy(([, tokens]) => tokens <= limit)
        }
      let uri: string | undefined = `undertext://sessions/${encodeURIComponent(id)}`
      for (let page = 0; page < 8 && uri !== undefined; page += 1) {
        const [content] = (await server.client.readResource({ uri })).contents
        const { text } = content as { readonly text: string }
        expect(tokensIn(text, id)).toBeLessThanOrEqual(limit)
        const [, next] = /\nThe transcript continues: read (.+)$/.exec(text) ?? []
        uri = next?.replace(
          'the address of the session with ',
          `undertext://sessions/${encodeURIComponent(id)}`,
        )
      }
    },
    60_000,
  )

  it('the list of sessions is within it, and its pages have all sessions', async () => {
    const pages = await pagesOf(servers.get(limit)!, 'list_sessions', {}, 100)
    for (const { text } of pages) expect(tokensIn(text)).toBeLessThanOrEqual(limit)
    const found = pages.flatMap(({ data }) =>
      data.sessions.map((one: { session_id: string }) => one.session_id),
    )
    expect(found.length).toBe(Object.keys(CONTENTS).length + 12)
    expect(new Set(found).size).toBe(found.length)
  }, 60_000)
})

it.each(LIMITS)('errors about long arguments are within --max-tokens %i', async (limit) => {
  const server = servers.get(limit)!
  const long = '界'.repeat(100_000)
  const asked: readonly (readonly [name: string, given: object])[] = [
    ['get_view', { session_id: long }],
    ['get_view', { session_id: 'many', cursor: long }],
    ['get_view', { session_id: 'many', at: `message:${long}` }],
    ['get_view', { session_id: 'many', at: long }],
    ['read_history', { session_id: long }],
    ['open_history', { session_id: 'many', call_id: long }],
    ['search_history', { query: 'kettle', cursor: long }],
    ['preview_compaction', { session_id: 'many', model: long }],
  ]
  for (const [name, given] of asked) {
    const { text } = await server.call(name, given)
    expect([name, tokensIn(text)]).toSatisfy(([, tokens]) => tokens <= limit)
  }
})

it('pages of a view have its whole text, and those of lists have all items', async () => {
  const server = servers.get(2_000)!
  for (const id of ['chinese', 'emoji', 'lines', 'escapes', 'quotes', 'other']) {
    const pages = await pagesOf(server, 'get_view', { session_id: id }, 100)
    const text = pages.flatMap(({ data }) =>
      data.messages
        .filter((row: { position: number }) => row.position === 1)
        .map((row: { text: string }) => row.text),
    )
    expect(text.join('')).toBe(CONTENTS[id]![0])
  }
  const compactions = await pagesOf(server, 'list_compactions', { session_id: 'many' }, 100)
  expect(compactions.flatMap(({ data }) => data.compactions).length).toBe(12)
  const forks = await pagesOf(server, 'list_forks', { session_id: 'many' }, 100)
  expect(forks.flatMap(({ data }) => data.forks).length).toBe(12)
}, 60_000)

it('the structured form names 20 tools of a message', async () => {
  const { data } = await servers.get(2_000)!.call('read_history', { session_id: 'calls', position: 2 })
  const message = data.messages.find((one: { position: number }) => one.position === 2)
  expect(message.tools.length).toBe(20)
  expect(message.tools[0]).toBe('tool_number_c0_with_a_name')
  expect(JSON.stringify(data).length).toBeLessThan(16_000)
})
