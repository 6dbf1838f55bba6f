import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dependentsOf, storedReplacements, viewAt } from '../../src/cli/commands/diff.ts'
import type { Store } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'
import { call, result, say } from '../support/conversation.ts'

let small: SmallStore
beforeAll(async () => {
  small = await smallStore()
})
afterAll(() => small.remove())

const diff = async (...argv: string[]) => runCli(['diff', ...argv, '--db', small.path])

it('shows what went and what came', async () => {
  const { id } = small.compactions[0]!
  const { lines, exit } = await diff('talk', id)
  expect(exit).toBe(0)
  // Tokens are the estimator's; the listing is what counts here.
  expect(lines.map((line) => line.replace(/,? ?\(?[\d,]+ tokens\)?/, ''))).toEqual([
    `condense ${id} (in force)`,
    '--- the view without it: 8 rows',
    '+++ the view with it: 5 rows',
    '',
    '- 1 · user: Does the kettle work?',
    '- 2 · assistant: → look {"at":"kettle"}',
    '- 3 · tool: ← look, 28 B: It is cold. Its plug is out.',
    '- 4 · assistant: No: its plug is out.',
    '+ summary',
    '+   The plug was out.',
    '  5 · user: Put it in.',
    '  6 · assistant: Done.',
    '  … 2 rows unchanged',
  ])
})

it('shows of one that is undone what a redo would do', async () => {
  const { lines } = await diff('talk', small.compactions[1]!.id)
  expect(lines.slice(1, 3)).toEqual([
    expect.stringContaining('--- the view as it is now: 5 rows'),
    expect.stringContaining('+++ the view as a redo would make it: 4 rows'),
  ])
  expect(lines.filter((line) => line.startsWith('- '))).toEqual([
    expect.stringMatching(/^- 6 · assistant .*: Done\.$/),
  ])
})

it('prints the token figures of the compaction itself', async () => {
  const [{ id, tokensBefore, tokensAfter }] = small.compactions as [(typeof small.compactions)[number]]
  const { json } = await diff('talk', id, '--json')
  expect(json).toMatchObject({ after: 'with', tokens: { before: tokensBefore, after: tokensAfter } })
})

it('shows texts that name an option as they are', async () => {
  await small.change(async (store) => {
    // More lines than an output may have, so its middle is not shown.
    const output = `see --no-fold\n${'line\n'.repeat(3_000)}`
    await store.append('options', [say('user', 'Help?'), call('c', 'help'), result('c', output, 'help')])
  })
  const { lines } = await runCli(['diff', 'options', '@', '--db', small.path], { columns: 100 })
  expect(lines.filter((line) => line.startsWith('-   '))).toEqual([
    '-   see --no-fold',
    ...Array.from({ length: 7 }, () => '-   line'),
    '-   … 2,993 more lines; --full shows all',
  ])
})

it('reports that an attempt that was never in force has nothing to compare', async () => {
  await small.change(async (store) => {
    await store.append('failing', [say('user', 'a'.repeat(400)), say('assistant', 'b'), say('user', 'c')])
    const summarizer = { name: 'broken', usesModel: true, summarize: () => Promise.reject(new Error('no')) }
    await store.compactSession('failing', { range: { from: 1, to: 2 }, summarizer })
  })
  const [failed] = await small.change((store) => store.listCompactions('failing'))
  expect(failed!.status).toBe('failed')
  const { exit, err } = await diff('failing', failed!.id)
  expect(exit).toBe(3)
  expect(err).toContain('was never in force')
})

describe('what others in force build on it', () => {
  it('is left out of both sides, or taken in with --now', async () => {
    const [inner, outer] = await small.change(async (store) => {
      await store.append(
        'nested',
        Array.from({ length: 8 }, (_, at) =>
          say(at % 2 === 0 ? 'user' : 'assistant', `say ${at} `.repeat(9)),
        ),
      )
      await store.compactSession('nested', { range: { from: 1, to: 4 }, summary: 'inner' })
      await store.compactSession('nested', { range: { from: 1, to: 6 }, summary: 'outer' })
      return (await store.listCompactions('nested')).map(({ id }) => id)
    })
    const alone = (await diff('nested', inner!, '--json')).json
    expect(alone).toMatchObject({ after: 'with', dependents: [outer], rows: { before: 8, after: 5 } })
    const now = (await diff('nested', inner!, '--now', '--json')).json
    expect(now).toMatchObject({ after: 'now', dependents: [outer], rows: { before: 8, after: 3 } })
    expect((await diff('nested', inner!)).out).toContain(
      '1 compaction in force builds on it, excluded from both sides',
    )
  })
})

it('shows replaced texts with both', async () => {
  const [id] = await small.change(async (store) => {
    await store.append('replaced', [
      say('user', 'read'),
      call('c', 'read'),
      result('c', 'x\n'.repeat(3_000), 'read'),
    ])
    return (await store.listCompactions('replaced')).map((one) => one.id)
  })
  const { json } = await diff('replaced', id!, '--json')
  const { changes } = json as { changes: { change: string; parts: { before: string; after: string }[] }[] }
  expect(changes.map(({ change }) => change)).toEqual(['replaced'])
  expect(changes[0]!.parts[0]!.before).toBe('x\n'.repeat(3_000))
  const shown = (await small.change((store) => store.getEffectiveHistory('replaced')))[2]!
  expect(shown.content).toMatchObject([{ output: { value: changes[0]!.parts[0]!.after } }])
})

/** What a session goes through: appends, compactions of all kinds, undos and redos. */
const step = fc.oneof(
  fc.record({
    do: fc.constant('append' as const),
    turns: fc.integer({ min: 1, max: 4 }),
    size: fc.integer({ min: 1, max: 6_000 }),
  }),
  fc.record({ do: fc.constant('compact' as const), target: fc.integer({ min: 100, max: 4_000 }) }),
  fc.record({ do: fc.constant('turn' as const), which: fc.nat({ max: 30 }), redo: fc.boolean() }),
)

it('makes the view the store makes, with all that is in force and with each of them undone', async () => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 7 }), async (steps) => {
      runs += 1
      const id = `random-${runs}`
      await small.change(async (store) => {
        await store.sessions.create({ id })
        await store.append(id, [say('user', 'begin '.repeat(200)), say('assistant', 'ok '.repeat(200))])
        for (const one of steps) await take(store, id, one)
        await holdsFor(store, id)
      })
    }),
    { numRuns: 12 },
  )
})

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

async function take(store: Store, id: string, one: Step): Promise<void> {
  if (one.do === 'append') {
    for (let turn = 0; turn < one.turns; turn += 1)
      await store.append(id, [
        say('user', 'please read'),
        call('c', 'read', { path: 'a' }),
        result('c', 'line\n'.repeat(one.size), 'read'),
        say('assistant', 'read it'),
      ])
  } else if (one.do === 'compact') {
    await store.compactSession(id, { targetTokens: one.target })
  } else {
    const all = await store.listCompactions(id)
    const chosen = all[one.which % Math.max(1, all.length)]
    if (chosen === undefined) return
    const turned = one.redo ? store.redoCompaction(id, chosen.id) : store.undoCompaction(id, chosen.id)
    await turned.catch(() => undefined)
  }
}

/** The projection equals the store's own view, now and behind a real undo of each compaction in force with all that builds on it. */
async function holdsFor(store: Store, id: string): Promise<void> {
  const read = async () => ({
    rows: await store.getMessages(id),
    compactions: await store.listCompactions(id),
    replacements: await storedReplacements(store, id),
  })
  const history = await read()
  const active = history.compactions.filter(({ status }) => status === 'active').map((one) => one.id)
  await isTheView(store, id, history, new Set(active))
  for (const target of active) {
    const dependents = dependentsOf(history.compactions, new Set([target]))
    const { compactionIds } = await store.undoCompaction(id, target, { cascade: true })
    expect(new Set(compactionIds)).toEqual(new Set([target, ...dependents]))
    await isTheView(store, id, history, new Set(active.filter((one) => !compactionIds.includes(one))))
    for (const one of compactionIds.toReversed()) await store.redoCompaction(id, one)
  }
}

async function isTheView(
  store: Store,
  id: string,
  history: Parameters<typeof viewAt>[0],
  inForce: ReadonlySet<string>,
): Promise<void> {
  const view = await store.getEffectiveHistory(id)
  expect(viewAt(history, inForce).map(({ row, content }) => ({ id: row.id, content }))).toEqual(
    view.map((row) => ({ id: row.id, content: row.content })),
  )
}

it('compares the views of two moments', async () => {
  const id = 'two moments'
  const hidden = await small.change(async (store) => {
    const { messages } = await store.append(id, [say('user', 'One'), say('assistant', 'Two')])
    const compaction = await store.compactions.hide(
      id,
      messages.map((message) => message.id),
    )
    await store.append(id, [say('user', 'Three')])
    return compaction.id
  })
  const { lines, exit } = await diff(id, 'position:2')
  expect(exit).toBe(0)
  expect(lines.map((line) => line.replace(/,? ?\(?[\d,]+ tokens\)?/, ''))).toEqual([
    '--- position:2: 2 rows',
    '+++ now: 1 row',
    '',
    '- 1 · user: One',
    '- 2 · assistant: Two',
    '+ 3 · user',
    '+   Three',
  ])
  const { json } = await diff(id, 'before-compaction:@', 'compaction:@', '--json')
  expect(json).toMatchObject({
    session: id,
    from: { position: 2, auditNo: 0 },
    to: { position: 2 },
    rows: { before: 2, after: 0 },
    changes: [
      { change: 'disappeared', role: 'user', position: 1, compaction: hidden, parts: [] },
      { change: 'disappeared', role: 'assistant', position: 2, compaction: hidden, parts: [] },
    ],
  })
})

it('reports what is no moment', async () => {
  for (const argv of [
    ['position:x'],
    ['time:yesterday'],
    ['now'],
    ['position:2', '--now'],
    ['@', 'position:2'],
  ]) {
    const { exit, err } = await diff('talk', ...argv)
    expect(exit, argv.join(' ')).toBe(2)
    expect(err).toContain('moment')
  }
  expect((await diff('talk', 'position:99')).exit).toBe(3)
})
