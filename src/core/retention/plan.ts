import { isReasoning, type Part, type ToolResultContent } from '../messages/message.ts'
import { isUserTool } from '../messages/tool-names.ts'
import { isSpoken } from '../messages/user-answers.ts'
import type { ContentRule, RequestRule, ResolvedRetention, SessionRule } from './rules.ts'
import { CONTENT_CLASSES, type ContentClass, tombstoneOf } from './tombstone.ts'

/*
 * Decides what retention removes. A content may belong to several rows, because forks share it; it is removed only if the rules of each of
 * their sessions allow this for the row there.
 *
 * A part stays if it is
 * - visible: its row is in the view, which shows the part itself and not another text in its place;
 * - pinned: its row is pinned;
 * - required: a pointer in the view refers to it, as the copy of a file that an older read no longer shows;
 * unless the rule says otherwise. Rows that a compaction in force hides aren't required by it: they are what the class `hidden` is about.
 */

const DAY_MS = 86_400_000

/** A row that has the content. */
export type RetainedRow = {
  readonly rules: ResolvedRetention
  readonly createdAt: number
  /** The time since which no view has shown the row; `undefined` if the view shows it. */
  readonly hiddenAt: number | undefined
  readonly isPinned: boolean
  /** The parts that show another text. */
  readonly replaced: ReadonlySet<number>
  /** The parts to which pointers in the view refer. */
  readonly required: ReadonlySet<number>
}

/** A part to remove, or an item of its output. */
export type RemovedPart = { readonly part: number; readonly item?: number; readonly rule: ContentClass }
/** Returns what retention removes of a content. `bytesOf` returns the stored size of a part or an item. */
export function planRemoval(
  content: readonly Part[],
  rows: readonly RetainedRow[],
  now: number,
  bytesOf: (part: Part | ToolResultContent) => number,
): readonly RemovedPart[] {
  const sizes = content.map((part) => (tombstoneOf(part) === undefined ? bytesOf(part) : 0))
  const all = sizes.reduce((sum, bytes) => sum + bytes, 0)
  return content.flatMap((entry, part): readonly RemovedPart[] => {
    if (tombstoneOf(entry) !== undefined) return []
    const rule = ruleFor(rows, part, [['hidden', all], ...classesOf(entry, sizes[part]!)], now)
    if (rule !== undefined) return [{ part, rule }]
    return itemsOf(entry).flatMap((value, item) => {
      const found = isMedium(value) ? ruleFor(rows, part, [['media', bytesOf(value)]], now) : undefined
      return found === undefined ? [] : [{ part, item, rule: found }]
    })
  })
}

/** Returns the items of a tool result that consists of several; none for other parts. */
function itemsOf(part: Part): readonly ToolResultContent[] {
  return part.type === 'tool-result' && part.output.type === 'content' ? part.output.value : []
}

function isMedium({ type }: Part | ToolResultContent): boolean {
  return type === 'image' || type === 'file'
}

type Candidate = readonly [name: ContentClass, bytes: number]

/** Returns the class of a part as a whole, and its size. The words of a person aren't a tool's output. */
function classesOf(part: Part, bytes: number): readonly Candidate[] {
  if (part.type === 'tool-result') {
    const isUsers = isSpoken(part) || (part.toolName !== undefined && isUserTool(part.toolName))
    return isUsers ? [] : [['toolOutputs', bytes]]
  }
  if (isReasoning(part)) return [['reasoning', bytes]]
  return isMedium(part) ? [['media', bytes]] : []
}

/** Returns the class whose rule removes a part in every row that has it, by the rules of the first row; otherwise `undefined`. */
function ruleFor(
  rows: readonly RetainedRow[],
  part: number,
  classes: readonly Candidate[],
  now: number,
): ContentClass | undefined {
  const found = rows.map(
    (row) => classes.find(([name, bytes]) => isRemoved(row, part, name, bytes, now))?.[0],
  )
  return found.includes(undefined) ? undefined : found[0]
}

function isRemoved(row: RetainedRow, part: number, name: ContentClass, bytes: number, now: number): boolean {
  const { createdAt, hiddenAt } = row
  if (name === 'hidden' && hiddenAt === undefined) return false
  const since = name === 'hidden' ? Math.max(createdAt, hiddenAt!) : createdAt
  return row.rules[name].some(
    (rule) =>
      isDue(rule, since, now) &&
      (rule.largerThanBytes === undefined || bytes > rule.largerThanBytes) &&
      mayRemove(rule, row, part),
  )
}

/** Returns whether the view shows a part, and not another text in its place. */
function isShown({ hiddenAt, replaced }: RetainedRow, part: number): boolean {
  return hiddenAt === undefined && !replaced.has(part)
}

/**
 * Returns whether a removal changes what the view sends of a row, apart from reasoning, which isn't part of the prefix of later reasoning
 * (core/model/reasoning.ts).
 */
export function changesSent(removed: readonly RemovedPart[], row: RetainedRow): boolean {
  return removed.some(({ part, rule }) => rule !== 'reasoning' && isShown(row, part))
}

/** Returns whether a part isn't visible, pinned or required, or a rule says that this doesn't matter. */
function mayRemove(rule: ContentRule, row: RetainedRow, part: number): boolean {
  return (
    (rule.visible || !isShown(row, part)) &&
    (rule.pinned || !row.isPinned) &&
    (rule.required || !row.required.has(part))
  )
}

/** Returns whether something is old enough. */
export function isDue(
  { olderThanDays }: { readonly olderThanDays?: number | undefined },
  since: number,
  now: number,
): boolean {
  return olderThanDays === undefined || now - since >= olderThanDays * DAY_MS
}

/** Returns whether no rule can remove anything of a row, so that its content needn't be read. */
export function isUntouched(
  { rules, createdAt, hiddenAt, isPinned, replaced }: Omit<RetainedRow, 'required'>,
  now: number,
): boolean {
  return !CONTENT_CLASSES.some((name) =>
    rules[name].some(
      (rule) =>
        (name !== 'hidden' || hiddenAt !== undefined) &&
        isDue(rule, createdAt, now) &&
        (rule.visible || hiddenAt !== undefined || replaced.size > 0) &&
        (rule.pinned || !isPinned),
    ),
  )
}

/** What is known of a session that may be removed as a whole. */
export type RetainedSession = {
  readonly isSubagent: boolean
  /** The time of its last message. */
  readonly newestAt: number
  readonly archivedAt: number | undefined
}

/** Returns the class whose rule removes a whole session; with `isPinned`, only a rule that names pinned messages does. */
export function sessionRemoval(
  rules: Pick<ResolvedRetention, 'archived' | 'subagents'>,
  { isSubagent, newestAt, archivedAt }: RetainedSession,
  now: number,
  isPinned: boolean,
): 'archived' | 'subagents' | undefined {
  const due = (list: readonly SessionRule[], since: number): boolean =>
    list.some((rule) => isDue(rule, since, now) && (rule.pinned || !isPinned))
  if (isSubagent && due(rules.subagents, newestAt)) return 'subagents'
  return archivedAt !== undefined && due(rules.archived, archivedAt) ? 'archived' : undefined
}

/** Returns the time up to which requests are removed, by whether the view shows their answers; `undefined` for never. */
export function requestCutoff(
  rules: readonly RequestRule[],
  isShown: boolean,
  now: number,
): number | undefined {
  return cutoff(
    rules.filter(({ visible }) => visible || !isShown),
    now,
  )
}

/** Returns the time up to which one of some rules removes something; `undefined` without a rule. */
export function cutoff(
  rules: readonly { readonly olderThanDays: number }[],
  now: number,
): number | undefined {
  if (rules.length === 0) return undefined
  return now - rules.reduce((least, { olderThanDays }) => Math.min(least, olderThanDays), Infinity) * DAY_MS
}
