import { headOf } from '../../messages/characters.ts'
import { shorten } from '../text.ts'
import { type Fact, readFacts } from './facts.ts'
import { readFile, readNames, readReads } from './file-lines.ts'
import type { FileFacts } from './files.ts'
import { isWrittenRule, type Rule, readRule, rulesInSummary } from './rules.ts'
import { isDefaultTitle, readTerms, type Terms, type Topic, topicOf, topicsOf } from './terms.ts'

/** The parsed parts of an earlier summary, for the parts of a new one. */
export type Previous = {
  readonly rules: readonly Rule[]
  readonly terms: Terms
  readonly files: readonly FileFacts[]
  readonly facts: readonly Fact[]
  /** The other lines of each topic, unchanged. */
  readonly lines: ReadonlyMap<Topic, readonly string[]>
  /** Text outside all sections, from other tools and models. */
  readonly earlier: readonly string[]
}

/** The title for text without a known section. */
export const EARLIER = 'Earlier'

/** The section of a digest, which is merged separately. */
const TOOL_CALLS = 'Tool Calls'

/** The line that names the directory the files below it are relative to. */
const ROOT = /^Root: `([^`]+)`$/

/**
 * Parses earlier summaries, oldest first. `titles` are those of the requested sections, which are matched exactly; other
 * headings are matched by their words.
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

/** Rules are in sections of their own, or are quotations in another section. */
function holdsRules(topic: Topic | undefined, item: string): boolean {
  if (topic === 'rules' || topic === 'decisions') return true
  return (topic === 'request' || topic === 'pending') && isWrittenRule(item)
}

function isAbsolute(path: string): boolean {
  return /^(?:\/|~|[A-Za-z]:|\w+:\/\/)/.test(path)
}

/** "Next Steps" of another writer is a list of tasks; our own is one outdated step. */
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

/** The maximum length of a heading. */
const MAX_HEADING = 200
const HEADING = /^(#{1,6})\s(.+)$/
/** A default title without a heading mark: `1. Current Work:` or `**Current Work**`. */
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
  // A deeper heading that is not a section is text of its section.
  if (title !== undefined) return marks.length <= 2 || isDefaultTitle(title) ? title : undefined
  const bare = BARE_HEADING.exec(line)?.[1]
  return bare !== undefined && isDefaultTitle(bare) ? bare : undefined
}

/** One line of a summary. */
export type Bullet = {
  readonly text: string
  /** Its importance compared with all others, 0 to 1,000. */
  readonly rank: number
  /** How it may be shortened: as prose, or as a list by dropping items after a comma. Default: not at all. */
  readonly cut?: 'prose' | 'list'
  /** Is included before the shares of the sections apply. */
  readonly vital?: boolean
  /** Its length was chosen by the available room: it is included before all others. */
  readonly isSized?: boolean
  /** Belongs to the section's heading and is shown with it. */
  readonly isIntro?: boolean
}

export type Section = {
  readonly title: string
  /** Its share of the room while other sections follow; the shares of all sections sum to about 1. */
  readonly share: number
  readonly bullets: readonly Bullet[]
}

/** The minimum units of a section's share, and of a shortened bullet. */
const LEAST_SHARE = 160
const LEAST_CUT = 60

/** Below this many units not every section fits. */
const SHORT = 2_400
/** The share of a large section. */
const LARGE_SHARE = 0.3

function size({ share }: Section): number {
  return share >= LARGE_SHARE ? 1 : 0
}

/** How many times its share a section may use for its vital bullets. */
const VITAL_SHARES = 2

/**
 * Renders sections as Markdown of at most `max` units. The least important bullets are left out: vital bullets are chosen
 * first, then each section fills its share, then the remaining room is filled by rank. Bullets keep their order.
 */
export function fitSections(sections: readonly Section[], max: number): string {
  const filled = sections.filter(({ bullets }) => bullets.some(({ isIntro }) => isIntro !== true))
  const whole = render(filled.map((section) => [section, section.bullets.map(({ text }) => text)]))
  if (whole.length <= max) return whole

  const fitter = new Fitter(filled, max)
  for (const section of fitter.byImportance) {
    fitter.fill(section, max, ({ isSized }) => isSized === true)
  }
  for (const section of fitter.byImportance) {
    fitter.fill(
      section,
      Math.max(max * section.share * VITAL_SHARES, LEAST_SHARE),
      ({ vital }) => vital === true,
    )
  }
  // With enough room, small sections come before large ones that could use all of it.
  const order = max < SHORT ? fitter.byImportance : fitter.byImportance.toSorted((a, b) => size(a) - size(b))
  for (const section of order) fitter.fill(section, Math.max(max * section.share, LEAST_SHARE))
  fitter.fillRest()

  const text = fitter.text()
  if (text !== '') return text
  const [first] = filled.flatMap(({ bullets }) => bullets).sort((a, b) => b.rank - a.rank)
  return first === undefined ? '' : shorten(first.text, max)
}

/** The quotation of a line when it is long enough to identify it. */
const QUOTE = /^[^"]{0,40}"([^"]{24,})/

class Fitter {
  readonly byImportance: readonly Section[]
  readonly #sections: readonly Section[]
  readonly #ranked = new Map<Section, readonly Bullet[]>()
  readonly #chosen = new Map<Section, Map<Bullet, string>>()
  readonly #used = new Map<Section, number>()
  readonly #quotes = new Set<string>()
  #room: number

  constructor(sections: readonly Section[], max: number) {
    // The last section is not followed by a blank line.
    this.#room = max + 2
    this.#sections = sections
    for (const section of sections) {
      const own = section.bullets.filter(({ isIntro }) => isIntro !== true)
      this.#ranked.set(
        section,
        own.sort((a, b) => b.rank - a.rank),
      )
      this.#chosen.set(section, new Map())
      this.#used.set(section, 0)
    }
    const top = (section: Section) => this.#ranked.get(section)?.[0]?.rank ?? 0
    this.byImportance = sections.toSorted((a, b) => top(b) - top(a))
  }

  /** Chooses bullets of a section in order of rank until `limit` units are used. */
  fill(section: Section, limit: number, wanted: (bullet: Bullet) => boolean = () => true): void {
    for (const bullet of this.#ranked.get(section) ?? []) {
      if (!wanted(bullet)) continue
      const left = Math.min(limit - this.#usedBy(section), this.#room)
      if (left < LEAST_CUT) return
      this.#take(section, bullet, left)
    }
  }

  /** Chooses remaining bullets of all sections in order of rank while there is room. */
  fillRest(): void {
    const rest = this.#sections.flatMap((section) => {
      return (this.#ranked.get(section) ?? []).map((bullet) => ({ section, bullet }))
    })
    rest.sort((a, b) => b.bullet.rank - a.bullet.rank)
    for (const { section, bullet } of rest) {
      if (this.#room < LEAST_CUT) return
      this.#take(section, bullet, this.#room)
    }
  }

  text(): string {
    return render(
      this.#sections.map((section) => {
        const chosen = this.#chosen.get(section)
        if (chosen === undefined || chosen.size === 0) return [section, []]
        return [
          section,
          section.bullets.flatMap((bullet) => (bullet.isIntro ? bullet.text : (chosen.get(bullet) ?? []))),
        ]
      }),
    )
  }

  /** Chooses a bullet whole or shortened, or more of it than before, for at most `room` units. */
  #take(section: Section, bullet: Bullet, room: number): void {
    const chosen = this.#chosen.get(section)
    if (chosen === undefined) return
    const before = chosen.get(bullet)
    if (before !== undefined && before.length >= bullet.text.length) return
    const frame = chosen.size === 0 ? sectionCost(section) : 0
    const fixed = before === undefined ? frame + BULLET_COST : -before.length
    const text = cutTo(bullet, room - fixed)
    if (text === undefined || text.length <= (before?.length ?? 0)) return
    if (before === undefined && this.#isTold(bullet)) return
    chosen.set(bullet, text)
    this.#room -= fixed + text.length
    this.#used.set(section, this.#usedBy(section) + fixed + text.length)
  }

  /** Whether an earlier chosen bullet contains the quotation of this one. */
  #isTold({ text, vital }: Bullet): boolean {
    const [, quote] = QUOTE.exec(text) ?? []
    if (quote === undefined) return false
    const key = headOf(quote, 80)
    if (this.#quotes.has(key) && vital !== true) return true
    this.#quotes.add(key)
    return false
  }

  #usedBy(section: Section): number {
    return this.#used.get(section) ?? 0
  }
}

function cutTo(bullet: Bullet, max: number): string | undefined {
  if (bullet.text.length <= max) return bullet.text
  if (bullet.cut === undefined || max < LEAST_CUT) return undefined
  if (bullet.cut === 'prose') return shorten(bullet.text, max)
  const head = headOf(bullet.text, max + 1)
  const end = Math.max(head.lastIndexOf(', '), head.lastIndexOf('; '))
  return end < LEAST_CUT / 2 ? undefined : bullet.text.slice(0, end)
}

/** `- ` and the line break. */
const BULLET_COST = 3

/** `## `, the line break, the blank line after the section, and the bullets of the heading. */
function sectionCost({ title, bullets }: Section): number {
  return bullets.reduce(
    (sum, { isIntro, text }) => sum + (isIntro ? BULLET_COST + text.length : 0),
    title.length + 5,
  )
}

function render(sections: readonly (readonly [Section, readonly string[]])[]): string {
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([{ title }, lines]) => `## ${title}\n${lines.map((line) => `- ${line}`).join('\n')}`)
    .join('\n\n')
}
