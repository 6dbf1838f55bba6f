/*
 * Which tables of a statement are not limited to a family. Keys and numbers are unique in a family only, so a statement that forgets it
 * reads or changes rows of other conversations.
 */

/** The tables whose rows belong to no family; that of the names says which family a session has. */
const WITHOUT = new Set(['names', 'calibrations', 'limits', 'meta'])

const TABLE = /"[^"]+"\.(\w+)\s+(?:as\s+)?(\w+)/g
const QUERY = /^\s*(?:select|insert|update|delete|with)\b/i
/** A part of a statement that has its own tables: between the words that combine queries. */
const COMBINED = /\b(?:union(?: all)?|intersect|except)\b/i

/** A query: its text without the queries within, which are `(#0)`, `(#1)` … */
type Level = { readonly text: string; readonly inner: readonly Level[] }

/** The aliases of the tables in a statement of PostgreSQL that have neither the family parameter nor the family of one that has it. */
export function outsideFamily(statement: string): string[] {
  return outsideOf(levelsOf(statement.replaceAll(/--[^\n]*|'(?:[^']|'')*'/g, "''")), new Set())
}

function levelsOf(text: string): Level {
  const inner: Level[] = []
  let own = ''
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== '(') {
      own += text[at]
      continue
    }
    const end = closing(text, at)
    const level = levelsOf(text.slice(at + 1, end))
    if (QUERY.test(level.text)) own += `(#${inner.push(level) - 1})`
    else {
      // Only brackets: what is in them is of this level.
      own += `(${level.text.replaceAll(/#(\d+)/g, (_, n) => `#${Number(n) + inner.length}`)})`
      inner.push(...level.inner)
    }
    at = end
  }
  return { text: own, inner }
}

function closing(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    if (text[at] === '(') depth++
    if (text[at] === ')' && --depth === 0) return at
  }
  throw new Error(`A bracket is open: ${text.slice(from)}`)
}

function outsideOf({ text, inner }: Level, around: ReadonlySet<string>): string[] {
  return text.split(COMBINED).flatMap((part) => {
    const tables = [...part.matchAll(TABLE)].flatMap(([, table, alias]) =>
      WITHOUT.has(table!) ? [] : [alias!],
    )
    // Tables of this part hide those around it that have the same alias.
    const within = new Set([...around].filter((alias) => !tables.includes(alias)))
    for (const [, alias] of part.matchAll(/(\w+)\.family = \$\d+/g)) within.add(alias!)
    // Without an alias the column would be ambiguous if there were two tables.
    if (/(?<![.\w])family = \$\d+/.test(part) && tables.length === 1) within.add(tables[0]!)
    if (insertsFamily(part, within)) within.add(tables[0]!)
    for (let size = -1; size !== within.size; ) {
      size = within.size
      for (const [, a, b] of part.matchAll(/(\w+)\.family = (\w+)\.family/g)) {
        if (within.has(a!)) within.add(b!)
        if (within.has(b!)) within.add(a!)
      }
    }
    const own = tables.filter((alias) => !within.has(alias))
    const below = [...part.matchAll(/\(#(\d+)\)/g)].flatMap(([, n]) => outsideOf(inner[Number(n)]!, within))
    return [...own, ...below]
  })
}

/** Whether an insert gives the column `family` the family parameter, or the family of a table that has it. */
function insertsFamily(text: string, within: ReadonlySet<string>): boolean {
  const found =
    /^\s*(?:with [^()]*\(#\d+\)\s*)?insert into \S+ as \w+ \(([^)]*)\)\s+(?:values\s*\(|select\s+)(.*)/is.exec(
      text,
    )
  if (found === null) return false
  const column = found[1]!.split(',').findIndex((name) => name.trim() === 'family')
  if (column === -1) return false
  const value = found[2]!.split(',')[column]!.replace(/\).*/s, '').trim()
  return /^\$\d+::bigint$/.test(value) || within.has(/^(\w+)\.family$/.exec(value)?.[1] ?? '')
}
