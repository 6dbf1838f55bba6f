import { type Fact, isTellingName, readFacts } from './facts.ts'
import { type FileFacts, isProse, noFacts } from './files.ts'
import { type Definition, noOutline, type Outline } from './outline.ts'
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

/*
 * Files as lines of a summary, and back: what was done to a file and what it defines; what it takes from others and
 * which names it works with.
 */

/** Most definitions, members of one, modules and names told of one file. */
const MAX_DEFINES = 150
const MAX_MEMBERS = 120
const MAX_MODULES = 40
const MAX_USES = 500

/**
 * A file as lines: path, what was done, what it defines, what it says of itself; and, in a second one, the definitions
 * for which `room` units of the first were too few. The second is empty when there are none.
 */
export function writeFile(
  file: FileFacts,
  path = file.path,
  room = Number.POSITIVE_INFINITY,
): readonly [line: string, more: string] {
  const parts = [`\`${path}\``, deeds(file)]
  const [defines, more] = share([...file.outline.defines.values()].slice(0, MAX_DEFINES), room)
  if (defines.length > 0) parts.push(`defines ${defines.map(writeDefinition).join(', ')}`)
  if (file.about !== '') parts.push(`"${file.about}"`)
  return [
    parts.join(' — '),
    more.length === 0 ? '' : `\`${path}\` also defines ${more.map(writeDefinition).join(', ')}`,
  ]
}

/** Definitions that take at most about `room` units, and the others; one with many members may stand in both. */
function share(all: readonly Definition[], room: number): readonly [Definition[], Definition[]] {
  const first: Definition[] = []
  const rest: Definition[] = []
  let left = room
  for (const definition of all) {
    left -= definition.kind.length + definition.name.length + (definition.value?.length ?? 0) + 4
    if (left < 0 && first.length > 0) {
      rest.push(definition)
      continue
    }
    let kept = 0
    while (kept < definition.members.length && left >= 0) left -= definition.members[kept++]!.length + 2
    first.push({ ...definition, members: definition.members.slice(0, kept) })
    if (kept < definition.members.length)
      rest.push({ ...definition, members: definition.members.slice(kept, MAX_MEMBERS) })
  }
  return [first, rest]
}

function deeds({ created, edits, reads, changed }: FileFacts): string {
  const done: string[] = []
  if (created) done.push('written')
  if (edits > 0) done.push(`${edits} ${edits === 1 ? 'edit' : 'edits'}`)
  if (done.length === 0 && changed) done.push('changed')
  if (reads > 0) done.push(`${reads} ${reads === 1 ? 'read' : 'reads'}`)
  return done.join(', ')
}

/** `class Tui (render, stop)`, `type Options`, `padTo`, `MAX_LINES = 500`. */
function writeDefinition({ name, kind, members, value }: Definition): string {
  const told = members.slice(0, MAX_MEMBERS)
  return `${kind === '' ? '' : `${kind} `}${name}${value === undefined ? '' : ` = ${value}`}${
    told.length === 0 ? '' : ` (${told.join(', ')})`
  }`
}

const DEFINED = /(?:([a-z]+) )?([A-Za-z_$][\w$]*)(?: = (-?\d[\w.]*|"[^"]*"|'[^']*'))?(?: \(([^()]*)\))?/g

function readDefinitions(text: string): Map<string, Definition> {
  const defines = new Map<string, Definition>()
  for (const [, kind = '', name = '', value, members] of text.matchAll(DEFINED)) {
    const names = members === undefined || members === '' ? [] : members.split(', ')
    defines.set(name, { name, kind, members: names, ...(value !== undefined && { value }) })
  }
  return defines
}

/** A file from a line that `writeFile` wrote. */
export function readFile(line: string): FileFacts | undefined {
  const [, path, done, rest = ''] =
    /^`([^`]+)` — ((?:(?:written|changed|\d{1,9} edits?|\d{1,9} reads?)(?:, )?)+)(.*)$/s.exec(line) ?? []
  if (path === undefined || done === undefined) return undefined
  const parts = rest.split(' — ')
  const defines = parts.find((part) => part.startsWith('defines '))
  const about = parts.find((part) => part.startsWith('"'))
  return {
    path,
    created: done.includes('written'),
    changed: done.includes('changed'),
    edits: Number(/(\d{1,9}) edit/.exec(done)?.[1] ?? 0),
    reads: Number(/(\d{1,9}) read/.exec(done)?.[1] ?? 0),
    outline: {
      ...noOutline(),
      defines: readDefinitions(defines?.slice(8).replace(/…$/, '') ?? ''),
    },
    about: about?.replace(/^"|"$/g, '') ?? '',
    last: 0,
  }
}

/**
 * What a file takes from others and the names it works with, as a line; `told` are names that stand elsewhere, and
 * those of this line are added to them. Empty when nothing is left to tell.
 */
export function writeNames({ outline }: FileFacts, path: string, told: Set<string>): string {
  const modules: string[] = []
  for (const [module, names] of [...outline.imports].slice(0, MAX_MODULES)) {
    const fresh = [...names].filter((name) => !told.has(name))
    for (const name of fresh) told.add(name)
    if (fresh.length === 0 && told.has(module)) continue
    told.add(module)
    modules.push(fresh.length === 0 ? `\`${module}\`` : `${fresh.join(', ')} from \`${module}\``)
  }
  const uses = byCount(outline.uses)
    .filter((name) => !told.has(name))
    .slice(0, MAX_USES)
  for (const name of uses) told.add(name)
  const parts = [
    ...(modules.length === 0 ? [] : [`imports ${modules.join(', ')}`]),
    ...(uses.length === 0 ? [] : [`${isProse(path) ? 'names' : 'uses'} ${uses.join(', ')}`]),
  ]
  return parts.length === 0 ? '' : `\`${path}\` ${parts.join('; ')}`
}

/** Names of several words first, the most frequent of them in front. */
function byCount(uses: ReadonlyMap<string, number>): string[] {
  return [...uses]
    .filter(([name, count]) => count > 1 || isTellingName(name))
    .map(([name, count]) => ({ name, weight: (isTellingName(name) ? 1_000 : 0) + Math.min(count, 900) }))
    .sort((a, b) => b.weight - a.weight)
    .map(({ name }) => name)
}

/** Names of definitions and their members in a file. */
export function definedNames({ defines }: Outline): string[] {
  return [...defines.values()].flatMap(({ name, members }) => [name, ...members])
}

/** A file from a line that `writeNames` wrote, or the second that `writeFile` did. */
export function readNames(line: string): FileFacts | undefined {
  const [, path, rest = ''] = /^`([^`]+)` ((?:imports |uses |names |also defines )[^\n]*)$/.exec(line) ?? []
  if (path === undefined) return undefined
  if (rest.startsWith('also defines '))
    return { ...noFacts(path), outline: { ...noOutline(), defines: readDefinitions(rest.slice(13)) } }
  const outline = noOutline()
  const [imports, uses] = importsAndUses(rest)
  // Names before the mark of a module, if any: "a, b from `module`, `another`".
  const pieces = imports.split('`')
  for (let at = 1; at + 1 < pieces.length; at += 2) {
    const before = pieces[at - 1]!
    const names = before.endsWith(' from ') ? before.slice(0, -' from '.length).split(', ') : []
    if (pieces[at] !== '') outline.imports.set(pieces[at]!, new Set(names.filter((name) => name !== '')))
  }
  // A name that was told once is told again.
  for (const name of uses.split(', ')) if (name !== '') outline.uses.set(name, 2)
  return { ...noFacts(path), outline }
}

function importsAndUses(text: string): readonly [imports: string, uses: string] {
  const isImports = text.startsWith('imports ')
  const end = isImports ? text.indexOf('; ') : 0
  const imports = isImports ? text.slice(8, end < 0 ? undefined : end) : ''
  const uses = isImports && end < 0 ? '' : text.slice(isImports ? end + 2 : 0).replace(/^(?:uses|names) /, '')
  return [imports, uses]
}

const READS = 'Read: '

/** Files that were only read, as one line. */
export function writeReads(files: readonly FileFacts[]): string {
  return READS + files.map(({ path, reads }) => `\`${path}\`${reads > 1 ? ` ×${reads}` : ''}`).join(', ')
}

/** Files from a line that `writeReads` wrote. */
export function readReads(line: string): FileFacts[] {
  if (!line.startsWith(`${READS}\``)) return []
  return [...line.matchAll(/`([^`]+)`(?: ×(\d+))?/g)].map(([, path = '', reads]) => {
    return { ...noFacts(path), reads: Number(reads ?? 1) }
  })
}
