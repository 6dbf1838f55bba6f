import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeCursor } from '../../src/core/cursor.ts'
import { type NewMessage, openStore, type Store } from '../../src/index.ts'
import {
  openRow,
  type RecallAnswer,
  type RecallBounds,
  readLog,
  searchLog,
} from '../../src/store/recall/index.ts'
import { calls, result, say } from '../support/conversation.ts'

const COUNT = 60
/** Names and ids of which a heading may be long. */
const LONG_TOOL = 'mcp__filesystem__read_multiple_files'
const IDS = ['short', 'sess-0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000', '界'.repeat(200)] as const

/** Messages of every size: a word, calls of two tools, and texts that no answer holds as a whole. */
function messages(): NewMessage[] {
  return Array.from({ length: COUNT / 3 }, (_, turn): NewMessage[] => [
    say('user', turn % 4 === 0 ? `Lantern ${turn} ${'of the long pier '.repeat(120)}` : `Lantern ${turn}`),
    calls([`a${turn}`, LONG_TOOL, { turn }], [`b${turn}`, 'mcp__filesystem__search_files', { turn }]),
    {
      role: 'tool',
      content: [`a${turn}`, `b${turn}`].flatMap((id) => result(id, `lamp ${id}`, LONG_TOOL).content as never),
    },
  ]).flat()
}

/** Every page from an answer on, in one direction. */
async function pagesFrom(
  first: RecallAnswer,
  next: (answer: RecallAnswer) => Promise<RecallAnswer> | undefined,
): Promise<RecallAnswer[]> {
  const pages = [first]
  for (let page = next(first); page !== undefined; page = next(pages.at(-1)!)) {
    pages.push(await page)
    expect(pages.length).toBeLessThan(1_000)
  }
  return pages
}

const positionsOf = (pages: readonly RecallAnswer[]): (number | undefined)[] =>
  pages.flatMap(({ pieces }) => pieces.map(({ position }) => position))

describe('a log of short and long messages with long headings', () => {
  let store: Store
  beforeAll(async () => {
    store = await openStore(':memory:')
    await store.sessions.create({ id: 'base', owner: 'ann' })
    await store.append('base', [say('user', 'Hello')])
    for (const id of IDS) {
      await store.sessions.create({ id, owner: 'ann' })
      await store.append(id, messages())
      for (const from of [1, 16])
        await store.compactSession(id, { range: { from, to: from + 14 }, summary: 'Lanterns.' })
    }
  })
  afterAll(() => store.close())

  it('is read page by page in both directions: every message once, the asked one always, within the tokens', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...IDS),
        fc.integer({ min: 1, max: COUNT }),
        fc.nat(20),
        fc.nat(20),
        fc.constantFrom(300, 340, 500, 1_100, 2_000),
        fc.constantFrom<'owner' | undefined>('owner', undefined),
        async (session, position, before, after, maxTokens, sessions) => {
          const scope = sessions === undefined ? { owner: 'ann' } : { session: 'base', sessions }
          const read = (input: object): Promise<RecallAnswer> =>
            readLog(store, scope, { session, ...input }, { maxTokens })
          const first = await read({ position, before, after })
          expect(positionsOf([first])).toContain(position)
          const [later, earlier] = [
            await pagesFrom(first, ({ cursor }) => (cursor === undefined ? undefined : read({ cursor }))),
            await pagesFrom(first, ({ previous }) =>
              previous === undefined ? undefined : read({ cursor: previous }),
            ),
          ]
          const all = [...earlier.slice(1).reverse(), ...later]
          expect(positionsOf(all)).toEqual(Array.from({ length: COUNT }, (_, at) => at + 1))
          for (const { pieces, tokens, text } of all) {
            expect(tokens).toBeLessThanOrEqual(maxTokens)
            const [from, to] = [pieces[0]!.position, pieces.at(-1)!.position]
            expect(text).toContain(`Messages ${from} to ${to} of ${COUNT}.`)
          }
        },
      ),
      { numRuns: 25 },
    )
  })

  it('is searched over several sessions: no page is empty, every message is found once, within the tokens', async () => {
    for (const maxTokens of [300, 1_000]) {
      const search = (input: object): Promise<RecallAnswer> =>
        searchLog(
          store,
          { session: 'base', sessions: [...IDS] },
          { query: 'lantern', ...input },
          { maxTokens },
        )
      const pages = await pagesFrom(await search({}), ({ cursor }) =>
        cursor === undefined ? undefined : search({ cursor }),
      )
      for (const { tokens } of pages) expect(tokens).toBeLessThanOrEqual(maxTokens)
      for (const { pieces } of pages.slice(0, -1)) expect(pieces.length).toBeGreaterThan(0)
      const found = pages.flatMap(({ pieces }) => pieces.map((one) => `${one.sessionId} ${one.messageId}`))
      expect(new Set(found).size).toBe(found.length)
    }
  })
})

it('a message is read with the twenty before it at the default bounds, and the answer names what it shows', async () => {
  const store = await openStore(':memory:')
  await store.append('s', messages())
  const { text, pieces, previous, cursor } = await readLog(store, 's', { position: 50, before: 20, after: 0 })
  expect(pieces.at(-1)!.position).toBe(50)
  const first = pieces[0]!.position!
  expect(text).toContain(`Messages ${first} to 50 of 60.`)
  expect([previous, cursor]).toEqual([encodeCursor([first, '-']), encodeCursor([50, '+'])])
  await store.close()
})

it('a search over twenty sessions has a short cursor, and pages to each of their messages', async () => {
  const store = await openStore(':memory:')
  const ids = Array.from({ length: 20 }, (_, at) => `session-${at}`)
  for (const id of ids) {
    await store.sessions.create({ id, owner: 'ann' })
    // Two pages of the search of each session.
    await store.append(
      id,
      Array.from({ length: 9 }, (_, at) => say('user', `Lighthouse ${id}, entry ${at}.`)),
    )
  }
  const search = (cursor: string | undefined, maxTokens: number): Promise<RecallAnswer> =>
    searchLog(
      store,
      { session: ids[0]!, sessions: ids.slice(1) },
      { query: 'lighthouse entry', ...(cursor && { cursor }) },
      { maxTokens },
    )
  const smallest = await search(undefined, 300)
  expect(smallest.pieces.length).toBeGreaterThan(1)
  expect((await search(smallest.cursor, 300)).pieces.length).toBeGreaterThan(1)
  const pages = await pagesFrom(await search(undefined, 2_000), ({ cursor }) =>
    cursor === undefined ? undefined : search(cursor, 2_000),
  )
  const found = pages.flatMap(({ pieces }) => pieces.map((one) => `${one.sessionId} ${one.position}`))
  expect(found).toHaveLength(180)
  expect(new Set(found).size).toBe(180)
  for (const { pieces, cursor, tokens } of pages) {
    expect(pieces.length).toBeGreaterThan(0)
    expect(tokens).toBeLessThanOrEqual(2_000)
    // The moment, and the places of twenty sessions: those that are alike are written once.
    expect((cursor ?? '').length).toBeLessThan(60)
  }
  await store.close()
})

it('a character that is longer than an answer is read on within it, and its message is found', async () => {
  const store = await openStore(':memory:')
  const mark = `a${'\u0301\u0316\u0323\u0334'.repeat(60)}`
  const text = `begin ${'word '.repeat(30)}${mark} the gate code is 7731 ${'tail '.repeat(50)}`
  await store.append('s', [say('user', text), say('user', `${mark} zebra ${mark}`)])
  const bounds: RecallBounds = { maxTokens: 300 }
  const pages = await pagesFrom(await openRow(store, 's', { position: 1 }, bounds), ({ cursor }) =>
    cursor === undefined ? undefined : openRow(store, 's', { cursor }, bounds),
  )
  expect(pages.map(({ pieces }) => pieces[0]!.passages[0]!.text).join('')).toBe(text)
  const found = await searchLog(store, 's', { query: 'zebra' }, bounds)
  expect(found.pieces[0]!.position).toBe(2)
  expect(found.tokens).toBeLessThanOrEqual(300)
  await store.close()
})

it('without a conversation the estimator of the session that is read measures the answer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'undertext-recall-'))
  const file = join(folder, 'store.db')
  const first = await openStore(file, { estimator: 'calibrated' })
  await first.sessions.create({ id: 'own', owner: 'ann' })
  await first.append('own', [say('user', '港口的大门密码。'.repeat(2_000))])
  await first.close()
  // For Chinese `neurolink` counts a token for four characters, `calibrated` about one for each.
  const store = await openStore(file, { estimator: 'neurolink' })
  for (const read of [readLog, openRow] as const) {
    const within = await read(store, 'own', { position: 1 })
    for (const scope of [{ owner: 'ann' }, { sessions: 'all' }] as const) {
      const { pieces, tokens } = await read(store, scope, { session: 'own', position: 1 })
      // The heading names the session here, so there is no more text than within the session.
      expect(pieces[0]!.passages[0]!.to).toBeLessThanOrEqual(within.pieces[0]!.passages[0]!.to)
      expect(tokens).toBeLessThanOrEqual(2_000)
      expect(tokens).toBeGreaterThan(1_800)
    }
  }
  await store.close()
  await rm(folder, { recursive: true })
})

it('the output of one of several parallel calls is opened up to its end, on all of its pages', async () => {
  const store = await openStore(':memory:')
  const outputs = [1, 2, 3].map((at) => `result ${at} ${`w${at} `.repeat(500)}end`)
  await store.append('s', [
    say('user', 'Go'),
    calls(['k1', 'run'], ['k2', 'run'], ['k3', 'run']),
    {
      role: 'tool',
      content: outputs.flatMap((text, at) => result(`k${at + 1}`, text, 'run').content as never),
    },
  ])
  const bounds: RecallBounds = { maxTokens: 400 }
  const [start, end] = [outputs[0]!.length + 1, outputs[0]!.length + 1 + outputs[1]!.length]
  let shown = ''
  let answer = await openRow(store, 's', { callId: 'k2' }, bounds)
  expect(answer.pieces[0]!.passages[0]!.from).toBe(start)
  expect(answer.text).toContain(`ends at character ${end}`)
  for (;;) {
    const [passage] = answer.pieces[0]!.passages
    shown += passage!.text
    expect(answer.tokens).toBeLessThanOrEqual(400)
    if (passage!.to === end) break
    answer = await openRow(store, 's', { cursor: answer.cursor! }, bounds)
  }
  expect(shown).toBe(outputs[1])
  expect(answer.cursor).toBe(encodeCursor([3, end]))
  const rest = await openRow(store, 's', { cursor: answer.cursor! }, { maxTokens: 4_000 })
  expect(rest.pieces[0]!.passages[0]!.text).toBe(`\n${outputs[2]}`)
  const asked = await openRow(store, 's', { callId: 'k3', query: 'result' }, bounds)
  expect(asked.pieces[0]!.passages[0]!.from).toBe(end + 1)
  await store.close()
})

it('a search continues in the order of its first page, though its words have become more frequent since', async () => {
  // Of two words the rarer counts more; what is appended after the first page makes the rarer one the more common.
  const pagesOf = async (isGrowing: boolean): Promise<RecallAnswer[]> => {
    await using store = await openStore(':memory:')
    for (const id of ['s', 't']) await store.sessions.create({ id, owner: 'ann' })
    await store.append('t', [say('user', 'Hello')])
    const texts = Array.from({ length: 60 }, (_, at) => `${at % 4 === 0 ? 'Lantern' : 'Harbour'} no. ${at}`)
    await store.append(
      's',
      texts.map((text) => say('user', text)),
    )
    const find = (input: object): Promise<RecallAnswer> =>
      searchLog(store, { owner: 'ann' }, { query: 'lantern harbour', ...input }, { maxTokens: 300 })
    const first = await find({})
    if (isGrowing) {
      await store.append(
        's',
        Array.from({ length: 400 }, (_, at) => say('user', `Lantern again ${at}`)),
      )
      // Another search adds them to the index.
      await store.search('again')
    }
    return await pagesFrom(first, ({ cursor }) => (cursor === undefined ? undefined : find({ cursor })))
  }
  const still = positionsOf(await pagesOf(false))
  expect(new Set(still).size).toBe(60)
  expect(positionsOf(await pagesOf(true))).toEqual(still)
})
