import { describe, expect, it } from 'vitest'
import { afterTurn, beforeTurn, NCA_AUTO_SUMMARIZE_THRESHOLD } from '../../src/compat/index.ts'
import { type NewMessage, openStore, type Summarizer } from '../../src/index.ts'
import { say } from '../support/conversation.ts'
import { readGolden } from '../support/golden.ts'

type Turn = {
  readonly tokensBeforeTurn: number
  readonly tokensAfterTurn: number
  readonly summary?: { readonly tokensAfter: number }
}
type Case = {
  readonly id: string
  readonly name: string
  readonly input: {
    readonly config: {
      readonly context_window_target: number
      readonly auto_summarize_threshold?: number
      readonly enable_auto_summarize?: boolean
    }
    readonly turns: readonly Turn[]
  }
  readonly expected: { readonly events: readonly (readonly object[])[] }
}

/** A message of so many tokens of `nca`: 10, and 4 characters for each further one. */
const sized = (role: 'user' | 'assistant', tokens: number): NewMessage =>
  say(role, 'x'.repeat(4 * (tokens - 10)))

/** The newest exchange, 38 tokens: what a summary leaves. */
const NEWEST = [sized('user', 13), sized('assistant', 25)]

/** Three exchanges and the newest one. */
function conversation(tokens: number): NewMessage[] {
  const each = Math.floor((tokens - 38) / 6)
  const first = tokens - 38 - 5 * each
  return [
    sized('user', first),
    ...Array.from({ length: 5 }, (_, at) => sized(at % 2 === 0 ? 'assistant' : 'user', each)),
    ...NEWEST,
  ]
}

/** What a turn adds. */
function added(tokens: number): NewMessage[] {
  if (tokens === 0) return []
  return tokens < 48 ? [sized('assistant', tokens)] : [sized('assistant', tokens - 38), ...NEWEST]
}

describe('nca-events', () => {
  const { cases } = readGolden<{ cases: Case[] }>('nca-events')

  it.each(cases)('$id $name', async ({ input: { config, turns }, expected }) => {
    const [turn, ...more] = turns
    expect(more).toEqual([])
    const { tokensBeforeTurn, tokensAfterTurn, summary } = turn!
    const store = await openStore(':memory:', { estimator: 'nca' })
    const events: object[] = []
    let at = 'beforeTurn'
    store.on('contextWarning', ({ percent, tokens }) =>
      events.push({ at, event: 'ContextWarning', usagePercent: percent, estimatedTokens: tokens }),
    )
    store.on('compaction', (event) => {
      if (event.phase === 'started')
        events.push({
          at,
          event: 'ContextCompaction',
          phase: 'starting',
          usagePercent: event.percent,
          estimatedTokens: event.tokensBefore,
        })
      if (event.phase === 'completed')
        events.push({ at, event: 'ContextCompaction', phase: 'completed', tokensAfter: event.tokensAfter })
    })

    // What is left besides the newest exchange is the summary: 10 tokens and its text.
    const text = 'x'.repeat(4 * ((summary?.tokensAfter ?? 48) - 38 - 10))
    const summarizer: Summarizer = { name: 'spy', usesModel: true, summarize: () => ({ text }) }
    const contextWindowTarget = config.context_window_target
    await store.append('s', conversation(tokensBeforeTurn))
    const before = await beforeTurn(store, 's', { contextWindowTarget, warningLevels: [0.8], auto: false })
    expect(before.tokensBefore).toBe(tokensBeforeTurn)

    at = 'afterTurn'
    const messages = added(tokensAfterTurn - tokensBeforeTurn)
    const after = await afterTurn(store, 's', {
      contextWindowTarget,
      ...(messages.length > 0 && { messages }),
      threshold: (config.auto_summarize_threshold ?? NCA_AUTO_SUMMARIZE_THRESHOLD) / 100,
      ...(config.enable_auto_summarize !== undefined && { auto: config.enable_auto_summarize }),
      compaction: {
        enablePrune: false,
        enableDeduplicate: false,
        keepRecentTokens: 0,
        target: 0.5,
        summarizer,
      },
    })
    expect(after.tokensBefore).toBe(tokensAfterTurn)
    expect(after.tokensAfter).toBe(summary?.tokensAfter ?? tokensAfterTurn)
    expect([events]).toEqual(expected.events)
    await store.close()
  })
})
