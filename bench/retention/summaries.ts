import type { ChatMessage } from 'undertext'
import { type Topic, topicOf } from '../../src/core/summarizers/extractive/topics.ts'
import { oneLine, sentencesOf } from '../../src/core/summarizers/text.ts'
import { junkForm, outcomeFlaw, withoutField } from './forms.ts'
import { Words } from './identifiers.ts'
import { partsOf, textOf, wordsOfAssistant } from './parts.ts'
import { answer, squeezed } from './questions.ts'

/*
 * What summaries are made of, read from their texts: whether the listed names are used, whether rules are rules, how old the current work
 * is, and whether outcomes are outcomes.
 */

/** The share of the tokens at which summaries are measured. */
export const SUMMARY_SHARE = 0.25

/** A summary in the view at a cut. `covered`: the number of messages before the cut that it replaces. */
export type Written = {
  readonly conversation: string
  readonly before: readonly ChatMessage[]
  readonly after: readonly ChatMessage[]
  readonly covered: number
  readonly text: string
  readonly view: readonly ChatMessage[]
}

/** A line of a file of labels: whether a line under the rules of a conversation is a rule. */
export type Label = {
  readonly file: string
  readonly conversation: string
  readonly text: string
  /** Absent in what `--rules` prints without labels. */
  readonly isRule?: boolean
}

/** The figures of the summaries of a file. Shares without anything to count are absent. */
export type SummaryFigures = {
  readonly summaries: number
  /** The share of the tokens of the summaries that lists of names take, the names, and the shares that are used and junk. */
  readonly lists: number
  readonly names: number
  readonly usedNames?: number | undefined
  readonly junkNames?: number | undefined
  /** Different lines about rules; of the labelled ones the share that are rules; and how many of the rules the views still have. */
  readonly rules: number
  readonly labelled: number
  readonly rightRules?: number | undefined
  readonly keptRules?: number | undefined
  /** Summaries whose current work was found in the log, the share that is old, the median of its age, and those without. */
  readonly current: number
  readonly oldCurrent?: number | undefined
  readonly medianAge?: number | undefined
  readonly withoutCurrent: number
  /** Different outcomes of requests, the shares of their flaws, and the share of the requests without an outcome. */
  readonly outcomes: number
  readonly praise?: number | undefined
  readonly announcements?: number | undefined
  readonly fragments?: number | undefined
  readonly withoutOutcome?: number | undefined
}

/** The newest summary in a view, with the number of messages that it replaces. */
export function summaryIn(
  view: readonly ChatMessage[],
  before: readonly ChatMessage[],
): Pick<Written, 'covered' | 'text'> | undefined {
  const at = view.findLastIndex(({ condenseId }) => condenseId !== undefined)
  if (at < 0) return undefined
  return { covered: before.length - (view.length - 1 - at), text: textOf([view[at]!]) }
}

/** The figures of all summaries of a file. */
export function summaryFigures(written: readonly Written[], labels: readonly Label[]): SummaryFigures {
  return {
    summaries: written.length,
    ...listFigures(written),
    ...ruleFigures(written, labels),
    ...currentFigures(written),
    ...outcomeFigures(written),
  }
}

/*
 * Lines
 */

type Line = { readonly topic: Topic | undefined; readonly text: string }

/** The lines of a summary without headings and marks, and without the digest, each with the topic of its heading. */
function linesOf(summary: string): Line[] {
  const lines: Line[] = []
  let topic: Topic | undefined
  for (const raw of summary.split('\n')) {
    const [, title] = /^#{1,6} (.+)/.exec(raw) ?? []
    if (title === DIGEST) break
    if (title !== undefined) topic = topicOf(title)
    else if (raw.trim() !== '') lines.push({ topic, text: raw.replace(/^\s*[-*] /, '').trim() })
  }
  return lines
}

const DIGEST = 'Tool Calls'

/** The lines of a topic. A short summary has no headings; there its lines are known by their form. */
function linesAbout(summary: string, about: Topic, form: RegExp): string[] {
  return linesOf(summary).flatMap(({ topic, text }) =>
    topic === about || (topic === undefined && form.test(text)) ? [text] : [],
  )
}

/** A share, or nothing when there is nothing to count. */
function shareOf(part: number, all: number): number | undefined {
  return all === 0 ? undefined : part / all
}

/*
 * Lists of names
 */

const DEEDS =
  /^(?:(?:written|mentioned|created|deleted|moved|renamed|changed|failed|\d+ (?:edits?|reads?|changes?|writes?))(?:, |$))+$/
/** The share of short items with which a text is a list. */
const LIST_SHARE = 0.6

/** The names in a line about a file, a call or a request: what follows the last dash. */
function namesIn({ text }: Line): string[] {
  const segments = text.replaceAll(/ — "[^"]*"/g, '').split(' — ')
  const list = segments.length < 2 || text.startsWith('· ') ? '' : segments.at(-1)!
  if (list === '' || DEEDS.test(list)) return []
  const items = list
    .replace(/,? (?:and|\+) ?\d+ more$/, '')
    .split(', ')
    .map((item) => item.replace(/^`(.*)`$/, '$1').trim())
  const short = items.filter((item) => item.split(' ').length <= 2).length
  return short >= LIST_SHARE * items.length ? items : []
}

function listFigures(written: readonly Written[]) {
  let [units, listed, names, used, junk] = [0, 0, 0, 0, 0]
  for (const { text, after } of written) {
    const needed = new Words(wordsOfAssistant(after))
    for (const line of linesOf(text)) {
      const items = namesIn(line)
      units += line.text.length + 1
      listed += items.reduce((sum, item) => sum + item.length + SEPARATOR, 0)
      names += items.length
      used += items.filter((item) => needed.has(item) || needed.has(withoutField(item))).length
      junk += items.filter((item) => junkForm(item) !== undefined).length
    }
  }
  // The estimator counts characters, so that the share of the characters is that of the tokens.
  return {
    lists: units === 0 ? 0 : listed / units,
    names,
    usedNames: shareOf(used, names),
    junkNames: shareOf(junk, names),
  }
}

/** `, ` */
const SEPARATOR = 2

/*
 * Rules
 */

const RULE_LINE = /^(?:User|Earlier): ".*"(?: \(message \d+\))?$/

/** The different rules in the summaries of each conversation, as lines of a file of labels. */
export function rulesWritten(file: string, written: readonly Written[], labels: readonly Label[]): Label[] {
  const found: Label[] = []
  for (const { conversation, text: summary } of written) {
    for (const line of linesAbout(summary, 'rules', RULE_LINE)) {
      const text = line.replace(/^\w+: "(.*)"(?: \(message \d+\))?$/, '$1')
      const isSame = (one: Label) => one.conversation === conversation && isSameRule(one.text, text)
      if (found.some(isSame)) continue
      const isRule = labels.find(isSame)?.isRule
      found.push({ file, conversation, text, ...(isRule !== undefined && { isRule }) })
    }
  }
  return found
}

/** Whether two rules are the same, one of them perhaps shortened. */
function isSameRule(one: string, other: string): boolean {
  const [a, b] = [squeezed(one), squeezed(other)]
  if (a === b) return true
  const isBeginning = (part: string, whole: string) =>
    part.endsWith('…') && whole.startsWith(part.slice(0, -1))
  return isBeginning(a, b) || isBeginning(b, a)
}

function ruleFigures(written: readonly Written[], labels: readonly Label[]) {
  const lines = rulesWritten('', written, labels)
  const labelled = lines.filter(({ isRule }) => isRule !== undefined)
  const right = labelled.filter(({ isRule }) => isRule).length
  let [stated, kept] = [0, 0]
  for (const { conversation, before, view } of written) {
    const spoken = squeezed(speechOf(before.filter(({ role }) => role === 'user')))
    for (const { text, isRule, conversation: where } of labels) {
      if (where !== conversation || isRule !== true || !spoken.includes(squeezed(text).replace(/…$/, '')))
        continue
      stated += 1
      if (answer({ kind: 'forbidden', sentence: text }, view) === 'right') kept += 1
    }
  }
  return {
    rules: lines.length,
    labelled: labelled.length,
    rightRules: shareOf(right, labelled.length),
    keptRules: shareOf(kept, stated),
  }
}

/*
 * Current work
 */

/** From this age in messages on, the current work is old. */
const OLD = 10
/** The fewest units of a sentence without spaces and marks that is searched. */
const LEAST_QUOTED = 12
const LEAST_EASTERN = 6

function currentFigures(written: readonly Written[]) {
  const ages: number[] = []
  let without = 0
  for (const { text, before, covered } of written) {
    // Without headings, no line says that it is the current work.
    if (!/^#/m.test(text)) continue
    const age = ageOfCurrent(text, before.slice(0, covered))
    if (age === undefined) without += 1
    else ages.push(age)
  }
  ages.sort((a, b) => a - b)
  return {
    current: ages.length,
    oldCurrent: shareOf(ages.filter((age) => age > OLD).length, ages.length),
    medianAge: ages[ages.length >> 1],
    withoutCurrent: without,
  }
}

/** The messages behind the newest one that the current work quotes, or that names what it names. */
function ageOfCurrent(summary: string, covered: readonly ChatMessage[]): number | undefined {
  const positions = linesAbout(summary, 'current', /(?!)/).flatMap((line) =>
    sentencesOf(line).map((sentence) => {
      const quoted = quotedAt(sentence, covered)
      if (quoted >= 0) return quoted
      const names = [...sentence.matchAll(/`([^`]+)`/g)].map(([, name = '']) => quotedAt(name, covered, 1))
      return Math.max(-1, ...names)
    }),
  )
  const newest = Math.max(-1, ...positions)
  return newest < 0 ? undefined : covered.length - 1 - newest
}

/** The newest message that says a text, else that contains it in a call or a result; -1 without one. */
function quotedAt(text: string, messages: readonly ChatMessage[], least = LEAST_QUOTED): number {
  const wanted = squeezed(text).replaceAll('…', '')
  const isEastern = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(wanted)
  if (wanted.length < Math.min(least, isEastern ? LEAST_EASTERN : least)) return -1
  const said = messages.findLastIndex((message) => squeezedTexts(message).speech.includes(wanted))
  return said >= 0 ? said : messages.findLastIndex((message) => squeezedTexts(message).all.includes(wanted))
}

/** The texts of a message for a search. Messages are searched at every cut behind them. */
const searched = new WeakMap<ChatMessage, { readonly speech: string; readonly all: string }>()

function squeezedTexts(message: ChatMessage): { readonly speech: string; readonly all: string } {
  let texts = searched.get(message)
  if (texts === undefined) {
    const squeeze = (text: string) => squeezed(text).replaceAll('…', '')
    texts = { speech: squeeze(speechOf([message])), all: squeeze(textOf([message])) }
    searched.set(message, texts)
  }
  return texts
}

/** What people and the assistant wrote, without reasoning, calls and results. */
function speechOf(messages: readonly ChatMessage[]): string {
  return messages
    .filter(({ role }) => role !== 'tool')
    .flatMap((message) => partsOf(message).flatMap((part) => (part.type === 'text' ? [part.text] : [])))
    .join('\n')
}

/*
 * Outcomes
 */

const REQUEST_LINE = /^".*"(?: \([^()]*\))?(?: → .*)?$/s
const OUTCOME = /^".*"(?: \([^()]*\))? → (.+)$/s

function outcomeFigures(written: readonly Written[]) {
  const outcomes = new Map<string, string>()
  const requests = new Set<string>()
  const flaws = { praise: 0, announcement: 0, fragment: 0 }
  for (const { conversation, text: summary, before } of written) {
    for (const line of linesAbout(summary, 'evolution', REQUEST_LINE)) {
      if (!REQUEST_LINE.test(line)) continue
      const key = `${conversation} ${line}`
      const [, outcome] = OUTCOME.exec(line) ?? []
      if (outcome === undefined) requests.add(key)
      if (outcome === undefined || outcomes.has(key)) continue
      outcomes.set(key, outcome)
      const flaw = outcomeFlaw(outcome, (text) => startsInMiddle(text, before))
      if (flaw !== undefined) flaws[flaw] += 1
    }
  }
  return {
    outcomes: outcomes.size,
    praise: shareOf(flaws.praise, outcomes.size),
    announcements: shareOf(flaws.announcement, outcomes.size),
    fragments: shareOf(flaws.fragment, outcomes.size),
    withoutOutcome: shareOf(requests.size, requests.size + outcomes.size),
  }
}

/** The words of an outcome that find it in the log, and the shortest line that a line break may wrap. */
const MOST_SEARCHED = 6
const LEAST_WRAPPED = 50

/** Whether something stands before the beginning of an outcome in its sentence. */
function startsInMiddle(outcome: string, before: readonly ChatMessage[]): boolean {
  const words = oneLine(outcome).replace(/…$/, '').split(' ').slice(0, MOST_SEARCHED)
  const pattern = new RegExp(words.map((word) => word.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&')).join('\\s+'))
  for (const message of before.toReversed()) {
    const text = speechOf([message])
    const at = pattern.exec(text)?.index
    if (at === undefined) continue
    const line = text.slice(0, at).split('\n')
    const isWrapped = line.at(-1)!.trim() === '' && (line.at(-2) ?? '').length >= LEAST_WRAPPED
    return /[\p{L}\p{N},;]\s*$/u.test(isWrapped ? line.at(-2)! : line.at(-1)!)
  }
  return false
}

/*
 * Tables and texts
 */

const COLUMNS = [
  'summaries at 25 %',
  'count',
  'lists',
  'names',
  'used',
  'junk',
  'rules',
  'right',
  'kept',
  'current',
  'old',
  'age',
  'none',
  'outcomes',
  'praise',
  'announced',
  'fragments',
  'none',
]

/** The rows of the table of summaries, with its head. */
export function summaryRows(figures: ReadonlyMap<string, SummaryFigures>): string[][] {
  const share = (value: number | undefined) => (value === undefined ? '–' : value.toFixed(2))
  return [
    COLUMNS,
    ...[...figures].map(([contestant, one]) => [
      contestant,
      String(one.summaries),
      share(one.lists),
      String(one.names),
      share(one.usedNames),
      share(one.junkNames),
      String(one.rules),
      share(one.rightRules),
      share(one.keptRules),
      String(one.current),
      share(one.oldCurrent),
      String(one.medianAge ?? '–'),
      String(one.withoutCurrent),
      String(one.outcomes),
      share(one.praise),
      share(one.announcements),
      share(one.fragments),
      share(one.withoutOutcome),
    ]),
  ]
}
