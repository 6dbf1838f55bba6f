import type { ChatMessage } from 'undertext'
import type { Contestant } from './contestants.ts'
import type { Conversation, File } from './conversations.ts'
import { identifiersOf, Words } from './identifiers.ts'
import { partsOf, textOf, wordsOfAssistant } from './parts.ts'
import { tokensOf } from './window.ts'

/** Share of the tokens before the cut that a view may take. Source: issue 5. */
export const SHARES = [0.5, 0.25, 0.1] as const
/** Messages behind the cut whose identifiers are looked for. Source: issue 5. */
const LOOK_AHEAD = 60
/** Cuts in one long conversation, and fewest messages before a cut. */
const MOST_CUTS = 20
const LEAST_BEFORE = 8

/** What one contestant kept at one share, over all cuts of a file. */
export type Figures = {
  readonly file: string
  readonly contestant: string
  readonly share: number
  readonly cuts: number
  /** Identifiers used after the cuts and known before them, and how many of them are in the view. */
  readonly used: number
  readonly kept: number
  readonly retention: number
  /** What it lost over what the first contestant lost. */
  readonly loss: number
  /** Cuts at which its view was within the budget, and the two figures above over these alone. */
  readonly within: number
  readonly retentionWithin: number
  readonly lossWithin: number
  /** Tokens of the views over the tokens allowed, all cuts together, and the largest of one. */
  readonly filled: number
  readonly fullest: number
  /** Milliseconds for one compaction, on average. */
  readonly milliseconds: number
}

type Kept = { readonly used: number; readonly kept: number; readonly tokens: number; readonly budget: number }

function sum(all: readonly Kept[], what: keyof Kept): number {
  return all.reduce((total, one) => total + one[what], 0)
}

type Cut = { readonly before: readonly ChatMessage[]; readonly wanted: readonly string[] }

/** Places where a model was asked next: before messages of the assistant, spread evenly. */
function cutsOf({ messages }: Conversation): Cut[] {
  const places = messages.flatMap((message, at) =>
    message.role === 'assistant' && at >= LEAST_BEFORE && isComplete(messages, at) ? [at] : [],
  )
  const stride = Math.max(1, places.length / MOST_CUTS)
  const chosen =
    places.length <= MOST_CUTS
      ? places
      : Array.from({ length: MOST_CUTS }, (_, i) => places[Math.floor(i * stride)]!)
  return chosen.flatMap((at) => {
    const before = messages.slice(0, at)
    const known = new Words(textOf(before))
    const used = identifiersOf(wordsOfAssistant(messages.slice(at, at + LOOK_AHEAD)))
    const wanted = [...used].filter((identifier) => known.has(identifier))
    return wanted.length === 0 ? [] : [{ before, wanted }]
  })
}

/** Whether no call waits for its result at a place. */
function isComplete(messages: readonly ChatMessage[], at: number): boolean {
  const next = messages[at]!
  return partsOf(next).every(({ type }) => type !== 'tool-result') && messages[at - 1]!.role !== 'assistant'
}

/** Lets every contestant compact at every cut of a file. */
export async function measure(file: File, contestants: readonly Contestant[]): Promise<Figures[]> {
  const cuts = file.conversations.flatMap(cutsOf)
  const figures: Figures[] = []
  for (const share of SHARES) {
    let first: readonly Kept[] | undefined
    for (const { name, compact } of contestants) {
      const all: Kept[] = []
      let milliseconds = 0
      for (const { before, wanted } of cuts) {
        const budget = Math.floor(tokensOf(before) * share)
        const start = performance.now()
        const view = await compact(before, budget)
        milliseconds += performance.now() - start
        const words = new Words(textOf(view))
        const kept = wanted.filter((identifier) => words.has(identifier)).length
        all.push({ used: wanted.length, kept, tokens: tokensOf(view), budget })
      }
      first ??= all
      const baseline = first
      const isWithin = all.map(({ tokens, budget }) => tokens <= budget)
      const [used, kept] = [sum(all, 'used'), sum(all, 'kept')]
      const within = all.filter((_, at) => isWithin[at])
      const [usedWithin, keptWithin] = [sum(within, 'used'), sum(within, 'kept')]
      const firstWithin = sum(
        baseline.filter((_, at) => isWithin[at]),
        'kept',
      )
      figures.push({
        file: file.name,
        contestant: name,
        share,
        cuts: cuts.length,
        used,
        kept,
        retention: kept / used,
        loss: (used - kept) / (used - sum(baseline, 'kept')),
        within: within.length,
        retentionWithin: keptWithin / usedWithin,
        lossWithin: (usedWithin - keptWithin) / (usedWithin - firstWithin),
        filled: sum(all, 'tokens') / sum(all, 'budget'),
        fullest: Math.max(...all.map(({ tokens, budget }) => tokens / budget)),
        milliseconds: milliseconds / cuts.length,
      })
    }
  }
  return figures
}
