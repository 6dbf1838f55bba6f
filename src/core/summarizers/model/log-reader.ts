import { headOf } from '../../messages/characters.ts'
import { isObject } from '../../messages/json.ts'
import type { Outcome } from '../../messages/outcome.ts'
import { isListingTool } from '../../messages/tool-names.ts'
import type { Call, CallsRead } from '../calls.ts'
import { shellCommand } from '../extractive/shell.ts'
import { type EarlierLog, ExtractiveReader, type LogRecord } from '../extractive.ts'

/** The units of a call's arguments that are searched for names of files. */
const ARGUMENT_UNITS = 4_000
const FILE_NAME = /[\w@-]{1,100}(?:\.[\w@-]{1,50}){0,4}\.[a-z]\w{0,9}/gi
/** A command that only shows files or runs tests. */
const ONLY_READS =
  /^\s*(?:cd \S{1,200} && )?(?:(?:cat|head|tail|less|grep|rg|ls|wc|find|stat|file|sed -n|pytest|python3? -m pytest|npx vitest|npm test|node --test)\b|git (?:diff|log|show|status|add|commit|blame)\b)[^>;\n]*$/
/** Commands that change files without naming them. */
const CHANGES_ANY = /\bgit (?:apply|am|merge|pull|restore|revert|stash|cherry-pick|rebase)\b|\bpatch -/

/**
 * Reads a log for the comparison with a model's summary: besides the record, what may have changed files without a report of an editing
 * tool. A number of edits, or a file without edits, contradicts no summary where scripts, subagents or edits of several places may be meant.
 */
export class LogReader extends ExtractiveReader {
  readonly #read = new Set<string>()
  /** The base names of files that were changed in several places at once, or named by commands and other calls. */
  readonly #uncertain = new Set<string>()
  readonly #lastOutcomes = new Map<string, Outcome>()
  #anyMayBeChanged = false

  override add(message: Parameters<ExtractiveReader['add']>[0], calls: CallsRead, position?: number): void {
    super.add(message, calls, position)
    for (const call of calls.ended) this.#end(call)
  }

  /** `earlier`: what earlier summaries stored of the log before. */
  override record(earlier?: EarlierLog): LogRecord {
    const record = super.record(earlier)
    const isUncertain = (path: string): boolean => this.#anyMayBeChanged || this.#uncertain.has(baseOf(path))
    const known = new Set(record.changes.map(({ path }) => path))
    const read = [...this.#read]
      .filter((path) => !known.has(path))
      .map((path) => ({ path, edits: 0, failed: 0, mayBeChanged: false, line: '' }))
    const changes = [...record.changes, ...read].map((change) =>
      isUncertain(change.path) ? { ...change, mayBeChanged: true } : change,
    )
    const failures = record.failures.map((failure) => {
      const [tool = ''] = failure.label.split(' `')
      const isOvercome = failure.command === undefined && this.#lastOutcomes.get(tool) !== 'failed'
      return isOvercome ? { ...failure, isOvercome } : failure
    })
    return { ...record, changes, failures }
  }

  #end(call: Call): void {
    const { name, effect, input, paths, result } = call
    if (effect === 'read') {
      for (const path of paths) this.#read.add(path)
      return
    }
    const text = typeof input === 'string' ? input : JSON.stringify(input)
    if (effect === 'write') {
      const isMultiple = isObject(input) && Array.isArray(input.edits) && input.edits.length > 1
      if (isMultiple || text.split('@@').length > 2)
        for (const path of paths) this.#uncertain.add(baseOf(path))
      return
    }
    const command = shellCommand(call)
    if (command === undefined && !isListingTool(name)) this.#lastOutcomes.set(name, result!.outcome)
    if (isListingTool(name) || (command !== undefined && ONLY_READS.test(command))) return
    // A subagent may change anything.
    this.#anyMayBeChanged ||= CHANGES_ANY.test(command ?? '') || (isObject(input) && 'prompt' in input)
    for (const [file] of headOf(text, ARGUMENT_UNITS).matchAll(FILE_NAME)) this.#uncertain.add(file)
  }
}

/** The last segment of a path. */
export function baseOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}
