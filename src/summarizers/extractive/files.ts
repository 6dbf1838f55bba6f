import { headOf } from '../../messages/characters.ts'
import { isObject, type Json } from '../../messages/json.ts'
import { type Call, outputHead } from '../calls.ts'
import { cleanLine, oneLine, shorten } from '../text.ts'
import type { SeenCall } from './conversation.ts'
import { countNames, countPaths } from './facts.ts'
import { mergeOutlines, noOutline, type Outline, readOutline } from './outline.ts'

/** What happened to one file. */
export type FileFacts = {
  readonly path: string
  created: boolean
  edits: number
  reads: number
  /** Whether it was changed by an unknown edit. */
  changed: boolean
  /** The outline of its texts, newest first. */
  readonly outline: Outline
  /** The description in its first lines. */
  about: string
  /** Order of last use, higher is later. */
  last: number
}

/** Files of a conversation by path, in order of first use. */
export function filesIn(
  calls: readonly SeenCall[],
  listed: { readonly read: readonly string[]; readonly modified: readonly string[] },
): Map<string, FileFacts> {
  const files = new Map<string, FileFacts>()
  for (const path of listed.modified) at(files, path).changed = true
  for (const path of listed.read) at(files, path)
  for (const [i, call] of calls.entries()) {
    if (call.effect === 'other' || call.result?.outcome === 'failed') continue
    for (const path of call.paths) {
      const file = at(files, path)
      file.last = i + 1
      if (call.effect === 'read') {
        file.reads++
        continue
      }
      const about = call.kept === undefined ? aboutWhole(call) : call.kept.about
      if (about === undefined) file.edits++
      else {
        file.created = true
        file.about = about
      }
    }
  }
  outlineFiles(files, calls)
  for (const path of listed.read) {
    const file = at(files, path)
    if (!isModified(file) && file.reads === 0) file.reads = 1
  }
  return files
}

function keyOf(path: string): string {
  return oneLine(path).replaceAll('`', "'")
}

function at(files: Map<string, FileFacts>, path: string): FileFacts {
  const key = keyOf(path)
  const known = files.get(key)
  if (known !== undefined) return known
  const file = noFacts(key)
  files.set(key, file)
  return file
}

export function noFacts(path: string): FileFacts {
  return {
    path,
    created: false,
    edits: 0,
    reads: 0,
    changed: false,
    outline: noOutline(),
    about: '',
    last: 0,
  }
}

export function isModified({ created, edits, changed }: FileFacts): boolean {
  return created || edits > 0 || changed
}

/** The importance of a file for the rest of the conversation: changes first, then use, then recency. */
export function weightOfFile(file: FileFacts, latest: number): number {
  const use = Math.min(30, 3 * file.edits + (file.created ? 6 : 0) + 2 * file.reads)
  return use + (latest === 0 ? 0 : (20 * file.last) / latest) + (isModified(file) ? 10 : 0)
}

/** The arguments with the written text. */
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

/** The units at a file's beginning that are searched for a description. */
const ABOUT_UNITS = 600

/** The description of a file that a call writes as a whole; `undefined` for every other call. */
export function aboutWhole(call: Call): string | undefined {
  const isWritten = call.effect === 'write' && isWhole(call)
  return isWritten ? aboutOf(headOf(writtenText(call.input), ABOUT_UNITS)) : undefined
}

/** Whether a call writes a file as a whole. */
function isWhole({ name, input }: Call): boolean {
  if (!isObject(input)) return false
  const hasContent = ['content', 'contents', 'file_text'].some(
    (argument) => typeof input[argument] === 'string',
  )
  return (hasContent && !/edit|replace|insert|append|patch|diff/i.test(name)) || input.command === 'create'
}

/** The units that are searched for names: of one file's texts, of one text, and of all texts. */
const FILE_UNITS = 200_000
const TEXT_UNITS = 120_000
const ALL_UNITS = 2_000_000

/** The outlines of the newest texts of each file, read or written by tools. */
function outlineFiles(files: ReadonlyMap<string, FileFacts>, calls: readonly SeenCall[]): void {
  for (const { key, code } of textsToOutline(calls)) {
    const { outline } = files.get(key)!
    if (isProse(key)) {
      countPaths(code, outline.uses)
      countNames(code, outline.uses)
    } else readOutline(code, outline)
  }
}

/** The texts for outlines, newest first, within the limits. */
export function* textsToOutline(
  calls: readonly SeenCall[],
): Generator<{ readonly call: Call; readonly key: string; readonly code: string }> {
  let room = ALL_UNITS
  const looked = new Map<string, number>()
  for (let i = calls.length - 1; i >= 0 && room > 0; i--) {
    const call = calls[i]!
    if (call.kept !== undefined || call.effect === 'other' || call.result?.outcome === 'failed') continue
    // A text of several files cannot be assigned to one of them.
    if (call.paths.length !== 1) continue
    const key = keyOf(call.paths[0]!)
    if (!isCode(key)) continue
    for (const text of textsOf(call)) {
      const left = Math.min(room, TEXT_UNITS, FILE_UNITS - (looked.get(key) ?? 0))
      if (left <= 0) break
      const code = headOf(text, left)
      yield { call, key, code }
      looked.set(key, (looked.get(key) ?? 0) + code.length)
      room -= code.length
    }
  }
}

/** Whether a file is prose: it mentions names without defining them. */
export function isProse(path: string): boolean {
  return /\.(?:mdx?|rst|adoc|txt)$/i.test(path)
}

/** Data and markup contain no code. */
function isCode(path: string): boolean {
  return !/\.(?:jsonl?|lock|csv|tsv|log|svg|html|css|min\.js|map)$/i.test(path)
}

/** The file's text in a result or in the arguments, without the replaced text. */
function textsOf({ effect, input, result }: Call): string[] {
  if (effect === 'read') return result === undefined ? [] : [outputHead(result.output, TEXT_UNITS)]
  return writtenTexts(input, 0)
}

function writtenTexts(value: Json | undefined, depth: number): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || depth > 2) return []
  const texts: string[] = []
  for (const [name, inner] of Object.entries(value).slice(0, 100)) {
    if (/^old|^search$|path|^command$|^file$/i.test(name)) continue
    for (const text of writtenTexts(inner as Json, depth + 1)) texts.push(text)
  }
  return texts
}

/** The first comment line or heading of a file. */
function aboutOf(code: string): string {
  for (const line of code.split('\n').slice(0, 8)) {
    const opening =
      /^\s*(?:\/\*\*?|\*(?!\/)|\/\/|#+(?!!?\[|(?:include|define|undef|if|ifn?def|elif|else|endif|pragma|error|warning|import|line|region|endregion|nullable)\b)|--|"""|<!--)/.exec(
        line,
      )
    if (opening === null) continue
    const text = cleanLine(line.slice(opening[0].length).replace(/(?:\*\/|-->|""")\s*$/, ''))
    if (text.length >= 8 && !/^!|eslint|copyright|licen[cs]e|@ts-|coding[:=]/i.test(text))
      return shorten(text, 100)
  }
  return ''
}

/** Merges the files of an earlier summary with those of a later conversation. */
export function mergeFiles(
  earlier: readonly FileFacts[],
  later: ReadonlyMap<string, FileFacts>,
): FileFacts[] {
  const merged = new Map<string, FileFacts>()
  for (const file of [...earlier, ...later.values()]) {
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
    outline: mergeOutlines(after.outline, before.outline),
    about: after.about === '' ? before.about : after.about,
    last: after.last,
  }
}

/** The directory that shortens the paths most when they are relative to it; `undefined` when it saves little. */
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
