import type { NewMessage, Store, Summarizer } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'

/* Runs that pay a model, the same in a child that is killed and in the test that looks into what it left. */

export const PAYING = [
  'one summary',
  'a summary in chunks',
  'before a request',
  'after a stricter question',
  'offline instead',
] as const
export type Paying = (typeof PAYING)[number]

/** What the model is paid for one answer; a whole number, so that sums are exact. */
export const COST = 16
export const SESSION = 's'
/** Fits what `conversation` is compacted for. */
const WINDOW = 4_000

/** Sixteen turns with a tool each, about 4,000 tokens. */
export function conversation(): NewMessage[] {
  return Array.from({ length: 16 }, (_, turn) => [
    say('user', `Question ${turn} ${units(40)}`),
    call(`c${turn}`, 'read_file', { path: `src/${turn}.ts` }),
    result(`c${turn}`, `Text ${turn} ${units(120)}`, 'read_file'),
    say('assistant', `Answer ${turn} ${units(40)}`),
  ]).flat()
}

/** A run, with `answered` called each time the model has answered and before anybody hears what. */
export async function pay(store: Store, how: Paying, answered: () => unknown = () => {}): Promise<unknown> {
  const config = { ...ONE, summarizer: model(how, answered) }
  if (how === 'before a request') {
    const compaction = { ...config, enableTruncate: true }
    return store.prepareRequest(SESSION, { provider: 'openai', model: 'small', prompt: 'Go on.', compaction })
  }
  return store.compactSession(SESSION, {
    ...config,
    ...(how === 'offline instead' && { offlineFallback: true }),
  })
}

const ONE = {
  enablePrune: false,
  enableDeduplicate: false,
  enableTruncate: false,
  targetTokens: 1_500,
  keepRecentTokens: 600,
  summaryMaxTokens: 300,
  waitMs: 0,
} as const

export const OPENING = { contextWindows: { openai: { small: WINDOW } } } as const

function model(how: Paying, answered: () => unknown): Summarizer {
  let asked = 0
  return {
    name: 'paid',
    usesModel: true,
    asksAgain: how === 'after a stricter question',
    ...(how === 'a summary in chunks' && { maxInputTokens: 1_200 }),
    summarize: async () => {
      asked += 1
      await new Promise((resolve) => setImmediate(resolve))
      await answered()
      if (how === 'offline instead') throw new Error('no answer')
      if (how === 'after a stricter question' && asked === 1) return { text: '', cost: COST }
      return { text: `What was done so far, in ${asked}.`, cost: COST, model: 'paid-1' }
    },
  }
}
