import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { STAGES } from '../../../src/cli/options.ts'
import { STAGE_NAMES } from '../../../src/core/stages/registry.ts'
import { openStore, type Store } from '../../../src/index.ts'
import { stagesSchema } from '../../../src/store/config/stages.ts'
import { SqliteStore } from '../../../src/store/open.ts'
import { runCli } from '../../support/cli-run.ts'
import { type ModelServer, startModelServer } from '../../support/model-server.ts'
import { newFolder } from '../../support/temporary.ts'

type Json = { readonly [name: string]: unknown }

describe('undertext compact', () => {
  let folder: string
  let db: string
  let server: ModelServer
  let count = 0
  beforeAll(async () => {
    folder = newFolder()
    server = await startModelServer()
  })
  afterAll(async () => {
    await server.close()
  })
  beforeEach(async () => {
    count += 1
    db = join(folder, `${count}.db`)
    await inStore(async (store) => {
      await store.sessions.create({ id: 'talk', provider: 'openai', model: 'gpt-4' })
      for (let at = 1; at <= 12; at++)
        await store.append('talk', [
          { role: 'user', content: `Question ${at}: ${'some words of mine '.repeat(10)}` },
          { role: 'assistant', content: `Answer ${at}: ${'many words of yours '.repeat(10)}` },
        ])
      await store.sessions.create({ id: 'empty' })
    })
  })

  async function inStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = await openStore(db, { env: false })
    const answer = await work(store)
    await store.close()
    return answer
  }

  const compact = (...args: string[]) => runCli(['--db', db, 'compact', ...args])
  const view = () => inStore((store) => store.getEffectiveHistory('talk'))

  it('reads the rows of a plan only where it lists them', async () => {
    const read = vi.spyOn(SqliteStore.prototype, 'getMessages')
    try {
      const { out } = await compact('talk', '--target-tokens', '500', '--yes')
      expect(out).toContain('rows summarized')
      expect(read).not.toHaveBeenCalled()
      await compact('talk', '--target-tokens', '300', '--dry-run')
      expect(read).toHaveBeenCalled()
    } finally {
      read.mockRestore()
    }
  })

  it('shows in a dry run exactly what is done then, and writes nothing', async () => {
    const before = await view()
    const dry = (await compact('talk', '--target-tokens', '500', '--dry-run', '--json')).json as Json
    expect(await view()).toEqual(before)
    expect(dry).toMatchObject({
      session: 'talk',
      dryRun: true,
      compacted: false,
      run: null,
      provider: 'openai',
      model: 'gpt-4',
    })
    expect(dry).toMatchObject({ targetTokens: 500, reachedTarget: true, fits: true, reason: null })
    const { exit, json } = await compact('talk', '--target-tokens', '500', '--reason', 'too long', '--json')
    const done = json as Json
    expect(exit).toBe(0)
    expect(done).toMatchObject({
      dryRun: false,
      compacted: true,
      tokensBefore: dry.tokensBefore,
      tokensAfter: dry.tokensAfter,
    })
    const compactions = await inStore((store) => store.listCompactions('talk'))
    expect(compactions.map(({ runId, reason }) => [runId, reason])).toEqual(
      compactions.map(() => [done.run, 'too long']),
    )
    const hidden = (dry.stages as { rows: { id: string; action: string }[] }[])
      .flatMap(({ rows }) => rows)
      .filter(({ action }) => action === 'summarized' || action === 'hidden')
    const rows = await inStore((store) => store.getMessages('talk'))
    expect(rows.filter(({ hidden }) => hidden).map(({ id }) => id)).toEqual(hidden.map(({ id }) => id))
  })

  it('lists the rows of a stage one by one', async () => {
    const { lines, exit } = await compact(
      'talk',
      '--target-tokens',
      '500',
      '--stage',
      'truncate',
      '--dry-run',
    )
    expect(exit).toBe(0)
    expect(lines[0]).toBe('Plan for session talk, for the window of openai/gpt-4')
    const rows = lines.filter((line) => /^ +\d+ {2}(?:user|assistant)/.test(line))
    expect(rows.length).toBeGreaterThan(5)
    expect(rows.every((line) => line.includes('hidden') && line.includes('among the oldest turns'))).toBe(
      true,
    )
  })

  it('compacts without asking when there is no terminal, and prints how to undo', async () => {
    const before = await view()
    const { exit, out } = await compact('talk', '--target-tokens', '500')
    expect(exit).toBe(0)
    const [, run = ''] = /Undo it: undertext undo talk (\S+)/.exec(out) ?? []
    expect(out).toContain(`as run ${run}.`)
    expect((await runCli(['--db', db, 'undo', 'talk', run])).exit).toBe(0)
    expect(await view()).toEqual(before)
  })

  it('writes an id that a shell would read in its own way so that it can be typed', async () => {
    const text = 'some words of mine '.repeat(100)
    await inStore(async (store) => {
      await store.sessions.create({ id: '-x; y', provider: 'openai', model: 'gpt-4' })
      for (let at = 1; at <= 6; at++)
        await store.append('-x; y', [
          { role: 'user', content: text },
          { role: 'assistant', content: text },
        ])
    })
    const { out } = await compact('--target-tokens', '900', '--', '-x; y')
    expect(out).toMatch(/^Undo it: undertext undo -- '-x; y' [0-9a-f-]+$/m)
  })

  it.each([
    ['talk', 'the history is already within the target'],
    ['empty', 'there are no messages'],
  ])('exits with 1 for %s, when there is nothing to do', async (session, why) => {
    const { exit, out } = await compact(session)
    expect(exit).toBe(1)
    expect(out).toContain(`Nothing to compact in session ${session}: ${why}`)
    expect((await compact(session, '--dry-run', '--json')).json).toMatchObject({ dryRun: true, run: null })
    expect((await compact(session, '--json')).json).toMatchObject({ dryRun: false, run: null })
  })

  it.each([
    [['nobody'], 3],
    [['talk', '--target', '1.5'], 2],
    [['talk', '--target', '0.2', '--target-tokens', '5'], 2],
    [['talk', '--stage', 'nonsense'], 2],
    [['talk', '--summarize', '--dry-run'], 2],
    [['talk', '--summary-url', 'http://localhost/v1'], 2],
    [['talk', '--summary-model', 'small'], 2],
  ])('refuses %j', async (args, code) => {
    const before = await view()
    expect((await compact(...args)).exit).toBe(code)
    expect(await view()).toEqual(before)
  })

  it('names the stages there are: all that need no options', async () => {
    expect(STAGES).toEqual(STAGE_NAMES.filter((name) => stagesSchema.safeParse([name]).success))
    for (const name of ['nonsense', 'clear_tool_results', 'prune,nonsense'])
      expect((await compact('talk', '--stage', name)).err.split('\n')[0]).toBe(
        `undertext: Option '--stage <name>' argument '${name}' is invalid. Allowed choices are ${STAGES.join(', ')}.`,
      )
  })

  it('calls a model for the summary only when it compacts, or on request', async () => {
    server.forget()
    const summary = '## Primary Request and Intent\nQuestions and answers, twelve of each.'
    server.script([{ text: summary, usage: { inputTokens: 900, outputTokens: 20 } }])
    const by = ['--target-tokens', '500', '--summary-model', 'small', '--summary-url', server.openaiUrl]
    const pending = await compact('talk', ...by, '--dry-run')
    expect(pending.out).toMatch(
      /summary pending: url would read \d+ messages \([\d,]+ tokens\) and write up to [\d,]+ tokens/,
    )
    expect(server.requests).toHaveLength(0)
    const shown = await compact('talk', ...by, '--dry-run', '--summarize')
    expect(shown.out).toContain('Questions and answers, twelve of each.')
    expect(server.requests).toHaveLength(1)
    const { exit } = await compact('talk', ...by)
    expect(exit).toBe(0)
    expect(server.requests.map(({ body }) => body.model)).toEqual(['small', 'small'])
    const [first] = await inStore((store) => store.listCompactions('talk')).then((all) =>
      all.filter(({ status }) => status === 'active'),
    )
    expect(first).toMatchObject({ summarizer: 'url', model: 'scripted-model' })
  })

  it('changes nothing when the model fails', async () => {
    server.script([{ status: 400, message: 'no summaries today' }])
    const before = await view()
    const by = [
      '--stage',
      'summarize',
      '--target-tokens',
      '500',
      '--summary-model',
      'small',
      '--summary-url',
      server.openaiUrl,
    ]
    const { exit, err } = await compact('talk', ...by)
    expect(exit).toBe(1)
    expect(err).toContain('A summary by url was rejected: HTTP_400.')
    expect(await view()).toEqual(before)
  })
})
