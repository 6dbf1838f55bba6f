import { detached, headOf } from '../../messages/characters.ts'
import { isObject } from '../../messages/json.ts'
import type { Outcome } from '../../messages/outcome.ts'
import { isListingTool } from '../../messages/tool-names.ts'
import { type Call, type CallsRead, outputHead, outputTail, targetOf } from '../calls.ts'
import { callLabel, gistOf, LOOKS, shellCommand } from '../extractive/shell.ts'
import { type EarlierLog, ExtractiveReader, type LogRecord } from '../extractive.ts'
import { oneLine } from '../text.ts'
import { statedTests, stemsOf, type TestCounts } from './claims.ts'

/** The units of arguments, and of outputs, that are searched for names of files. */
const TEXT_UNITS = 100_000
/** The units of a command's arguments, and at both ends of an output, that are searched for all else. */
const END_UNITS = 4_000
/** The maximum number of calls and of names of files. */
const MAX_RUNS = 2_000
const MAX_NAMES = 50_000
const FILE_NAME = /(?<![\w@.-])\.?[\w@-]{1,100}(?:\.[\w@-]{1,50}){0,4}\.[a-z]\w{0,9}/gi
/** Commands that may change the files that they name. */
const WRITES =
  /(?<![-=\w])>{1,2} ?["']?[\w./~$]|\b(?:sed|perl|awk|python\d?|node|ruby|tee|mv|cp|rm|patch|git (?!diff|log|show|status|add|commit|blame|push))\b|--(?:fix|write)\b/
const RUNS_TESTS =
  /^(?!(?:git|rm|mv|cp|mkdir|cd)\b)(?:\S{0,60}tests?|\S{1,60}(?: \S{1,60}){0,4} (?:\S{0,30}test|tests))(?:[: ]|$)/i
/** A line that begins like an error, or a message of one. */
const ERROR_LINE =
  /(?:^|[\r\n])\W{0,10}(?:error|fail(?:ed|ure|s)?|fatal|traceback|panic|denied|abort(?:ed)?)\b(?! ?[=:(]? ?\(?(?:0|none|null)\b)|\w(?:Error|Exception): |\b(?:not found|permission denied|connection refused|timed? ?out|no such file)\b|"(?:error|errors)": ?(?!null|false|\[\]|""|0)/i

/** A call with what came of its last run. */
export type Run = {
  readonly label: string
  readonly command: string | undefined
  /** The stems of the words of its call and its own, and those of them that name the program or tool and not what it is applied to. */
  readonly context: ReadonlySet<string>
  readonly stems: ReadonlySet<string>
  readonly verbs: ReadonlySet<string>
  readonly outcome: Outcome
  /** Whether a run of it failed, or an output has a line like an error. */
  readonly hasFailed: boolean
  readonly hasErrors: boolean
}

/** What the log says, with what is needed to compare it with the claims of a summary. */
export type CheckedLog = LogRecord & {
  /** The newest last. */
  readonly runs: readonly Run[]
  /** The numbers that runs of tests reported, the newest last. */
  readonly counts: readonly TestCounts[]
  /** Whether any call names a file with this base name. */
  readonly isNamed: (base: string) => boolean
}

/**
 * Reads a log for the comparison with a model's summary: besides the record, what became of each call, and what may have changed files
 * without a report of an editing tool.
 */
export class LogReader extends ExtractiveReader {
  readonly #read = new Set<string>()
  /** The base names of files that were changed in several places at once, or named by commands that may change them. */
  readonly #uncertain = new Set<string>()
  readonly #named = new Set<string>()
  readonly #listed = new Set<string>()
  readonly #runs = new Map<string, Run>()
  readonly #lastOutcomes = new Map<string, Outcome>()
  readonly #counts: TestCounts[] = []
  #lastTest: LogRecord['lastTest']
  #anyMayBeChanged = false

  override add(message: Parameters<ExtractiveReader['add']>[0], calls: CallsRead, position?: number): void {
    super.add(message, calls, position)
    for (const call of calls.ended) this.#end(call)
  }

  /** `earlier`: what earlier summaries stored of the log before. */
  override record(earlier?: EarlierLog): CheckedLog {
    const record = super.record(earlier)
    const paths = new Set(record.changes.map(({ path }) => path.replaceAll('\\', '/')))
    const endings = new Set([...paths].flatMap(endingsOf))
    const isKnown = (read: string): boolean =>
      endings.has(read) || endingsOf(read).some((ending) => paths.has(ending))
    const read = [...this.#read]
      .filter((path) => /\.\w{1,20}$/.test(path) && !isKnown(path.replace(/^\.\//, '')))
      .map((path) => ({ path, edits: 0, failed: 0, mayBeChanged: false, line: '' }))
    const changes = [...record.changes, ...read].map((change) => {
      const base = baseOf(change.path)
      const any = change.edits === 0 && (this.#anyMayBeChanged || this.#listed.has(base))
      return any || this.#uncertain.has(base) ? { ...change, mayBeChanged: true } : change
    })
    const failures = record.failures.map((failure) => {
      const [tool = ''] = failure.label.split(' `')
      const isOvercome = failure.command === undefined && this.#lastOutcomes.get(tool) !== 'failed'
      return isOvercome ? { ...failure, isOvercome } : failure
    })
    return {
      ...{ ...record, changes, failures, lastTest: this.#lastTest ?? record.lastTest },
      ...{ runs: [...this.#runs.values()], counts: this.#counts },
      isNamed: (base) => this.#named.has(base),
    }
  }

  #end(call: Call): void {
    const { name, effect, input, paths, result } = call
    const text = headOf(typeof input === 'string' ? input : JSON.stringify(input), TEXT_UNITS)
    const output = outputHead(result!.output, TEXT_UNITS)
    const isGit = /\b(?:git|patch)\b/.test(shellCommand(call) ?? '')
    for (const [file] of `${text}\n${output}`.matchAll(FILE_NAME)) {
      if (this.#named.size < MAX_NAMES && !this.#named.has(file)) this.#named.add(detached(file))
      // It lists what was changed in any way.
      if (isGit && this.#listed.size < MAX_NAMES) this.#listed.add(detached(file))
    }
    if (effect === 'read') {
      for (const path of paths) this.#read.add(path)
      return
    }
    if (effect === 'write') {
      const isMultiple = isObject(input) && Array.isArray(input.edits) && input.edits.length > 1
      if (isMultiple || text.split('@@').length > 2)
        for (const path of paths) this.#uncertain.add(baseOf(path))
      return
    }
    const command = shellCommand(call)
    if (isListingTool(name)) return
    this.#addRuns(call, command)
    if (command === undefined) this.#lastOutcomes.set(name, result!.outcome)
    // A subagent may change anything.
    const isAgent = isObject(input) && 'prompt' in input
    this.#anyMayBeChanged ||= isAgent
    if (command !== undefined && !WRITES.test(command)) return
    // Other tools change the files whose paths are their arguments, not those of a message or a task.
    const named = command === undefined && !isAgent ? (text.match(/"[^"\s]{1,400}"/g) ?? []).join(' ') : text
    for (const [file] of headOf(named, END_UNITS).matchAll(FILE_NAME)) this.#uncertain.add(file)
  }

  #addRuns(call: Call, command: string | undefined): void {
    const { outcome, output } = call.result!
    const start = outputHead(output, END_UNITS)
    const ends = `${start}\n${outputTail(output, start.length, END_UNITS)}`
    const label = callLabel(call, command)
    const parts = partsOf(command === undefined ? undefined : gistOf(command), outcome)
    const counts = statedTests(ends)
    const tests = parts.findLast(({ command = `${call.name} ${targetOf(call) ?? ''}` }) =>
      RUNS_TESTS.test(command),
    )
    const alone = parts.length === 1 && counts?.passed !== undefined ? parts[0] : undefined
    const test = tests ?? (/^git\b/.test(alone?.command ?? '') ? undefined : alone)
    if (counts !== undefined && test !== undefined)
      this.#counts.push({ ...counts, failed: counts.failed ?? 0 })
    const isPassed = counts !== undefined && (counts.passed ?? 0) > 0 && !counts.failed
    if (test !== undefined)
      this.#lastTest = { label: detached(label), outcome: isPassed ? 'ok' : test.outcome }
    const hasErrors = !isPassed && ERROR_LINE.test(ends)
    const context = stemsOf(headOf(command ?? `${call.name} ${JSON.stringify(call.input)}`, 400))
    for (const part of parts) {
      const own = part.command === undefined ? label : callLabel(call, part.command)
      this.#addRun({ ...part, ...wordsOf(call, part.command), label: own, context, hasErrors })
    }
  }

  #addRun(run: Omit<Run, 'hasFailed'>): void {
    const key = run.command ?? run.label
    const before = this.#runs.get(key)
    this.#runs.delete(key)
    this.#runs.set(detached(key), {
      ...run,
      label: detached(run.label),
      command: run.command === undefined ? undefined : detached(run.command),
      hasFailed: before?.hasFailed === true || run.outcome === 'failed',
      hasErrors: before?.hasErrors === true || run.hasErrors,
    })
    if (this.#runs.size > MAX_RUNS) this.#runs.delete(this.#runs.keys().next().value!)
  }
}

/** Quoted text, or what stands between two commands. */
const BETWEEN = /"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|(&&|\|\|?|[;\n])/gs
/** The maximum number of commands in a chain that are read. */
const MAX_PARTS = 10

/**
 * The commands of a chain, without those that only show something, each with what the outcome of the whole says of it: the last one had
 * it; the ones before it succeeded with it when each had to. Which of several failed is not known.
 */
export function partsOf(chain: string | undefined, outcome: Outcome): Pick<Run, 'command' | 'outcome'>[] {
  if (chain === undefined) return [{ command: undefined, outcome }]
  const text = chain.split('<<')[0]!
  const parts: { command: string; joint: string }[] = []
  let from = 0
  let isFilter = false
  const add = (to: number, joint: string): void => {
    const command = oneLine(text.slice(from, to)).replace(/^(?:\w+=\S* )+| ?[\d&]?>{1,2} ?[^\s>&]+$/g, '')
    if (!isFilter && command !== '' && !LOOKS.test(command))
      parts.push({ command: headOf(command, 400), joint })
    if (isFilter && joint !== '|' && parts.length > 0) parts.at(-1)!.joint = joint
    isFilter = joint === '|'
    from = to + joint.length
  }
  for (const { 1: joint, index } of text.matchAll(BETWEEN)) if (joint !== undefined) add(index, joint)
  add(text.length, '')
  let isJoined = true
  return parts
    .slice(-MAX_PARTS)
    .reverse()
    .map(({ command, joint }, at) => {
      isJoined &&= at === 0 || joint === '&&'
      return { command, outcome: at === 0 || (isJoined && outcome === 'ok') ? outcome : 'unknown' }
    })
    .reverse()
}

/** The words of a call, and those of them that name the program or tool. */
function wordsOf({ name, input }: Call, command: string | undefined): Pick<Run, 'stems' | 'verbs'> {
  if (command === undefined)
    return { verbs: stemsOf(name), stems: stemsOf(`${name} ${headOf(JSON.stringify(input), 400)}`) }
  const bare = command.replaceAll(/"[^"]{0,400} [^"]{0,400}"?|'[^']{0,400} [^']{0,400}'?/g, ' ')
  const [program = '', ...others] = bare.trim().split(/\s+/).slice(0, 8)
  const verbs = others.filter((token) => /^[\w.:]/.test(token) && !/[/\\'"[({$]/.test(token))
  return { stems: stemsOf(bare), verbs: stemsOf([baseOf(program), ...verbs].join(' ')) }
}

/** A path, and the paths that it ends with: the same file may be named relative to a directory. */
function endingsOf(path: string): string[] {
  const segments = path.split(/[\\/]/)
  return segments
    .map((_, i) => segments.slice(i).join('/'))
    .filter((ending, i) => ending.includes('/') || i === 0)
}

/** The last segment of a path. */
export function baseOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}
