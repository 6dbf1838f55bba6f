import { describe, expect, it } from 'vitest'
import {
  CLEARED_PLACEHOLDER,
  clearToolResults,
  composite,
  createStrategy,
  STRATEGY_KINDS,
  slidingWindow,
  summarizeOlder,
} from '../../src/compat/arrays/index.ts'
import {
  compactBeforeTurn,
  contextBudget,
  createTokenCounter,
  neuronEstimator,
} from '../../src/compat/index.ts'
import type { ChatMessage, ContextStrategy } from '../../src/index.ts'
import { assistant, call, failing, result, saying, system, talk, user } from '../plain/support.ts'
import { placesIn } from './golden.ts'

/* Rows of seeds 000, 001 and 004 over plain arrays that the golden cases do not hold by themselves. */

const invalid = expect.objectContaining({ code: 'INVALID_INPUT' })

/** A strategy that notes what it is asked. */
function spy(due: boolean): ContextStrategy & { readonly calls: unknown[][] } {
  const calls: unknown[][] = []
  return {
    calls,
    tokenEstimate: (messages) => {
      calls.push(['tokenEstimate', messages])
      return 42
    },
    shouldCompact: (messages, tokens) => {
      calls.push(['shouldCompact', messages, tokens])
      return due
    },
    compact: async (messages) => {
      calls.push(['compact', messages])
      return messages.slice(-1)
    },
  }
}

describe('the interface of a strategy', () => {
  it('estimate, decide, compact, manually [S0-05 S0-07 S0-11 S0-13]', async () => {
    const window = slidingWindow({ last: 10, maxTokens: 100 })
    const messages = [system('Rules.'), ...talk(30)]
    const tokens = window.tokenEstimate(messages)
    expect(Number.isInteger(tokens)).toBe(true)
    expect(window.shouldCompact(messages, tokens)).toBe(true)
    const compacted = window.compact(messages)
    expect(compacted).toBeInstanceOf(Promise)
    expect(await compacted).toEqual([messages[0], ...messages.slice(-10)])
  })

  it('every strategy takes its own limit and its rule is strict [S0-20 S0-31 S0-37 S0-U01]', () => {
    const strategies = [
      slidingWindow({ last: 10, maxTokens: 100 }),
      clearToolResults({ keep: 2, maxTokens: 100 }),
      summarizeOlder({ keepLast: 5, maxTokens: 100, summarizer: saying('s') }),
      composite({ stages: [], maxTokens: 100 }),
    ]
    expect(strategies.map((one) => [one.shouldCompact([], 100), one.shouldCompact([], 101)])).toEqual(
      new Array(4).fill([false, true]),
    )
    expect(slidingWindow({ last: 10 }).shouldCompact([], 1e9)).toBe(false)
  })

  it('a loop calls them in this order, and compacts only on request [S0-10 S0-15 S0-16]', async () => {
    const messages = talk(3)
    const due = spy(true)
    expect(await compactBeforeTurn(due, messages)).toMatchObject({
      messages: messages.slice(-1),
      compacted: true,
    })
    expect(due.calls).toEqual([
      ['tokenEstimate', messages],
      ['shouldCompact', messages, 42],
      ['compact', messages],
    ])
    const idle = spy(false)
    expect((await compactBeforeTurn(idle, messages)).messages).toBe(messages)
    expect(idle.calls.map(([method]) => method)).toEqual(['tokenEstimate', 'shouldCompact'])
  })

  it('distinguishes a failing summarizer from a failing strategy, without a word of their errors [S0-12 S0-U10]', async () => {
    const messages = Object.freeze(talk(6)) as ChatMessage[]
    const summarized = summarizeOlder({ keepLast: 2, summarizer: failing })
    await expect(summarized.compact(messages)).rejects.toMatchObject({
      code: 'SUMMARIZER_FAILED',
      facts: { summarizer: 'failing', error: 'Error' },
    })
    await expect(summarized.apply(messages, 0)).rejects.toMatchObject({ code: 'SUMMARIZER_FAILED' })
    const empty = summarizeOlder({ keepLast: 2, summarizer: saying(' ') })
    await expect(empty.compact(messages)).rejects.toMatchObject({ facts: { error: 'EMPTY_SUMMARY' } })
    const silent = { ...saying(''), summarize: () => new Promise<never>(() => {}) }
    const late = summarizeOlder({ keepLast: 2, summarizer: silent, summaryTimeoutMs: 5 })
    await expect(late.compact(messages)).rejects.toMatchObject({ facts: { error: 'SUMMARY_TIMEOUT' } })
    const broken = { ...spy(true), name: 'broken', compact: () => Promise.reject(new Error('secret')) }
    const chain = composite({ stages: [broken], maxTokens: 0 })
    await expect(chain.compact(messages)).rejects.toMatchObject({
      code: 'STRATEGY_FAILED',
      message: expect.not.stringContaining('secret'),
    })
  })

  it('counts by a counter, an estimator or a name [S0-21 S0-U05]', () => {
    const messages = [user('x'.repeat(35))]
    const counter = createTokenCounter({ charsPerToken: 3.5 })
    for (const estimator of [
      counter,
      { ...neuronEstimator, measureText: (text: string) => text.length / 3.5 },
    ])
      for (const make of [
        slidingWindow({ last: 1, estimator }),
        clearToolResults({ keep: 1, estimator }),
        summarizeOlder({ keepLast: 1, estimator }),
        composite({ stages: [], estimator }),
      ])
        expect(make.tokenEstimate(messages)).toBe(4 + 10)
    const image: ChatMessage = { role: 'user', content: [{ type: 'image', image: '' }] }
    expect(slidingWindow({ last: 1, estimator: counter }).tokenEstimate([image])).toBe(304)
    expect(slidingWindow({ last: 1, estimator: 'neuron' }).tokenEstimate(messages)).toBe(4 + 9)
    // ceil(9 × 1.15) + 4 + 24.
    expect(slidingWindow({ last: 1 }).tokenEstimate(messages)).toBe(39)
  })

  it('has a name that is its own [S1-07]', () => {
    const names = [
      slidingWindow({ last: 1 }),
      slidingWindow({ last: 1, summarize: true }),
      clearToolResults({ keep: 1 }),
      summarizeOlder({ keepLast: 1 }),
      composite({ stages: [] }),
    ].map(({ name }) => name)
    expect(names).toEqual([
      'sliding_window',
      'sliding_window_with_summary',
      'clear_tool_results',
      'summarize_older',
      'composite',
    ])
  })

  it('refuses what it does not understand', async () => {
    const wrong: (() => unknown)[] = [
      () => slidingWindow({} as never),
      () => slidingWindow({ last: 2, fitBudget: true }),
      () => slidingWindow({ last: 1.5 }),
      () => slidingWindow({ fitBudget: true, countSystem: true }),
      () => slidingWindow({ last: 2, keepNewest: 'turn' }),
      () => slidingWindow({ last: 2, estimator: 'nobody' }),
      () => slidingWindow({ last: 2, maxToken: 1 } as never),
      () => clearToolResults({ keep: -1 }),
      () => clearToolResults({ keep: 1, placeholder: '' }),
      () => clearToolResults({ keep: 1, summarizer: saying('s') } as never),
      () => summarizeOlder({ keepLast: 1, summaryPreset: 'mine' as never }),
      () => composite({ stages: [{ name: 'nothing' } as never] }),
      () => createStrategy('fifo' as never),
      () => createStrategy('sliding_window', { last: 1 } as never),
    ]
    for (const act of wrong) expect(act).toThrow(invalid)
    const window = slidingWindow({ last: 1 })
    expect(() => window.tokenEstimate('text' as never)).toThrow(invalid)
    await expect(window.compact([{ role: 'narrator', content: '' }])).rejects.toEqual(invalid)
    await expect(window.compact([], -1)).rejects.toEqual(invalid)
    await expect(window.apply([], { available: 1 } as never)).rejects.toEqual(invalid)
    // Who goes by tokens must be told how many.
    for (const strategy of [
      slidingWindow({ fitBudget: true }),
      slidingWindow({ last: 1, shrinkToFit: true }),
      composite({ stages: [] }),
    ])
      await expect(strategy.compact([])).rejects.toEqual(invalid)
  })
})

describe('a sliding window', () => {
  it('moves a call whose result is within the window to the kept side (quirk of 000)', async () => {
    const messages = [user('look'), call('look'), result('look', 'found')]
    expect(await slidingWindow({ last: 1 }).compact(messages)).toEqual(messages.slice(1))
  })

  it('keeps every system message, whatever the window, and the leading ones first [S0-22 S4-37]', async () => {
    const messages = [system('a'), system('b'), user('1'), system('c'), assistant('2')]
    expect(await slidingWindow({ last: 0 }).compact(messages)).toEqual([
      messages[0],
      messages[1],
      messages[3],
    ])
    expect(await slidingWindow({ last: 1 }).compact(messages)).toEqual([
      messages[0],
      messages[1],
      messages[3],
      messages[4],
    ])
  })

  it('takes messages in the form of OpenAI as they are [S1-02]', async () => {
    const messages = [
      user('old'),
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } }],
      } as never as ChatMessage,
      { role: 'tool', tool_call_id: 'c1', content: 'text' } as ChatMessage,
      user('new'),
    ]
    const window = slidingWindow({ last: 2, estimator: 'promptfleet' })
    expect(await window.compact(messages)).toEqual(messages.slice(1))
  })

  it('gives a new list of new messages [S1-06]', async () => {
    const messages: ChatMessage[] = [
      { role: 'user', content: [{ type: 'text', text: 'one' }] },
      assistant('two'),
    ]
    const before = structuredClone(messages)
    const { messages: left } = await slidingWindow({ fitBudget: true }).apply(messages, 1_000)
    const [first] = left as unknown as { content: { text: string }[]; role: string }[]
    first!.content[0]!.text = 'changed'
    first!.role = 'nobody'
    left.pop()
    expect(messages).toEqual(before)
  })

  it('keeps the newest turn and the system message, and reports that they are too much [S1-U13]', async () => {
    const long = 'a'.repeat(200)
    const messages = [user(long), assistant(long), user(long), assistant(long)]
    const estimator = 'promptfleet'
    const kept = await slidingWindow({ fitBudget: true, estimator }).apply(messages, 8)
    expect(kept).toMatchObject({ messages: messages.slice(2), overBudget: true, hidden: [0, 1] })
    const one = slidingWindow({ fitBudget: true, estimator, keepNewest: 'message' })
    expect(await one.apply(messages, 8)).toMatchObject({ messages: messages.slice(3), overBudget: true })
    const none = slidingWindow({ fitBudget: true, estimator, keepNewest: 'nothing' })
    expect(await none.apply(messages, 8)).toMatchObject({ messages: [], overBudget: false, tokensAfter: 0 })
  })

  it('does not count twice a system prompt that budget and history both have [S1-U14]', async () => {
    const prompt = 'Be helpful and answer in one sentence.'
    const messages = [
      system(prompt),
      user('First question here'),
      assistant('First answer here'),
      user('Last'),
    ]
    // Output 100, the prompt once, and exactly the history: contextBudget takes the prompt off what it leaves.
    const whole = slidingWindow({ fitBudget: true, estimator: 'promptfleet' })
    const contextWindow = 100 + whole.tokenEstimate(messages)
    const budget = contextBudget({ contextWindow, maxOutputTokens: 100, systemMessage: prompt })
    expect(budget.availableForHistory).toBeLessThan(whole.tokenEstimate(messages))
    expect(await whole.apply(messages, budget)).toMatchObject({ messages, overBudget: false })
    const tight = contextBudget({
      contextWindow: contextWindow - 1,
      maxOutputTokens: 100,
      systemMessage: prompt,
    })
    expect(await whole.apply(messages, tight)).toMatchObject({ hidden: [1] })
  })

  it('tells equal texts apart [S1-U19]', async () => {
    const messages = [user('ok'), assistant('ok'), user('ok'), assistant('ok')]
    const { hidden } = await slidingWindow({ last: 1 }).apply(messages, 0)
    expect(hidden).toEqual([0, 1, 2])
  })

  it('of 50 huge messages so many go that the rest fits, the newest always stays [S4-U07]', async () => {
    const messages = talk(50, 4_000)
    const window = slidingWindow({ last: 50, shrinkToFit: true })
    const { messages: left, tokensAfter } = await window.apply(messages, 10_000)
    // One takes 1,000 × 1.15 + 4 = 1,154 tokens and all of them 24 besides: eight make 9,256, nine 10,410.
    expect(left).toEqual(messages.slice(-8))
    expect(tokensAfter).toBe(9_256)
    expect(await window.apply(messages, 1)).toMatchObject({ messages: messages.slice(-1), overBudget: true })
  })

  it('takes what an earlier compaction hid for hidden', async () => {
    const messages = [{ ...user('gone'), condenseParent: 'x' }, ...talk(4)]
    const { messages: left, hidden } = await slidingWindow({ last: 2 }).apply(messages, 0)
    expect(left).toEqual(messages.slice(3))
    expect(hidden).toEqual([1, 2])
  })

  it('with a summary: system message, summary of exactly what went, kept messages, within the budget [S1-24]', async () => {
    const messages = [system('Rules.'), ...talk(20, 400)]
    const summarizer = saying('They talked.')
    const window = slidingWindow({ fitBudget: true, summarize: true, summarizer, estimator: 'neuron' })
    const { messages: left, hidden, summaries, overBudget } = await window.apply(messages, 1_000)
    // Of 1,000 tokens 480 are for the summary and 20 for its frame: 6 for the system message, four of 104 each.
    expect(left.map(({ id, role }) => id?.slice(0, 7) ?? role)).toEqual([
      'system',
      'summary',
      'm16',
      'm17',
      'm18',
      'm19',
    ])
    expect(overBudget).toBe(false)
    expect(summaries).toEqual([{ text: 'They talked.', positions: hidden }])
    expect(hidden).toEqual(Array.from({ length: 16 }, (_, at) => at + 1))
    expect(summarizer.asked).toMatchObject([{ maxTokens: 480 }])
    // What fits to the token is left alone: it needs no room for a summary.
    expect(await window.compact(messages, window.tokenEstimate(messages))).toEqual(messages)
  })
})

describe('clearing of tool results', () => {
  it('saves what large outputs take, and reports how much [S0-33]', async () => {
    const outputs = [1, 2, 3, 4].flatMap(() => [call('grep'), result('grep', 'x'.repeat(4_000))])
    const messages = [user('look'), ...outputs]
    const { tokensBefore, tokensAfter, steps } = await clearToolResults({
      keep: 1,
      estimator: 'neuron',
    }).apply(messages, 0)
    // Three of 1,000 units become 6 units of the placeholder, 21 characters.
    expect(tokensBefore - tokensAfter).toBe(3 * (1_000 - 6))
    expect(steps).toEqual([{ name: 'clear_tool_results', tokensBefore, tokensAfter }])
  })

  it('takes the mark of failure off in every form, leaves pinned results and those that wait [S0-U06]', async () => {
    const flat = {
      ...result('run', 'Error: no'),
      isError: true,
      result: { success: false, code: 1 },
    } as ChatMessage
    const messages = [call('run'), flat, call('run'), { ...result('run', 'pinned'), pinned: true }]
    const [, cleared, , kept] = await clearToolResults({ keep: 0 }).compact(messages)
    expect(cleared).toMatchObject({
      content: CLEARED_PLACEHOLDER,
      isError: false,
      result: { success: true, code: 1 },
    })
    expect(kept).toEqual(messages[3])
    // Of two calls one was answered, the other waits for its result still.
    const waiting: ChatMessage[] = [
      {
        role: 'assistant',
        content: ['a', 'b'].map((id) => ({
          type: 'tool-call',
          toolCallId: id,
          toolName: 'run',
          input: {},
        })),
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'a', output: { type: 'text', value: 'out' } }],
      },
    ]
    expect(await clearToolResults({ keep: 0 }).compact(waiting)).toEqual(waiting)
    const custom = await clearToolResults({ keep: 0, placeholder: '…' }).compact(messages)
    expect(custom[1]!.content).toBe('…')
  })
})

describe('a summary of what is older', () => {
  it('calls no model when nothing is older [S0-U11]', async () => {
    const summarizer = saying('s')
    const messages = [system('Rules.'), ...talk(3)]
    const strategy = summarizeOlder({ keepLast: 3, summarizer })
    expect(await strategy.compact(messages)).toEqual(messages)
    expect(await strategy.compact([system('Rules.')])).toHaveLength(1)
    expect(summarizer.asked).toEqual([])
  })

  it('takes an earlier summary into the new one, without the words around it [S4-U11]', async () => {
    const summarizer = saying('Second.')
    const first = await summarizeOlder({
      keepLast: 2,
      summarizer: saying('First.'),
      summaryPreset: 'nca',
    }).compact(talk(6, 100))
    const again = summarizeOlder({ keepLast: 2, summarizer, summaryPreset: 'neuron' })
    const [summary, ...kept] = await again.compact([...first, ...talk(2, 100)])
    expect(summarizer.asked).toMatchObject([{ previousSummary: 'First.' }])
    expect(summarizer.asked[0]!.messages).toHaveLength(2)
    expect(summary).toMatchObject({ role: 'user', content: '[Summary of earlier conversation]\nSecond.' })
    expect(kept).toHaveLength(2)
  })

  it('leaves messages alone whose summary would be no smaller, when they are to fit; otherwise replaces them', async () => {
    const messages = [user('Hi'), assistant('Hi'), user('Bye')]
    const strategy = summarizeOlder({ keepLast: 1, summarizer: saying('word '.repeat(50)) })
    expect(await strategy.apply(messages, 1)).toMatchObject({ messages, overBudget: true, summaries: [] })
    expect(await strategy.compact(messages)).toHaveLength(2)
  })
})

describe('a composite', () => {
  const messages = [user('go'), call('run'), result('run', 'x'.repeat(4_000)), ...talk(8, 100)]

  it('takes strategies of all kinds, and tells one figure for each that ran [S0-09 S0-43 S0-45]', async () => {
    const own = { ...spy(true), name: 'Last One' }
    const budgets: unknown[] = []
    const budgeted = {
      name: 'half',
      apply: (all: readonly ChatMessage[], budget: unknown) => {
        budgets.push(budget)
        return { messages: all.slice(all.length / 2) }
      },
    }
    const chain = composite({
      stages: [clearToolResults({ keep: 0 }), { ...slidingWindow({ last: 6 }) }, budgeted, own],
      maxTokens: 50,
    })
    const outcome = await chain.apply(messages, 50)
    expect(outcome.steps.map(({ name }) => name)).toEqual([
      'clear_tool_results',
      'sliding_window',
      'half',
      'last_one',
    ])
    expect(outcome.steps.map(({ tokensBefore }) => tokensBefore)).toEqual([
      outcome.tokensBefore,
      ...outcome.steps.slice(0, -1).map(({ tokensAfter }) => tokensAfter),
    ])
    expect(budgets).toEqual([{ availableForHistory: 50 }])
    expect(outcome.messages).toEqual(messages.slice(-1))
    expect(outcome.hidden).toEqual(Array.from({ length: 10 }, (_, at) => at))
    // The inner thresholds and the inner `shouldCompact` are not asked (NCO-09).
    expect(own.calls.map(([method]) => method)).toEqual(['compact'])
  })

  it('leaves alone what comes after the budget is met [S0-42]', async () => {
    const never = { ...spy(true), name: 'never' }
    const chain = composite({ stages: [slidingWindow({ last: 1 }), never], maxTokens: 100 })
    expect(await chain.compact(messages)).toEqual(messages.slice(-1))
    expect(never.calls).toEqual([])
  })

  it('is part of another, by its own threshold [S0-46 S0-48]', async () => {
    // Eight messages of 25 units are within 500 tokens and over 200.
    const inner = composite({
      stages: [slidingWindow({ last: 8 }), slidingWindow({ last: 1 })],
      maxTokens: 500,
    })
    const outer = composite({ stages: [inner, slidingWindow({ last: 2 })], maxTokens: 200 })
    const { steps, messages: left } = await outer.apply(messages, 200)
    expect(steps.map(({ name }) => name)).toEqual(['composite', 'sliding_window'])
    expect(left).toEqual(messages.slice(-2))
    expect(outer.stages.map(({ name }) => name)).toEqual(['composite', 'sliding_window'])
  })

  it('knows a message that a strategy of your own copied, renamed or wrote', async () => {
    const copying: ContextStrategy = {
      ...spy(true),
      compact: (all) => [
        user('What came before.'),
        ...all.slice(5).map((message) => JSON.parse(JSON.stringify(message))),
      ],
    }
    const { hidden, summaries } = await composite({ stages: [copying] }).apply(messages, 1)
    expect(hidden).toEqual([0, 1, 2, 3, 4])
    expect(summaries).toEqual([{ text: 'What came before.', positions: [0, 1, 2, 3, 4] }])
  })
})

describe('a strategy by its kind', () => {
  it('is named in a configuration [S1-22 S1-23 S1-24 S1-25 S1-26 S1-U08]', () => {
    expect(JSON.parse(JSON.stringify(STRATEGY_KINDS))).toEqual([
      'sliding_window',
      'sliding_window_with_summary',
      'priority_based',
    ])
    expect(createStrategy().name).toBe('sliding_window')
    expect(createStrategy('sliding_window').name).toBe('sliding_window')
    expect(createStrategy('priority_based').name).toBe('priority_based')
    const summarizer = saying('s')
    expect(createStrategy('sliding_window_with_summary', { summarizer }).name).toBe(
      'sliding_window_with_summary',
    )
  })

  it('without a summarizer is the plain window, and is called so [S1-27 S1-U09]', async () => {
    const plain = createStrategy('sliding_window_with_summary', { estimator: 'promptfleet' })
    expect(plain.name).toBe('sliding_window')
    const { messages, summaries } = await plain.apply(talk(10), 60)
    // A question takes 10 + 4 + 1 tokens, an answer 10 + 4 + 3: 3 + 17 + 15 + 17 are 52, one more makes 67.
    expect(placesIn(messages)).toEqual([7, 8, 9])
    expect(summaries).toEqual([])
  })
})
