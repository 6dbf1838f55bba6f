import { headOf } from '../../core/characters.ts'
import type { Json } from '../../core/json.ts'
import { type Call, isObject } from '../calls.ts'
import { cleanLine, oneLine, shorten } from '../text.ts'

/** What happened to one file. */
export type FileFacts = {
  readonly path: string
  created: boolean
  edits: number
  reads: number
  /** Whether it was changed in a way that was not seen. */
  changed: boolean
  /** Names defined in what was written, newest kept. */
  defines: readonly string[]
  /** What the file says of itself in its first lines. */
  about: string
  /** Order of last use, higher is later. */
  last: number
}

/** Files of a conversation by path, in order of first use. */
export function filesIn(
  calls: readonly Call[],
  listed: { readonly read: readonly string[]; readonly modified: readonly string[] },
): Map<string, FileFacts> {
  const files = new Map<string, FileFacts>()
  for (const path of listed.modified) at(files, path).changed = true
  for (const path of listed.read) at(files, path)
  let room = CODE_UNITS
  for (const [i, call] of calls.entries()) {
    if (call.effect === 'other' || call.result?.failed === true) continue
    for (const path of call.paths) {
      const file = at(files, path)
      file.last = i + 1
      if (call.effect === 'read') {
        file.reads++
        continue
      }
      const code = writtenText(call.input)
      if (isWhole(call)) file.created = true
      else file.edits++
      if (room > 0) describe(file, code, isWhole(call))
      room -= Math.min(code.length, CODE_PER_CALL)
    }
  }
  for (const path of listed.read) {
    const file = at(files, path)
    if (!isModified(file) && file.reads === 0) file.reads = 1
  }
  return files
}

/** Units of written code that are searched for names: in one call and in all. */
const CODE_PER_CALL = 4_000
const CODE_UNITS = 1_000_000

function at(files: Map<string, FileFacts>, path: string): FileFacts {
  const key = oneLine(path).replaceAll('`', "'")
  const known = files.get(key)
  if (known !== undefined) return known
  const file = noFacts(key)
  files.set(key, file)
  return file
}

function noFacts(path: string): FileFacts {
  return { path, created: false, edits: 0, reads: 0, changed: false, defines: [], about: '', last: 0 }
}

export function isModified({ created, edits, changed }: FileFacts): boolean {
  return created || edits > 0 || changed
}

/** How much a file matters to somebody who goes on: changes first, then use, then how lately. */
export function weightOfFile(file: FileFacts, latest: number): number {
  const use = Math.min(30, 3 * file.edits + (file.created ? 6 : 0) + 2 * file.reads)
  return use + (latest === 0 ? 0 : (20 * file.last) / latest) + (isModified(file) ? 10 : 0)
}

/** Arguments that hold what is written. */
const WRITTEN = [
  'content',
  'contents',
  'newText',
  'new_string',
  'new_str',
  'new_text',
  'file_text',
  'code',
  'text',
]

function writtenText(input: Json): string {
  if (!isObject(input)) return ''
  for (const name of WRITTEN) {
    const value = input[name]
    if (typeof value === 'string') return value
  }
  return ''
}

/** Whether a call writes a file as a whole. */
function isWhole({ name, input }: Call): boolean {
  if (!isObject(input)) return false
  const hasContent = ['content', 'contents', 'file_text'].some(
    (argument) => typeof input[argument] === 'string',
  )
  return (hasContent && !/edit|replace|insert|append|patch|diff/i.test(name)) || input.command === 'create'
}

const DEFINITION =
  /^[ \t]{0,4}(?:export |default |public |private |static |async |abstract |pub )*(?:class|function|interface|type|enum|struct|trait|def|fn|func)\s+([A-Za-z_]\w{2,60})/gm
const METHOD =
  /^(?:\t|[ ]{2,4})(?:public |private |static |async |get |set )*([a-z]\w{2,60})\((.*)\{[ \t]*$/gm
const KEYWORDS = new Set([
  'if',
  'for',
  'while',
  'switch',
  'catch',
  'return',
  'function',
  'constructor',
  'with',
])

const MAX_DEFINES = 12

function describe(file: FileFacts, written: string, isWholeFile: boolean): void {
  const code = headOf(written, CODE_PER_CALL)
  if (isWholeFile) file.about = aboutOf(code)
  // The rest of a Markdown or data file is not code.
  if (/\.(?:md|txt|json|ya?ml|toml|csv|html|css)$/i.test(file.path)) return
  const methods = [...code.matchAll(METHOD)].filter(([, , rest]) => !rest?.includes('=>'))
  const names = [...code.matchAll(DEFINITION), ...methods]
    .map(([, name]) => name ?? '')
    .filter((name) => !KEYWORDS.has(name))
  if (names.length === 0) return
  file.defines = [...new Set([...file.defines, ...names])].slice(-MAX_DEFINES)
}

/** The first comment line or heading of a file. */
function aboutOf(code: string): string {
  for (const line of headOf(code, 600).split('\n').slice(0, 8)) {
    const [, comment] = /^\s*(?:\/\*\*?|\*(?!\/)|\/\/|#+|--|"""|<!--)\s*(.*)$/.exec(line) ?? []
    const text = cleanLine((comment ?? '').replace(/(?:\*\/|-->|""")\s*$/, ''))
    if (text.length >= 8 && !/^!|eslint|copyright|licen[cs]e|@ts-|coding[:=]/i.test(text))
      return shorten(text, 100)
  }
  return ''
}

/** A file as a line: path, what was done, what it defines, what it says of itself. */
export function writeFile(file: FileFacts, path = file.path): string {
  const parts = [`\`${path}\``, deeds(file)]
  if (file.defines.length > 0) parts.push(`defines ${file.defines.join(', ')}`)
  if (file.about !== '') parts.push(`"${file.about}"`)
  return parts.join(' — ')
}

function deeds({ created, edits, reads, changed }: FileFacts): string {
  const done: string[] = []
  if (created) done.push('written')
  if (edits > 0) done.push(`${edits} ${edits === 1 ? 'edit' : 'edits'}`)
  if (done.length === 0 && changed) done.push('changed')
  if (reads > 0) done.push(`${reads} ${reads === 1 ? 'read' : 'reads'}`)
  return done.join(', ')
}

/** A file from a line that `writeFile` wrote. */
export function readFile(line: string): FileFacts | undefined {
  const [, path, done, rest = ''] =
    /^`([^`]+)` — ((?:(?:written|changed|\d+ edits?|\d+ reads?)(?:, )?)+)(.*)$/s.exec(line) ?? []
  if (path === undefined || done === undefined) return undefined
  const parts = rest.split(' — ')
  const defines = parts.find((part) => part.startsWith('defines '))
  const about = parts.find((part) => part.startsWith('"'))
  return {
    path,
    created: done.includes('written'),
    changed: done.includes('changed'),
    edits: Number(/(\d+) edit/.exec(done)?.[1] ?? 0),
    reads: Number(/(\d+) read/.exec(done)?.[1] ?? 0),
    defines: defines === undefined ? [] : defines.slice(8).replace(/…$/, '').split(', '),
    about: about?.replace(/^"|"$/g, '') ?? '',
    last: 0,
  }
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

/** Files of an earlier summary with those of a later conversation. */
export function mergeFiles(
  earlier: readonly FileFacts[],
  later: ReadonlyMap<string, FileFacts>,
): FileFacts[] {
  const merged = new Map(earlier.map((file) => [file.path, file]))
  for (const file of later.values()) {
    const before = merged.get(file.path)
    merged.set(file.path, before === undefined ? file : joined(before, file))
  }
  return [...merged.values()]
}

function joined(before: FileFacts, after: FileFacts): FileFacts {
  return {
    path: after.path,
    created: before.created || after.created,
    changed: before.changed || after.changed,
    edits: before.edits + after.edits,
    reads: before.reads + after.reads,
    defines: [...new Set([...before.defines, ...after.defines])].slice(-MAX_DEFINES),
    about: after.about === '' ? before.about : after.about,
    last: after.last,
  }
}

/** The directory that spares most when its files are named relative to it; `undefined` when it spares little. */
export function commonRoot(paths: readonly string[]): string | undefined {
  const savings = new Map<string, number>()
  for (const path of paths.slice(0, 500)) {
    for (let slash = path.indexOf('/', 1); slash > 0; slash = path.indexOf('/', slash + 1)) {
      const root = path.slice(0, slash + 1)
      savings.set(root, (savings.get(root) ?? 0) + root.length)
    }
  }
  let best: string | undefined
  let most = 0
  for (const [root, spared] of savings) {
    if (spared <= most) continue
    best = root
    most = spared
  }
  return best !== undefined && best.length >= 8 && most >= 3 * best.length ? best : undefined
}
