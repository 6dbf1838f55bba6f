import type { ChatMessage, Message } from 'undertext'
import { TextAgentReader } from '../../src/core/messages/text-agent.ts'
import type { Contestant } from './contestants.ts'
import type { Conversation, File } from './conversations.ts'
import { identifiersOf, Words } from './identifiers.ts'
import { partsOf, saidByAssistant, textOf, wordsOfAssistant } from './parts.ts'
import { answer, type Question, questionsAt } from './questions.ts'
import { summaryIn, type Written } from './summaries.ts'
import { newestWindow, tokensOf } from './window.ts'

/** Share of the tokens before the cut that a view may take. */
export const SHARES = [0.5, 0.25, 0.1] as const
/** Messages behind the cut whose identifiers are looked for. */
export const LOOK_AHEAD = 60
/** Cuts in one long conversation, and fewest messages before a cut. */
const MOST_CUTS = 20
const LEAST_BEFORE = 8
/** How far from its budget a view may end. */
const TOLERANCE = 0.05

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
  /** What it lost over what a window of the newest messages of the same actual size lost. */
  readonly loss: number
  /** Of the used identifiers, those that the assistant says, not only writes into new code; and their loss. */
  readonly said: number
  readonly lossSaid: number
  /** Tokens of the views over the tokens allowed, all cuts together. */
  readonly filled: number
  /** Cuts at which messages after the newest summary are neither in it nor in the view. The law allows none. */
  readonly holes: number
  /** Share of the cuts at which the view ends within 5 % of its budget, and at which it is larger. */
  readonly met: number
  readonly over: number
  /** Questions about facts, and the shares that the views answer right and wrong. */
  readonly questions: number
  readonly right: number
  readonly wrong: number
  /** Milliseconds for one compaction, on average. */
  readonly milliseconds: number
}

export type Cut = {
  readonly conversation: string
  readonly before: readonly ChatMessage[]
  readonly after: readonly ChatMessage[]
  readonly wanted: readonly string[]
  /** The wanted identifiers that the assistant says. */
  readonly said: ReadonlySet<string>
  readonly questions: readonly Question[]
}

/** Places where a model was asked next: before messages of the assistant, spread evenly. */
export function cutsOf({ name, messages }: Conversation): Cut[] {
  const textAgent = new TextAgentReader()
  const read = messages.map((message) => textAgent.read(message as Message) as ChatMessage)
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
    const after = messages.slice(at, at + LOOK_AHEAD)
    const used = identifiersOf(wordsOfAssistant(after))
    const wanted = [...used].filter((identifier) => known.has(identifier))
    if (wanted.length === 0) return []
    const spoken = identifiersOf(saidByAssistant(read.slice(at, at + LOOK_AHEAD)))
    const said = new Set(wanted.filter((identifier) => spoken.has(identifier)))
    return [{ conversation: name, before, after, wanted, said, questions: questionsAt(before) }]
  })
}

/** Whether no call waits for its result at a place. */
export function isComplete(messages: readonly ChatMessage[], at: number): boolean {
  const next = messages[at]!
  return partsOf(next).every(({ type }) => type !== 'tool-result') && messages[at - 1]!.role !== 'assistant'
}

/** How many of the wanted identifiers a view shows. */
export function keptIn(view: readonly ChatMessage[], wanted: readonly string[]): number {
  return wanted.length - lostIn(view, wanted).length
}

/** The wanted identifiers that a view doesn't show. */
function lostIn(view: readonly ChatMessage[], wanted: readonly string[]): string[] {
  const words = new Words(textOf(view))
  return wanted.filter((identifier) => !words.has(identifier))
}

/** Lets every contestant compact at every cut of a file. `onSummary` gets the summary of each view. */
export async function measure(
  file: File,
  contestants: readonly Contestant[],
  onSummary: (contestant: string, share: number, written: Written) => void = () => {},
): Promise<Figures[]> {
  const cuts = file.conversations.flatMap(cutsOf)
  const figures: Figures[] = []
  for (const share of SHARES) {
    for (const { name, compact } of contestants) {
      let [used, lost, lostByWindow, tokens, budgets, met, over, milliseconds] = [0, 0, 0, 0, 0, 0, 0, 0]
      let [asked, right, wrong, holes, usedSaid, lostSaid, lostSaidByWindow] = [0, 0, 0, 0, 0, 0, 0]
      for (const { conversation, before, after, wanted, said, questions } of cuts) {
        const budget = Math.floor(tokensOf(before) * share)
        const start = performance.now()
        const { view, missing } = await compact(before, budget)
        milliseconds += performance.now() - start
        const size = tokensOf(view)
        const missed = lostIn(view, wanted)
        const missedByWindow = lostIn(newestWindow(before, size), wanted)
        used += wanted.length
        lost += missed.length
        lostByWindow += missedByWindow.length
        usedSaid += said.size
        lostSaid += missed.filter((identifier) => said.has(identifier)).length
        lostSaidByWindow += missedByWindow.filter((identifier) => said.has(identifier)).length
        const summary = summaryIn(view, before)
        if (summary !== undefined) onSummary(name, share, { conversation, before, after, view, ...summary })
        const answers = questions.map((question) => answer(question, view))
        asked += answers.length
        right += answers.filter((one) => one === 'right').length
        wrong += answers.filter((one) => one === 'wrong').length
        if (missing > 0) holes += 1
        tokens += size
        budgets += budget
        if (size > budget) over += 1
        if (Math.abs(size - budget) <= TOLERANCE * budget) met += 1
      }
      figures.push({
        file: file.name,
        contestant: name,
        share,
        cuts: cuts.length,
        used,
        kept: used - lost,
        retention: (used - lost) / used,
        loss: lost / lostByWindow,
        said: usedSaid,
        lossSaid: lostSaid / lostSaidByWindow,
        filled: tokens / budgets,
        holes,
        met: met / cuts.length,
        over: over / cuts.length,
        questions: asked,
        right: right / asked,
        wrong: wrong / asked,
        milliseconds: milliseconds / cuts.length,
      })
    }
  }
  return figures
}
