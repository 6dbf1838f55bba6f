import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

let small: SmallStore
beforeEach(async () => {
  small = await smallStore()
})
afterEach(() => small.remove())

const run = async (...argv: string[]) => runCli([...argv, '--db', small.path])
const iso = (ms: number): string => new Date(ms).toISOString()

describe('log', () => {
  it('is a timeline, newest first', async () => {
    const [condensed, manual] = small.compactions
    const audit = await small.change((store) => store.sessions.audit('talk'))
    const at = (event: string): string => iso(audit.find((entry) => entry.event === event)!.at)
    const { lines, exit } = await run('log', 'talk')
    expect(exit).toBe(0)
    expect(lines).toEqual([
      `${at('pinned')} pinned by ann`,
      '',
      `${iso(manual!.createdAt)}  run ${manual!.runId}  manual by bob`,
      `  ○ manual ${manual!.id}  undone`,
      `    1 row hidden · ${manual!.tokensBefore} → ${manual!.tokensAfter} tokens`,
      `    ${at('undone')} undone by ann: a slip`,
      '',
      `${iso(condensed!.createdAt)}  run ${condensed!.runId}  manual by ann: too long`,
      `  ● condense ${condensed!.id}  in force`,
      `    4 rows hidden, 1 row inserted · ${condensed!.tokensBefore} → ${condensed!.tokensAfter} tokens · given`,
    ])
  })

  it('indents what others in force build on', async () => {
    const inner = small.compactions[0]!
    const outer = await small.change(async (store) => {
      await store.compactSession('talk', { range: { from: 1, to: 6 }, summary: 'It works.' })
      return (await store.listCompactions('talk')).at(-1)!
    })
    const { lines } = await run('log', 'talk')
    expect(lines).toContain(`  ● condense ${outer.id}  in force`)
    expect(lines).toContain(`    ● condense ${inner.id}  in force`)
    expect(lines).toContain(`      below ${outer.id}`)
    const { json } = await run('log', 'talk', '--json')
    const { runs } = json as {
      runs: { compactions: { id: string; depth: number; dependents: string[] }[] }[]
    }
    const nested = runs.flatMap((one) => one.compactions).find(({ id }) => id === inner.id)
    expect(nested).toMatchObject({ depth: 1, dependents: [outer.id] })
  })

  it('shows only the newest runs with --limit, and reports when there are none', async () => {
    const { lines } = await run('log', 'talk', '--limit', '1')
    expect(lines[0]).toContain(small.compactions[1]!.runId)
    expect(lines.at(-1)).toBe('1 older run not shown')
    expect((await run('log', 'older')).out).toBe(
      'Messages were appended to session older; nothing else was changed.\n',
    )
  })
})

describe('undo and redo', () => {
  it('undo and redo a compaction, and print the result', async () => {
    const { id } = small.compactions[0]!
    const tokens = async () =>
      (await small.change((store) => store.getContextStats('talk')))!.estimatedInputTokens
    const before = await tokens()
    const undone = await run('undo', 'talk', id, '--actor', 'eve', '--reason', 'wrong')
    const after = await tokens()
    expect(undone).toMatchObject({
      exit: 0,
      out: `Undone: condense ${id} (4 rows visible again, 1 row hidden)\nThe view: 5 → 8 rows, ${before} → ${after} tokens.\n`,
    })
    expect((await small.change((store) => store.sessions.audit('talk'))).at(-1)).toMatchObject({
      event: 'undone',
      actor: 'eve',
      detail: { reason: 'wrong' },
    })
    expect(await run('undo', 'talk', id)).toMatchObject({
      exit: 0,
      out: 'Nothing to undo: it is already undone, or was never in force.\n',
    })
    const redone = await run('redo', 'talk', id)
    expect(redone.out).toBe(
      `Redone: condense ${id} (4 rows hidden, 1 row inserted)\nThe view: 8 → 5 rows, ${after} → ${before} tokens.\n`,
    )
    expect((await run('redo', 'talk', id)).out).toBe('Nothing to redo: it is already in force.\n')
  })

  it('name what builds on it, and take it along with --cascade', async () => {
    const inner = small.compactions[0]!.id
    const outer = await small.change(async (store) => {
      await store.compactSession('talk', { range: { from: 1, to: 6 }, summary: 'It works.' })
      return (await store.listCompactions('talk')).at(-1)!.id
    })
    const refused = await run('undo', 'talk', inner)
    expect([refused.exit, refused.out]).toEqual([4, ''])
    expect(refused.err).toContain(outer)
    expect(refused.err).toContain('--cascade')
    const { json, exit } = await run('undo', 'talk', inner, '--json')
    expect([exit, json]).toMatchObject([
      4,
      { error: { code: 'HAS_ACTIVE_DEPENDENTS', facts: { dependents: [outer] } } },
    ])
    expect((await run('undo', 'talk', inner, '--cascade', '--json')).json).toMatchObject({
      compactions: [outer, inner],
    })
    const missing = await run('redo', 'talk', outer)
    expect(missing.exit).toBe(4)
    expect((await run('redo', 'talk', outer, '--cascade', '--json')).json).toMatchObject({
      compactions: [inner, outer],
    })
  })

  it('find a compaction by its beginning, its end, its run, and @', async () => {
    const [condensed, manual] = small.compactions
    const found = async (given: string) =>
      (await run('undo', 'talk', given, '--json')).json as { compactions?: string[]; error?: unknown }
    expect((await found(condensed!.id.slice(-8))).compactions).toEqual([condensed!.id])
    expect(await run('redo', 'talk', '@')).toMatchObject({
      exit: 0,
      out: expect.stringContaining(manual!.id),
    })
    expect((await found('@')).compactions).toEqual([manual!.id])
    expect(await run('redo', 'talk', condensed!.runId)).toMatchObject({
      exit: 0,
      out: expect.stringContaining(condensed!.id),
    })
    expect((await run('undo', 'talk', '0')).exit).toBe(2)
    expect(await run('undo', 'talk', 'zzz')).toMatchObject({ exit: 3 })
    expect(await run('undo', 'older', '@')).toMatchObject({
      exit: 3,
      err: expect.stringContaining(`Session "older" hasn't been compacted.`),
    })
  })

  it('make no store', async () => {
    expect((await runCli(['undo', '@', '@', '--db', `${small.folder}/none.db`])).exit).toBe(3)
  })
})

describe('undo and redo of a rewind', () => {
  /** Takes back what stands from position 3 on, the summary of 1 to 4 with it. */
  const rewound = async (): Promise<string> =>
    small.change(async (store) => {
      const [, , third] = await store.getMessages('talk')
      const { compactionId } = await store.rewind('talk', { from: { beforeMessage: third!.id } })
      return compactionId!
    })

  it('name what the rewind turned with itself, and its state afterwards', async () => {
    const summary = small.compactions[0]!.id
    const rewind = await rewound()
    const undone = await run('undo', 'talk', rewind)
    expect(undone.exit).toBe(0)
    expect(undone.out).toContain(`Undone: manual ${rewind} `)
    expect(undone.out).toContain(`With the rewind: condense ${summary} is in force again.\n`)
    expect((await small.change((store) => store.compactions.get('talk', summary))).status).toBe('active')
    const redone = await run('redo', 'talk', rewind)
    expect(redone.out).toContain(`With the rewind: condense ${summary} is out of force again.\n`)
    expect((await small.change((store) => store.compactions.get('talk', summary))).status).toBe('undone')
    expect((await run('undo', 'talk', rewind, '--json')).json).toMatchObject({
      changed: true,
      compactions: [rewind],
      alsoChanged: [summary],
      unchanged: [],
    })
  })

  it('refuse after messages were appended, advise --both, and restore both with it', async () => {
    const rewind = await rewound()
    await small.change((store) =>
      store.append('talk', [{ id: 'new', role: 'user', content: 'Something else' }]),
    )
    const refused = await run('undo', 'talk', rewind)
    expect([refused.exit, refused.out]).toEqual([4, ''])
    expect(refused.err).toContain('--both')
    expect((await run('undo', 'talk', rewind, '--cascade')).exit).toBe(4)
    const both = await run('undo', 'talk', rewind, '--both')
    expect(both.exit).toBe(0)
    // Before: messages 1 and 2 and the new one. After: the summary of 1 to 4, 5 to 8, and the new one.
    expect(both.out).toContain('The view: 3 → 6 rows, ')
    const view = await small.change((store) => store.getEffectiveHistory('talk'))
    expect(view.at(-1)!.id).toBe('new')
  })
})

describe('undo and redo by the id of a run', () => {
  it('name each member that was not turned with the run, and what turns it', async () => {
    const { id, runId } = small.compactions[0]!
    await run('undo', 'talk', id)
    expect((await run('undo', 'talk', runId)).out).toBe(
      'Nothing to undo: it is already undone, or was never in force.\n',
    )
    const redone = await run('redo', 'talk', runId)
    expect(redone).toMatchObject({ exit: 0, out: expect.stringMatching(/^Nothing to redo:\n/) })
    expect(redone.out.replaceAll('\n', ' ')).toContain(
      `${id} wasn't undone with this run. To redo it, pass its own id to \`undertext redo\`, or the id of the run or rewind that it was undone with.`,
    )
    expect((await run('redo', 'talk', runId, '--json')).json).toMatchObject({
      changed: false,
      compactions: [],
      alsoChanged: [],
      unchanged: [{ compactionId: id, status: 'undone' }],
    })
    expect((await run('redo', 'talk', id)).out).toContain(`Redone: condense ${id} `)
  })

  it('report of a failed attempt that it was never in force', async () => {
    const failed = await small.change(async (store) => {
      const summarizer = {
        name: 'refusing',
        usesModel: true,
        summarize: () => Promise.reject(new Error('no')),
      }
      await store.compactSession('talk', {
        targetTokens: 0,
        summarizer,
        enablePrune: false,
        enableTruncate: false,
      })
      return (await store.listCompactions('talk')).find(({ status }) => status === 'failed')!.id
    })
    for (const verb of ['undo', 'redo'])
      expect((await run(verb, 'talk', failed)).out).toBe(
        `Nothing to ${verb}:\n${failed} was never in force (failed).\n`,
      )
  })
})
