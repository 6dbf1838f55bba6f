import { headOf, tailOf } from '../../messages/characters.ts'
import type { Json } from '../../messages/json.ts'
import type { Part, ToolCallPart, ToolResultOutput } from '../../messages/message.ts'
import { outcomeOf } from '../../messages/outcome.ts'
import { effectOf, isListingTool } from '../../messages/tool-names.ts'
import type { ViewRow } from '../../model/view-row.ts'
import type { GroupRole } from './weights.ts'

/*
 * Finds signals in the words of a message. English only, word by word, in linear time. Only the beginning and the end of a text are read,
 * because the middle of a long text was most likely pasted.
 */

const HEAD_UNITS = 4_000
const TAIL_UNITS = 1_000

/** Returns the beginning and the end of a text; a short text whole. Characters are UTF-16 units, as everywhere. */
export function excerpt(text: string): string {
  if (text.length <= HEAD_UNITS + TAIL_UNITS) return text
  return `${headOf(text, HEAD_UNITS)}\n${tailOf(text, TAIL_UNITS)}`
}

/** Words that state rules. "I don't know" is not a rule, so `don't` must begin a sentence or not follow a pronoun. */
const CONSTRAINT =
  /\b(?:must|mustn['’]t|never|always|shall not|should not|shouldn['’]t|make sure|under no circumstances|at all costs|forbidden|not allowed|required to)\b|(?<!\b(?:i|we|you|they|he|she|it|that|this|these|those|who|which|why|tests|people)\s)\b(?:do not|don['’]t)\b/i

/** Returns whether a text states a rule. */
export function statesConstraint(text: string): boolean {
  return CONSTRAINT.test(excerpt(text))
}

const DECISION =
  /\b(?:decided|decision|agreed|approved|settled on|(?:going|go|went) with|opted for|chose|chosen|we['’]ll (?:use|keep|take)|we will (?:use|keep|take)|let['’]s (?:use|keep|stay with|do)|the plan is)\b/i

/** Returns whether a text states a decision. */
export function statesDecision(text: string): boolean {
  return DECISION.test(excerpt(text))
}

/** Returns whether a text asks a question: it has a question mark at the end of a word or of the text. */
export function asksQuestion(text: string): boolean {
  return /[^\s?]\?(?=["'”’)*_]{0,3}(?:\s|$))/.test(excerpt(text))
}

/*
 * Distinctive names in a text: paths, files, identifiers in code, ids. Any letter beyond ASCII counts as a small letter; Latin signs and
 * punctuation separate names.
 */

const BEYOND_ASCII = '\\u00c0-\\u1fff\\u2070-\\u2fff\\u3040-\\ufeff'
const LETTERS = `A-Za-z${BEYOND_ASCII}`

/** A run of characters that may be a name or a path. */
const RUN = new RegExp(`[${LETTERS}0-9_$@./\\\\-]+`, 'g')
/** Most words of prose. */
const PLAIN = /^[A-Za-z][a-z]*$/
const LETTER = new RegExp(`[${LETTERS}]`)
const LETTER_OR_DIGIT = new RegExp(`[${LETTERS}0-9]`)
/** A digit, a joint before a letter (`_`, `$`, `@`, `.`), or a change of case. */
const NAME_SIGN = new RegExp(`[0-9]|[_$@.][${LETTERS}]|[a-z${BEYOND_ASCII}][A-Z]`)
const JOINT = /^[_$@.]/
const TWO_HYPHENS = /-[^-]+-/

/** The most names taken from one text: a listing has thousands, and each alone means little. */
const MAX_NAMES = 100
/** The shortest and longest name, in characters. */
const MIN_NAME_LENGTH = 4
const MAX_NAME_LENGTH = 120

/**
 * Adds the distinctive names in a text to a set, in lower case: `snake_case`, `camelCase`, `a.b`, `id42`, `a-long-id`. Plain words and
 * numbers are not distinctive. A path is represented by its last step, because references rarely repeat the rest; if that is a plain
 * word, by the whole path. Takes linear time.
 */
export function addNames(text: string, names: Set<string>): void {
  const most = names.size + MAX_NAMES
  for (const run of excerpt(text).match(RUN) ?? []) {
    const name = nameIn(run)
    if (name === undefined) continue
    names.add(name)
    if (names.size >= most) return
  }
}

/** Returns the name in a run; `undefined` for plain words, numbers and punctuation. */
function nameIn(run: string): string | undefined {
  if (PLAIN.test(run)) return undefined
  const at = Math.max(run.lastIndexOf('/'), run.lastIndexOf('\\')) + 1
  const step = run.slice(at)
  // Hyphens before a word are not part of it.
  const word = at === 0 ? step.replace(/^-+/, '') : step
  const isName = LETTER.test(step) && (NAME_SIGN.test(step) || TWO_HYPHENS.test(word))
  if (!isName && run.split(/[/\\]/, 3).length < 3) return undefined
  const first = isName ? at : 0
  const from = first === 0 && JOINT.test(run) ? 0 : first + run.slice(first).search(LETTER_OR_DIGIT)
  let end = run.length
  while (end > from && !LETTER_OR_DIGIT.test(run[end - 1]!)) end -= 1
  const length = end - from
  return length < MIN_NAME_LENGTH || length > MAX_NAME_LENGTH ? undefined : run.slice(from, end).toLowerCase()
}

/** The facts about one row, independent of its neighbors. */
export type RowFacts = {
  readonly role: GroupRole
  readonly isRequest: boolean
  readonly constraint: boolean
  readonly decision: boolean
  readonly asks: boolean
  readonly image: boolean
  readonly write: boolean
  /** Indexes of parts that are results of failed calls. */
  readonly failed: ReadonlySet<number>
  /** Indexes of parts that are calls that list files or places. */
  readonly listings: ReadonlySet<number>
  /** Indexes of parts that are calls that read files. */
  readonly reads: ReadonlySet<number>
  /** Names that the row refers to: in its texts, and in the arguments of calls that do more than read. */
  readonly mentions: ReadonlySet<string>
  /** Other names in the row: in results, and in the arguments of reads. */
  readonly names: ReadonlySet<string>
}

/** Returns the role of a row for scoring. Results in a user's row, as in Anthropic's format, count as results. */
export function roleOf(row: ViewRow): GroupRole {
  if (row.kind !== 'message') return 'inserted'
  if (row.calls.length > 0) return row.role === 'system' ? 'system' : 'assistantWithToolCalls'
  if (row.results.length > 0 && !row.speaks && row.role === 'user') return 'tool'
  switch (row.role) {
    case 'system':
    case 'user':
    case 'assistant':
    case 'tool':
      return row.role
    default:
      return 'other'
  }
}

/** Returns the facts of a row. `parts` are its original parts; `asked`: a person wrote it; `callOf` returns the call of a result. */
export function factsOf(
  row: ViewRow,
  parts: readonly Part[],
  asked: boolean,
  callOf: (part: number) => ToolCallPart | undefined,
): RowFacts {
  const names = new Set<string>()
  const mentions = new Set<string>()
  const failed = new Set<number>()
  const listings = new Set<number>()
  const reads = new Set<number>()
  const speaks = asked || row.role === 'assistant'
  let constraint = false
  let decision = false
  let asks = false
  let image = false
  let write = false
  for (const [index, part] of parts.entries()) {
    switch (part.type) {
      case 'text':
        addNames(part.text, speaks ? mentions : names)
        if (!speaks) break
        if (asked) constraint ||= statesConstraint(part.text)
        decision ||= statesDecision(part.text)
        asks ||= asksQuestion(part.text)
        break
      case 'tool-call': {
        const effect = effectOf(part.toolName, part.input)
        const text = textsOf(part.input)
        addNames(part.toolCallId, names)
        addNames(text, effect === 'read' ? names : mentions)
        if (effect === 'write') write = true
        if (effect === 'read') reads.add(index)
        if (isListing(part.toolName, part.input)) listings.add(index)
        break
      }
      case 'tool-result':
        addNames(textOfOutput(part.output), names)
        if (outcomeOf(callOf(index) ?? part, part.output) === 'failed') failed.add(index)
        if (part.output.type === 'content') image ||= part.output.value.some(isMedia)
        break
      default:
        image ||= isMedia(part)
    }
  }
  return {
    role: roleOf(row),
    isRequest: asked,
    constraint,
    decision,
    asks,
    image,
    write,
    failed,
    listings,
    reads,
    names,
    mentions,
  }
}

function isMedia({ type }: { readonly type: string }): boolean {
  return type === 'image' || type === 'file'
}

/** Commands that only read. */
const LISTING_COMMAND = /^\s{0,8}(?:ls|dir|tree|pwd|find|fd|grep|rg|ag|git (?:status|log|branch))(?:\s|$)/

function isListing(name: string, input: Json): boolean {
  if (isListingTool(name)) return true
  const { command } = Object(input) as { readonly command?: unknown }
  return typeof command === 'string' && LISTING_COMMAND.test(headOf(command, 40))
}

function textOfOutput(output: ToolResultOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value
    case 'json':
    case 'error-json':
      return textsOf(output.value)
    case 'content':
      return output.value.find((item) => item.type === 'text')?.text ?? ''
  }
}

/** The most characters and values that are read from a JSON value. */
const MAX_JSON_CHARACTERS = 6_000
const MAX_JSON_VALUES = 500

/** Returns the texts in a JSON value, in order, without its keys; for a large value only the first. */
function textsOf(value: Json | undefined): string {
  if (typeof value === 'string') return value
  const texts: string[] = []
  const open: (Json | undefined)[] = [value]
  let room = MAX_JSON_CHARACTERS
  for (let seen = 0; open.length > 0 && seen < MAX_JSON_VALUES && room > 0; seen++) {
    const next = open.pop()
    if (typeof next === 'string') {
      texts.push(headOf(next, room))
      room -= next.length
    } else if (typeof next === 'object' && next !== null) {
      const inner: readonly (Json | undefined)[] = Array.isArray(next)
        ? (next as readonly Json[]).slice(0, MAX_JSON_VALUES)
        : Object.values(next).slice(0, MAX_JSON_VALUES)
      for (let at = inner.length - 1; at >= 0; at--) open.push(inner[at])
    }
  }
  return texts.join('\n')
}
