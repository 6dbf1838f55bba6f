import { type ChatMessage, type Message, type NewMessage, openStore } from 'undertext'
import { estimatorNamed } from 'undertext/tokens'
import { beforeTurn } from '../../src/compat/index.ts'
import { identifiersOf, Words } from '../retention/identifiers.ts'
import { textOf, wordsOfAssistant } from '../retention/parts.ts'
import { type Bill, Meter, type Sent } from './bill.ts'
import type { Contestant } from './contestants.ts'

const PROVIDER = 'anthropic'
const MODEL = 'replayed'
const ID = 'session'
/** Most requests of a session at which references are looked for: a view is split into words at each. */
const MOST_LOOKS = 150

/** What one contestant made of a session. */
export type Outcome = {
  readonly contestant: string
  readonly window: number
  /** Over the requests that were made. */
  readonly bill: Bill
  /** The same up to the last request that fits without any compaction. */
  readonly billBefore: Bill
  readonly runs: number
  /** Requests between two runs, on average and at least. */
  readonly between: number
  readonly closest: number
  /** The request that did not fit any more, from 1; 0 when all did. */
  readonly overflowAt: number
  /** Identifiers an answer uses that were known before it, and how many of them were not in the view it was made from. */
  readonly referred: number
  readonly lost: number
}

/** Requests of a session: before each of the assistant's messages, but for those that only go on. */
export function requestsOf(messages: readonly ChatMessage[]): number[] {
  return messages.flatMap(({ role }, at) =>
    role === 'assistant' && at > 0 && messages[at - 1]!.role !== 'assistant' ? [at] : [],
  )
}

/**
 * Replays a session request by request: `beforeTurn` compacts when that is due, the rendering goes out, the answer is appended with
 * what follows it. `until` is the request at which `billBefore` stops.
 */
export async function replay(
  messages: readonly ChatMessage[],
  { name, config }: Contestant,
  window: number,
  until: number | undefined,
  known: Map<string, Sent>,
): Promise<Outcome> {
  const store = await openStore(':memory:', {
    env: false,
    config: { contextWindows: { [PROVIDER]: { [MODEL]: window } }, ...config },
  })
  const meter = new Meter(tokensIn, known)
  const requests = requestsOf(messages)
  const stride = Math.max(1, Math.ceil(requests.length / MOST_LOOKS))
  const runsAt: number[] = []
  let billBefore: Bill | undefined
  let [referred, lost, overflowAt, appended] = [0, 0, 0, 0]
  try {
    await store.sessions.create({ id: ID, provider: PROVIDER, model: MODEL })
    for (const [number, at] of requests.entries()) {
      if (number === until) billBefore = { ...meter.bill }
      await store.append(ID, messages.slice(appended, at) as NewMessage[])
      appended = at
      const { run, stats } = await beforeTurn(store, ID)
      if (run?.compacted) runsAt.push(number)
      if (stats?.withinBudget === false) {
        overflowAt = number + 1
        break
      }
      const { messages: sent } = await store.renderHistory(ID, { provider: PROVIDER })
      meter.add(sent)
      if (number % stride !== 0) continue
      const answer = messages.slice(at, requests[number + 1] ?? messages.length)
      const used = referencesIn(messages.slice(0, at), answer)
      referred += used.length
      // What was never hidden is there.
      if (runsAt.length > 0) lost += missing(used, sent)
    }
  } finally {
    await store.close()
  }
  const gaps = runsAt.slice(1).map((at, i) => at - runsAt[i]!)
  return {
    contestant: name,
    window,
    bill: meter.bill,
    billBefore: billBefore ?? meter.bill,
    runs: runsAt.length,
    between: gaps.length === 0 ? 0 : gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length,
    closest: gaps.length === 0 ? 0 : Math.min(...gaps),
    overflowAt,
    referred,
    lost,
  }
}

const estimator = estimatorNamed('calibrated')!

function tokensIn(text: string): number {
  return estimator.toTokens(estimator.measureText(text))
}

const references = new WeakMap<ChatMessage, readonly string[]>()

/** Identifiers of an answer that stood before it: the same for every contestant. */
function referencesIn(before: readonly ChatMessage[], answer: readonly ChatMessage[]): readonly string[] {
  const found = references.get(answer[0]!)
  if (found !== undefined) return found
  const words = new Words(textOf(before))
  const used = [...identifiersOf(wordsOfAssistant(answer))].filter((identifier) => words.has(identifier))
  references.set(answer[0]!, used)
  return used
}

function missing(used: readonly string[], sent: readonly Message[]): number {
  const words = new Words(textOf(sent as readonly ChatMessage[]))
  return used.filter((identifier) => !words.has(identifier)).length
}
