import { headOf } from '../../messages/characters.ts'
import { beginsAsError } from '../../messages/error-text.ts'
import type { Json } from '../../messages/json.ts'
import type { Part, ToolResultOutput } from '../../messages/message.ts'
import { effectOf, isListingTool } from '../../messages/tool-names.ts'
import { isRequest } from '../../model/turns.ts'
import type { ViewRow } from '../../model/view-row.ts'
import { addNames } from './names.ts'
import type { GroupRole } from './weights.ts'
import { asksQuestion, endsInFailure, statesConstraint, statesDecision } from './words.ts'

/** What one row says of itself, whatever stands around it. */
export type RowFacts = {
  readonly role: GroupRole
  readonly isRequest: boolean
  readonly constraint: boolean
  readonly decision: boolean
  readonly asks: boolean
  readonly image: boolean
  readonly write: boolean
  /** Parts of results that say that their call failed. */
  readonly failed: ReadonlySet<number>
  /** Parts of calls that list files or places. */
  readonly listings: ReadonlySet<number>
  /** Parts of calls that read files. */
  readonly reads: ReadonlySet<number>
  /** Names it refers to: those said, and those in the arguments of calls that do not only read. */
  readonly mentions: ReadonlySet<string>
  /** Other names that stand in it: in results, and what reads ask for. */
  readonly names: ReadonlySet<string>
}

/** What a row is worth by its role. Results that stand in a user's row, as Anthropic has them, are results. */
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

/** Reads a row. `parts` are its originals. */
export function factsOf(row: ViewRow, parts: readonly Part[]): RowFacts {
  const names = new Set<string>()
  const mentions = new Set<string>()
  const failed = new Set<number>()
  const listings = new Set<number>()
  const reads = new Set<number>()
  const asked = isRequest(row)
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
        if (hasFailed(row, index, part.output)) failed.add(index)
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

/** Commands that only look around. */
const LISTING_COMMAND = /^\s{0,8}(?:ls|dir|tree|pwd|find|fd|grep|rg|ag|git (?:status|log|branch))(?:\s|$)/

function isListing(name: string, input: Json): boolean {
  if (isListingTool(name)) return true
  const { command } = Object(input) as { readonly command?: unknown }
  return typeof command === 'string' && LISTING_COMMAND.test(headOf(command, 40))
}

/** By its kind, or by how a plain text begins or ends; of JSON by the fields that say so. */
function hasFailed(row: ViewRow, part: number, output: ToolResultOutput): boolean {
  if (row.results.some((entry) => entry.part === part && entry.failed)) return true
  if (output.type === 'json') {
    if (typeof output.value !== 'object' || output.value === null || Array.isArray(output.value)) return false
    const own = (name: string): unknown =>
      Object.hasOwn(output.value as object, name)
        ? (output.value as Record<string, unknown>)[name]
        : undefined
    return own('success') === false || own('ok') === false || own('isError') === true || Boolean(own('error'))
  }
  const text = textOfOutput(output)
  return beginsAsError(text) || endsInFailure(text)
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

/** Most characters and values that are read of a JSON value. */
const MOST_CHARACTERS = 6_000
const MOST_VALUES = 500

/** The texts in a JSON value, in order, without its keys; of a large one the first. */
function textsOf(value: Json | undefined): string {
  if (typeof value === 'string') return value
  const texts: string[] = []
  const open: (Json | undefined)[] = [value]
  let room = MOST_CHARACTERS
  for (let seen = 0; open.length > 0 && seen < MOST_VALUES && room > 0; seen++) {
    const next = open.pop()
    if (typeof next === 'string') {
      texts.push(headOf(next, room))
      room -= next.length
    } else if (typeof next === 'object' && next !== null) {
      const inner: readonly (Json | undefined)[] = Array.isArray(next)
        ? (next as readonly Json[]).slice(0, MOST_VALUES)
        : Object.values(next).slice(0, MOST_VALUES)
      for (let at = inner.length - 1; at >= 0; at--) open.push(inner[at])
    }
  }
  return texts.join('\n')
}
