import { expect, it } from 'vitest'
import { type Estimator, openStore, type Store } from '../../src/index.ts'
import { type RooMessage, rooCases } from './roo-data.ts'
import { rowFrom } from './roo-store.ts'
import { Tallies } from './tallies.ts'

/*
 * When room is made. Roo Code asks two things: whether the tokens reach a share of the whole window, when
 * condensing is on, and whether they exceed nine tenths of the window less the output reserve. The verb asks one,
 * against one available input and one threshold, so it is asked twice. The token numbers are given by the cases;
 * an estimator hands them out.
 */

const WILL = 'willManageContext'
const MANAGE = 'manageContext'

/** A provider whose every window is known; less a reserve of the remainder any smaller one can be had of it. */
const PROVIDER = 'anthropic'
const WINDOW = 200_000
/** Roo Code's reserve for the answer when the case names none, and the share of the window it keeps clear. */
const DEFAULT_RESERVE = 8_192
const USABLE_SHARE = 0.9

type Settings = {
  readonly totalTokens: number
  readonly contextWindow: number
  readonly maxTokens?: number
  readonly autoCondenseContext: boolean
  readonly autoCondenseContextPercent: number
  readonly profileThresholds: { readonly [profile: string]: number }
  readonly currentProfileId: string
}
type Managed = {
  readonly summarizerCalled: boolean
  readonly summarizerResult: { readonly summary: string; readonly error?: string } | null
  readonly result: {
    readonly messages: readonly RooMessage[]
    readonly summary: string
    readonly cost: number
    readonly prevContextTokens: number
    readonly truncationId?: string
  }
}

const willCases = rooCases<{ options: Settings & { lastMessageTokens: number } }, boolean>(
  'roo-triggers',
  WILL,
)
const manageCases = rooCases<Settings & { messages: readonly RooMessage[] }, Managed>('roo-triggers', MANAGE)
const tallies = new Tallies('roo-triggers')

/** The tokens of each text are what a case says, of any other text none. */
function estimatorOf(tokensOfText: ReadonlyMap<string, number>): Estimator {
  return {
    name: 'given',
    measureText: (text) => tokensOfText.get(text) ?? 0,
    mediaTokens: 0,
    toTokens: (units) => units,
    tokensPerMessage: 0,
    tokensPerConversation: 0,
  }
}

/** The share of the window at which the application wants to condense: its profile's own, or the general one. */
function thresholdOf({ profileThresholds, currentProfileId, autoCondenseContextPercent }: Settings): number {
  const own = profileThresholds[currentProfileId] ?? -1
  return (own === -1 ? autoCondenseContextPercent : own) / 100
}

/** What the verb answers to both of Roo Code's questions. */
function questions(store: Store, settings: Settings): { share: boolean; limit: boolean } {
  const { contextWindow, maxTokens = DEFAULT_RESERVE, autoCondenseContext } = settings
  const allowed = Math.round(contextWindow * USABLE_SHARE) - maxTokens
  const isDue = (available: number, threshold: number): boolean =>
    store.needsCompaction('s', PROVIDER, undefined, {
      maxOutputTokens: WINDOW - available,
      threshold,
    }) as boolean
  return {
    share: autoCondenseContext && isDue(contextWindow, thresholdOf(settings)),
    limit: isDue(allowed, 1),
  }
}

it.skipIf(willCases.length === 0)('decides as Roo Code does', async () => {
  for (const { name, input, expected } of willCases) {
    const { totalTokens, lastMessageTokens } = input.options
    const estimator = estimatorOf(
      new Map([
        ['all before', totalTokens],
        ['the last', lastMessageTokens],
      ]),
    )
    const store = await openStore(':memory:', { estimator })
    await store.append('s', [
      { role: 'user', content: 'all before' },
      { role: 'user', content: 'the last' },
    ])
    const { share, limit } = questions(store, input.options)
    expect(share || limit, name).toBe(expected)
    await store.close()
    tallies.count(WILL, 'equal')
  }
})

it.skipIf(manageCases.length === 0)('decides, asks and leaves alone as Roo Code does, by shape', async () => {
  for (const { name, input, expected } of manageCases) {
    const { result, summarizerCalled, summarizerResult } = expected
    const store = await openWith(input, result.prevContextTokens)
    const before = await store.getEffectiveHistory('s')
    const stats = await store.getContextStats('s', PROVIDER)
    expect(stats!.estimatedInputTokens, name).toBe(result.prevContextTokens)

    const { share, limit } = questions(store, input)
    const condenses = input.autoCondenseContext && (share || limit)
    expect(condenses, `${name}: whether a summary is asked for`).toBe(summarizerCalled)
    expect(share || limit, `${name}: whether anything is done`).toBe(
      summarizerCalled || result.truncationId !== undefined,
    )
    if (!share && !limit) {
      expect(result.messages, name).toEqual(input.messages)
      tallies.count(MANAGE, 'equal')
      await store.close()
      continue
    }

    const asked: unknown[] = []
    const outcome = (await store.compactSession('s', {
      provider: PROVIDER,
      trigger: 'auto',
      enablePrune: false,
      enableDeduplicate: false,
      enableSummarize: condenses,
      emergencyCut: false,
      targetTokens: Math.floor(result.prevContextTokens / 2),
      truncationFraction: 0.5,
      summarizer: {
        name: 'recorded',
        usesModel: true,
        summarize: (request) => {
          asked.push(request)
          if (summarizerResult?.error !== undefined) throw new Error(summarizerResult.error)
          return { text: summarizerResult!.summary, cost: result.cost }
        },
      },
    }))!
    expect(asked, name).toHaveLength(summarizerCalled ? 1 : 0)
    if (result.truncationId === undefined) {
      // The summary Roo Code's mock gave stands for all but the newest message.
      const shown = outcome.messages.map(({ kind, content }) => (kind === 'summary' ? content : kind))
      expect(shown, name).toEqual([result.summary, 'message'])
      const [made] = await store.listCompactions('s')
      expect(made?.cost, name).toBe(result.cost)
      tallies.count(MANAGE, 'equal')
    } else {
      // Half of five: Roo Code hides two, our rule keeps the first pair and hides none of three, unless the request would not fit.
      const overflows = stats!.estimatedInputTokens > stats!.availableInputTokens
      expect(outcome.compacted, name).toBe(overflows)
      if (overflows) expect(outcome.messages.at(-1), name).toEqual(before.at(-1))
      else expect(outcome.messages, name).toEqual(before)
      expect(
        outcome.failed.map(({ status }) => status),
        name,
      ).toEqual(summarizerCalled ? ['failed'] : [])
      tallies.count(MANAGE, 'different')
    }
    await store.close()
  }
})

/** A store with the messages of a case, which weigh what it says: the last what is over the total, the one before it the rest. */
async function openWith(
  { messages, totalTokens }: Settings & { readonly messages: readonly RooMessage[] },
  allTokens: number,
): Promise<Store> {
  const rows = messages.map(rowFrom)
  const textOfRow = ({ content }: (typeof rows)[number]): string =>
    typeof content === 'string' ? content : content.map((part) => ('text' in part ? part.text : '')).join('')
  const tokens = new Map([
    [textOfRow(rows.at(-1)!), allTokens - totalTokens],
    [textOfRow(rows.at(-2)!), totalTokens],
  ])
  const store = await openStore(':memory:', { estimator: estimatorOf(tokens) })
  await store.append('s', rows)
  return store
}

it.skipIf(willCases.length === 0)('is published as counted', () => {
  tallies.expectPublished(WILL, MANAGE)
})
