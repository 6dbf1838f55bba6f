import { type Fact, readFacts } from './facts.ts'
import { readFile, readNames, readReads } from './file-lines.ts'
import type { FileFacts } from './files.ts'
import { isWrittenRule, type Rule, readRule, rulesInSummary } from './rules.ts'
import { isDefaultTitle, readTerms, type Terms, type Topic, topicOf, topicsOf } from './terms.ts'

/** An earlier summary, taken apart: what each part of a new one can carry on. */
export type Previous = {
  readonly rules: readonly Rule[]
  readonly terms: Terms
  readonly files: readonly FileFacts[]
  readonly facts: readonly Fact[]
  /** Lines of each topic that are none of the above, as they stand. */
  readonly lines: ReadonlyMap<Topic, readonly string[]>
  /** What no section held: text of other tools and models. */
  readonly earlier: readonly string[]
}

/** Title under which text without a section of ours is carried on. */
export const EARLIER = 'Earlier'

/** The section of a digest, which is merged by itself. */
const TOOL_CALLS = 'Tool Calls'

/** The line that names the directory the files below it are relative to. */
const ROOT = /^Root: `([^`]+)`$/

/**
 * Takes earlier summaries apart, oldest first. `titles` are those of the sections wanted now; their parts are
 * known by place, all others by the words of their headings.
 */
export function readPrevious(texts: readonly string[], titles: readonly string[]): Previous {
  const rules: Rule[] = []
  const terms = new Map<string, string[]>()
  const files: FileFacts[] = []
  const facts: Fact[] = []
  const lines = new Map<Topic, string[]>()
  const earlier: string[] = []
  const wanted = new Map(topicsOf(titles).map((topic, i) => [titles[i], topic]))

  for (const text of texts) {
    for (const { title, items } of partsOf(text)) {
      if (title === TOOL_CALLS) continue
      const topic =
        title === undefined || title === EARLIER ? undefined : (wanted.get(title) ?? foreignTopic(title))
      let root = ''
      for (const item of items) {
        const list = readTerms(item)
        const file = readFile(item) ?? readNames(item)
        const reads = readReads(item)
        const known = readFacts(item)
        const rooted = (one: FileFacts) => (isAbsolute(one.path) ? one : { ...one, path: root + one.path })
        if (holdsRules(topic, item)) rules.push(readRule(item))
        else if (list !== undefined) addAll(terms, ...list)
        else if (known !== undefined) for (const fact of known) facts.push(fact)
        else if (ROOT.test(item)) root = ROOT.exec(item)?.[1] ?? ''
        else if (file !== undefined) files.push(rooted(file))
        else if (reads.length > 0) for (const read of reads) files.push(rooted(read))
        else if (topic !== undefined) addAll(lines, topic, [item])
        else {
          earlier.push(title === undefined || title === EARLIER ? item : `${title}: ${item}`)
          for (const rule of rulesInSummary(item)) rules.push(rule)
        }
      }
    }
  }
  return { rules, terms, files, facts, lines, earlier }
}

function addAll<Key, Item>(lists: Map<Key, Item[]>, key: Key, items: readonly Item[]): void {
  const list = lists.get(key) ?? []
  if (list.length === 0) lists.set(key, list)
  for (const item of items) list.push(item)
}

/** Rules stand in sections of their own, or as quotations in the one that takes them in. */
function holdsRules(topic: Topic | undefined, item: string): boolean {
  if (topic === 'rules' || topic === 'decisions') return true
  return (topic === 'request' || topic === 'pending') && isWrittenRule(item)
}

function isAbsolute(path: string): boolean {
  return /^(?:\/|~|[A-Za-z]:|\w+:\/\/)/.test(path)
}

/** "Next Steps" of somebody else is a list of tasks; our own is one step, and stale. */
function foreignTopic(title: string): Topic | undefined {
  const topic = topicOf(title)
  if (isDefaultTitle(title)) return topic
  return topic === 'next' || topic === 'current'
    ? /step|task|todo/i.test(title)
      ? 'pending'
      : undefined
    : topic
}

type Part = { readonly title: string | undefined; readonly items: readonly string[] }

/** Longest line that is taken for a heading. */
const MAX_HEADING = 200
const HEADING = /^(#{1,6})\s(.+)$/
/** A heading without a mark: `1. Current Work:` or `**Current Work**`, of a default title only. */
const BARE_HEADING = /^(?:\d{1,2}[.)]\s*)?\*{0,2}([A-Z][\w ]{3,60}?):?\*{0,2}:?\s*$/

/** The parts of a summary: a heading each, and the list items and paragraphs under it. */
function partsOf(text: string): Part[] {
  const parts: { title: string | undefined; items: string[] }[] = [{ title: undefined, items: [] }]
  let isFenced = false
  let isOpen = false
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
    else if (isFenced || /^\s/.test(line)) add(line.replace(/^ {2}/, '').trimEnd(), false)
    else {
      const [mark = ''] = /^(?:[-*+•]\s+|\d{1,3}[.)]\s+)/.exec(line) ?? []
      add(line.slice(mark.length).replace(/^#+ /, '').trimEnd(), mark !== '')
    }
  }
  return parts.filter(({ items }) => items.length > 0)
}

/** The words of a heading without blanks, `#` and `:` at their end. */
function titleIn(rest: string): string {
  const words = rest.trimStart() || ' '
  let end = words.length
  while (end > 1 && /[\s#:]/.test(words[end - 1]!)) end--
  return words.slice(0, end)
}

function headingOf(line: string): string | undefined {
  if (line.length > MAX_HEADING) return undefined
  const [, marks = '', rest] = HEADING.exec(line) ?? []
  const title = rest === undefined ? undefined : titleIn(rest)
  // A deeper heading that names no section is text of the section it stands in.
  if (title !== undefined) return marks.length <= 2 || isDefaultTitle(title) ? title : undefined
  const bare = BARE_HEADING.exec(line)?.[1]
  return bare !== undefined && isDefaultTitle(bare) ? bare : undefined
}
