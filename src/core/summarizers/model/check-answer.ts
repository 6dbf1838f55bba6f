import { type Bullet, fitSections, WEAK } from '../extractive/fit.ts'
import { ADDED } from '../extractive/previous.ts'
import { isFirm, writeRule } from '../extractive/rules.ts'
import type { LogRecord } from '../extractive.ts'
import { keyOf, oneLine, sentencesOf, shorten } from '../text.ts'
import {
  claimsChange,
  claimsNoChange,
  FILE,
  failuresIn,
  hasStem,
  isDone,
  isOvercome,
  isTests,
  NEGATIVE,
  NO_MORE,
  OPEN,
  OPEN_LIST,
  OTHER,
  plainOf,
  statedBranch,
  statedEdits,
  statedFiles,
  statedTests,
  stemsOf,
  successesIn,
  WANTED,
  withoutStress,
} from './claims.ts'
import { baseOf, type CheckedLog, partsOf, type Run } from './log-reader.ts'

/*
 * A model's summary is compared with the log: what its lines claim of commands, tests, files, rules and tasks with what became of them.
 * Nothing of the model's text is changed. Corrections, and what is missing, follow it under a heading of their own; where a sentence can
 * be read in two ways, nothing is corrected.
 */

/** The maximum number of changed files and of failures that are added, and the maximum units of a quoted line. */
const MAX_FILES = 30
const MAX_FAILURES = 3
const QUOTED_UNITS = 120

/** A line of a summary, and what the log says against it. */
export type Contradiction = { readonly line: string; readonly facts: readonly string[] }

/** What follows a summary from the log, with the number of corrected lines, added lines, and lines that were shortened. */
export type Additions = {
  readonly text: string
  readonly corrected: number
  readonly added: number
  readonly shortened: number
}

const ADDED_SECTION = new RegExp(`^## ${ADDED}\\n(?:- .*\\n?)*`, 'gm')

/** A model's answer without the additions of an earlier summary, which are made anew. */
export function withoutAdditions(text: string): string {
  return text.replaceAll(ADDED_SECTION, '').trim()
}

/** Returns the lines of a model's summary that contradict the log. */
export function contradictionsIn(text: string, record: CheckedLog): readonly Contradiction[] {
  const claims = claimsOf(record)
  let isFenced = false
  let heading = ''
  let lead = ''
  return text.split('\n').flatMap((line) => {
    if (isFence(line)) isFenced = !isFenced
    if (isFenced || isFence(line)) return []
    if (/^\s*#/.test(line)) heading = line
    // The line above a list tells what its items are.
    else if (/[:：]\**\s*$/.test(line)) lead = line
    else if (/^[^-*+\d\s]/.test(line)) lead = ''
    const above = `${heading} ${lead}`
    const isOpen = ((WANTED.test(above) || OPEN_LIST.test(above)) && line !== heading) || BOX.test(line)
    const facts = new Set([
      ...(isOpen ? [] : sentencesOf(line)).flatMap((one) => {
        const plain = plainOf(one)
        return [
          ...(record.isWhole ? wrongFiles(plain, above, record, claims) : []),
          ...wrongOutcomes(one, plain, above, record),
          ...wrongCounts(one, record),
          ...wrongBranch(plain, record),
        ]
      }),
      ...wrongRules(line, claims),
      ...doneIn(line, OPEN_LIST.test(above) || BOX.test(line), claims),
    ])
    return facts.size === 0 ? [] : [{ line: sentencesOf(line).join(' '), facts: [...facts] }]
  })
}

/** An open check box. */
const BOX = /^\s*[-*+] \[ \]/

function isFence(line: string): boolean {
  return /^\s*(?:```|~~~)/.test(line)
}

/** Returns what the log says and a summary does not: corrections, rules, changed files, open failures; in at most `max` units. */
export function additionsTo(
  text: string,
  record: LogRecord,
  wrong: readonly Contradiction[],
  max: number,
): Additions {
  const corrections = wrong.map(({ line, facts }): Bullet => {
    const quoted = shorten(line.replaceAll('"', "'"), QUOTED_UNITS)
    return { text: `Corrects "${quoted}": ${facts.join('; ')}`, rank: 950, cut: true }
  })
  const bullets = [...corrections, ...missing(text, record)]
  const { text: section, shortened } =
    bullets.length === 0 ? { text: '', shortened: 0 } : fitSections([{ title: ADDED, bullets }], max)
  const lines = section.split('\n').filter((line) => line.startsWith('- '))
  // Without its heading a line would not be marked.
  if (lines.length === 0) return { text: '', corrected: 0, added: 0, shortened: 0 }
  const corrected = lines.filter((line) => line.startsWith('- Corrects "')).length
  const isOpen = text.split('\n').filter(isFence).length % 2 === 1
  return {
    text: `${isOpen ? '\n```' : ''}\n\n${section}`,
    ...{ corrected, added: lines.length - corrected, shortened },
  }
}

/*
 * What is missing
 */

function missing(text: string, { rules, changes, failures, lastTest }: LogRecord): Bullet[] {
  const words = ` ${keyOf(text)} `
  const isNamed = (label: string): boolean => words.includes(` ${keyOf(label)} `)
  const names = namesOfFiles(changes.map(({ path }) => path))
  const open = failures.filter(
    ({ label, isOpen, isOvercome }) => isOpen && (label === lastTest?.label || !isOvercome),
  )
  return [
    ...rules
      .filter((rule) => !isNamed(rule.text))
      .map((rule) => ({ text: writeRule(rule), rank: 900, cut: true, must: isFirm(rule) ? 3 : WEAK })),
    ...changes
      .filter(({ path, edits }) => edits > 0 && !names(path).some((name) => mentions(text, name)))
      .slice(-MAX_FILES)
      .map(({ line }) => ({ text: line, rank: 800 })),
    ...open
      .filter(({ command }) => command === undefined || !isNamed(command))
      .slice(-MAX_FAILURES)
      .map(({ label, line }) => ({ text: `${label} failed: ${line}`, rank: 700, cut: true })),
  ]
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

/** What sentences may claim: what the log knows of each file, by the texts that name it; rules and finished tasks by their words. */
type Claims = {
  readonly files: readonly {
    readonly names: readonly string[]
    readonly change: LogRecord['changes'][number]
  }[]
  readonly withdrawn: readonly Known[]
  readonly inForce: readonly Known[]
  readonly done: readonly Known[]
}
type Known = { readonly text: string; readonly key: string; readonly stems: ReadonlySet<string> }

function known({ text }: { readonly text: string }): Known {
  return {
    text: text.replace(/\.$/, ''),
    key: ` ${withoutStress(keyOf(text))} `,
    stems: stemsOf(withoutStress(keyOf(text))),
  }
}

function claimsOf({ changes, rules, withdrawn, todo }: LogRecord): Claims {
  const names = namesOfFiles(changes.map(({ path }) => path))
  const inForce = rules.map(known)
  const open = new Set(todo.filter(({ isDone }) => !isDone).map(({ text }) => keyOf(text)))
  return {
    files: changes.map((change) => ({ names: names(change.path), change })),
    withdrawn: withdrawn.map(known).filter(({ key }) => !inForce.some((other) => other.key.includes(key))),
    inForce,
    done: todo.filter(({ isDone, text }) => isDone && !open.has(keyOf(text))).map(known),
  }
}

/*
 * Files
 */

function wrongFiles(plain: string, above: string, record: CheckedLog, { files }: Claims): string[] {
  const named = files.filter(({ names }) => names.some((name) => mentions(plain, name)))
  const same = named.filter(
    ({ names, change: { edits } }) => edits > 0 && claimsNoChange(withMarks(plain, names)),
  )
  if (same.length > 0) return same.map(({ change }) => editsOf(change))
  if (!isDone(plain)) return []
  const invented = inventedIn(plain, above, record, files)
  if (named.length === 0 && invented.length === 0) {
    const changed = files.filter(({ change }) => change.edits > 0).length
    const possible = files.filter(({ change }) => change.edits > 0 || change.mayBeChanged).length
    const isWrong = changed > 0 && (statedFiles(plain) ?? 0) > possible
    return isWrong ? [`${changed} ${changed === 1 ? 'file was' : 'files were'} changed`] : []
  }
  const stated = named.length === 1 ? statedEdits(plain) : undefined
  const wrong = named.filter(({ names, change: { edits, mayBeChanged } }) => {
    if (mayBeChanged) return false
    if (edits === 0) return claimsChange(withMarks(plain, names), above)
    return stated !== undefined && (stated.count > edits || (stated.isAll && stated.count < edits))
  })
  return [...wrong.map(({ change }) => editsOf(change)), ...invented]
}

function editsOf({ path, edits, failed }: LogRecord['changes'][number]): string {
  return `${path}: ${edits} ${edits === 1 ? 'edit' : 'edits'}${failed > 0 ? `, ${failed} failed` : ''}`
}

/** The paths that a sentence says were written, and that no call has. Only endings that the log has too are those of files. */
function inventedIn(plain: string, above: string, { isNamed }: CheckedLog, files: Claims['files']): string[] {
  const endings = new Set(files.map(({ change }) => endingOf(change.path)))
  return [
    ...plain.matchAll(/`([^`\s]{3,200})`|(?<![\w/.])((?:[\w@.-]{1,100}\/){1,20}[\w@.-]{1,100}\w)/g),
  ].flatMap(([, code, bare]) => {
    const path = (code ?? bare)!
    const isOne = endingOf(path) !== '' && endings.has(endingOf(path)) && !isNamed(baseOf(path))
    return isOne && claimsChange(withMarks(plain, [path]), above) ? [`no call wrote ${path}`] : []
  })
}

function endingOf(path: string): string {
  return /\w(\.[a-z]\w{0,9})$/i.exec(path)?.[1] ?? ''
}

/** A sentence with a mark in place of the file with these names, and another in place of other files. */
function withMarks(sentence: string, names: readonly string[]): string {
  const paths = names.map((name) => `/${name.replaceAll('\\', '/')}`)
  return sentence.replaceAll(
    /[`*"]{0,4}((?:[\w@~.-]{0,100}[/\\]){0,40}[\w@.-]{0,200}\w)[`*"]{0,4}/g,
    (text, token: string) => {
      const given = `/${token.replaceAll('\\', '/').replace(/^\.?\//, '')}`
      if (paths.some((path) => path.endsWith(given) || given.endsWith(path))) return FILE
      return /[/.][a-z]\w{0,9}$/i.test(token) ? OTHER : text
    },
  )
}

/*
 * Rules and tasks
 */

/** The share of a rule's or task's words that name it in other words, and the least number of its words. */
const SAME_WORDS = 0.75
const MIN_WORDS = 3

function isAbout(stems: ReadonlySet<string>, { stems: own }: Known): boolean {
  const shared = [...own].filter((stem) => hasStem(stems, stem)).length
  return shared >= MIN_WORDS && shared >= own.size * SAME_WORDS
}

/** A note when a line lists a withdrawn rule as one in force, or says that one in force ended. */
function wrongRules(line: string, { withdrawn, inForce }: Claims): string[] {
  const key = ` ${withoutStress(keyOf(line))} `
  const stems = stemsOf(line)
  const isEnd = NO_MORE.test(line)
  const named = withdrawn.filter(
    (one) =>
      !isEnd &&
      (key.includes(one.key) || (isAbout(stems, one) && NEGATIVE.test(one.text) === NEGATIVE.test(line))),
  )
  const ended = isEnd ? inForce.filter((one) => !NO_MORE.test(one.text) && isAbout(stems, one)) : []
  return [
    ...named.map(({ text }) => `the user withdrew "${text}"`),
    ...ended.map(({ text }) => `"${text}" is in force`),
  ]
}

/** A note when a line lists a finished task as an open one. */
function doneIn(line: string, isOpen: boolean, { done }: Claims): string[] {
  const open = isOpen ? [line] : line.split(/[;；]|\bbut\b/).filter((part) => OPEN.test(part))
  return done
    .filter((task) => open.some((part) => isAbout(stemsOf(part), task)))
    .map(({ text }) => `"${text}" is done`)
}

/*
 * Outcomes
 */

/** A note when a sentence says that the work is on another branch than the log's last. */
function wrongBranch(plain: string, { branch }: CheckedLog): string[] {
  const stated = isDone(plain) ? statedBranch(plain) : undefined
  return branch === undefined || stated === undefined || stated === branch ? [] : [`the branch is ${branch}`]
}

/** A note when a sentence states other numbers of tests than any run reported. */
function wrongCounts(sentence: string, { counts, isWhole }: CheckedLog): string[] {
  const last = counts.at(-1)
  const stated = /\b(?:should|must|expect\w*|goal|target|want\w*|need\w*|soll\w*)\b/i.test(sentence)
    ? undefined
    : statedTests(sentence)
  if (stated === undefined || last === undefined || !isWhole) return []
  const isUnknown = (field: 'passed' | 'failed'): boolean => {
    const number = stated[field]
    const numbers = counts.flatMap((one) => one[field] ?? [])
    if (number === undefined || (field === 'failed' && isOvercome(sentence))) return false
    return numbers.length > 0 && !numbers.includes(number)
  }
  if (!isUnknown('passed') && !isUnknown('failed')) return []
  const shown = Object.entries(last).flatMap(([name, number]) =>
    number === undefined ? [] : `${number} ${name}`,
  )
  return [`the last tests: ${shown.join(', ')}`]
}

function wrongOutcomes(sentence: string, plain: string, above: string, record: CheckedLog): string[] {
  const { failures, lastTest, runs: all } = record
  const named = (text: string, subject: string): readonly Run[] => {
    const exact = all.filter(callsIn(text))
    return exact.length > 0 ? exact : about(subject, all)
  }
  const notes = new Set<string>()
  for (const { subject, isNow } of successesIn(plain)) {
    const line = failures.findLast(({ label }) => label === lastTest?.label)?.line ?? ''
    const words = subject.match(/(?<!\w)\w{4,100}(?!\w)/g) ?? []
    const isNamed = words.some((word) => /_|\d|[a-z][A-Z]/.test(word) && line.includes(word))
    const last = named(sentence, subject).at(-1)
    if (lastTest?.outcome === 'failed' && (isNow || isNamed || isTests(subject, lastTest.label)))
      notes.add(`the last tests failed: ${lastTest.label}`)
    else if (last?.outcome === 'failed') notes.add(`${last.label} failed`)
  }
  for (const { clause, subject, isNow } of failuresIn(sentence, above)) {
    const runs = named(clause, subject)
    const newest = runs.at(-1)
    if (newest === undefined && isNow && lastTest?.outcome === 'ok' && isTests(subject, lastTest.label))
      notes.add(`the last tests succeeded: ${lastTest.label}`)
    if (newest?.outcome !== 'ok' || runs.some(({ outcome }) => outcome === 'failed')) continue
    const hasFailed = runs.some((run) => run.hasFailed)
    // Output with words of an error may be what the sentence calls a failure, and one that is history may have been overcome.
    if (hasFailed ? isNow : !runs.some(({ hasErrors }) => hasErrors))
      notes.add(`${newest.label} succeeded${hasFailed ? ' later' : ''}`)
  }
  return [...notes]
}

/**
 * The runs that a few words are about: each word before a preposition is one of theirs, one names the program, and so are some of the others
 * ("the commit of the new tests").
 */
function about(subject: string, runs: readonly Run[]): Run[] {
  const [head = '', ...rest] = subject.split(PREPOSITION)
  const wanted = [...stemsOf(head)]
  const others = [...stemsOf(rest.join(' '))]
  return wanted.length === 0
    ? []
    : runs.filter(({ stems, verbs, context, command }) => {
        const shared = others.filter((stem) => hasStem(context, stem)).length
        return (
          (command !== undefined || wanted.length + shared > 1) &&
          wanted.every((stem) => hasStem(stems, stem)) &&
          wanted.some((stem) => hasStem(verbs, stem)) &&
          shared >= others.length / 3
        )
      })
}

const PREPOSITION = /\b(?:of|for|in|on|with|to|from|at|by|von|mit|de|del|des|du|en|pour)\b/i

/** What tells whether a text names a call: its command, or the name of its tool, which is no common word. */
function callsIn(text: string): (run: Pick<Run, 'label' | 'command'>) => boolean {
  const codes = [...text.matchAll(/`([^`]{1,400})`/g)].map(([, code = '']) => oneLine(code))
  const commands = new Set(codes.flatMap((code) => [code, partsOf(code, 'ok').at(-1)?.command]))
  const bare = text.replaceAll(/`[^`]{1,400}`/g, '"')
  // In code as a whole or as the last of a chain, or in several words without further arguments.
  const isRun = (command: string): boolean => {
    if (commands.has(command)) return true
    const at = command.includes(' ') ? bare.indexOf(command) : -1
    return (
      at >= 0 &&
      !/[\w-]/.test(bare[at - 1] ?? '') &&
      /^(?:[\s.,;:!?)"']|$)(?! ?-)/.test(bare.slice(at + command.length))
    )
  }
  return ({ label, command }) => {
    if (command !== undefined) return isRun(oneLine(command))
    const [tool = '', target = ''] = label.split(/ `|`$/)
    return (/[_-]|[a-z][A-Z]/.test(tool) && mentions(text, tool)) || (target.includes(' ') && isRun(target))
  }
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
