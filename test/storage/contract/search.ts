import { describe, expect, test } from 'vitest'
import type { SearchOptions, Store } from '../../../src/index.ts'
import { call, result, say } from '../../support/conversation.ts'
import { type Contract, refusal } from './support.ts'

/** Session and position of each hit, summaries as `s`. */
async function found(store: Store, query: string, options: SearchOptions = {}): Promise<string[]> {
  const { hits } = await store.search(query, options)
  return hits.map(({ sessionId, position }) => `${sessionId}:${position ?? 's'}`)
}

/** Two sessions; every test knows them by heart. */
async function filled(store: Store): Promise<void> {
  await store.sessions.create({ id: 'one', owner: 'anna' })
  await store.sessions.create({ id: 'two', owner: 'bert' })
  await store.append('one', [
    { ...say('user', 'Please fix the failing build of the kettle.'), createdAt: 1_000 },
    { ...call('c1', 'read_file', { path: 'src/storage/sql/view.ts' }), createdAt: 2_000 },
    {
      ...result('c1', "error TS2345: Argument of type 'string' is not assignable", 'read_file'),
      createdAt: 3_000,
    },
    { ...say('assistant', 'The kettles were misspelled; fixed.'), createdAt: 4_000 },
    { ...say('user', 'Thanks. Unrelated: 故宫博物院的门票多少钱'), createdAt: 5_000 },
  ])
  await store.append('two', [
    { ...say('user', 'A teapot is no kettle.'), createdAt: 6_000 },
    { ...say('assistant', 'Zwölf Boxkämpfer jagen Viktor.'), createdAt: 7_000 },
  ])
}

/** Texts that a syntax could trip over. */
const ODD = [
  ...[
    '',
    ' ',
    '"',
    '"kettle',
    "kettle'",
    'kettle OR',
    'kettle AND NOT (',
    'NEAR(kettle, 2)',
    'kettle*',
    '^kettle',
    '-kettle',
  ],
  ...[
    'words:kettle',
    'kettle & | ! <-> :*',
    '\\',
    "kettle\\'",
    '\0kettle',
    '\ud800 kettle',
    'kettle \udfff',
    '😀',
    '%_?',
    '$1 ?1',
  ],
  ...[
    'kettle '.repeat(1_500),
    '"'.repeat(10_000),
    'ketltle-'.repeat(1_300),
    '水'.repeat(10_000),
    '{family} ? {list ?}',
  ],
]

export function describeSearch({ openBoth, open, keeps }: Contract): void {
  describe.skipIf(!keeps.search)('the search', () => {
    test('finds words in other forms, in texts, calls and results', async () => {
      const store = await open()
      await filled(store)
      expect((await found(store, 'kettle')).sort()).toEqual(['one:1', 'one:4', 'two:1'])
      expect((await found(store, 'builds'))[0]).toBe('one:1')
      expect((await found(store, 'error TS2345'))[0]).toBe('one:3')
      expect((await found(store, 'view.ts'))[0]).toBe('one:2')
      expect((await found(store, 'src/storage/sql/view.ts'))[0]).toBe('one:2')
      expect(await found(store, 'boxkampfer')).toEqual(['two:2'])
      expect(await found(store, '门票')).toEqual(['one:5'])
      expect(await found(store, '博物')).toEqual(['one:5'])
      expect(await found(store, 'xylophone')).toEqual([])
    })

    test('a hit has its place, time and a passage with marks', async () => {
      const store = await open()
      await filled(store)
      const { hits, complete, cursor } = await store.search('teapot')
      const { incarnation } = await store.sessions.get('two')
      expect(hits).toEqual([
        {
          sessionId: 'two',
          messageId: `${incarnation}:1`,
          kind: 'message',
          role: 'user',
          position: 1,
          anchor: 1,
          createdAt: 6_000,
          score: expect.any(Number),
          snippet: { text: 'A teapot is no kettle.', marks: [[2, 8]] },
        },
      ])
      expect([complete, cursor]).toEqual([true, undefined])
    })

    test('chooses by session, owner, role, tool, time and whether a compaction hides it', async () => {
      const store = await open()
      await filled(store)
      const kettle = async (options: SearchOptions) => (await found(store, 'kettle', options)).sort()
      expect(await kettle({ session: 'two' })).toEqual(['two:1'])
      expect(await kettle({ owner: 'anna' })).toEqual(['one:1', 'one:4'])
      expect(await kettle({ owner: 'nobody' })).toEqual([])
      await refusal(store.search('kettle', { session: 'two', owner: 'anna' }), 'SESSION_NOT_FOUND')
      expect(await kettle({ roles: ['assistant'] })).toEqual(['one:4'])
      expect(await kettle({ roles: ['assistant', 'user'], from: 4_000 })).toEqual(['one:4', 'two:1'])
      expect(await kettle({ from: new Date(1_000), to: 1_000 })).toEqual(['one:1'])
      expect(await kettle({ hidden: true })).toEqual([])
      expect((await found(store, 'error view.ts', { tools: ['read_file'] })).sort()).toEqual([
        'one:2',
        'one:3',
      ])
      expect(await found(store, 'error view.ts', { tools: ['bash'] })).toEqual([])
      await refusal(store.search('kettle', { session: 'nobody' }), 'SESSION_NOT_FOUND')
      await refusal(store.search('kettle', { limit: 0 }), 'INVALID_INPUT')
      await refusal(store.search(7 as never), 'INVALID_INPUT')
    })

    test('names the compaction that hides a hit, also after undo and redo, and finds summaries', async () => {
      const store = await open()
      await filled(store)
      const run = await store.compactSession('one', {
        range: { from: 1, to: 4 },
        summary: 'A porcelain summary.',
      })
      const compactionId = run!.compactions[0]!.id
      const hiddenBy = async (query: string) =>
        (await store.search(query, { session: 'one' })).hits.map((hit) => [
          hit.kind,
          hit.position,
          hit.hiddenBy,
        ])
      expect(await hiddenBy('misspelled')).toEqual([['message', 4, compactionId]])
      expect(await found(store, 'kettle', { hidden: false })).toEqual(['two:1'])
      expect((await found(store, 'kettle', { hidden: true })).sort()).toEqual(['one:1', 'one:4'])
      expect(await hiddenBy('porcelain')).toEqual([['summary', undefined, undefined]])
      await store.undoCompaction('one', compactionId)
      expect(await hiddenBy('misspelled')).toEqual([['message', 4, undefined]])
      expect(await hiddenBy('porcelain')).toEqual([['summary', undefined, compactionId]])
      await store.redoCompaction('one', compactionId)
      expect(await hiddenBy('misspelled')).toEqual([['message', 4, compactionId]])
    })

    test('finds what was appended since the last search, and only that the other way round', async () => {
      const store = await open()
      await filled(store)
      expect(await found(store, 'samovar')).toEqual([])
      await store.append('one', [say('user', 'samovar')])
      expect(await found(store, 'samovar')).toEqual(['one:6'])
      await store.append('three', [say('user', 'samovar'), say('user', 'samovar')])
      expect((await found(store, 'samovar', { session: 'three' })).sort()).toEqual(['three:1', 'three:2'])
    })

    test('pages have all hits once, also when more is appended between them', async () => {
      const store = await open()
      const texts = Array.from({ length: 130 }, (_, at) =>
        say('user', `kettle number ${at} ${'so '.repeat(at % 7)}`),
      )
      await store.append('one', texts)
      const seen: number[] = []
      let cursor: string | undefined
      do {
        const page = await store.search('kettle', { limit: 7, ...(cursor !== undefined && { cursor }) })
        seen.push(...page.hits.map(({ position }) => position!))
        cursor = page.cursor
        await store.append('one', [say('user', 'kettle kettle')])
        // Another search puts the new message into the index.
        await store.search('kettle')
      } while (cursor !== undefined)
      expect(seen.toSorted((a, b) => a - b)).toEqual(texts.map((_, at) => at + 1))
      const { cursor: first } = await store.search('kettle', { limit: 7 })
      await refusal(store.search('teapot', { limit: 7, cursor: first! }), 'INVALID_INPUT')
      await refusal(store.search('kettle', { cursor: 'x' }), 'INVALID_INPUT')
    })

    test('pages are those of the list without what happens between them: appends, compactions, undo, rewinds', async () => {
      const words = ['zebra', 'stripes', 'harbour', 'kettle', 'shipping', 'invoice', 'rounding', 'gate']
      let seed = 7
      const next = (below: number): number => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
        return Math.floor((seed / 2_147_483_648) * below)
      }
      const line = (): string => Array.from({ length: 3 + next(12) }, () => words[next(8)]!).join(' ')
      const turns = (count: number) =>
        Array.from({ length: count }, (_, at) => say(at % 2 === 0 ? 'user' : 'assistant', line()))
      const store = await open()
      for (let nth = 0; nth < 4; nth++) await store.append(`s${nth}`, turns(50))
      /** Session, position and score of all hits, in pages of 7. */
      const list = async (query: string, options: SearchOptions, between: (page: number) => unknown) => {
        const hits: string[] = []
        let cursor: string | undefined
        let page = 0
        do {
          const found = await store.search(query, {
            ...options,
            limit: 7,
            ...(cursor !== undefined && { cursor }),
          })
          for (const { sessionId, position, score } of found.hits)
            hits.push(`${sessionId}:${position ?? 's'} ${score.toFixed(9)}`)
          cursor = found.cursor
          if (cursor !== undefined) await between(page++)
        } while (cursor !== undefined)
        return hits
      }
      let covered = 0
      const others: ((page: number) => Promise<unknown>)[] = [
        () => store.append('s0', turns(2)),
        (page) => store.append(`new${page}`, turns(3)),
        async (page) => {
          covered += 2
          await store.append('s1', turns(2))
          const run = await store.compactSession('s1', {
            range: { from: covered - 1, to: covered },
            summary: 'zebra harbour.',
          })
          await store.search('zebra')
          if (page % 2 === 0 && run?.compacted) await store.undoCompaction('s1', run.runId)
        },
        async (page) => {
          const last = (await store.getEffectiveHistory('s2')).at(-1)!
          if (keeps.histories && page % 8 === 3)
            await store.rewind('s2', { from: { beforeMessage: last.id } })
          return store.append('s2', turns(2))
        },
      ]
      for (const query of ['zebra harbour', 'where is the kettle of the invoice gate?'])
        for (const options of [{}, { session: 's0' }, { roles: ['user' as const] }]) {
          const before = await list(query, options, () => {})
          const during = await list(query, options, async (page) => {
            await others[page % others.length]!(page)
            // Puts what is new into the index.
            await store.search('zebra')
          })
          expect(during).toEqual(before)
        }
    })

    test('a text that forks share is shown once, in the newest session; within a session, as its own', async () => {
      const store = await open()
      if (!keeps.histories) return
      await store.append('one', [
        { ...say('user', 'A kettle for the kitchen.'), createdAt: 1_000 },
        { ...say('assistant', 'Which kettle?'), createdAt: 2_000 },
      ])
      await store.sessions.fork('one', { id: 'two' })
      await store.append('two', [{ ...say('user', 'The copper kettle.'), createdAt: 3_000 }])
      await store.sessions.fork('two', { id: 'three' })
      await store.append('one', [{ ...say('user', 'The iron kettle.'), createdAt: 4_000 }])
      await store.sessions.update('three', { owner: 'anna' })
      const all = await store.search('kettle')
      expect(all.hits.map(({ snippet }) => snippet.text).sort()).toEqual([
        'A kettle for the kitchen.',
        'The copper kettle.',
        'The iron kettle.',
        'Which kettle?',
      ])
      expect(await found(store, 'copper')).toEqual(['three:3'])
      expect((await found(store, 'kettle', { session: 'one' })).sort()).toEqual(['one:1', 'one:2', 'one:3'])
      expect((await found(store, 'kettle', { session: 'two' })).sort()).toEqual(['two:1', 'two:2', 'two:3'])
      expect((await found(store, 'kettle', { owner: 'anna' })).sort()).toEqual([
        'three:1',
        'three:2',
        'three:3',
      ])
      // The original is found where the fork is purged.
      await store.sessions.purge('three')
      expect(await found(store, 'copper')).toEqual(['two:3'])
    })

    test('pages over many forks have each text once', async () => {
      const store = await open()
      if (!keeps.histories) return
      await store.append(
        'fork0',
        Array.from({ length: 30 }, (_, at) => say('user', `kettle number ${at}`)),
      )
      for (let nth = 1; nth < 4; nth++) await store.sessions.fork(`fork${nth - 1}`, { id: `fork${nth}` })
      const texts: string[] = []
      let cursor: string | undefined
      do {
        const page = await store.search('kettle', { limit: 7, ...(cursor !== undefined && { cursor }) })
        for (const { snippet } of page.hits) texts.push(snippet.text)
        cursor = page.cursor
      } while (cursor !== undefined)
      expect(texts.toSorted()).toEqual(
        Array.from({ length: 30 }, (_, at) => `kettle number ${at}`).toSorted(),
      )
    })

    test('no text is a syntax error', async () => {
      const store = await open()
      await filled(store)
      for (const text of ODD) {
        const { hits } = await store.search(text)
        if (/\bkettle\b/.test(text)) expect([text, hits.length > 0]).toEqual([text, true])
      }
    })

    test('a query of very common words has no hits and names them, without an index; one with another word has hits', async () => {
      const store = await open()
      await filled(store)
      const events: unknown[] = []
      store.on('indexing', (event) => events.push(event))
      expect(await store.search('What is it? The…')).toEqual({
        ...{ hits: [], complete: true, noWords: true, leftOut: ['What', 'is', 'it', 'The'] },
      })
      expect(await store.search('?')).toEqual({ hits: [], complete: true, noWords: true })
      expect(events).toEqual([])
      await refusal(store.search('the', { session: 'none' }), 'SESSION_NOT_FOUND')
      const { hits, ...rest } = await store.search('is it the kettle')
      expect(hits).toHaveLength(3)
      expect(rest).toEqual({ complete: true, leftOut: ['is', 'it', 'the'] })
    })

    test('tells how far the index is: each row once, and nothing when there is nothing to add', async () => {
      const store = await open()
      await store.append(
        'long',
        Array.from({ length: 1_200 }, (_, at) => say('user', `kettle ${at}`)),
      )
      await store.append('short', [say('user', 'kettle')])
      const events: unknown[] = []
      store.on('indexing', (event) => events.push(event))
      await store.search('kettle', { session: 'short' })
      expect(events).toEqual([{ sessionId: 'short', indexed: 1, total: 1 }])
      events.length = 0
      await store.search('kettle')
      // A transaction has at most 500 rows.
      expect(events).toEqual([500, 1_000, 1_200].map((indexed) => ({ indexed, total: 1_200 })))
      events.length = 0
      await store.search('kettle')
      expect(events).toEqual([])
    })

    test('a message of forty thousand different words is found by its first and its last', async () => {
      const store = await open()
      const words = Array.from({ length: 40_000 }, (_, at) => `w${at.toString(36)}x`).join(' ')
      await store.append('one', [say('user', `alpha ${words} omega`)])
      expect(await found(store, 'alpha')).toEqual(['one:1'])
      expect(await found(store, 'omega')).toEqual(['one:1'])
    })

    test('a purged session is not found, and one with its id is another', async () => {
      const store = await open()
      await filled(store)
      expect(await found(store, 'teapot')).toEqual(['two:1'])
      await store.sessions.purge('two')
      expect(await found(store, 'teapot')).toEqual([])
      await store.append('two', [say('user', 'A samovar.')])
      await store.append('four', [say('user', 'A teapot.')])
      expect(await found(store, 'teapot')).toEqual(['four:1'])
      expect(await found(store, 'samovar')).toEqual(['two:1'])
      expect((await found(store, 'kettle')).sort()).toEqual(['one:1', 'one:4'])
    })

    test('a restored session is found', async () => {
      const store = await open()
      await filled(store)
      expect(await found(store, 'teapot')).toEqual(['two:1'])
      const records = []
      for await (const record of store.sessions.export('two')) records.push(record)
      await store.sessions.purge('two')
      await store.sessions.import(records)
      expect(await found(store, 'teapot')).toEqual(['two:1'])
    })

    test('two stores index at the same time, without gaps and duplicates', async () => {
      const { store, reopen } = await openBoth()
      if (reopen === undefined) return
      const other = await reopen()
      for (let nth = 0; nth < 5; nth++)
        await store.append(
          `s${nth}`,
          Array.from({ length: 300 }, (_, at) => say('user', `kettle ${at}`)),
        )
      const [a, b] = await Promise.all([store.search('kettle 299'), other.search('kettle 299')])
      expect(a.hits).toEqual(b.hits)
      const positions = await Promise.all(
        [0, 1, 2, 3, 4].map((nth) => found(store, 'kettle 123', { session: `s${nth}`, limit: 1 })),
      )
      expect(positions).toEqual([['s0:124'], ['s1:124'], ['s2:124'], ['s3:124'], ['s4:124']])
      await store.append('s0', [say('user', 'teapot')])
      expect(await found(other, 'teapot')).toEqual(['s0:301'])
    })
  })
}
