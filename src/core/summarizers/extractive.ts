import { defined } from '../messages/json.ts'
import { type Message, partsOf } from '../messages/message.ts'
import type { Outcome } from '../messages/outcome.ts'
import { TextAgentReader } from '../messages/text-agent.ts'
import { CallReader, type CallsRead, outputHead } from './calls.ts'
import type { FileChange, Holder } from './extractive/artifacts.ts'
import type { Conversation } from './extractive/conversation.ts'
import { ConversationReader } from './extractive/conversation-reader.ts'
import type { Exchange } from './extractive/exchanges.ts'
import { type Bullet, type Fitted, fitSections, leastOfMusts, type Section } from './extractive/fit.ts'
import { type Candidate, chooseLines, LINE_UNITS } from './extractive/lines.ts'
import { eachName } from './extractive/names.ts'
import { EARLIER, type Previous, readPrevious } from './extractive/previous.ts'
import { type Rule, readRule, rulesIn, sortedRules } from './extractive/rules.ts'
import { bulletsByTopic, courseOf, evolution, headOfCourse, withdrawals } from './extractive/sections.ts'
import { statementsIn } from './extractive/statements.ts'
import { type Topic, topicsOf } from './extractive/topics.ts'
import { SUMMARY_SECTIONS, type Summarizer, type SummaryAnswer, type SummaryRequest } from './summarizer.ts'
import { oneLine, shorten, unitsWithin } from './text.ts'

/**
 * The share of a summary for all but quoted lines and the lines about files and calls, which get what these leave; and that in a talk
 * without calls, where any sentence may be quoted.
 */
const TEXT_SHARE = 0.4
const TALK_SHARE = 0.25
/** The least units of that text, and its largest share for them. Requests and firm rules get as much when they need it. */
const MIN_TEXT = 96
const MAX_TEXT_SHARE = 0.8

/** How much the line of a request states with its outcome, besides its names. */
const OUTCOME_WEIGHT = 2
/** The largest share of a summary for lists of names. */
const LISTS_SHARE = 0.2

/** Below this many units a summary has no headings, and the calls of a tool share a line. */
const SHORT = 800
/** The units of the headings above the lines about artifacts. */
const HEADINGS = 64

/** Messages of fewer units than this are summarized more fully; and the minimum size of a summary. */
const FEW_UNITS = 2_000
const MIN_UNITS = 120

/**
 * Summarizes without a model, from the text of the messages: the user's requests and rules in their own words, files and
 * what was done to them, errors and what followed, open tasks, the last statements. An earlier summary is merged in: its
 * rules, requests and history are carried over, its current work is replaced.
 *
 * The same request returns the same text. It is never longer than `maxTokens`, nor than about half of the messages that
 * it replaces.
 */
export const extractiveSummarizer: Summarizer = {
  name: 'extractive',
  usesModel: false,

  summarize: summarizeMessages,
}

/** What a log says that its summary must say too, and must not contradict. */
export type LogRecord = Pick<Conversation, 'failures' | 'todo' | 'branch'> & {
  /** The label and outcome of the last command that ran tests. */
  readonly lastTest: { readonly label: string; readonly outcome: Outcome } | undefined
  /** The user's rules in force, and the withdrawn ones. */
  readonly rules: readonly Rule[]
  readonly withdrawn: readonly Rule[]
  readonly changes: readonly FileChange[]
  /** Whether the record covers all that the summary covers: nothing was summarized before. */
  readonly isWhole: boolean
}

/** What summaries stored of the log that they replaced: rules as lines of `writeRule`. */
export type EarlierLog = {
  readonly rules: readonly string[]
  readonly withdrawn: readonly string[]
  readonly lastTest?: LogRecord['lastTest']
}

function summarizeMessages(request: SummaryRequest): SummaryAnswer {
  request.signal?.throwIfAborted()
  const reader = new ExtractiveReader()
  const calls = new CallReader(defined({ userTools: request.userTools }))
  const textAgent = new TextAgentReader()
  for (const message of request.messages) {
    const { kind = 'message' } = message
    const read = kind === 'message' ? textAgent.read(message) : message
    reader.add({ ...read, kind }, calls.add(read))
  }
  return reader.answer(request)
}

/** A reader for the extractive summarizer without an input limit; `undefined` for any other summarizer. */
export function extractiveReader(summarizer: Summarizer): ExtractiveReader | undefined {
  const { summarize, maxInputTokens, inputTokensFor } = summarizer
  const hasLimit = maxInputTokens !== undefined || inputTokensFor !== undefined
  return summarize === summarizeMessages && !hasLimit ? new ExtractiveReader() : undefined
}

/** Extracts from messages one after another, and keeps only the parts that a summary can use. */
export class ExtractiveReader {
  readonly #conversation = new ConversationReader()
  readonly #after = new ConversationReader()
  #count = 0
  #markers = 0
  #units = 0
  #previous: Previous | undefined

  /** `calls`: those of the message, by one `CallReader` for all messages. `position`: that of the message in the log. */
  add(message: SummaryRequest['messages'][number], calls: CallsRead, position?: number): void {
    this.#count += 1
    if (message.kind === 'marker') this.#markers += 1
    this.#units += unitsOf(message)
    this.#conversation.add(message, calls, position)
  }

  /** Adds a message that the view shows after the summary. */
  follow(message: SummaryRequest['messages'][number], calls: CallsRead): void {
    this.#after.add(message, calls)
  }

  /**
   * What the log says, to check the summary of another writer. `earlier`: what earlier summaries stored; `undefined` without one. Call
   * it after the last message.
   */
  record(earlier?: EarlierLog): LogRecord {
    const conversation = this.#conversation.conversation()
    const read = (lines: readonly string[] = []): Rule[] => lines.map(readRule)
    const spoken = [...rulesIn(conversation), ...withdrawals(this.#after.conversation())]
    const { inForce, withdrawn } = sortedRules([...read(earlier?.rules), ...spoken])
    const { failures, todo, branch, artifacts, summaries } = conversation
    return {
      rules: inForce,
      withdrawn: [...read(earlier?.withdrawn), ...withdrawn],
      failures,
      lastTest: earlier?.lastTest,
      todo,
      branch,
      changes: artifacts.changes(),
      isWhole: earlier === undefined && summaries.length === 0,
    }
  }

  /** The summary of all added messages. Call it after the last one, again for a shorter one. */
  answer(request: Omit<SummaryRequest, 'messages'>): SummaryAnswer {
    const { text, shortened } = this.#fitted(request)
    return { text: text.toWellFormed(), ...(shortened > 0 && { shortened }) }
  }

  #fitted(request: Omit<SummaryRequest, 'messages'>): Pick<Fitted, 'text' | 'shortened'> {
    const { previousSummary = '' } = request
    const count = this.#count
    const most = unitsWithin(request.maxTokens)
    // Markers alone change nothing in an earlier summary.
    const isSame = count === 0 || (count === this.#markers && previousSummary.trim() !== '')
    if (isSame && previousSummary.length <= most) return { text: previousSummary, shortened: 0 }
    const max = Math.min(most, previousSummary.length + unitsWorth(this.#units))

    const conversation = this.#conversation.conversation()
    const { artifacts } = conversation
    const titles = titlesOf(request.sections)
    const earlierTexts = [previousSummary, ...conversation.summaries].filter((text) => text.trim() !== '')
    // Reading it adds its files to the artifacts, so that a second answer must not read it again.
    this.#previous ??= readPrevious(earlierTexts, titles, artifacts)
    const previous = this.#previous
    const after = this.#after.conversation()
    const course = courseOf(conversation)
    const material = { conversation, after, previous, course }
    const bullets = bulletsByTopic(material)

    // In a few lines, headings would take the room of the text.
    const isShort = most < SHORT || (previousSummary === '' && max < SHORT)
    const arranged = (all: typeof bullets): Section[] => {
      const sections = arrange(titles, all, previous)
      return isShort ? sections.map((section) => ({ ...section, title: '' })) : sections
    }
    const hasCalls = conversation.lastCallAt >= 0
    const least = Math.max(MIN_TEXT, leastOfMusts(arranged(bullets)))
    const room = Math.floor(
      Math.max(max * (hasCalls ? TEXT_SHARE : TALK_SHARE), Math.min(MAX_TEXT_SHARE * max, least)),
    )
    // The text without artifacts first: their lines do not repeat its names, and get the room that it leaves.
    const plain = fitSections(arranged(bullets), room)
    const shown = new Set<string>()
    eachName(plain.text, (name) => shown.add(name))
    after.names.each((name) => shown.add(name))
    const left = max - plain.text.length - (isShort ? 1 : HEADINGS)
    const worthOfName = (name: string): number => conversation.names.valueOf(name, conversation.count)
    const isPlain = (line: string): boolean => plain.text.includes(line)
    const costOf = (holder: Holder, line?: Candidate<Holder>): number => {
      if ('kind' in holder) return artifacts.headCost(holder)
      if (line?.form === 'asked' || isPlain(course.get(holder)!.text)) return 0
      return headOfCourse(holder.request).length + LINE_UNITS
    }
    const withOutcome = [...course].filter(([, { text, outcome }]) => outcome !== '' && !isPlain(text))
    const candidates: Candidate<Holder>[] = [
      ...withOutcome.map(([owner, { text }]): Candidate<Holder> => {
        return { owner, text, at: 0, weight: OUTCOME_WEIGHT, form: 'head' }
      }),
      ...statementsIn(course.keys(), hasCalls, [plain.text, ...mustsIn(bullets)].join('\n')),
      ...artifacts.candidates(isShort, byMessage(course.keys()), conversation.count),
    ]
    const all = Math.max(0, left - plain.missing)
    const lines = chooseLines(candidates, worthOfName, shown, { all, lists: max * LISTS_SHARE }, costOf)
    const { files, others } = artifacts.lines(lines)
    const more = new Map(bullets).set('evolution', evolution({ ...material, lines, isPlain }))
    const fitted = fitSections(arranged(withArtifacts(more, files, others)), max, plain.limits)
    if (fitted.text !== '' || count === 0) return fitted
    // There is no text that could replace the earlier current work.
    if (previousSummary.trim() !== '' && previousSummary.length <= most)
      return { text: previousSummary, shortened: 0 }
    const text = shorten(`${count} ${count === 1 ? 'message' : 'messages'} without text.`, most)
    return { text, shortened: 0 }
  }
}

/** The requests and rules, whole. */
function mustsIn(bullets: ReadonlyMap<Topic, readonly Bullet[]>): string[] {
  return [...bullets.values()].flat().flatMap(({ must, text }) => (must === undefined ? [] : [text]))
}

/** The exchanges by the messages of their texts. */
function byMessage(exchanges: Iterable<Exchange>): ReadonlyMap<number, Exchange> {
  const found = new Map<number, Exchange>()
  for (const exchange of exchanges)
    for (const { at } of [exchange.request, ...exchange.replies]) found.set(at, exchange)
  return found
}

/** The bullets with the lines about files, and about calls and texts. */
function withArtifacts(
  bullets: ReadonlyMap<Topic, readonly Bullet[]>,
  files: readonly string[],
  others: readonly string[],
): ReadonlyMap<Topic, readonly Bullet[]> {
  const sized = (text: string): Bullet => ({ text, rank: 870, isSized: true })
  return new Map(bullets)
    .set('files', [...files.map(sized), ...(bullets.get('files') ?? [])])
    .set('concepts', [...(bullets.get('concepts') ?? []), ...others.map(sized)])
}

/** The requested titles, or the default ones when none of them is known. */
function titlesOf(sections: readonly string[]): readonly string[] {
  return topicsOf(sections).some((topic) => topic !== undefined) ? sections : SUMMARY_SECTIONS
}

/** Assigns bullets to their titles. Some topics without a section of their own go to another one. */
function arrange(
  titles: readonly string[],
  bullets: ReadonlyMap<Topic, readonly Bullet[]>,
  { earlier, lines }: Previous,
): Section[] {
  const topics = topicsOf(titles)
  const homes = new Map<Topic, Topic[]>()
  for (const topic of topics) if (topic !== undefined) homes.set(topic, [topic])
  const [first] = homes.keys()
  for (const [topic, other] of HOMELESS) {
    const home = homes.has(other) ? other : first
    if (!homes.has(topic) && home !== undefined) homes.get(home)?.push(topic)
  }
  // Text of an earlier summary outside the known sections. When it has no known section, this is all there is.
  const rank = lines.size === 0 ? 980 : 730
  const unknown = earlier.map((text, i) => ({ text, rank: rank - Math.min(300, 10 * i), cut: true }))
  const sections: Section[] = [{ title: EARLIER, bullets: unknown }]
  for (const [i, topic] of topics.entries()) {
    if (topic === undefined) continue
    const all = homes.get(topic) ?? []
    const title = oneLine(titles[i] ?? '')
    sections.push({ title, bullets: all.flatMap((part) => bullets.get(part) ?? []) })
  }
  return sections
}

/** Topics, and the sections for them when their own is not requested; else the first section. */
const HOMELESS: readonly (readonly [Topic, Topic])[] = [
  ['rules', 'request'],
  ['files', 'concepts'],
  ['concepts', 'files'],
  ['evolution', 'request'],
]

/** The maximum units of a summary so that it is worth having: half of the messages' units, or most of them when they are few. */
function unitsWorth(units: number): number {
  return Math.floor(Math.max(units / 2, Math.min(0.8 * units, FEW_UNITS), MIN_UNITS))
}

function unitsOf(message: Message): number {
  let units = 0
  for (const part of partsOf(message)) {
    if (part.type === 'text' || part.type === 'reasoning') units += part.text.length
    else if (part.type === 'tool-call') units += JSON.stringify(part.input).length
    else if (part.type === 'tool-result') units += outputHead(part.output, Number.POSITIVE_INFINITY).length
  }
  return units
}
