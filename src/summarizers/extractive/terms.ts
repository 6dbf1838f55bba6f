import { headOf } from '../../messages/characters.ts'
import type { Call } from '../calls.ts'
import { SUMMARY_SECTIONS } from '../summarizer.ts'
import { oneLine, shorten } from '../text.ts'
import {
  branch,
  type Conversation,
  NEWEST_CALLS,
  shellCommand,
  shellGist,
  workingDirectory,
} from './conversation.ts'

/** The topic of a section, independent of its title. */
const TOPICS = [
  'request',
  'concepts',
  'files',
  'problems',
  'pending',
  'evolution',
  'current',
  'next',
  'required',
  'rules',
  'decisions',
  'questions',
] as const
export type Topic = (typeof TOPICS)[number]

/** Topics of the default titles, in their order. */
const DEFAULTS: ReadonlyMap<string, Topic> = new Map(
  SUMMARY_SECTIONS.map((title, i) => [keyOf(title), TOPICS[i]!] as const),
)

/** Words of other titles, each with its possible topics, most likely first. Earlier lines take precedence. */
const WORDS: readonly (readonly [RegExp, readonly Topic[]])[] = [
  [/decision|decided|agreed/, ['decisions', 'rules']],
  [/constraint|rule|preference|convention|guideline|requirement|instruction/, ['rules', 'request']],
  [/action items?.*user|question|unresolved|unanswered|clarif/, ['questions', 'pending']],
  [/next steps?|follow/, ['next', 'pending']],
  [
    /pending|to ?do|task list|remaining|open (?:items|points|tasks)|action|outstanding|backlog/,
    ['pending', 'next'],
  ],
  [/required|needed|must read/, ['required', 'files']],
  [/file|code|artifact|data|change/, ['files', 'required']],
  [/problem|error|issue|bug|fix|discover|finding|learn|troubleshoot/, ['problems', 'concepts']],
  [/current|last|recent|progress|status|in flight|state/, ['current', 'evolution']],
  [/evolution|history|timeline|done|completed|accomplish|topic|discussed|events/, ['evolution', 'concepts']],
  [
    /goal|request|intent|purpose|objective|task|overview|summary|context|background/,
    ['request', 'evolution'],
  ],
  [/concept|technical|technolog|term|tool|environment|entit/, ['concepts', 'problems']],
]

/**
 * The topics of a list of titles: exact ones of the default titles first, the others by the words in them,
 * each topic once. A title without a free topic returns `undefined` and is left out.
 */
export function topicsOf(titles: readonly string[]): (Topic | undefined)[] {
  const topics = titles.map((title) => DEFAULTS.get(keyOf(title)))
  const taken = new Set<Topic | undefined>()
  for (const [i, topic] of topics.entries()) {
    if (topic !== undefined && taken.has(topic)) topics[i] = undefined
    taken.add(topic)
  }
  for (const [i, title] of titles.entries()) {
    if (topics[i] !== undefined) continue
    topics[i] = candidates(title).find((topic) => !taken.has(topic))
    taken.add(topics[i])
  }
  return topics
}

/** The topic of one heading in a summary of another writer. */
export function topicOf(title: string): Topic | undefined {
  return DEFAULTS.get(keyOf(title)) ?? candidates(title)[0]
}

/** Whether a heading is one of the default titles. */
export function isDefaultTitle(title: string): boolean {
  return DEFAULTS.has(keyOf(title))
}

function candidates(title: string): readonly Topic[] {
  const key = keyOf(title)
  return WORDS.filter(([words]) => words.test(key)).flatMap(([, topics]) => topics)
}

/** Case, numbering and punctuation are ignored. */
function keyOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .replace(/^\s*\d+ /, '')
    .trim()
}

/** The key terms: lists by label, most important first. */
export type Terms = ReadonlyMap<string, readonly string[]>

/** The labels of the lists in order, and the maximum number of items of each. */
const TERM_LISTS: ReadonlyMap<string, number> = new Map([
  ['Working directory', 2],
  ['Branch', 2],
  ['Terms', 30],
  ['Packages', 12],
  ['Commands', 10],
  ['Tools', 16],
  ['Values', 16],
])

/** The units that are searched for terms: of one text, and of all. */
const TEXT_UNITS = 1_500
const ALL_UNITS = 600_000

/** Text in backticks; package names; camelCase, PascalCase, snake_case; file names; values with digits. */
const TERM =
  /`[^`\n]{2,60}`|@[a-z0-9][\w.-]{0,60}\/[\w.-]{1,60}|\b[a-z]{1,30}(?:[A-Z][a-z0-9]{1,30}){1,8}\b|\b(?:[A-Z][a-z0-9]{1,30}){2,8}\b|\b[A-Za-z][A-Za-z0-9]{0,30}(?:_[A-Za-z0-9]{1,30}){1,8}\b|\b[\w-]{1,60}\.(?:[cm]?[jt]sx?|json|md|py|rs|go|java|kt|rb|php|cs|cpp|[ch]|sql|ya?ml|toml|sh|css|html|vue|svelte)\b|\$\d[\d,]{0,12}(?:\.\d{1,2})?|\b\d{4}-\d\d-\d\d\b|\b(?=[A-Z0-9-]{0,11}[0-9])[A-Z0-9]{2,12}(?:-[A-Z0-9]{1,12}){0,3}\b/g

/** The key terms of a conversation. A term counts once per text; a term in code marks counts more. */
export function termsIn({ said, calls }: Conversation): Terms {
  const scores = new Map<string, number>()
  const perText = Math.max(200, Math.min(TEXT_UNITS, Math.floor(ALL_UNITS / Math.max(1, said.length))))
  let room = ALL_UNITS
  for (let i = said.length - 1; i >= 0 && room > 0; i--) {
    const text = headOf(said[i]!.text, perText)
    room -= text.length
    const here = new Set<string>()
    for (const [match] of text.matchAll(TERM)) {
      const isMarked = match.startsWith('`')
      const term = isMarked ? oneLine(match.slice(1, -1)) : match
      if (here.has(term) || !isTerm(term)) continue
      here.add(term)
      scores.set(term, (scores.get(term) ?? 0) + (isMarked ? 1.5 : 1))
    }
  }
  const ranked = byCount(scores, 2)
  return new Map([
    ['Working directory', listOf(workingDirectory(calls))],
    ['Branch', listOf(branch(calls))],
    [
      'Terms',
      ranked.filter((term) => !isPackage(term) && !isValue(term) && !isCommand(term) && !isShout(term)),
    ],
    ['Packages', ranked.filter(isPackage)],
    ['Commands', [...new Set([...commands(calls), ...byCount(scores, 1).filter(isCommand)])]],
    ['Tools', tools(calls)],
    ['Values', byCount(scores, 1).filter(isValue)],
  ])
}

/** Lists followed by those of an earlier summary, each item once, up to the maximum of the list. */
export function mergeTerms(earlier: Terms, later: Terms): Terms {
  const all = new Map<string, readonly string[]>()
  for (const [label, max] of TERM_LISTS) {
    const newer = later.get(label) ?? []
    // At least a third for earlier terms, so that they do not vanish at once.
    const older = (earlier.get(label) ?? []).filter((term) => !newer.includes(term))
    const kept = newer.slice(0, Math.max(Math.ceil((max * 2) / 3), max - older.length))
    all.set(label, [...kept, ...older].slice(0, max))
  }
  return all
}

/** A list as a line: ``Terms: `a`, `b` ``. */
export function writeTerms(label: string, items: readonly string[]): string {
  return `${label}: ${items.map((item) => `\`${item}\``).join(', ')}`
}

/** Reads a list from a line of `writeTerms`, which may be shortened. */
export function readTerms(line: string): readonly [label: string, items: readonly string[]] | undefined {
  const colon = line.indexOf(': `')
  const label = line.slice(0, Math.max(0, colon))
  if (!TERM_LISTS.has(label)) return undefined
  return [label, [...line.slice(colon).matchAll(/`([^`]+)`/g)].map(([, item]) => item ?? '')]
}

function isTerm(term: string): boolean {
  return (
    term.length >= 3 &&
    term.length <= 60 &&
    (/[A-Za-z]/.test(term) || isValue(term)) &&
    !/^[a-z]+$/.test(term) &&
    !/\.{3}|…/.test(term)
  )
}

function isPackage(term: string): boolean {
  return term.startsWith('@')
}

/** Numbers of orders, bookings, tickets and accounts; amounts and dates. */
function isValue(term: string): boolean {
  return (
    /^(?:[A-Z0-9]{5,12}|[A-Z]{1,10}-\d{1,10}|[a-z]+(?:_[a-z]+)*_\d{3,12}|\$[\d,.]+|[\d-]{10})$/.test(term) &&
    /\d/.test(term)
  )
}

/** A command line, quoted in a message. */
function isCommand(term: string): boolean {
  return /^(?:npm|npx|yarn|pnpm|bun|deno|node|python3?|pip|uv|pytest|cargo|go|make|mvn|gradle|docker|kubectl|tsc|curl|psql) \S/.test(
    term,
  )
}

function byCount(scores: ReadonlyMap<string, number>, least: number): string[] {
  return [...scores]
    .filter(([, score]) => score >= least)
    .sort(([a, scoreA], [b, scoreB]) => scoreB - scoreA || (a < b ? -1 : 1))
    .slice(0, 80)
    .map(([term]) => term)
}

/** Capitals and digits too short to be a value. */
function isShout(term: string): boolean {
  return /^[A-Z0-9-]+$/.test(term)
}

function listOf(item: string | undefined): readonly string[] {
  return item === undefined ? [] : [item]
}

function tools(calls: readonly Call[]): string[] {
  const counts = new Map<string, number>()
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1)
  return byCount(counts, 1).map((name) => oneLine(name).replaceAll('`', "'"))
}

/** Command lines that ran more than once, without the parts that differ between runs. */
function commands(calls: readonly Call[]): string[] {
  const counts = new Map<string, number>()
  for (const call of calls.slice(-NEWEST_CALLS)) {
    const command = shellCommand(call)
    if (command === undefined) continue
    const line = shorten(oneLine(headOf(shellGist(command), 300)), 80).replaceAll('`', "'")
    if (line !== '') counts.set(line, (counts.get(line) ?? 0) + 1)
  }
  return byCount(counts, 2).filter(
    (line) =>
      !/^(?:git (?:add|commit|status|log|diff|show|branch)|cd|ls|cat|sed -n|head|tail|wc|find|grep|rg|mkdir|cp|mv|rm|echo|pwd)\b/.test(
        line,
      ),
  )
}
