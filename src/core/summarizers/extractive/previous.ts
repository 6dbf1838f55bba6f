import { listIn } from '../../messages/json.ts'
import type { Artifacts } from './artifacts.ts'
import { isWrittenRule, type Rule, readRule, rulesInSummary } from './rules.ts'
import { isDefaultTitle, type Topic, topicOf, topicsOf } from './topics.ts'

/** The parsed parts of an earlier summary, for the parts of a new one. */
export type Previous = {
  readonly rules: readonly Rule[]
  /** The other lines of each topic, unchanged, without those about artifacts. */
  readonly lines: ReadonlyMap<Topic, readonly string[]>
  /** Text outside all sections, from other tools and models. */
  readonly earlier: readonly string[]
}

/** The title for text without a known section. */
export const EARLIER = 'Earlier'

/** The title for what the log says and a model's summary did not. */
export const ADDED = 'Added from the log'

/** The section of a digest, which is merged separately. */
const TOOL_CALLS = 'Tool Calls'

/** The line that names the directory the files below it are relative to. */
const ROOT = /^Root: `([^`]+)`$/

/**
 * Parses earlier summaries, oldest first, and adds their lines about artifacts to `artifacts`. `titles` are those of the requested
 * sections, which are matched exactly; other headings are matched by their words.
 */
export function readPrevious(
  texts: readonly string[],
  titles: readonly string[],
  artifacts: Artifacts,
): Previous {
  const rules: Rule[] = []
  const lines = new Map<Topic, string[]>()
  const earlier: string[] = []
  const wanted = new Map(topicsOf(titles).map((topic, i) => [titles[i], topic]))

  for (const text of texts) {
    for (const { title, items } of partsOf(text)) {
      if (title === TOOL_CALLS) continue
      const isBare = title === undefined || title === EARLIER
      const isOurs = title === ADDED || (isBare && items.some((item) => OURS.test(item)))
      const given = isBare ? undefined : (wanted.get(title) ?? foreignTopic(title))
      let root = ''
      for (const item of items) {
        const topic = isOurs ? topicOfLine(item) : given
        if (MORE.test(item)) continue
        // Rules are in sections of their own, or are quotations in another section.
        const isRule =
          topic === 'rules' || ((topic === 'request' || topic === 'pending') && isWrittenRule(item))
        if (isRule) rules.push(readRule(item))
        else if (ROOT.test(item)) root = ROOT.exec(item)?.[1] ?? ''
        else if ((isOurs || topic === 'files' || topic === 'concepts') && artifacts.carry(item, root))
          continue
        else if (topic !== undefined) listIn(lines, topic).push(item)
        else {
          earlier.push(isBare ? item : `${title}: ${item}`)
          for (const rule of rulesInSummary(item)) rules.push(rule)
        }
      }
    }
  }
  return { rules, lines, earlier }
}

/** What a summary left out. */
const MORE = /^and \d{1,9} more in earlier messages$/

/** Lines that only this summarizer writes: they identify a short summary, which has no headings. */
const OURS = /^(?:First|Newest) request: "/

/** The topics of the lines in a short summary. */
const TOPICS_OF_LINES: readonly (readonly [RegExp, Topic])[] = [
  [/^(?:First|Newest) request: "/, 'request'],
  [/^(?:User|Earlier): ".*"(?: \(message \d+\))?$|^Rules in files: /s, 'rules'],
  [/^(?:["→]|Commit: )/, 'evolution'],
  [/^Corrects "| failed(?: \(\d+ times\))?(?:, [a-z ]{5,40})?: /, 'problems'],
  [/^Answer the user: | \(earlier\)$/, 'pending'],
  [/^(?:Working directory|Branch): `/, 'concepts'],
  [/^`[^`]+`$/, 'required'],
]

function topicOfLine(line: string): Topic {
  return TOPICS_OF_LINES.find(([pattern]) => pattern.test(line))?.[1] ?? 'current'
}

/** "Next Steps" of another writer is a list of tasks; our own is one outdated step. */
function foreignTopic(title: string): Topic | undefined {
  const topic = topicOf(title)
  if (isDefaultTitle(title) || (topic !== 'next' && topic !== 'current')) return topic
  return /step|task|todo/i.test(title) ? 'pending' : undefined
}

type Part = { readonly title: string | undefined; readonly items: readonly string[] }

const HEADING = /^(#{1,6})\s(.+)$/
/** A default title without a heading mark: `1. Current Work:` or `**Current Work**`. */
const BARE_HEADING = /^(?:\d{1,2}[.)]\s*)?\*{0,2}([A-Z][\w ]{3,60}?):?\*{0,2}:?\s*$/

/** The parts of a summary: a heading each, and the list items and paragraphs under it. */
function partsOf(text: string): Part[] {
  const parts: { title: string | undefined; items: string[] }[] = [{ title: undefined, items: [] }]
  let isFenced = false
  let isOpen = false
  /** That of the open item: lines with more belong to it. */
  let indent = 0
  const add = (line: string, starts: boolean) => {
    const items = parts.at(-1)!.items
    if (starts || !isOpen) items.push(line.trim())
    else items[items.length - 1] += `\n  ${line}`
    isOpen = true
  }
  for (const line of text.replaceAll('\r', '').split('\n')) {
    if (line.trimStart().startsWith('```')) {
      isFenced = !isFenced
      continue
    }
    if (/^<\/?[\w-]+>$/.test(line)) continue
    const title = isFenced ? undefined : headingOf(line)
    if (title !== undefined) {
      parts.push({ title, items: [] })
      isOpen = false
    } else if (line.trim() === '') isOpen &&= isFenced
    else if (isFenced || (isOpen && line.search(/\S/) > indent))
      add(line.replace(/^ {2}/, '').trimEnd(), false)
    else {
      const [mark = ''] = /^\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?/.exec(line) ?? []
      const starts = mark.trim() !== ''
      if (starts || !isOpen) indent = line.search(/\S/)
      add(line.slice(mark.length).replace(/^#+ /, '').trimEnd(), starts)
    }
  }
  return parts.filter(({ items }) => items.length > 0)
}

function headingOf(line: string): string | undefined {
  const [, marks = '', rest] = HEADING.exec(line) ?? []
  const title = rest?.trim().replace(/[\s#:]{1,200}$/, '')
  // A deeper heading that is not a section is text of its section.
  if (title !== undefined) return marks.length <= 2 || isDefaultTitle(title) ? title : undefined
  const bare = BARE_HEADING.exec(line)?.[1]
  return bare !== undefined && isDefaultTitle(bare) ? bare : undefined
}
