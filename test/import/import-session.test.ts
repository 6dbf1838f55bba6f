import { describe, expect, it } from 'vitest'
import { neurolinkEstimator } from '../../src/core/tokens/index.ts'
import { type NewMessage, openStore } from '../../src/index.ts'
import type { ImportEvent, ImportedCompaction } from '../../src/store/history/import/import-types.ts'
import { Store } from '../../src/store/store.ts'
import { call, result, say } from '../support/conversation.ts'
import { ModelStorage } from '../support/model-storage.ts'

const SOURCE = { source: 'elsewhere' }

function message(message: NewMessage, key: string): ImportEvent {
  return { type: 'message', message: { ...message, idempotencyKey: key } }
}

/** User and assistant in turn: "m1", "m2" … */
function talk(from: number, to: number): ImportEvent[] {
  const events: ImportEvent[] = []
  for (let nth = from; nth <= to; nth++)
    events.push(message(say(nth % 2 === 1 ? 'user' : 'assistant', `m${nth}`), `k${nth}`))
  return events
}

function compaction(given: ImportedCompaction): ImportEvent {
  return { type: 'compaction', compaction: given }
}

/** Stores that keep an audit and can be verified; the pure model does neither. */
const keeps = new WeakSet<Store>()

const OVER: Readonly<Record<string, () => Promise<Store>>> = {
  SQLite: async () => {
    const store = await openStore(':memory:', { estimator: neurolinkEstimator })
    keeps.add(store)
    return store
  },
  'the pure model': async () => {
    const byName = new Map([[neurolinkEstimator.name, neurolinkEstimator]])
    return new Store(new ModelStorage(), { estimators: { standard: neurolinkEstimator, byName } })
  },
}

async function view(store: Store, id = 's'): Promise<unknown[]> {
  return (await store.getEffectiveHistory(id)).map(({ content }) => content)
}

async function isClean(store: Store, id = 's'): Promise<void> {
  if (keeps.has(store)) expect((await store.sessions.verify(id)).findings).toEqual([])
}

const overEach = describe.each(Object.entries(OVER))

overEach('the owner of an import over %s', (_, open) => {
  it('adds nothing to the session of another owner, nor to one without an owner: the owner gets another', async () => {
    const store = await open()
    await store.sessions.import(talk(1, 3), { id: 'of ann', ...SOURCE, owner: 'ann' })
    await store.sessions.import(talk(1, 3), { id: 'of nobody', ...SOURCE })
    const before = await store.sessions.list()
    const bob = { ...SOURCE, owner: 'bob' }
    for (const id of ['of ann', 'of nobody'])
      expect(await store.sessions.import(talk(1, 5), { id, ...bob, dryRun: true })).toMatchObject({
        ...{ status: 'created', messages: 5 },
      })
    expect(await store.sessions.list()).toEqual(before)
    expect(await store.sessions.import(talk(1, 5), { id: 'of ann', ...SOURCE })).toMatchObject({
      status: 'extended',
    })
    expect(await store.sessions.get('of ann')).toMatchObject({ owner: 'ann', messageCount: 5 })
    expect((await store.sessions.get('of nobody')).owner).toBeUndefined()
  })
})

overEach('an import with compactions, over %s', (_, open) => {
  it('stores a conversation with what is known of it', async () => {
    const store = await open()
    const fields: ImportEvent = {
      type: 'fields',
      title: 'A trip',
      provider: 'anthropic',
      model: 'claude-x',
      createdAt: 1_700_000_000_000,
      metadata: { cwd: '/home' },
    }
    const done = await store.sessions.import([...talk(1, 3), fields], { id: 's', ...SOURCE, owner: 'ann' })
    expect(done).toEqual({ sessionId: 's', status: 'imported', messages: 3, existing: 0, compactions: [] })
    expect(await store.sessions.get('s')).toMatchObject({
      title: 'A trip',
      provider: 'anthropic',
      model: 'claude-x',
      owner: 'ann',
      createdAt: 1_700_000_000_000,
      metadata: { elsewhere: { cwd: '/home' } },
      messageCount: 3,
    })
    expect(await view(store)).toEqual(['m1', 'm2', 'm3'])
    if (keeps.has(store)) {
      const [entry] = await store.sessions.audit('s')
      expect(entry).toMatchObject({ event: 'imported', detail: { source: 'elsewhere', messages: 3 } })
    }
    await isClean(store)
  })

  it('condenses what another system had condensed; undone, the originals show', async () => {
    const store = await open()
    const first = compaction({
      id: 'c1',
      kind: 'condense',
      covers: [[1, 3]],
      text: 'One to three.',
      createdAt: 5_000,
    })
    const second = compaction({ id: 'c2', kind: 'condense', covers: [[1, 5]], text: 'One to five.' })
    const done = await store.sessions.import([...talk(1, 4), first, ...talk(5, 6), second, ...talk(7, 7)], {
      id: 's',
      ...SOURCE,
    })
    expect(done.compactions).toMatchObject([
      { id: 'c1', status: 'applied' },
      { id: 'c2', status: 'applied' },
    ])
    expect(await view(store)).toEqual(['One to five.', 'm6', 'm7'])
    const [one, two] = await store.listCompactions('s')
    expect(one).toMatchObject({
      kind: 'condense',
      trigger: 'import',
      createdAt: 5_000,
      summarizer: 'elsewhere',
    })
    await store.undoCompaction('s', two!.id)
    expect(await view(store)).toEqual(['One to three.', 'm4', 'm5', 'm6', 'm7'])
    await store.undoCompaction('s', one!.id)
    expect(await view(store)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7'])
    await store.redoCompaction('s', one!.id)
    await store.redoCompaction('s', two!.id)
    expect(await view(store)).toEqual(['One to five.', 'm6', 'm7'])
    await isClean(store)
  })

  it('truncates with a marker, and leaves what was undone undone', async () => {
    const store = await open()
    const events = [
      ...talk(1, 4),
      compaction({ id: 't', kind: 'truncate', covers: [[2, 3]], text: '[two messages]' }),
      compaction({ id: 'u', kind: 'truncate', covers: [[1, 1]], undone: true }),
    ]
    const done = await store.sessions.import(events, { id: 's', ...SOURCE })
    expect(done.compactions.map(({ status }) => status)).toEqual(['applied', 'applied'])
    expect(await view(store)).toEqual(['m1', '[two messages]', 'm4'])
    const undone = (await store.listCompactions('s')).find(({ status }) => status === 'undone')
    await store.redoCompaction('s', undone!.id)
    expect(await view(store)).toEqual(['[two messages]', 'm4'])
    await isClean(store)
  })

  it('rewinds the end of a conversation, with a summary, a system message and a waiting call', async () => {
    const store = await open()
    const events = [
      ...talk(1, 2),
      compaction({ id: 'c', kind: 'condense', covers: [[1, 2]], text: 'Before.' }),
      message(say('system', 'now'), 'k3'),
      message(call('c1', 'read'), 'k4'),
      compaction({ id: 'back', kind: 'manual', covers: [[1, 4]], reason: 'taken back' }),
      message(say('user', 'again'), 'k5'),
    ]
    const done = await store.sessions.import(events, { id: 's', ...SOURCE })
    expect(done.compactions.map(({ status }) => status)).toEqual(['applied', 'applied'])
    expect(await view(store)).toEqual(['again'])
    const back = (await store.listCompactions('s')).find(({ kind }) => kind === 'manual')
    expect(back).toMatchObject({ reason: 'taken back', rowsHidden: 3 })
    await store.undoCompaction('s', back!.id, { both: true })
    expect((await view(store))[0]).toBe('Before.')
    await isClean(store)
  })

  it('covers no half of a tool call and no system message, and reports how many rows stay', async () => {
    const store = await open()
    const events = [
      message(say('user', 'a'), 'k1'),
      message(say('system', 'rule'), 'k2'),
      message(say('user', 'b'), 'k3'),
      message(say('assistant', 'c'), 'k4'),
      message(call('c1', 'read'), 'k5'),
      message(result('c1', 'text'), 'k6'),
      message(say('user', 'd'), 'k7'),
      compaction({ id: 'c', kind: 'condense', covers: [[1, 5]], text: 'Sum.' }),
    ]
    const done = await store.sessions.import(events, { id: 's', ...SOURCE })
    expect(done.compactions).toMatchObject([{ status: 'applied', rowsLeft: 2 }])
    const shown = await view(store)
    expect([shown[0], shown[1], shown.length]).toEqual(['rule', 'Sum.', 5])
    const runs = new Set((await store.listCompactions('s')).map(({ runId }) => runId))
    expect(runs.size).toBe(1)
    await store.undoCompaction('s', [...runs][0]!)
    expect(await view(store)).toHaveLength(7)
    await isClean(store)
  })

  it('refuses one compaction without refusing the conversation', async () => {
    const store = await open()
    const events = [
      ...talk(1, 2),
      compaction({ id: 'empty', kind: 'condense', covers: [[1, 2]], text: ' ' }),
      compaction({ id: 'nothing', kind: 'truncate', covers: [] }),
      compaction({ id: 'later', kind: 'truncate', covers: [[7, 9]] }),
    ]
    const done = await store.sessions.import(events, { id: 's', ...SOURCE })
    expect(done.compactions.map(({ status }) => status)).toEqual(['refused', 'refused', 'refused'])
    expect(await view(store)).toEqual(['m1', 'm2'])
  })
})

overEach('a repeated import over %s', (_, open) => {
  it('adds nothing a second time, also after a compaction or a rewind', async () => {
    const store = await open()
    const events = [...talk(1, 4), compaction({ id: 'c', kind: 'condense', covers: [[1, 2]], text: 'Sum.' })]
    await store.sessions.import(() => events, { id: 's', ...SOURCE })
    const before = await store.sessions.get('s')
    const again = await store.sessions.import(() => events, { id: 's', ...SOURCE })
    expect(again).toMatchObject({
      status: 'unchanged',
      messages: 0,
      existing: 4,
      compactions: [{ status: 'known' }],
    })
    expect(await store.sessions.get('s')).toEqual(before)
    const [condensed] = await store.listCompactions('s')
    await store.undoCompaction('s', condensed!.id)
    await store.rewind('s', { from: 'start' })
    expect(await store.sessions.import(() => events, { id: 's', ...SOURCE })).toMatchObject({
      status: 'unchanged',
    })
    expect(await view(store)).toEqual([])
  })

  it('adds the end of a conversation that has grown, with its compactions', async () => {
    const store = await open()
    await store.sessions.import(talk(1, 4), { id: 's', ...SOURCE })
    const grown = [
      ...talk(1, 6),
      compaction({ id: 'c', kind: 'condense', covers: [[1, 5]], text: 'Sum.' }),
      ...talk(7, 8),
    ]
    const done = await store.sessions.import(() => grown, { id: 's', ...SOURCE })
    expect(done).toMatchObject({ status: 'extended', messages: 4, existing: 4 })
    expect(await view(store)).toEqual(['Sum.', 'm6', 'm7', 'm8'])
    await isClean(store)
  })

  it('is called what it was to be called in what it throws', async () => {
    const store = await open()
    const twice = [
      message({ ...say('user', 'a'), id: 'x' }, '1'),
      message({ ...say('user', 'b'), id: 'x' }, '2'),
    ]
    await expect(store.sessions.import(twice, { id: 's', ...SOURCE })).rejects.toMatchObject({
      code: 'MESSAGE_ID_TAKEN',
      facts: { sessionId: 's', messageId: 'x' },
    })
  })

  it('recognizes a message by its content, and an empty one by its metadata', async () => {
    const store = await open()
    const first = message({ ...say('user', 'a'), metadata: { seen: 1 } }, '1')
    const silent = (kept: number) => message({ role: 'tool', content: [], metadata: { kept } }, '2')
    await store.sessions.import([first, silent(1)], { id: 's', ...SOURCE })
    const then = message({ ...say('user', 'a'), metadata: { seen: 2, more: true } }, '1')
    const done = await store.sessions.import([then, silent(1), ...talk(3, 4)], { id: 's', ...SOURCE })
    expect(done).toMatchObject({ status: 'extended', messages: 2, existing: 2 })
    expect((await store.getMessages('s'))[0]).toMatchObject({ metadata: { seen: 1 } })
    await expect(store.sessions.import([first, silent(2)], { id: 's', ...SOURCE })).rejects.toMatchObject({
      code: 'IMPORT_DIVERGED',
      facts: { position: 2 },
    })
  })

  it('stores with the end what the beginning of a conversation lacked, and changes no existing fact', async () => {
    const store = await open()
    const first: ImportEvent = { type: 'fields', provider: 'anthropic', metadata: { cwd: '/home' } }
    const then: ImportEvent = {
      type: 'fields',
      title: 'A trip',
      provider: 'anthropic',
      model: 'claude-x',
      metadata: { cwd: '/tmp', branch: 'main' },
    }
    await store.sessions.import([...talk(1, 2), first], { id: 's', ...SOURCE })
    await store.sessions.import([...talk(1, 2), then], { id: 's', ...SOURCE })
    expect(await store.sessions.get('s')).toMatchObject({ title: undefined, model: undefined })
    await store.sessions.import([...talk(1, 3), then], { id: 's', ...SOURCE })
    expect(await store.sessions.get('s')).toMatchObject({
      title: 'A trip',
      provider: 'anthropic',
      model: 'claude-x',
      metadata: { elsewhere: { cwd: '/home', branch: 'main' } },
    })
    await store.sessions.update('s', { title: 'Mine', provider: 'openai', model: null })
    await store.sessions.import([...talk(1, 4), then], { id: 's', ...SOURCE })
    const { title, provider, model } = await store.sessions.get('s')
    expect([title, provider, model]).toEqual(['Mine', 'openai', undefined])
    await isClean(store)
  })

  it('finds what another import of the same file stored meanwhile', async () => {
    const store = await open()
    let isFirst = true
    const events = async function* () {
      if (isFirst) {
        isFirst = false
        await store.sessions.import(() => talk(1, 3), { id: 's', ...SOURCE })
      }
      yield* talk(1, 5)
    }
    const done = await store.sessions.import(events, { id: 's', ...SOURCE })
    expect(done).toMatchObject({ status: 'extended', messages: 2, existing: 3 })
    expect(await view(store)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5'])
    await isClean(store)
  })

  it.each<readonly [string, ImportEvent[], string]>([
    ['another conversation', [message(say('user', 'x'), 'other')], 'SESSION_EXISTS'],
    ['another text', [message(say('user', 'x'), 'k1')], 'IMPORT_DIVERGED'],
    [
      'something between',
      [...talk(1, 1), message(say('user', 'x'), 'new'), ...talk(2, 2)],
      'IMPORT_DIVERGED',
    ],
    ['without what it had', [...talk(2, 2), message(say('user', 'x'), 'new')], 'IMPORT_DIVERGED'],
    ['another end', [...talk(1, 1), message(say('user', 'x'), 'new')], 'IMPORT_DIVERGED'],
  ])('writes nothing for a session that is %s', async (_, events, code) => {
    const store = await open()
    await store.sessions.import(talk(1, 2), { id: 's', ...SOURCE })
    const before = await store.sessions.get('s')
    await expect(store.sessions.import(() => events, { id: 's', ...SOURCE })).rejects.toMatchObject({ code })
    expect(await store.sessions.get('s')).toEqual(before)
  })
})

overEach('an import in progress over %s', (_, open) => {
  it('is invisible before it is complete, and leaves nothing when it fails', async () => {
    const store = await open()
    const seen: unknown[] = []
    async function* events(): AsyncGenerator<ImportEvent> {
      for (const event of talk(1, 1_200)) yield event
      seen.push((await store.sessions.list()).length, await store.getContextStats('s'))
      throw new RangeError('the disk went away')
    }
    await expect(store.sessions.import(events(), { id: 's', ...SOURCE })).rejects.toThrow(
      'the disk went away',
    )
    expect(seen).toEqual([0, null])
    expect(await store.sessions.list()).toEqual([])
    const late = store.sessions.import(talk(1, 3), {
      id: 's',
      ...SOURCE,
      beforePublish: () => {
        throw new RangeError('the file was changed')
      },
    })
    await expect(late).rejects.toThrow('the file was changed')
    await expect(store.sessions.get('s')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    const bad = [...talk(1, 2), { type: 'message', message: { role: 'nobody' } } as unknown as ImportEvent]
    await expect(store.sessions.import(bad, { id: 's', ...SOURCE })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
    expect(await store.sessions.import(talk(1, 3), { id: 's', ...SOURCE })).toMatchObject({ messages: 3 })
  })

  it('can be aborted at any moment, as a new session, as an extension and as a dry run', async () => {
    const store = await open()
    await store.sessions.import(talk(1, 3), { id: 'there', ...SOURCE })
    for (const id of ['new', 'there'])
      for (const dryRun of [false, true])
        for (const [from, to, abortedAt] of [
          [1, 0, 0],
          [1, 3, 0],
          [1, 5, 4],
          [1, 5, 5],
        ] as const) {
          const controller = new AbortController()
          async function* events(): AsyncGenerator<ImportEvent> {
            if (abortedAt === 0) controller.abort()
            for (const [i, event] of talk(from, to).entries()) {
              yield event
              if (i + 1 === abortedAt) controller.abort()
            }
          }
          const options = { ...SOURCE, dryRun, signal: controller.signal }
          await expect(
            store.sessions.import(events(), { id, ...options }),
            `${id}, dry ${dryRun}, at ${abortedAt} of ${to}`,
          ).rejects.toMatchObject({ code: 'ABORTED', facts: { sessionId: id } })
        }
    expect((await store.sessions.list()).map(({ id, messageCount }) => [id, messageCount])).toEqual([
      ['there', 3],
    ])
  })

  it('goes without what a label cannot hold', async () => {
    const store = await open()
    const title = `a\0b${'\ud800'}${'x'.repeat(2_000)}`
    await store.sessions.import([{ type: 'fields', title, model: '' }, ...talk(1, 1)], { id: 's', ...SOURCE })
    const session = await store.sessions.get('s')
    expect(session.title).toHaveLength(1_000)
    expect(session.title?.startsWith('a b\ufffdx')).toBe(true)
    expect(session.model).toBeUndefined()
  })
})

overEach('what the source undid, in an import over %s', (_, open) => {
  it('follows the undos and redos of its source, with their nesting, until a user acts', async () => {
    const store = await open()
    const file = (inner: boolean, outer: boolean, rewound: boolean): ImportEvent[] => [
      ...talk(1, 2),
      compaction({ id: 'in', kind: 'condense', covers: [[1, 2]], text: 'I', undone: !inner }),
      ...talk(3, 4),
      compaction({ id: 'out', kind: 'condense', covers: [[1, 3]], text: 'O', undone: !outer }),
      compaction({ id: 'back', kind: 'manual', covers: [[1, 4]], undone: !rewound }),
      ...talk(5, 5),
    ]
    await store.sessions.import(file(false, false, true), { id: 's', ...SOURCE })
    expect(await view(store)).toEqual(['m5'])
    const back = await store.sessions.import(file(true, true, false), { id: 's', ...SOURCE })
    expect(back.compactions.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied'])
    expect(await view(store)).toEqual(['O', 'm4', 'm5'])
    const [, outer] = await store.listCompactions('s')
    await store.sessions.import(file(true, false, false), { id: 's', ...SOURCE })
    expect(await view(store)).toEqual(['I', 'm3', 'm4', 'm5'])
    await store.sessions.import(file(true, true, false), { id: 's', ...SOURCE })
    expect(await view(store)).toEqual(['O', 'm4', 'm5'])
    await isClean(store)
    if (!keeps.has(store)) return
    await store.undoCompaction('s', outer!.id)
    const same = await store.sessions.import(file(true, true, false), { id: 's', ...SOURCE })
    expect(same.status).toBe('unchanged')
    expect(await view(store)).toEqual(['I', 'm3', 'm4', 'm5'])
  })

  it('builds what comes undone on what was imported before and is undone by now', async () => {
    const store = await open()
    const inner: ImportedCompaction = { id: 'in', kind: 'condense', covers: [[1, 2]], text: 'I' }
    await store.sessions.import([...talk(1, 2), compaction(inner)], { id: 's', ...SOURCE })
    const file = (rewound: boolean): ImportEvent[] => [
      ...talk(1, 2),
      compaction({ ...inner, undone: rewound }),
      ...talk(3, 3),
      compaction({ id: 'out', kind: 'condense', covers: [[1, 3]], text: 'O', undone: rewound }),
      compaction({ id: 'back', kind: 'manual', covers: [[1, 3]], undone: !rewound }),
      ...talk(4, 4),
    ]
    await store.sessions.import(file(true), { id: 's', ...SOURCE })
    expect(await view(store)).toEqual(['m4'])
    expect((await store.listCompactions('s')).map(({ status }) => status)).toEqual([
      'undone',
      'undone',
      'active',
    ])
    expect(await store.sessions.import(file(true), { id: 's', ...SOURCE })).toMatchObject({
      status: 'unchanged',
    })
    const back = await store.sessions.import(file(false), { id: 's', ...SOURCE })
    expect(back.compactions.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied'])
    expect(await view(store)).toEqual(['O', 'm4'])
    await isClean(store)
  })

  it('makes what comes undone though another that comes undone hides all of it', async () => {
    const store = await open()
    const file: ImportEvent[] = [
      ...talk(1, 3),
      compaction({ id: 'back', kind: 'manual', covers: [[1, 3]], undone: true }),
      compaction({ id: 'c', kind: 'condense', covers: [[1, 2]], text: 'S', undone: true }),
    ]
    const first = await store.sessions.import(file, { id: 's', ...SOURCE })
    expect(first.compactions.map(({ status }) => status)).toEqual(['applied', 'applied'])
    const again = await store.sessions.import(file, { id: 's', ...SOURCE })
    expect(again).toMatchObject({
      status: 'unchanged',
      compactions: [{ status: 'known' }, { status: 'known' }],
    })
    expect(await view(store)).toEqual(['m1', 'm2', 'm3'])
    await isClean(store)
  })

  it('leaves alone what people have undone, also while it makes another that the source has undone', async () => {
    const store = await open()
    if (!keeps.has(store)) return
    const inner = (undone: boolean) =>
      compaction({ id: 'in', kind: 'condense', covers: [[1, 2]], text: 'I', undone })
    const made = await store.sessions.import([...talk(1, 3), inner(false)], { id: 's', ...SOURCE })
    await store.undoCompaction('s', made.compactions[0]!.compactionId!)
    const before = await store.sessions.audit('s')
    const outer = compaction({ id: 'out', kind: 'condense', covers: [[1, 3]], text: 'O', undone: true })
    await store.sessions.import([...talk(1, 2), inner(true), ...talk(3, 4), outer], { id: 's', ...SOURCE })
    const turned = (await store.sessions.audit('s'))
      .filter(({ compactionId }) => compactionId === made.compactions[0]!.compactionId)
      .map(({ event }) => event)
    expect(turned).toEqual(
      before
        .filter(({ compactionId }) => compactionId === made.compactions[0]!.compactionId)
        .map(({ event }) => event),
    )
    expect(await view(store)).toEqual(['m1', 'm2', 'm3', 'm4'])
    await isClean(store)
  })

  it('reports what it could not redo', async () => {
    const store = await open()
    const file = (undone: boolean): ImportEvent[] => [
      ...talk(1, 3),
      compaction({ id: 'c', kind: 'condense', covers: [[1, 2]], text: 'S', undone }),
    ]
    await store.sessions.import(file(true), { id: 's', ...SOURCE })
    const others = compaction({ id: 'x', kind: 'condense', covers: [[1, 1]], text: 'theirs' })
    await store.sessions.import([...talk(1, 3), others], { id: 's', source: 'another' })
    expect((await store.sessions.import(file(false), { id: 's', ...SOURCE })).compactions).toMatchObject([
      { id: 'c', status: 'refused', why: 'INPUT_NOT_VISIBLE' },
    ])
    expect(await view(store)).toEqual(['theirs', 'm2', 'm3'])
    await isClean(store)
  })

  it('undoes once what its source has undone since', async () => {
    const store = await open()
    const made: ImportedCompaction = { id: 'c', kind: 'condense', covers: [[1, 2]], text: 'S' }
    await store.sessions.import([...talk(1, 3), compaction(made)], { id: 's', ...SOURCE })
    expect(await view(store)).toEqual(['S', 'm3'])
    const undone = [...talk(1, 3), compaction({ ...made, undone: true })]
    const again = await store.sessions.import(undone, { id: 's', ...SOURCE })
    expect(again).toMatchObject({
      status: 'extended',
      messages: 0,
      compactions: [{ id: 'c', status: 'applied' }],
    })
    expect(await view(store)).toEqual(['m1', 'm2', 'm3'])
    expect(await store.sessions.import(undone, { id: 's', ...SOURCE })).toMatchObject({ status: 'unchanged' })
    // Whoever puts it back here wants it so.
    await store.redoCompaction('s', again.compactions[0]!.compactionId!)
    if (keeps.has(store)) {
      expect(await store.sessions.import(undone, { id: 's', ...SOURCE })).toMatchObject({
        status: 'unchanged',
      })
      expect(await view(store)).toEqual(['S', 'm3'])
    }
    await isClean(store)
  })

  it('stores a conversation without a message', async () => {
    const store = await open()
    expect(await store.sessions.import([], { id: 's', ...SOURCE })).toMatchObject({
      status: 'imported',
      messages: 0,
    })
    expect(await store.sessions.get('s')).toMatchObject({ messageCount: 0 })
  })
})

it.each([
  ['events', { type: 'fields', title: 'x' }, { id: 's' }],
  ['records', { type: 'header' }, { id: '' }],
])(
  'closes %s that it refuses for the options, having read no more than the first',
  async (_, first, options) => {
    await using store = await openStore(':memory:')
    const seen: string[] = []
    const content = async function* () {
      try {
        seen.push('first')
        yield first
        seen.push('second')
        yield first
      } finally {
        seen.push('closed')
      }
    }
    await expect(store.sessions.import(content() as never, options as never)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
    expect(seen).toEqual(['first', 'closed'])
  },
)
