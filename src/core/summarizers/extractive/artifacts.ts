import { detached, headOf } from '../../messages/characters.ts'
import { isObject, type Json, parsedJson } from '../../messages/json.ts'
import type { Outcome } from '../../messages/outcome.ts'
import { type Call, outputHead } from '../calls.ts'
import { cleanLine, oneLine, sentencesOf, shorten, withoutFences } from '../text.ts'
import { type Candidate, DEFINES, excerptOf, LINE_UNITS } from './lines.ts'
import { eachName, isCredential, type Names } from './names.ts'
import { FilePaths } from './paths.ts'
import { callLabel, isInspection, shellCommand, workingDirectory, writtenBy } from './shell.ts'
import { weightOf } from './statements.ts'

/*
 * Artifacts: the files, calls and speakers that names belong to. A summary lists a name in the line of its artifact, which says what was
 * done: `` `src/ini.ts` — written, 2 edits — "Parser for INI files." — parseIni, SectionMap ``. Names are chosen by value for their
 * length; the first name of an artifact also pays for the beginning of its line.
 */

/** What happened to a file. `about`: its first comment, or why it was first changed. */
type Deeds = {
  created: boolean
  edits: number
  /** Attempts to change it that failed. */
  failed: number
  /** Whether a command named it after such an attempt, which may have changed it. */
  mayBeChanged: boolean
  reads: number
  about: string
}

/** How often a file was changed, and how often a change failed. `line`: what was done to it, as a line of a summary. */
export type FileChange = {
  readonly path: string
  readonly edits: number
  readonly failed: number
  /** Whether it may have been changed by a command. */
  readonly mayBeChanged: boolean
  readonly line: string
}

export type Artifact = {
  readonly kind: 'file' | 'call'
  /** Whether it only looks: its line says nothing unless something of it is quoted. */
  readonly isInspection: boolean
  /** The path of a file; a call's name and target; `User` or `Assistant` for their texts. */
  readonly label: string
  readonly deeds: Deeds
  /** The outcomes of a call, the last one last. */
  readonly outcomes: Map<Outcome, number>
  /** Lines of its newest contents with names. */
  excerpt: readonly string[]
  /** The message of its last use. */
  last: number
  /** The number of files in the earlier summary before it, which are newer; -1 when it was used since. */
  age: number
}

/** The lines of a summary about artifacts. */
type ArtifactLines = { readonly files: readonly string[]; readonly others: readonly string[] }

/** The maximum number of calls, of which the oldest are dropped. */
const MAX_CALLS = 6_000
/** The maximum units of a file's description. */
const ABOUT_UNITS = 100
/** The marks of a line (`- `, ` — `, the line break), and of the line about the directory. */
const LINE_COST = 6
const ROOT_COST = 12
/** The mark of a line that quotes the file or result above it. */
const QUOTED = '· '
/** The least worth of a line that has room before quoted lines. */
const MIN_HEAD_WORTH = 0.3
/** The share of the room that such lines leave to names. */
const MIN_NAMES_SHARE = 0.4
/** The least value of a listed name. */
const MIN_VALUE = 0.005

export class Artifacts {
  readonly #names: Names
  readonly #ids = new Map<string, number>()
  readonly #paths = new FilePaths()
  readonly #all = new Map<number, Artifact>()
  /** The ids of calls, oldest first. */
  readonly #calls = new Set<number>()
  readonly #failedFiles = new Set<Artifact>()
  readonly #excerpts = new Set<Artifact>()
  /** The calls of each tool as one artifact, after they were merged. */
  readonly #merged = new Map<string, Artifact>()
  #next = 0
  /** That of the last line of an earlier summary: lines that quote it follow. */
  #lastCarried: { readonly id: number; readonly artifact: Artifact } | undefined
  /** The number of files of earlier summaries that were not used since. */
  #carried = 0

  constructor(names: Names) {
    this.#names = names
  }

  /** The artifact of the texts of a speaker. */
  ofSpeaker(name: 'User' | 'Assistant'): number {
    return this.#known('call', name)
  }

  /** Adds a call and the names of its arguments. `reason`: the text of the assistant before it. */
  begin(call: Call, reason: string): void {
    this.#paths.enter(workingDirectory(call))
    const id = this.#ofCall(call)
    const artifact = this.#all.get(id)!
    artifact.last = call.at
    const { deeds } = artifact
    if (call.effect === 'write' && deeds.about === '') deeds.about = firstSentence(reason)
    eachText(call.input, (text) => this.#names.add(text, 'input', call.at, id, isValue(text)))
  }

  /** Adds the result of a call. */
  end(call: Call): void {
    const { output, outcome, at } = call.result!
    const id = this.#ofCall(call)
    const artifact = this.#all.get(id)!
    artifact.last = at
    if (artifact.kind === 'call') count(artifact, outcome, 1)
    if (outcome !== 'failed') this.#countDeeds(call, at)
    else if (call.effect === 'write')
      for (const path of call.paths) {
        const artifact = this.#all.get(this.#ofFile(path))!
        artifact.deeds.failed += 1
        this.#failedFiles.add(artifact)
      }
    const data = dataOf(call)
    if (data !== undefined) {
      eachText(data, (text) => this.#names.add(text, 'output', at, id, isValue(text)))
      this.#keepExcerpt(artifact, rowsOf(data))
      return
    }
    this.#names.add(outputHead(output, Number.POSITIVE_INFINITY), 'output', at, id)
    if (outcome === 'failed') return
    const written = linesIn(call.input, /^(?!.*(?:old|search|path|file_?name))/i)
    const replaced = new Set(linesIn(call.input, /old|search/i))
    const read = call.effect === 'write' ? [] : excerptOf(outputHead(output, EXCERPT_UNITS))
    // A whole file, and the newest result of a call, replace what was known; of an edit, the replaced lines go.
    const isWhole = artifact.kind === 'call' || writtenText(call.name, call.input) !== undefined
    artifact.excerpt = isWhole ? [] : artifact.excerpt.filter((line) => !replaced.has(line))
    this.#keepExcerpt(artifact, [...written, ...read])
  }

  /** The newest excerpts stay. */
  #keepExcerpt(artifact: Artifact, lines: readonly string[]): void {
    if (lines.length === 0) return
    artifact.excerpt = [...new Set([...artifact.excerpt, ...lines])].slice(-MAX_QUOTABLE)
    this.#excerpts.delete(artifact)
    this.#excerpts.add(artifact)
    if (this.#excerpts.size <= MAX_EXCERPTS) return
    const oldest = this.#excerpts.values().next().value!
    oldest.excerpt = []
    this.#excerpts.delete(oldest)
  }

  /** The units of the lines without names that say most: of changed files, and of calls that ran several times. */
  headUnits(): number {
    return this.#telling().reduce((sum, artifact) => sum + this.headCost(artifact), 0)
  }

  #telling(): Artifact[] {
    return [...new Set(this.#all.values())].filter((artifact) => worthOf(artifact) >= MIN_HEAD_WORTH)
  }

  /** The units of the beginning of an artifact's line. */
  headCost(artifact: Artifact, root = ''): number {
    return headOfLine(artifact, root).length + LINE_COST
  }

  /** The lines of the newest contents, as candidates. */
  excerpts(isShort: boolean): Candidate<Artifact>[] {
    if (isShort) this.#mergeCalls()
    return [...this.#excerpts].flatMap((artifact) => {
      const owner = this.#merged.get(artifact.label.split(' `')[0]!) ?? artifact
      return artifact.excerpt.map((text, at) => ({
        owner,
        text,
        at,
        weight: DEFINES.test(text) || /^\w{1,40}: /.test(text) ? 1 : 0,
      }))
    })
  }

  #countDeeds(call: Call, at: number): void {
    const { effect, paths, name, input } = call
    if (effect === 'other') {
      const command = shellCommand(call) ?? ''
      this.#countWritten(command, at)
      for (const { label, deeds } of this.#failedFiles)
        if (command.includes(label.slice(label.lastIndexOf('/') + 1))) deeds.mayBeChanged = true
      return
    }
    const written = writtenText(name, input)
    for (const path of paths) {
      const artifact = this.#all.get(this.#ofFile(path))!
      artifact.last = at
      const { deeds } = artifact
      if (effect === 'read') deeds.reads += 1
      else if (written === undefined) deeds.edits += 1
      else {
        deeds.created = true
        deeds.about = aboutOf(headOf(written, 600)) || deeds.about
      }
    }
  }

  /** Counts the files that a shell command writes: changes that no editing tool reports. */
  #countWritten(command: string, at: number): void {
    for (const { path, isNew } of writtenBy(command)) {
      const artifact = this.#all.get(this.#ofFile(path))!
      artifact.last = at
      if (isNew) artifact.deeds.created = true
      else artifact.deeds.edits += 1
    }
  }

  /** Adds a line of an earlier summary, with the directory that its path is relative to; returns whether it is about an artifact. */
  carry(line: string, root: string): boolean {
    const carried = this.#lastCarried
    if (line.startsWith(QUOTED) && carried !== undefined) {
      const text = line.slice(QUOTED.length)
      this.#names.carry(text, carried.id)
      this.#keepExcerpt(carried.artifact, [text])
      return true
    }
    const [, path, done = '', about = '', namesOfFile = ''] = FILE_LINE.exec(line) ?? []
    if (path !== undefined) {
      const id = this.#ofFile(/^(?:\/|~|[A-Za-z]:|\w+:\/\/)/.test(path) ? path : root + path)
      const artifact = this.#all.get(id)!
      if (artifact.last < 0 && artifact.age < 0) artifact.age = this.#carried++
      const { deeds } = artifact
      deeds.created ||= done.startsWith('written')
      deeds.edits += Number(/(\d{1,9}) edit/.exec(done)?.[1] ?? 0)
      deeds.reads += Number(/(\d{1,9}) read/.exec(done)?.[1] ?? 0)
      if (about !== '') deeds.about = about
      this.#names.carry(namesOfFile, id)
      this.#lastCarried = { id, artifact }
      return true
    }
    const [, label, outcomes, names = ''] = CALL_LINE.exec(line) ?? []
    if (label === undefined) {
      this.#lastCarried = undefined
      return false
    }
    const id = this.#known('call', label)
    const known = (outcomes ?? '').matchAll(/(ok|failed|unknown)(?: ×(\d+))?/g)
    for (const [, outcome, times = '1'] of known) count(this.#all.get(id)!, outcome as Outcome, Number(times))
    this.#names.carry(names, id)
    this.#lastCarried = { id, artifact: this.#all.get(id)! }
    return true
  }

  #ofCall(call: Call): number {
    const [path] = call.paths
    const isOfFile = call.effect !== 'other' && path !== undefined && call.paths.length === 1
    return isOfFile
      ? this.#ofFile(path)
      : this.#known('call', callLabel(call, shellCommand(call)), undefined, isInspection(call))
  }

  #ofFile(path: string): number {
    const label = oneLine(path).replaceAll('`', "'")
    return this.#known('file', label, this.#paths.identityOf(label))
  }

  #known(kind: Artifact['kind'], label: string, identity = label, isInspection = false): number {
    const key = `${kind} ${identity}`
    let id = this.#ids.get(key)
    if (id === undefined) {
      id = this.#next++
      const deeds = { created: false, edits: 0, failed: 0, mayBeChanged: false, reads: 0, about: '' }
      this.#all.set(id, {
        kind,
        isInspection,
        label: detached(label),
        deeds,
        outcomes: new Map(),
        excerpt: [],
        last: -1,
        age: -1,
      })
      this.#ids.set(detached(key), id)
    }
    if (kind === 'call') {
      this.#calls.delete(id)
      this.#calls.add(id)
      if (this.#calls.size > MAX_CALLS) this.#drop(this.#calls.values().next().value!)
    }
    return id
  }

  #drop(id: number): void {
    const { kind, label } = this.#all.get(id)!
    this.#calls.delete(id)
    this.#all.delete(id)
    this.#ids.delete(`${kind} ${label}`)
  }

  /** The paths of the files by importance for the rest of the conversation: the most often changed first, then the last used. */
  filesByUse(): string[] {
    return [...this.#all.values()]
      .filter(({ deeds }) => changesOf(deeds) > 0 || deeds.reads > 0)
      .sort((a, b) => changesOf(b.deeds) - changesOf(a.deeds) || b.last - a.last)
      .map(({ label }) => label)
  }

  /** The files that were changed, and those that could not be changed, each with its line, in order of first use. */
  changes(): FileChange[] {
    return [...this.#all.values()]
      .filter(({ kind, deeds }) => kind === 'file' && (changesOf(deeds) > 0 || deeds.failed > 0))
      .map(({ label, deeds }) => ({
        path: label,
        edits: changesOf(deeds),
        failed: deeds.failed,
        mayBeChanged: deeds.mayBeChanged,
        line: `\`${label}\` — ${writeDeeds(deeds)}`,
      }))
  }

  /**
   * The lines of at most about `room` units in total that hold the names of greatest value after message `at`. Names in `shown` are
   * elsewhere in the view. `isShort`: the calls of a tool share a line. `quoted`: the lines
   * that follow that of an artifact. Files are in the order of first use, then calls.
   */
  lines(
    room: number,
    at: number,
    shown: ReadonlySet<string>,
    {
      isShort,
      quoted,
    }: {
      readonly isShort: boolean
      readonly quoted: ReadonlyMap<Artifact, readonly Candidate<Artifact>[]>
    },
  ): ArtifactLines {
    const root = this.#root()
    if (isShort) this.#mergeCalls()
    const chosen = new Map<Artifact, string[]>()
    let left = room - (root === '' ? 0 : root.length + ROOT_COST)
    for (const [artifact, lines] of quoted) {
      left -= this.headCost(artifact, root)
      for (const { text } of lines) left -= text.length + LINE_UNITS
      chosen.set(artifact, [])
    }
    // Changed files, and calls that ran several times, before the names of others.
    for (const artifact of this.#telling().sort((a, b) => worthOf(b) - worthOf(a) || b.last - a.last)) {
      const cost = this.headCost(artifact, root)
      if (chosen.has(artifact) || cost > left - room * MIN_NAMES_SHARE) continue
      left -= cost
      chosen.set(artifact, [])
    }
    for (const { artifact, names, headCost } of this.#steps(at, shown, root)) {
      const before = chosen.get(artifact)
      const head = before === undefined ? headCost : 0
      if (head > left) continue
      const list = before ?? []
      left -= head
      chosen.set(artifact, list)
      for (const name of names) {
        const cost = name.length + SEPARATOR
        if (cost > left) continue
        left += addName(list, name) - cost
      }
    }
    const files: string[] = []
    const others: string[] = []
    for (const artifact of new Set(this.#all.values())) {
      const names = chosen.get(artifact)
      if (names === undefined) continue
      const isSpeaker = artifact.kind === 'call' && artifact.outcomes.size === 0
      if (isSpeaker && names.length === 0 && !quoted.has(artifact)) continue
      const head = headOfLine(artifact, root)
      const line = names.length === 0 ? head : `${head} — ${names.join(', ')}`
      const lines = [line, ...(quoted.get(artifact) ?? []).map(({ text }) => `${QUOTED}${text}`)]
      for (const one of lines) (artifact.kind === 'file' ? files : others).push(one)
    }
    if (root !== '' && files.length > 0) files.unshift(`Root: \`${root}\``)
    return { files, others }
  }

  /** Makes the calls of each tool one artifact: in a short summary there is no room for their targets. */
  #mergeCalls(): void {
    if (this.#merged.size > 0) return
    const merged = this.#merged
    for (const [id, artifact] of this.#all) {
      if (artifact.kind === 'file') continue
      const [label = ''] = artifact.label.split(' `')
      const one = merged.get(label) ?? { ...artifact, label, outcomes: new Map() }
      merged.set(label, one)
      for (const [outcome, times] of artifact.outcomes) count(one, outcome, times)
      this.#all.set(id, one)
    }
  }

  /** The steps of a choice, best first: a line with its best names, then one name after another. */
  #steps(at: number, shown: ReadonlySet<string>, root: string): Step[] {
    const names = new Map<Artifact, Choice[]>()
    this.#names.each((name, home) => {
      const artifact = this.#all.get(home)
      if (artifact === undefined || shown.has(name) || artifact.label.includes(name)) return
      if (isCredential(name)) return
      const value = this.#names.valueOf(name, at)
      if (value < MIN_VALUE) return
      const choice = choiceOf(name, value)
      const list = names.get(artifact)
      if (list === undefined) names.set(artifact, [choice])
      else list.push(choice)
    })
    const steps: Step[] = []
    for (const artifact of new Set(this.#all.values())) {
      let worth = worthOf(artifact)
      const own = names.get(artifact) ?? []
      if (own.length === 0 && worth === 0) continue
      eachName(artifact.label, (name) => {
        if (!shown.has(name)) worth += this.#names.valueOf(name, at)
      })
      addSteps(steps, artifact, own, this.headCost(artifact, root), worth)
    }
    return steps.sort((a, b) => b.ratio - a.ratio)
  }

  /** The directory that shortens the paths most when they are relative to it; empty when it saves little. */
  #root(): string {
    const savings = new Map<string, number>()
    for (const path of this.filesByUse().slice(0, 100)) {
      for (let slash = path.indexOf('/', 1); slash > 0; slash = path.indexOf('/', slash + 1)) {
        const root = path.slice(0, slash + 1)
        savings.set(root, (savings.get(root) ?? 0) + root.length)
      }
    }
    const [best = '', most = 0] = [...savings].sort((a, b) => b[1] - a[1])[0] ?? []
    return best.length >= 8 && most >= 3 * best.length ? best : ''
  }
}

/** A name with its value for its length. */
type Choice = { readonly name: string; readonly ratio: number; readonly cost: number }
/** `headCost`: what the beginning of the line costs with the first step that is chosen. */
type Step = {
  readonly artifact: Artifact
  readonly names: readonly string[]
  readonly ratio: number
  readonly cost: number
  readonly headCost: number
}

function choiceOf(name: string, value: number): Choice {
  const cost = name.length + 2
  return { name, ratio: value / cost, cost }
}

/**
 * Adds a name to a list, in place of its parts: `5521-K` instead of `5521`, `status open` instead of `open`. Returns the units that this
 * saves.
 */
function addName(list: string[], name: string): number {
  if (list.some((one) => isPart(name, one))) return name.length + SEPARATOR
  let saved = 0
  for (let i = list.length - 1; i >= 0; i--) {
    if (!isPart(list[i]!, name)) continue
    saved += list[i]!.length + SEPARATOR
    list.splice(i, 1)
  }
  list.push(name)
  return saved
}

/** `, ` */
const SEPARATOR = 2

/** Whether a name is one or several whole words of another. */
function isPart(part: string, whole: string): boolean {
  const at = part.length < whole.length ? whole.indexOf(part) : -1
  return at >= 0 && !/\w/.test(whole[at - 1] ?? '') && !/\w/.test(whole[at + part.length] ?? '')
}

/** Adds the steps of one artifact: the line with as many of its best names as make it most worth its length, then the others. */
function addSteps(steps: Step[], artifact: Artifact, own: Choice[], headCost: number, worth: number): void {
  own.sort((a, b) => b.ratio - a.ratio)
  let cost = headCost
  let ratio = worth / headCost
  let first = 0
  for (; first < own.length && own[first]!.ratio >= ratio; first++) {
    const choice = own[first]!
    ratio = (ratio * cost + choice.ratio * choice.cost) / (cost + choice.cost)
    cost += choice.cost
  }
  const names = own.slice(0, first).map(({ name }) => name)
  steps.push({ artifact, names, ratio, cost: cost - headCost, headCost })
  for (const { name, ratio, cost } of own.slice(first))
    steps.push({ artifact, names: [name], ratio, cost, headCost })
}

/** Adds to the count of an outcome, which becomes the last one. */
function count({ outcomes }: Artifact, outcome: Outcome, times: number): void {
  const total = (outcomes.get(outcome) ?? 0) + times
  outcomes.delete(outcome)
  outcomes.set(outcome, total)
}

/** The value of a line besides its names: changed files, and calls with their outcomes. */
function worthOf({ kind, deeds, outcomes, age, isInspection }: Artifact): number {
  if (isInspection && !outcomes.has('failed')) return 0
  if (kind === 'file')
    return (changesOf(deeds) > 0 ? 1 : deeds.reads > 0 ? 0.05 : 0) / (1 + Math.max(0, age) / 8)
  const times = [...outcomes.values()].reduce((sum, one) => sum + one, 0)
  return Math.min(0.4, 0.1 * times)
}

function headOfLine({ kind, label, deeds, outcomes }: Artifact, root: string): string {
  if (kind === 'file') {
    const path = root !== '' && label.startsWith(root) && label !== root ? label.slice(root.length) : label
    return `\`${path}\` — ${writeDeeds(deeds)}${deeds.about === '' ? '' : ` — "${deeds.about}"`}`
  }
  const states = [...outcomes].map(([outcome, times]) => `${outcome}${times > 1 ? ` ×${times}` : ''}`)
  return states.length === 0 || states[0] === 'unknown' ? label : `${label} (${states.join(', ')})`
}

/** How often a file was changed. */
function changesOf({ created, edits }: Deeds): number {
  return edits + (created ? 1 : 0)
}

function writeDeeds({ created, edits, reads }: Deeds): string {
  const done = created ? ['written'] : []
  if (edits > 0) done.push(`${edits} ${edits === 1 ? 'edit' : 'edits'}`)
  if (reads > 0) done.push(`${reads} ${reads === 1 ? 'read' : 'reads'}`)
  return done.length === 0 ? 'mentioned' : done.join(', ')
}

const FILE_LINE =
  /^`([^`]+)` — ((?:written|mentioned|\d{1,9} edits?|\d{1,9} reads?)(?:, (?:\d{1,9} edits?|\d{1,9} reads?))*)(?: — "([^"\n]{0,300})")?(?: — ([^\n]*))?$/
const CALL_LINE =
  /^([^\s`]{1,100}(?: `[^`\n]{1,300}`)?)(?= [(—])(?: \(((?:(?:ok|failed|unknown)(?: ×\d{1,9})?(?:, )?)+)\))?(?: — ([^\n]*))?$/

/*
 * Contents of calls
 */

/** The units of a result or a written text that are read for an excerpt, and the number of excerpts held. */
const EXCERPT_UNITS = 12_000
const MAX_EXCERPTS = 300
const MAX_QUOTABLE = 300

/** The lines in the texts of several lines among the arguments whose names match. */
function linesIn(input: Json, names: RegExp): string[] {
  if (!isObject(input)) return []
  return Object.entries(input).flatMap(([name, text]) =>
    typeof text === 'string' && names.test(name) && text.includes('\n')
      ? excerptOf(headOf(text, EXCERPT_UNITS))
      : [],
  )
}

/** The maximum units of a result that is parsed as data, the texts in it that are visited, the rows that are kept, the length of a row and of a value. */
const DATA_UNITS = 20_000
const MAX_TEXTS = 600
const MAX_ROWS = 200
const ROW_UNITS = 140
const VALUE_UNITS = 60

/** Whether a text is one word with a digit: an id, an amount, a date. */
function isValue(text: string): boolean {
  return text.length <= VALUE_UNITS && /^\S*\d\S*$/.test(text)
}

/** A result as data, if it is data. */
function dataOf({ result }: Call): Json | undefined {
  const { output } = result!
  if ((output.type === 'json' || output.type === 'error-json') && typeof output.value !== 'string')
    return output.value
  const text = outputHead(output, DATA_UNITS + 1)
  return text.length <= DATA_UNITS && /^\s*[[{]/.test(text) ? parsedJson(text) : undefined
}

/** The scalar fields of each object in a value as a line, or several short ones: `id: 4471, status: open`. */
function rowsOf(data: Json): string[] {
  const rows: string[] = []
  const walk = (value: Json, depth: number): void => {
    if (rows.length >= MAX_ROWS || depth > 8) return
    const inner: Json[] = []
    let row = ''
    const add = (field: string, one: Json): void => {
      const text = one === null || typeof one === 'boolean' ? '' : oneLine(String(one))
      if (text === '' || text.length > VALUE_UNITS) return
      const shown = field === '' ? text : `${headOf(field, 40)}: ${text}`
      if (row !== '' && row.length + shown.length > ROW_UNITS) {
        rows.push(detached(row))
        row = ''
      }
      row += row === '' ? shown : `, ${shown}`
    }
    for (const [key, one] of fieldsOf(value)) {
      if (isScalar(one)) add(key, one)
      else inner.push(one)
    }
    if (row !== '') rows.push(detached(row))
    for (const one of inner) walk(one, depth + 1)
  }
  walk(data, 0)
  return rows
}

function isScalar(value: Json): boolean {
  return typeof value !== 'object' || value === null
}

/** The fields of an object, and the items of a list without names. */
function fieldsOf(value: Json): (readonly [string, Json])[] {
  if (Array.isArray(value)) return (value as readonly Json[]).slice(0, MAX_ROWS).map((item) => ['', item])
  return isObject(value)
    ? Object.entries(value).filter((entry): entry is [string, Json] => entry[1] !== undefined)
    : []
}

/** Visits the texts and numbers in a value with the names of their fields; at most 600 of them. */
function eachText(data: Json | undefined, visit: (text: string, field: string) => void): void {
  let left = MAX_TEXTS
  const walk = (value: Json | undefined, field: string, depth: number): void => {
    if (left <= 0 || depth > 8) return
    if (typeof value === 'string' || typeof value === 'number') {
      left -= 1
      visit(String(value), field)
    } else if (Array.isArray(value)) for (const item of value as readonly Json[]) walk(item, field, depth + 1)
    else if (isObject(value)) {
      for (const [key, inner] of Object.entries(value)) walk(inner, key, depth + 1)
    }
  }
  walk(data, '', 0)
}

/** The text of a call that writes a file as a whole; `undefined` for an edit. */
function writtenText(name: string, input: Json): string | undefined {
  if (!isObject(input)) return undefined
  const text = Object.entries(input).find(([name]) =>
    /^(?:(?:code)?_?contents?|file_?text)$/i.test(name),
  )?.[1]
  if (/create/i.test(name) || input.command === 'create') return typeof text === 'string' ? text : ''
  return typeof text === 'string' && !/edit|replace|insert|append|patch|diff/i.test(name) ? text : undefined
}

const COMMENT =
  /^\s*(?:\/\*\*?|\*(?!\/)|\/\/|#+(?!!?\[|(?:include|define|undef|if|ifn?def|elif|else|endif|pragma|import|region)\b)|--|"""|<!--)/

/** The first comment line or heading of a file. */
function aboutOf(code: string): string {
  for (const line of code.split('\n').slice(0, 8)) {
    const opening = COMMENT.exec(line)
    if (opening === null) continue
    const text = cleanLine(line.slice(opening[0].length).replace(/(?:\*\/|-->|""")\s*$/, ''))
    if (
      text.length >= 8 &&
      /\p{L}{3}/u.test(text) &&
      !/^!|eslint|copyright|licen[cs]e|@ts-|coding[:=]/i.test(text)
    )
      return quotable(text)
  }
  return ''
}

/** The first sentence of a text that states something, else the last one, for a description. */
function firstSentence(text: string): string {
  const sentences = sentencesOf(withoutFences(headOf(text, 600)))
  const first = sentences.find((sentence) => weightOf(sentence) > 0) ?? sentences.at(-1) ?? ''
  return first.length < 8 ? '' : quotable(first.replace(/:$/, ''))
}

function quotable(text: string): string {
  return detached(shorten(text, ABOUT_UNITS).replaceAll('"', "'"))
}
