import { type Bullet, fitSections, WEAK } from '../extractive/fit.ts'
import { ADDED } from '../extractive/previous.ts'
import { isFirm, type Rule, writeRule } from '../extractive/rules.ts'
import type { LogRecord } from '../extractive.ts'
import { isEastAsian, keyOf, oneLine, sentencesOf } from '../text.ts'
import {
  claimsChange,
  claimsFailure,
  claimsSuccess,
  claimsTests,
  FILE,
  isDone,
  isWanted,
  isWithdrawal,
  OTHER,
  plainOf,
  statedEdits,
  withoutStress,
} from './claims.ts'
import { baseOf } from './log-reader.ts'

/*
 * A model's summary is compared with the log. A line that contradicts it gets a note with what the log says; what is missing is added
 * under a heading of its own. Nothing of the model's text is removed, and where a sentence can be read in two ways there is no note.
 */

/** The maximum number of changed files and of failures that are added. */
const MOST_FILES = 30
const MOST_FAILURES = 3

/** A summary after the comparison, with the number of lines that were noted, added, and shortened because they were too long. */
export type CheckedAnswer = {
  readonly text: string
  readonly corrected: number
  readonly added: number
  readonly shortened: number
}

const NOTHING = { corrected: 0, added: 0, shortened: 0 }
const NOTE = / \[Log: [^\n]{1,2000}\.\]/g
const ADDED_SECTION = new RegExp(`^## ${ADDED}\\n(?:- .*\\n?)*`, 'gm')

/** A model's answer without notes and additions of an earlier summary, which are compared anew. */
export function withoutRemarks(text: string): string {
  return text.replaceAll(NOTE, '').replaceAll(ADDED_SECTION, '').trim()
}

/** Returns a model's summary with notes where it contradicts the log. */
export function withNotes(text: string, record: LogRecord): CheckedAnswer {
  const claims = claimsOf(record)
  let corrected = 0
  let isFenced = false
  let heading = ''
  let lead = ''
  const lines = text.split('\n').map((line) => {
    if (isFence(line)) isFenced = !isFenced
    if (isFenced || isFence(line)) return line
    if (/^\s*#/.test(line)) heading = line
    // The line above a list tells what its items are.
    else if (/[:：]\**\s*$/.test(line)) lead = line
    else if (/^[^-*+\d\s]/.test(line)) lead = ''
    const above = `${heading} ${lead}`
    const isOpen = isWanted(above) || /^\s*[-*+] \[ \]/.test(line)
    const found = new Set([
      ...(isOpen ? [] : sentencesOf(line)).flatMap((one) => contradictions(one, above, record, claims)),
      ...withdrawnIn(line, record, claims),
    ])
    if (found.size === 0) return line
    corrected += 1
    return noted(line.trimEnd(), `[Log: ${[...found].join('; ')}.]`)
  })
  return { ...NOTHING, text: corrected === 0 ? text : lines.join('\n'), corrected }
}

function isFence(line: string): boolean {
  return /^\s*(?:```|~~~)/.test(line)
}

/** In a table the note belongs to the last cell; below a heading it is a line of its own. */
function noted(line: string, note: string): string {
  if (/^\s{0,3}#{1,6}\s/.test(line)) return `${line}\n${note}`
  return /^\s*\|.*\|$/.test(line) ? `${line.slice(0, -1).trimEnd()} ${note} |` : `${line} ${note}`
}

/** Adds what the log says and a summary does not: rules, changed files, open failures; in at most `max` units. */
export function withMissing(text: string, record: LogRecord, max: number): CheckedAnswer {
  const bullets = missing(text, record)
  const { text: section, shortened } =
    bullets.length === 0 ? { text: '', shortened: 0 } : fitSections([{ title: ADDED, bullets }], max)
  const added = section.split('\n').filter((line) => line.startsWith('- ')).length
  // Without its heading a line would not be marked.
  if (added === 0) return { ...NOTHING, text }
  const isOpen = text.split('\n').filter(isFence).length % 2 === 1
  return { ...NOTHING, text: `${text.trimEnd()}${isOpen ? '\n```' : ''}\n\n${section}`, added, shortened }
}

/*
 * What is missing
 */

function missing(text: string, { rules, changes, failures, lastTest }: LogRecord): Bullet[] {
  const isNamed = namesIn(text)
  const names = namesOfFiles(changes.map(({ path }) => path))
  const open = failures.filter(
    ({ label, isOpen, isOvercome }) => isOpen && (label === lastTest?.label || !isOvercome),
  )
  const words = new Set(keyOf(text).split(' '))
  return [
    ...rules
      .filter((rule) => !isRuleNamed(rule, isNamed))
      .map((rule): Bullet => {
        return { text: writeRule(rule), rank: 900, cut: true, must: isFirm(rule) ? 3 : WEAK }
      }),
    ...changes
      .filter(({ path, edits }) => edits > 0 && !names(path).some((name) => mentions(text, name)))
      .slice(-MOST_FILES)
      .map(({ line }): Bullet => ({ text: line, rank: 800 })),
    ...open
      .filter(({ command, line }) => !(command !== undefined && isNamed(command)) && !isTold(line, words))
      .slice(-MOST_FAILURES)
      .map(({ label, line }): Bullet => ({ text: `${label} failed: ${line}`, rank: 700, cut: true })),
  ]
}

/** Whether a text contains the words of another; in scripts without spaces its characters. */
function namesIn(text: string): (label: string) => boolean {
  const words = ` ${keyOf(text)} `
  const characters = words.replaceAll(' ', '')
  return (label) => {
    const key = keyOf(label)
    return isEastAsian(label) ? characters.includes(key.replaceAll(' ', '')) : words.includes(` ${key} `)
  }
}

/** Whether most words of a line are among those of a text. */
function isTold(line: string, words: ReadonlySet<string>): boolean {
  const own = keyOf(line).split(' ')
  return own.filter((word) => words.has(word)).length >= own.length * MOST_WORDS
}

/** The share of a failure's words that tells it. */
const MOST_WORDS = 0.7
/** The longest part of a rule that is compared: a longer sentence was cut in the middle of a word. */
const COMPARED_UNITS = 400
/** A rule that is an item of a list, below the line before the list. */
const ITEM = /^.{1,80}: (.{8,})$/s

function isRuleNamed({ text }: Rule, isNamed: (label: string) => boolean): boolean {
  const compared = text.length <= COMPARED_UNITS ? text : text.slice(0, text.lastIndexOf(' ', COMPARED_UNITS))
  const [, item] = ITEM.exec(compared) ?? []
  const words = compared.replace(/…$/, '').replace(/^(?:And|But|Also|So|Und|Aber|Y|Pero|Et|Mais) /, '')
  return isNamed(words) || (item !== undefined && isNamed(item))
}

/** Whether a text contains a name that is not part of a longer one. */
function mentions(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const isLonger = /[\w-]/.test(text[at - 1] ?? '') || /[\w-]/.test(text[at + name.length] ?? '')
    if (!isLonger) return true
  }
  return false
}

/*
 * Contradictions
 */

/** What sentences may claim: what the log knows of each file, by the texts that name it; the keys of withdrawn rules. */
type Claims = {
  readonly files: readonly {
    readonly names: readonly string[]
    readonly change: LogRecord['changes'][number]
  }[]
  readonly edits: number
  readonly attempts: number
  readonly withdrawn: readonly { readonly key: string; readonly text: string }[]
}

function claimsOf({ changes, rules, withdrawn }: LogRecord): Claims {
  const names = namesOfFiles(changes.map(({ path }) => path))
  const inForce = rules.map(({ text }) => ` ${withoutStress(keyOf(text))} `)
  return {
    files: changes.map((change) => ({ names: names(change.path), change })),
    edits: changes.reduce((sum, { edits }) => sum + edits, 0),
    attempts: changes.reduce((sum, { edits, failed }) => sum + edits + failed, 0),
    withdrawn: withdrawn
      .map(({ text }) => ({ text, key: ` ${withoutStress(keyOf(text))} ` }))
      .filter(({ key }) => !inForce.some((other) => other.includes(key))),
  }
}

/** What the log says against a sentence; empty when nothing does. `above`: the heading or line above it. */
function contradictions(sentence: string, above: string, record: LogRecord, claims: Claims): string[] {
  const plain = plainOf(sentence)
  const notes = record.isWhole && isDone(plain) ? wrongEdits(plain, above, claims) : []
  return [...notes, ...wrongOutcomes(sentence, plain, record)]
}

function wrongEdits(plain: string, above: string, { files, edits, attempts }: Claims): string[] {
  const named = files.filter(({ names }) => names.some((name) => mentions(plain, name)))
  const stated = statedEdits(plain)
  const isTooMany = (own: number, failed: number): boolean =>
    stated !== undefined &&
    (stated.isVague ? failed > 0 && stated.count === own + failed : stated.count > own)
  if (named.length === 0) {
    const isWrong = isTooMany(edits, attempts - edits) && attempts >= stated!.count
    return isWrong ? [`${counted(edits)}, ${attempts - edits} failed`] : []
  }
  return named.flatMap((one) => {
    const { path, edits: own, failed, mayBeChanged } = one.change
    if (mayBeChanged) return []
    const isWrong =
      own === 0
        ? !isTwin(one, files) && claimsChange(withMarks(plain, one), above)
        : named.length === 1 && isTooMany(own, failed)
    return isWrong ? [`${path}: ${counted(own)}${failed > 0 ? `, ${failed} failed` : ''}`] : []
  })
}

/** A sentence with a mark in place of the file, and another in place of other files. */
function withMarks(sentence: string, { names, change: { path } }: Claims['files'][number]): string {
  return sentence.replaceAll(
    /[`*"]{0,4}((?:[\w@~.-]{0,100}[/\\]){0,40}[\w@.-]{0,200}\w)[`*"]{0,4}/g,
    (text, token: string) => {
      const isFile =
        names.includes(token) || token.endsWith(`/${path}`) || path.endsWith(`/${token.replace(/^\.\//, '')}`)
      if (isFile) return FILE
      return /[/.][a-z]\w{0,9}$/i.test(token) ? OTHER : text
    },
  )
}

/** Whether another file with the same base name was changed: it may be the same one by another path. */
function isTwin(one: Claims['files'][number], files: Claims['files']): boolean {
  const base = baseOf(one.change.path)
  return files.some((other) => other !== one && other.change.edits > 0 && baseOf(other.change.path) === base)
}

/** A note when a line lists a withdrawn rule as one in force. */
function withdrawnIn(line: string, { withdrawn }: LogRecord, claims: Claims): string[] {
  if (withdrawn.length === 0 || isWithdrawal(line)) return []
  const key = ` ${withoutStress(keyOf(line))} `
  return claims.withdrawn
    .filter((one) => key.includes(one.key))
    .map(({ text }) => `the user withdrew "${text.replace(/\.$/, '')}"`)
}

function wrongOutcomes(sentence: string, plain: string, { failures, lastTest }: LogRecord): string[] {
  const isSuccess = claimsSuccess(plain)
  const notes = failures.flatMap(({ label, command, isOpen, isOvercome }): string[] => {
    const [tool = ''] = label.split(' `')
    if (
      command === undefined
        ? !(/[_-]|[a-z][A-Z]/.test(tool) && mentions(sentence, tool))
        : !runs(sentence, command)
    )
      return []
    if (isOpen && !isOvercome && isSuccess) return [`${label} failed`]
    return !isOpen && claimsFailure(plain) ? [`${label} succeeded later`] : []
  })
  if (notes.length === 0 && lastTest?.outcome === 'failed' && claimsTests(plain))
    notes.push(`the last tests failed: ${lastTest.label}`)
  return notes
}

/** Whether a sentence names a command: in code as a whole, or in several words without further arguments. */
function runs(sentence: string, command: string): boolean {
  const wanted = oneLine(command)
  for (const [, code = ''] of sentence.matchAll(/`([^`]{1,400})`/g)) if (oneLine(code) === wanted) return true
  if (!wanted.includes(' ')) return false
  const at = sentence.replaceAll('`', '"').indexOf(wanted)
  return (
    at >= 0 &&
    !/[\w-]/.test(sentence[at - 1] ?? '') &&
    /^(?:[\s.,;:!?)"']|$)(?! ?-)/.test(sentence.slice(at + wanted.length))
  )
}

/** The texts that name a file: its path, its last two segments, and its base name when no other file has it. */
function namesOfFiles(paths: readonly string[]): (path: string) => readonly string[] {
  const bases = new Map<string, number>()
  for (const path of paths) bases.set(baseOf(path), (bases.get(baseOf(path)) ?? 0) + 1)
  return (path) => {
    const base = baseOf(path)
    const two = path.split(/[\\/]/).slice(-2).join('/')
    return [path, two, ...(base.length >= 4 && bases.get(base) === 1 ? [base] : [])]
  }
}

function counted(edits: number): string {
  return `${edits} ${edits === 1 ? 'edit' : 'edits'}`
}
