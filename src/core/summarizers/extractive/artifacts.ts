import { detached, headOf } from '../../messages/characters.ts'
import type { Outcome } from '../../messages/outcome.ts'
import { type Call, outputHead } from '../calls.ts'
import { oneLine } from '../text.ts'
import {
  aboutOf,
  addedIn,
  dataOf,
  EXCERPT_UNITS,
  isPatch,
  linesIn,
  MAX_EXCERPTS,
  MAX_QUOTABLE,
  quotable,
  writtenText,
} from './contents.ts'
import type { Exchange } from './exchanges.ts'
import { fencesIn } from './fences.ts'
import { type Candidate, DEFINES, excerptOf, LINE_UNITS } from './lines.ts'
import type { Names } from './names.ts'
import { FilePaths, isAbsolute } from './paths.ts'
import { citesRow, eachText, isValue, rowsOf, tableRows } from './records.ts'
import { callLabel, directoryOf, isInspection, removedBy, shellCommand, writtenBy } from './shell.ts'

/*
 * Artifacts: the files, calls and texts that names belong to. The line of a file or call says what was done, and lists names of it:
 * `` `src/ini.ts` — written, 2 edits — "Parser for INI files." — parseIni, SectionMap ``. Lines of its contents follow it.
 */

/** What happened to a file. `about`: its first comment, or why it was first changed. */
const UNTOUCHED = {
  created: false,
  edits: 0,
  /** Attempts to change it that failed. */
  failed: 0,
  /** Whether a command named it after such an attempt, which may have changed it. */
  mayBeChanged: false,
  reads: 0,
  isRemoved: false,
  about: '',
}
type Deeds = typeof UNTOUCHED

/** How often a file was changed, and how often a change failed. `line`: what was done to it, as a line of a summary. */
export type FileChange = {
  readonly path: string
  readonly edits: number
  readonly failed: number
  /** Whether it may have been changed by a command. */
  readonly mayBeChanged: boolean
  readonly line: string
}

type Artifact = {
  readonly id: number
  readonly kind: 'file' | 'call' | 'text'
  /** Whether it only looks: its line says nothing unless something of it is quoted. */
  readonly isInspection: boolean
  /** The path of a file; a call's name and target; the number of a text's message. */
  label: string
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

/** What names are listed with: an artifact, or for those in texts, the request that the text belongs to. */
export type Holder = Artifact | Exchange

/** The maximum number of calls, of which the oldest are dropped. */
const MAX_CALLS = 6_000
/** The weight of a row that the reply names, which is quoted before anything else, and the maximum number of such rows. */
const CITED = 50
const MAX_CITED = 12
/** The maximum number of removed and moved folders whose files are followed. */
const MAX_FOLDERS = 200
/** The mark of a line that quotes the file or result above it. */
const QUOTED = '· '
/** The least value of a listed name. */
const MIN_VALUE = 0.005

export class Artifacts {
  readonly #names: Names
  /** By kind and identity. */
  readonly #byKey = new Map<string, Artifact>()
  readonly #paths = new FilePaths()
  readonly #all = new Map<number, Artifact>()
  /** The calls and texts, oldest first. */
  readonly #calls = new Set<Artifact>()
  readonly #failedFiles = new Set<Artifact>()
  readonly #excerpts = new Set<Artifact>()
  /** The calls of each tool as one artifact, after they were merged. */
  readonly #merged = new Map<string, Artifact>()
  /** The rows of results since the last reply. */
  #fresh: (readonly string[])[] = []
  #cited: ReadonlySet<string> = new Set()
  #next = 0
  #folders = 0
  /** The directory that paths in lines are relative to. */
  #root = ''
  /** That of the last line of an earlier summary: lines that quote it follow. */
  #lastCarried: Artifact | undefined
  /** The number of files of earlier summaries that were not used since. */
  #carried = 0

  constructor(names: Names) {
    this.#names = names
  }

  /** The artifact of the text of a message. */
  ofText(at: number): number {
    return this.#known('text', String(at)).id
  }

  /** Adds a call and the names of its arguments. `reason`: what the assistant stated before it. The list of tasks has lines of its own. */
  begin(call: Call, reason: string, isOfTasks: boolean): void {
    this.#paths.enter(directoryOf(shellCommand(call)))
    const artifact = isOfTasks ? this.#known('text', String(call.at)) : this.#ofCall(call)
    artifact.last = call.at
    const { deeds } = artifact
    if (call.effect === 'write' && deeds.about === '') deeds.about = quotable(reason)
    eachText(call.input, (text, field) =>
      this.#names.add(
        text,
        'input',
        call.at,
        artifact.id,
        isValue(text) && /\D/.test(text) ? detached(field) : '',
      ),
    )
  }

  /** Adds the result of a call. */
  end(call: Call): void {
    const { output, outcome, at } = call.result!
    const artifact = this.#ofCall(call)
    artifact.last = at
    if (artifact.kind === 'call') count(artifact, outcome, 1)
    if (outcome !== 'failed') this.#countDeeds(call, at)
    else if (call.effect === 'write')
      for (const file of call.paths.map((path) => this.#ofFile(path))) {
        file.deeds.failed += 1
        this.#failedFiles.add(file)
      }
    const data = dataOf(call)
    if (data !== undefined) {
      eachText(data, (text, field) =>
        this.#names.add(text, 'output', at, artifact.id, isValue(text) ? detached(field) : ''),
      )
      const rows = rowsOf(data)
      this.#keepExcerpt(artifact, rows)
      this.#keepFresh(rows)
      return
    }
    this.#names.add(outputHead(output, Number.POSITIVE_INFINITY), 'output', at, artifact.id)
    if (outcome === 'failed' || artifact.deeds.isRemoved) return
    const written = linesIn(call.input, /^(?!.*(?:old|search|path|file_?name))/i)
    const replaced = new Set(linesIn(call.input, /old|search/i))
    const shown = outputHead(output, EXCERPT_UNITS)
    const table = tableRows(shown)
    const lines = call.effect === 'write' && !isPatch(shown) ? [] : excerptOf(addedIn(shown))
    const read = [...lines.filter((line) => table.length === 0 || !line.includes('|')), ...table]
    this.#keepFresh(table)
    // A whole file, and the newest result of a call, replace what was known; of an edit, the replaced lines go.
    const isWhole = artifact.kind === 'call' || writtenText(call.name, call.input) !== undefined
    artifact.excerpt = isWhole ? [] : artifact.excerpt.filter((line) => !replaced.has(line))
    this.#keepExcerpt(artifact, [...written, ...read])
  }

  /** Adds the code of files that a reply shows under their names. */
  show(reply: string, at: number): void {
    for (const { path, code } of fencesIn(reply)) {
      if (path === undefined || code.includes('<<<<<<<')) continue
      const artifact = this.#ofFile(path)
      artifact.last = at
      const shown = addedIn(headOf(code, EXCERPT_UNITS))
      artifact.deeds.about ||= aboutOf(headOf(shown, 600))
      this.#keepExcerpt(artifact, excerptOf(shown))
    }
  }

  /** A long loop of calls may have no reply: the newest rows stay. */
  #keepFresh(rows: readonly string[]): void {
    if (rows.length > 0) this.#fresh.push(rows)
    if (this.#fresh.length > MAX_EXCERPTS) this.#fresh.shift()
  }

  /** Remembers those rows of the results before a reply that it names; rows of an earlier one lose their weight. */
  cite(reply: string): void {
    const rows = this.#fresh.flat().filter((row) => citesRow(reply, row))
    if (rows.length > 0) this.#cited = new Set(rows.slice(0, MAX_CITED))
    this.#fresh = []
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

  /** The units of an artifact's own line. */
  headCost(artifact: Artifact): number {
    return headOfLine(artifact, this.#root).length + LINE_UNITS
  }

  /**
   * The lines of the newest contents and the names, as candidates. `exchanges`: those of the texts by message; names in texts belong to
   * them. `at`: the message after which names are valued.
   */
  candidates(isShort: boolean, exchanges: ReadonlyMap<number, Exchange>, at: number): Candidate<Holder>[] {
    if (isShort) this.#mergeCalls()
    this.#root = this.#rootOfPaths()
    const lines = [...this.#excerpts].flatMap((artifact) => {
      const owner = this.#merged.get(artifact.label.split(' `')[0]!) ?? artifact
      return artifact.excerpt.map((text, at): Candidate<Holder> => {
        const weight = DEFINES.test(text) || /^\w{1,40}: /.test(text) ? 1 : 0
        return { owner, text, at, weight: this.#cited.has(text) ? CITED : weight }
      })
    })
    for (const owner of new Set(this.#all.values()))
      if (owner.kind !== 'text' && !(owner.deeds.isRemoved && owner.deeds.created))
        lines.push({
          owner,
          text: headOfLine(owner, this.#root),
          at: 0,
          weight: worthOf(owner),
          form: 'head',
        })
    this.#names.each((name, home) => {
      const artifact = this.#all.get(home)
      if (artifact === undefined || artifact.deeds.isRemoved || artifact.label.includes(name)) return
      const owner = artifact.kind === 'text' ? exchanges.get(Number(artifact.label)) : artifact
      const text = this.#names.valueOf(name, at) < MIN_VALUE ? undefined : this.#names.listed(name)
      if (owner !== undefined && text !== undefined)
        lines.push({ owner, text, at: 0, weight: 0, form: 'name' })
    })
    return lines
  }

  #countDeeds(call: Call, at: number): void {
    const { effect, name, input } = call
    const command = shellCommand(call)
    const removed = removedBy(call, command)
    if (command !== undefined) {
      // Changes that no editing tool reports.
      for (const { path, isNew } of writtenBy(command)) {
        const deeds = this.#use(path, at)
        if (isNew) deeds.created = true
        else deeds.edits += 1
      }
      for (const { label, deeds } of this.#failedFiles)
        if (command.includes(label.slice(label.lastIndexOf('/') + 1))) deeds.mayBeChanged = true
    }
    const written = writtenText(name, input)
    const isGone = (path: string): boolean => removed.some((one) => one.path === path)
    for (const path of call.paths.filter((path) => !isGone(path))) {
      const deeds = this.#use(path, at)
      if (effect === 'read') deeds.reads += 1
      else if (written === undefined) deeds.edits += 1
      else {
        deeds.created = true
        deeds.about = aboutOf(headOf(written, 600)) || deeds.about
      }
    }
    for (const { path, to } of removed) this.#remove(path, to)
  }

  /** Follows a file, or the files of a folder, that were removed or moved: a moved one keeps what was done to it. */
  #remove(path: string, to: string | undefined): void {
    const from = `file ${this.#paths.identityOf(path)}`
    const target = to === undefined ? undefined : `file ${this.#paths.identityOf(to)}`
    const isFolder = !this.#byKey.has(from)
    if (isFolder && this.#folders++ >= MAX_FOLDERS) return
    const keys = isFolder ? [...this.#byKey.keys()].filter((key) => key.startsWith(`${from}/`)) : [from]
    for (const key of keys) {
      const artifact = this.#byKey.get(key)!
      const rest = key.slice(from.length)
      const gone = target === undefined ? artifact : this.#byKey.get(target + rest)
      if (gone !== undefined) this.#excerpts.delete(gone)
      if (target === undefined) {
        artifact.deeds.isRemoved = true
        continue
      }
      if (gone !== undefined) this.#all.delete(gone.id)
      this.#byKey.delete(key)
      this.#byKey.set(detached(target + rest), artifact)
      artifact.label = detached(to + rest)
    }
  }

  #use(path: string, at: number): Deeds {
    const file = this.#ofFile(path)
    file.last = at
    file.deeds.isRemoved = false
    return file.deeds
  }

  /** Adds a line of an earlier summary, with the directory that its path is relative to; returns whether it is about an artifact. */
  carry(line: string, root: string): boolean {
    const carried = this.#lastCarried
    if (line.startsWith(QUOTED) && carried !== undefined) {
      const text = line.slice(QUOTED.length)
      this.#names.carry(text, carried.id)
      this.#keepExcerpt(carried, [text])
      return true
    }
    this.#lastCarried = this.#carriedOf(line, root)
    return this.#lastCarried !== undefined
  }

  #carriedOf(line: string, root: string): Artifact | undefined {
    const [, path, done = '', about = '', namesOfFile = ''] = FILE_LINE.exec(line) ?? []
    if (path !== undefined) {
      const artifact = this.#ofFile(isAbsolute(path) || /^\w+:\/\//.test(path) ? path : root + path)
      if (artifact.last < 0 && artifact.age < 0) artifact.age = this.#carried++
      const { deeds } = artifact
      deeds.created ||= done.startsWith('written')
      deeds.isRemoved = done.endsWith('removed')
      deeds.edits += Number(/(\d{1,9}) edit/.exec(done)?.[1] ?? 0)
      deeds.reads += Number(/(\d{1,9}) read/.exec(done)?.[1] ?? 0)
      if (about !== '') deeds.about = about
      this.#names.carry(namesOfFile, artifact.id)
      return artifact
    }
    const [, label, outcomes = '', names = ''] = CALL_LINE.exec(line) ?? []
    if (label === undefined) return undefined
    const artifact = this.#known('call', label)
    for (const [, outcome, times = '1'] of outcomes.matchAll(/(ok|failed|unknown)(?: ×(\d+))?/g))
      count(artifact, outcome as Outcome, Number(times))
    this.#names.carry(names, artifact.id)
    return artifact
  }

  #ofCall(call: Call): Artifact {
    const [path] = call.paths
    const isOfFile = call.effect !== 'other' && path !== undefined && call.paths.length === 1
    return isOfFile
      ? this.#ofFile(path)
      : this.#known('call', callLabel(call, shellCommand(call)), undefined, isInspection(call))
  }

  #ofFile(path: string): Artifact {
    const label = oneLine(path).replaceAll('`', "'")
    const artifact = this.#known('file', label, this.#paths.identityOf(label))
    if (isAbsolute(label) && !isAbsolute(artifact.label)) artifact.label = detached(label)
    return artifact
  }

  #known(kind: Artifact['kind'], label: string, identity = label, isInspection = false): Artifact {
    const key = `${kind} ${identity}`
    let artifact = this.#byKey.get(key)
    if (artifact === undefined) {
      const state = { outcomes: new Map(), excerpt: [], last: -1, age: -1, deeds: { ...UNTOUCHED } }
      artifact = { id: this.#next++, kind, isInspection, label: detached(label), ...state }
      this.#all.set(artifact.id, artifact)
      this.#byKey.set(detached(key), artifact)
    }
    if (kind === 'file') return artifact
    this.#calls.delete(artifact)
    this.#calls.add(artifact)
    if (this.#calls.size > MAX_CALLS) {
      const oldest = this.#calls.values().next().value!
      this.#calls.delete(oldest)
      this.#all.delete(oldest.id)
      this.#byKey.delete(`${oldest.kind} ${oldest.label}`)
    }
    return artifact
  }

  /** The paths of the files that exist and were changed, or read since the last change: the most often changed first, then the last used. */
  filesByUse(): string[] {
    const files = [...this.#all.values()].filter(({ kind, deeds }) => kind === 'file' && !deeds.isRemoved)
    const changedAt = files.reduce(
      (at, { deeds, last }) => (changesOf(deeds) > 0 ? Math.max(at, last) : at),
      -1,
    )
    return files
      .filter(({ deeds, last }) => changesOf(deeds) > 0 || (deeds.reads > 0 && last >= changedAt))
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

  /** The lines about files, in the order of first use, and about calls, that something was chosen for. */
  lines(
    chosen: ReadonlyMap<Holder, readonly Candidate<Holder>[]>,
  ): Record<'files' | 'others', readonly string[]> {
    const files: string[] = []
    const outside: string[] = []
    const others: string[] = []
    for (const artifact of new Set(this.#all.values())) {
      const lines = chosen.get(artifact)
      if (lines === undefined) continue
      const quoted = lines.filter(({ form }) => form === undefined).map(({ text }) => `${QUOTED}${text}`)
      const isInside = artifact.label.startsWith(this.#root)
      const target = artifact.kind !== 'file' ? others : isInside ? files : outside
      for (const one of [withNames(headOfLine(artifact, this.#root), lines), ...quoted]) target.push(one)
    }
    // The paths below the line about the directory are relative to it.
    if (this.#root !== '' && files.length > 0) files.unshift(`Root: \`${this.#root}\``)
    return { files: [...outside, ...files], others }
  }

  /** Makes the calls of each tool one artifact: in a short summary there is no room for their targets. */
  #mergeCalls(): void {
    if (this.#merged.size > 0) return
    const merged = this.#merged
    for (const [id, artifact] of this.#all) {
      if (artifact.kind !== 'call') continue
      const [label = ''] = artifact.label.split(' `')
      const one = merged.get(label) ?? { ...artifact, label, outcomes: new Map() }
      merged.set(label, one)
      for (const [outcome, times] of artifact.outcomes) count(one, outcome, times)
      this.#all.set(id, one)
    }
  }

  /** The directory that shortens the paths most when they are relative to it; empty when it saves little. */
  #rootOfPaths(): string {
    const savings = new Map<string, number>()
    const files = [...this.#all.values()].filter(({ kind }) => kind === 'file')
    for (const { label: path } of files.slice(-100)) {
      for (const { index } of path.matchAll(/(?<=.)[/\\]/g)) {
        const root = path.slice(0, index + 1)
        savings.set(root, (savings.get(root) ?? 0) + root.length)
      }
    }
    const [best = '', most = 0] = [...savings].sort((a, b) => b[1] - a[1])[0] ?? []
    return best.length >= 8 && most >= 3 * best.length ? best : ''
  }
}

/** Whether a name is one or several whole words of another. */
function isPart(part: string, whole: string): boolean {
  const at = part.length < whole.length ? whole.indexOf(part) : -1
  return at >= 0 && !/\w/.test(whole[at - 1] ?? '') && !/\w/.test(whole[at + part.length] ?? '')
}

/** Adds to the count of an outcome, which becomes the last one. */
function count({ outcomes }: Artifact, outcome: Outcome, times: number): void {
  const total = (outcomes.get(outcome) ?? 0) + times
  outcomes.delete(outcome)
  outcomes.set(outcome, total)
}

/** How much a line states besides its names: changed files, and calls with their outcomes. */
function worthOf({ kind, deeds, outcomes, age, isInspection }: Artifact): number {
  if (isInspection && !outcomes.has('failed')) return 0
  if (kind === 'file')
    return (changesOf(deeds) > 0 ? 50 : deeds.reads > 0 ? 2.5 : 0) / (1 + Math.max(0, age) / 8)
  const times = [...outcomes.values()].reduce((sum, one) => sum + one, 0)
  return Math.min(20, 5 * times)
}

/** A line with the names among what was chosen for it, but for those that are part of another one or of a quoted line. */
export function withNames(line: string, chosen: readonly Candidate<Holder>[]): string {
  const names = chosen.filter(({ form }) => form === 'name')
  const whole = names.filter(({ text }) => !chosen.some((other) => isPart(text, other.text)))
  return whole.length === 0 ? line : `${line} — ${whole.map(({ text }) => text).join(', ')}`
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

function writeDeeds({ created, edits, reads, isRemoved }: Deeds): string {
  const done = created ? ['written'] : []
  if (edits > 0) done.push(`${edits} ${edits === 1 ? 'edit' : 'edits'}`)
  if (reads > 0) done.push(`${reads} ${reads === 1 ? 'read' : 'reads'}`)
  if (isRemoved) done.push('removed')
  return done.length === 0 ? 'mentioned' : done.join(', ')
}

const FILE_LINE =
  /^`([^`]+)` — ((?:written|mentioned|removed|\d{1,9} edits?|\d{1,9} reads?)(?:, (?:removed|\d{1,9} edits?|\d{1,9} reads?))*)(?: — "([^"\n]{0,300})")?(?: — ([^\n]*))?$/
const CALL_LINE =
  /^([^\s`]{1,100}(?: `[^`\n]{1,300}`)?)(?= [(—])(?: \(((?:(?:ok|failed|unknown)(?: ×\d{1,9})?(?:, )?)+)\))?(?: — ([^\n]*))?$/
