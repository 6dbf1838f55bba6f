import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { everyNTurns, PersistentContext, SystemInjector } from '../../src/compat/index.ts'
import { ContextBudgetExceededError } from '../../src/core/errors.ts'
import { estimateMessagesTokens } from '../../src/core/tokens/index.ts'
import { type NewMessage, openStore, type Store, type Summarizer, validateHistory } from '../../src/index.ts'
import { call, chat, result, say, units } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'
import { newFile } from '../support/temporary.ts'

let store: Store
beforeEach(async () => {
  store = await openStore(':memory:', { estimator: 'neurolink', env: false })
})
afterEach(() => store.close())

const hanging: Summarizer = { name: 'hangs', usesModel: true, summarize: () => new Promise(() => {}) }
/** 40 messages: 4,810 tokens, as neurolink counts for openai. */
const LONG = chat(20, 100)
const textOf = (messages: readonly { readonly content: unknown }[]): string => JSON.stringify(messages)

describe('a request', () => {
  it('of an unknown session is its prompt, and creates no session', async () => {
    const request = await store.prepareRequest('new', { prompt: 'Hello', system: 'Be brief.' })
    expect(request).toMatchObject({
      sessionId: 'new',
      provider: 'openai',
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'Hello' }],
      prompt: [{ role: 'user', content: 'Hello' }],
      position: 0,
      viewEpoch: 0,
      compacted: false,
      run: null,
      runs: [],
      warning: null,
      injected: [],
    })
    expect(await store.sessions.list()).toEqual([])
    expect((await store.prepareRequest('new')).messages).toEqual([])
  })

  it('is the view and the prompt, valid for its provider, in what the provider has room for [S2-014]', async () => {
    await store.append('s', LONG)
    for (const provider of ['anthropic', 'openai', 'mistral', 'google-ai']) {
      const request = await store.prepareRequest('s', {
        provider,
        prompt: [say('user', 'First.'), say('user', 'And now?')],
        contextWindowTarget: 4_000,
        preset: 'tags',
      })
      expect(validateHistory(request.messages, provider)).toEqual([])
      expect(textOf(request.messages.slice(-2))).toContain('And now?')
      expect(request.stats.withinBudget).toBe(true)
      expect(textOf(request.messages)).toContain('condensed-summary')
      const session = await store.sessions.get('s')
      expect([request.position, request.viewEpoch]).toEqual([session.messageCount, session.viewEpoch])
    }
    expect((await store.sessions.get('s')).messageCount).toBe(LONG.length)
  })

  it('counts prompt, system prompt and tools, and compacts when together they reach the threshold [S3-001 S3-002]', async () => {
    await store.append('s', LONG)
    // 4,810 of 7,000 are 69 percent; with 800 more it is due.
    const of7000 = { contextWindowTarget: 7_000 }
    expect((await store.prepareRequest('s', of7000)).compacted).toBe(false)
    const tools = [{ name: 'read', description: units(200), input_schema: { type: 'object' } }]
    const request = await store.prepareRequest('s', {
      ...of7000,
      prompt: units(300),
      system: units(300),
      tools,
    })
    expect(request.compacted).toBe(true)
    expect(request.runs).toHaveLength(1)
    expect(request.tokensBefore).toBeGreaterThanOrEqual(5_600)
    expect(request.tokensAfter).toBe(request.stats.estimatedInputTokens)
    expect(request.tools).toEqual(tools)
    const { breakdown } = request.stats
    expect(breakdown.systemPrompt).toBeGreaterThan(300)
    expect(breakdown.currentPrompt).toBeGreaterThanOrEqual(breakdown.systemPrompt)
    expect(breakdown.toolDefinitions).toBeGreaterThan(0)
    const [compaction] = await store.listCompactions('s')
    expect(compaction!.trigger).toBe('auto')
  })

  it('with auto: false nothing runs automatically, and what does not fit is rejected [S3-005]', async () => {
    await store.append('s', LONG)
    const off = { auto: false, contextWindowTarget: 4_810 }
    expect((await store.prepareRequest('s', off)).compacted).toBe(false)
    const error = await failureOf(() => store.prepareRequest('s', { ...off, contextWindowTarget: 4_000 }))
    expectFailure(error, 'CONTEXT_BUDGET_EXCEEDED')
    expect(error).toBeInstanceOf(ContextBudgetExceededError)
    expect((error as ContextBudgetExceededError).facts).toMatchObject({
      availableTokens: 4_000,
      stagesUsed: [],
      provider: 'openai',
    })
    await store.sessions.update('s', { config: { auto: false } })
    expectFailure(
      await failureOf(() => store.prepareRequest('s', { contextWindowTarget: 4_000 })),
      'CONTEXT_BUDGET_EXCEEDED',
    )
    expect(await store.listCompactions('s')).toEqual([])
  })

  it('that is too large by itself is refused, and the history left alone', async () => {
    await store.append('s', LONG)
    for (const more of [{ prompt: units(5_000) }, { system: units(5_000) }]) {
      const error = await failureOf(() => store.prepareRequest('s', { ...more, contextWindowTarget: 5_000 }))
      expectFailure(error, 'CONTEXT_BUDGET_EXCEEDED')
    }
    expectFailure(
      await failureOf(() =>
        store.prepareRequest('unknown', { prompt: units(5_000), contextWindowTarget: 5_000 }),
      ),
      'CONTEXT_BUDGET_EXCEEDED',
    )
    expect(await store.listCompactions('s')).toEqual([])
  })

  it('goes down to what fits when the target cannot be met: contents are cut in the end', async () => {
    await store.append('s', [say('user', units(6_000)), say('assistant', 'Yes.')])
    const request = await store.prepareRequest('s', { prompt: 'Go on.', contextWindowTarget: 4_000 })
    expect(request.stats.estimatedInputTokens).toBeLessThanOrEqual(4_000)
    expect(textOf(request.messages)).toContain('[TRUNCATED]')
    // Not where that is switched off.
    await store.append('t', [say('user', units(6_000)), say('assistant', 'Yes.')])
    const error = await failureOf(() =>
      store.prepareRequest('t', { contextWindowTarget: 4_000, compaction: { enableTruncate: false } }),
    )
    expectFailure(error, 'CONTEXT_BUDGET_EXCEEDED')
    expect(await store.getEffectiveHistory('t')).toHaveLength(2)
  })

  it('that nothing can make fit leaves what would not have helped undone', async () => {
    await store.append('s', LONG)
    const ids = (await store.getMessages('s')).map(({ id }) => id)
    await store.messages.pin('s', ids)
    expectFailure(
      await failureOf(() => store.prepareRequest('s', { contextWindowTarget: 2_000 })),
      'CONTEXT_BUDGET_EXCEEDED',
    )
    expect((await store.sessions.get('s')).activeCompactions).toBe(0)
  })

  it('counts what rendering adds: results for calls that have none, heads of summaries', async () => {
    const waiting = Array.from({ length: 30 }, (_, at) => [say('user', 'Go.'), call(`c${at}`, 'run')]).flat()
    await store.append('s', waiting)
    const request = await store.prepareRequest('s', { provider: 'anthropic' })
    const rendered = estimateMessagesTokens(request.messages, 'anthropic')
    const stored = (await store.getContextStats('s', 'anthropic'))!.estimated
    expect(rendered).toBeGreaterThan(stored)
    expect(request.stats.estimatedInputTokens).toBe(rendered)
  })

  it('adds results to calls whose results are not stored yet', async () => {
    await store.append('s', [say('user', 'Read it.'), call('c1', 'read', { path: 'a.ts' })])
    const request = await store.prepareRequest('s', {
      provider: 'anthropic',
      prompt: result('c1', 'text of a.ts'),
    })
    expect(validateHistory(request.messages, 'anthropic')).toEqual([])
    expect(request.mends).toEqual([])
    expect(textOf(request.messages)).toContain('text of a.ts')
  })

  it('puts sections and injected texts after the system prompt, and warns once', async () => {
    await store.append('s', LONG)
    const warned: number[] = []
    store.on('contextWarning', ({ level }) => {
      warned.push(level)
    })
    const asked = {
      system: 'Be brief.',
      persistentContext: new PersistentContext().addSection({
        label: 'Rules',
        content: 'Tests first.',
        priority: 0,
      }),
      injector: new SystemInjector().addRule(everyNTurns(2), 'Count to two.'),
      turnNumber: 2,
      contextWindowTarget: 7_000,
    }
    const request = await store.prepareRequest('s', asked)
    expect(request.system).toMatch(/^Be brief\.[\s\S]*Tests first\.[\s\S]*Count to two\.$/)
    expect(request.injected).toEqual(['Count to two.'])
    expect(request.warning?.level).toBe(0.6)
    expect((await store.prepareRequest('s', asked)).warning).toBeNull()
    // The first request of all can be too full as well.
    expect(
      (await store.prepareRequest('new', { prompt: units(750), contextWindowTarget: 1_000 })).warning?.level,
    ).toBe(0.8)
    expect(warned).toEqual([0.6, 0.8])
  })

  it('is refused at the door for what append would refuse', async () => {
    const bad: unknown[] = [null, 5, { role: 'robot', content: 'x' }, [{ role: 'user' }], [null]]
    for (const prompt of bad)
      expectFailure(
        await failureOf(() => store.prepareRequest('s', { prompt: prompt as never })),
        'INVALID_INPUT',
      )
    for (const options of [
      { injector: new SystemInjector() },
      { files: [{ path: 'a' }] },
      { compaction: { x: 1 } },
    ])
      expectFailure(await failureOf(() => store.prepareRequest('s', options as never)), 'INVALID_INPUT')
  })

  it('is aborted by its signal', async () => {
    await store.append('s', LONG)
    const asked = { contextWindowTarget: 4_000, compaction: { summarizer: hanging } }
    expectFailure(
      await failureOf(() => store.prepareRequest('s', { ...asked, signal: AbortSignal.abort() })),
      'ABORTED',
    )
    expectFailure(
      await failureOf(() => store.prepareRequest('s', { ...asked, signal: AbortSignal.timeout(50) })),
      'ABORTED',
    )
    expect(await store.getEffectiveHistory('s')).toHaveLength(LONG.length)
  })
})

describe('a prompt in which the user says nothing', () => {
  it('is refused, because the model would receive no message of it', async () => {
    await store.append('s', [say('user', 'Hi'), say('assistant', 'Hello')])
    const blank = [
      say('user', ''),
      say('user', ' \n'),
      { role: 'user', content: [{ type: 'text', text: '' }] } as const,
    ]
    for (const prompt of ['  ', ...blank, blank, { role: 'user', content: [] } as const]) {
      expectFailure(await failureOf(() => store.prepareRequest('s', { prompt })), 'INVALID_INPUT')
      const sent = () => store.withOverflowRecovery('s', () => expect.fail('called'), { prompt })
      expectFailure(await failureOf(sent), 'INVALID_INPUT')
    }
    expect((await store.prepareRequest('s', { prompt: '' })).messages).toHaveLength(2)
  })
})

describe('waiting', () => {
  it('a summarizer that hangs holds a request no longer than waitMs [F4-06]', async () => {
    await store.append('s', LONG)
    const start = Date.now()
    const request = await store.prepareRequest('s', {
      contextWindowTarget: 4_000,
      waitMs: 150,
      compaction: { summarizer: hanging },
    })
    expect(Date.now() - start).toBeLessThan(3_000)
    expect(request.compacted).toBe(true)
    expect(request.stats.withinBudget).toBe(true)
    const kinds = (await store.listCompactions('s'))
      .filter(({ status }) => status === 'active')
      .map(({ kind }) => kind)
    expect(kinds).toContain('truncate')
    expect(kinds).not.toContain('condense')
  })

  it('with waitMs 0 no model is called [F4-06]', async () => {
    await store.append('s', LONG)
    let asked = 0
    const summarizer: Summarizer = {
      name: 'counts',
      usesModel: true,
      summarize: () => {
        asked += 1
        return { text: 'So far.' }
      },
    }
    const due = { contextWindowTarget: 4_000, compaction: { summarizer } }
    expect((await store.prepareRequest('s', { ...due, waitMs: 0 })).compacted).toBe(true)
    expect(asked).toBe(0)
    await store.append('s', LONG)
    expect((await store.prepareRequest('s', due)).compacted).toBe(true)
    expect(asked).toBe(1)
  })

  it('nor does the run of another process [F4-06]', async () => {
    const file = newFile()
    const own = await openStore(file, { estimator: 'neurolink', durability: 'normal', env: false })
    await own.append('s', LONG)
    const other = new BetterSqlite3(file)
    other
      .prepare(
        "update undertext_sessions set lease_run = 'r', lease_holder = 'otherhost/1', lease_expires = ? where id = 's'",
      )
      .run(Date.now() + 60_000)
    other.close()
    const request = await own.prepareRequest('s', { contextWindowTarget: 4_000, waitMs: 100 })
    expect(request.compacted).toBe(true)
    await own.close()
  })

  it('is of one moment, whatever others append and compact meanwhile', async () => {
    await store.append('s', LONG)
    const others = (async () => {
      for (let at = 0; at < 30; at++) {
        await store.append('s', [say('user', `meanwhile ${at}`)])
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    for (let at = 0; at < 10; at++) {
      const request = await store.prepareRequest('s', { prompt: 'Now.', contextWindowTarget: 5_000 })
      const log = await store.getMessages('s', { after: request.position })
      const shown = textOf(request.messages)
      for (const { content } of log) expect(shown).not.toContain(`"${content}"`)
      if (request.position > LONG.length) {
        const [last] = await store.getMessages('s', { after: request.position - 1, limit: 1 })
        expect(shown).toContain(last!.content)
      }
    }
    await others
  })
})

describe('files', () => {
  const large: { path: string; content: string }[] = [
    { path: 'docs/large.md', content: 'Many words. '.repeat(10_000) },
    { path: 'src/small.ts', content: 'export const answer = 42' },
  ]

  it('large ones of the very first request are reduced automatically [S3-306 S3-307]', async () => {
    const request = await store.prepareRequest('new', {
      prompt: 'What is the answer?',
      files: large,
      contextWindowTarget: 8_000,
    })
    expect(request.stats.withinBudget).toBe(true)
    expect(request.files!.included.map(({ path, how }) => `${path} ${how}`)).toEqual([
      'docs/large.md truncated',
      'src/small.ts kept',
    ])
    expect(request.files!.tokens).toBeLessThanOrEqual(request.files!.budgetTokens)
    // 60 percent of what the question leaves.
    expect(request.files!.budgetTokens).toBeLessThanOrEqual(4_800)
    expect(request.files!.budgetTokens).toBeGreaterThan(4_700)
    const parts = request.messages[0]!.content as readonly { readonly text: string }[]
    expect(parts[0]!.text).toContain('export const answer = 42')
    expect(parts[0]!.text).toContain('was cut from')
    expect(parts.at(-1)!.text).toBe('What is the answer?')
    expect(request.stats.breakdown.fileAttachments).toBeGreaterThan(4_000)
  })

  it('small ones whole, a preview of the largest, the rest in proportion [S3-298 to S3-300 S3-304 S3-305]', async () => {
    const text = (kilobytes: number): string => 'word '.repeat(kilobytes * 200)
    const { files, stats } = await store.prepareRequest('new', {
      prompt: 'What is the answer?',
      files: [
        { path: 'huge.log', content: text(5_300) },
        { path: 'a.log', content: text(200) },
        { path: 'b.log', content: text(400) },
        { path: 'src/small.ts', content: text(20) },
      ],
    })
    expect(stats.withinBudget).toBe(true)
    const [huge, a, b, small] = files!.included
    expect(files!.included.map(({ how }) => how)).toEqual(['truncated', 'truncated', 'truncated', 'kept'])
    expect(small!.content).toBe(text(20))
    expect(huge!.content.length).toBeLessThanOrEqual(2_000)
    expect(b!.tokensAfter / a!.tokensAfter).toBeCloseTo(2, 2)
    expect(files!.notices).toHaveLength(3)
  })

  it('take the share the setting names [S3-306]', async () => {
    const own = await openStore(':memory:', {
      estimator: 'neurolink',
      config: { fileReadBudgetPercent: 0.1 },
      env: false,
    })
    const { files } = await own.prepareRequest('new', { files: large, contextWindowTarget: 8_000 })
    expect(files!.budgetTokens).toBe(800)
    expect(files!.tokens).toBeLessThanOrEqual(800)
    await own.close()
  })

  it('are summarized by the given function, and reported', async () => {
    const asked: string[] = []
    const request = await store.prepareRequest('new', {
      prompt: 'What is the answer?',
      files: large,
      contextWindowTarget: 8_000,
      summarizeFile: async ({ path, question }) => {
        asked.push(`${path}: ${question}`)
        return 'It repeats two words.'
      },
    })
    expect(asked).toEqual(['docs/large.md: What is the answer?'])
    expect(request.files!.included.map(({ how }) => how)).toEqual(['summarized', 'kept'])
    expect(request.files!.notices).toHaveLength(1)
    expect(textOf(request.messages)).toContain('It repeats two words.')
  })

  it('are cut when who summarizes hangs, fails or has no time', async () => {
    for (const summarizeFile of [
      () => new Promise<string>(() => {}),
      async () => {
        throw new Error('no')
      },
    ]) {
      const request = await store.prepareRequest('new', {
        prompt: 'What?',
        files: large,
        contextWindowTarget: 8_000,
        summarizeFile,
        waitMs: 100,
      })
      expect(request.files!.included[0]!.how).toBe('truncated')
      expect(request.stats.withinBudget).toBe(true)
    }
  })

  it('are omitted and reported where there is no room', async () => {
    await store.append('s', LONG)
    const request = await store.prepareRequest('s', {
      prompt: 'What?',
      files: large,
      auto: false,
      contextWindowTarget: 4_900,
    })
    expect(request.files!.dropped.map(({ path }) => path)).toContain('docs/large.md')
    expect(textOf(request.messages)).toContain('left out')
    // Where not even that can be said, the answer says it.
    const full = await store.prepareRequest('s', { files: large, auto: false, contextWindowTarget: 4_820 })
    expect(full.files!.dropped.map(({ index }) => index)).toEqual([0, 1])
    expect(full.prompt).toEqual([])
    // With room made first they are in.
    const roomier = await store.prepareRequest('s', {
      prompt: 'What?',
      files: large,
      contextWindowTarget: 5_000,
    })
    expect(roomier.compacted).toBe(true)
    expect(roomier.files!.dropped).toEqual([])
  })

  it('are a message of their own without a user message, and come after results of tools', async () => {
    const small = [large[1]!]
    const bare = await store.prepareRequest('new', { files: small })
    expect(bare.prompt).toMatchObject([{ role: 'user' }])
    await store.append('s', [say('user', 'Go.'), call('c', 'read')])
    const answer: NewMessage = {
      role: 'user',
      content: [
        { type: 'tool-result', toolCallId: 'c', output: { type: 'text', value: 'x' } },
        { type: 'text', text: 'There.' },
      ],
    }
    const { messages, prompt } = await store.prepareRequest('s', {
      provider: 'anthropic',
      prompt: answer,
      files: small,
    })
    expect((prompt[0]!.content as readonly { readonly type: string }[]).map(({ type }) => type)).toEqual([
      'tool-result',
      'text',
      'text',
    ])
    expect(validateHistory(messages, 'anthropic')).toEqual([])
  })
})
