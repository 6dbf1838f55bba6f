import { isTellingName } from './facts.ts'
import type { FileFacts } from './files.ts'
import { isProse, noFacts } from './files.ts'
import { type Definition, noOutline, type Outline } from './outline.ts'

/*
 * Writes files as lines of a summary, and reads them back: what was done to a file and what it defines; its imports and the
 * names it uses.
 */

/** The maximum number of definitions, members of one, modules and names of one file. */
const MAX_DEFINES = 150
const MAX_MEMBERS = 120
const MAX_MODULES = 40
const MAX_USES = 500

/**
 * A file as two lines: path, what was done, definitions, description; and the definitions that did not fit into `room` units of
 * the first line. The second line is empty when all fit.
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

/** The definitions that fit into about `room` units, and the others; one with many members can be in both. */
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

/** Reads a file from a line of `writeFile`. */
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
 * The imports of a file and the names it uses, as a line. Names in `told` are left out, and the names of this line are added
 * to them. Empty when no name is left.
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

/** Names of several words first, most frequent first. */
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

/** Reads a file from a line of `writeNames`, or from the second line of `writeFile`. */
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
  // A name that was listed once is listed again.
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

/** The files that were only read, as one line. */
export function writeReads(files: readonly FileFacts[]): string {
  return READS + files.map(({ path, reads }) => `\`${path}\`${reads > 1 ? ` ×${reads}` : ''}`).join(', ')
}

/** Reads files from a line of `writeReads`. */
export function readReads(line: string): FileFacts[] {
  if (!line.startsWith(`${READS}\``)) return []
  return [...line.matchAll(/`([^`]+)`(?: ×(\d+))?/g)].map(([, path = '', reads]) => {
    return { ...noFacts(path), reads: Number(reads ?? 1) }
  })
}
