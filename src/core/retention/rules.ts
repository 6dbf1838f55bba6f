import { z } from 'zod'
import { CONTENT_CLASSES, type ContentClass } from './tombstone.ts'

/* Which stored content may be removed for good, and when. Without a rule, nothing is. */

/** The most days of an age: a thousand years. */
const MAX_DAYS = 365_000
const days = z.number().nonnegative().max(MAX_DAYS)

/** When content is old or large enough. If both are given, both must hold. */
const measures = {
  /** Days since the message was created; for hidden rows, since they were hidden, if that was later. */
  olderThanDays: days.optional(),
  /** Bytes of the part as stored; for hidden rows, of all parts together. */
  largerThanBytes: z.int().nonnegative().optional(),
}

/** What else stays unless a rule names it. */
const reach = {
  /** Whether content of pinned messages is removed too. */
  pinned: z.boolean().default(false),
  /** Whether outputs to which a visible pointer refers are removed too. */
  required: z.boolean().default(false),
}

const isMeasured = ({
  olderThanDays,
  largerThanBytes,
}: {
  olderThanDays?: unknown
  largerThanBytes?: unknown
}) => olderThanDays !== undefined || largerThanBytes !== undefined
const MEASURED = 'must have olderThanDays or largerThanBytes'

const partRule = z
  .strictObject({
    ...measures,
    ...reach,
    /** Whether content that the view shows is removed too; otherwise only what is hidden, or shown as another text. */
    visible: z.boolean().default(false),
  })
  .refine(isMeasured, MEASURED)
const hiddenRule = z.strictObject({ ...measures, ...reach }).refine(isMeasured, MEASURED)
const sessionRule = z.strictObject({
  /** Days since the session was archived; for subagents, since their last message. */
  olderThanDays: days,
  /** Whether sessions with pinned messages are removed too. */
  pinned: z.boolean().default(false),
})
const requestRule = z.strictObject({
  /** Days since the request was made. */
  olderThanDays: days,
  /** Whether requests whose answer the view shows are removed too. Reasoning that a model binds to them may then be left out. */
  visible: z.boolean().default(false),
})
const auditRule = z.strictObject({ olderThanDays: days })

const MAX_RULES = 100

/** A rule, several of which one must apply, or `false` for none. */
const some = <R extends z.ZodType>(rule: R) => {
  const list = z.array(rule).min(1).max(MAX_RULES).readonly()
  return z.union([z.literal(false), rule, list], 'must be a rule, a list of rules, or false').optional()
}

const rulesShape = {
  /** Outputs of tools, except a person's words. */
  toolOutputs: some(partRule),
  /** Reasoning, readable or not. */
  reasoning: some(partRule),
  /** Images and files, also those in tool outputs. */
  media: some(partRule),
  /** Everything in rows that compactions hide, and in rows of compactions that are not in force. */
  hidden: some(hiddenRule),
  /** Whole sessions of subagents. */
  subagents: some(sessionRule),
  /** Whole archived sessions. */
  archived: some(sessionRule),
  /** Recorded requests. */
  requests: some(requestRule),
  /** Entries of the audit on which neither undo nor a moment of the past depends. */
  audit: some(auditRule),
}

/** The classes of content, in the order of reports. */
export const RETENTION_CLASSES = Object.keys(rulesShape) as RetentionClass[]
/** A class of content. */
export type RetentionClass = keyof typeof rulesShape

/** Rules by class, or `false`: nothing is removed, whatever wider rules say. */
export const retentionSchema = z.union(
  [z.literal(false), z.strictObject(rulesShape)],
  'must be rules by class, or false',
)

/** Rules of retention, as they are given. */
export type RetentionRules = z.input<typeof retentionSchema>
/** Checked rules of one layer. */
export type CheckedRetention = z.output<typeof retentionSchema>

/** A rule about parts of messages. */
export type ContentRule = z.output<typeof partRule>
/** A rule about whole sessions. */
export type SessionRule = z.output<typeof sessionRule>
/** A rule about requests. */
export type RequestRule = z.output<typeof requestRule>
/** A rule about entries of the audit. */
export type AuditRule = z.output<typeof auditRule>

/** The rules that apply to a session: a list for each class, empty if nothing of it is removed. */
export type ResolvedRetention = {
  readonly [C in ContentClass]: readonly ContentRule[]
} & {
  readonly subagents: readonly SessionRule[]
  readonly archived: readonly SessionRule[]
  readonly requests: readonly RequestRule[]
  readonly audit: readonly AuditRule[]
}

/**
 * Resolves layers of rules, narrowest first: each class has the rules of the first layer that mentions it. A layer that is `false` ends the
 * list: nothing that wider layers name is removed.
 */
export function resolveRetention(layers: readonly (CheckedRetention | undefined)[]): ResolvedRetention {
  const found = new Map<RetentionClass, readonly unknown[]>()
  for (const layer of layers) {
    if (layer === undefined) continue
    if (layer === false) break
    for (const name of RETENTION_CLASSES) {
      const given = layer[name]
      if (given === undefined || found.has(name)) continue
      found.set(name, given === false ? [] : Array.isArray(given) ? given : [given])
    }
  }
  const lists = RETENTION_CLASSES.map((name) => [name, (found.get(name) ?? []).map(withReach(name))] as const)
  return Object.fromEntries(lists) as unknown as ResolvedRetention
}

/** A rule about hidden rows names hidden content by itself. */
const withReach = (name: RetentionClass) => (rule: unknown) =>
  name === 'hidden' ? { ...(rule as object), visible: false } : rule

/** Returns whether rules remove nothing. */
export function isEmptyRetention(rules: ResolvedRetention): boolean {
  return RETENTION_CLASSES.every((name) => rules[name].length === 0)
}

/** Returns whether rules remove parts of messages. */
export function removesContent(rules: ResolvedRetention): boolean {
  return CONTENT_CLASSES.some((name) => rules[name].length > 0)
}
