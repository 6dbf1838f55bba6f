import { z } from 'zod'
import type { Moment } from '../../../core/model/moment.ts'
import type { Context } from '../../command.ts'
import { momentOf } from '../../moments.ts'
import type { PERMISSIONS } from '../../options.ts'
import type { Access } from './access.ts'
import type { Answer } from './answer.ts'

/** Each lets a client change the store in one way. */
export type Permission = (typeof PERMISSIONS)[number]

/** What a call works with. */
export type Call = {
  readonly access: Access
  readonly context: Context
  /** The most tokens of the answer. */
  readonly maxTokens: number
  /** Aborted when the client cancels the call or the server ends. */
  readonly signal: AbortSignal
  /** The author of a change, for the audit. */
  readonly actor: string
}

/** A tool as it is registered. */
export type Tool = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: z.ZodObject
  readonly output: z.ZodObject
  /** What `--allow` must name; a tool without one only reads. */
  readonly permission?: Permission
  /** Whether a second call with the same arguments changes nothing. True for a tool that only reads. */
  readonly idempotent?: boolean
  run(call: Call, given: never): Promise<Answer>
}

/** Makes a tool whose arguments and answer are checked against its schemas by the compiler too. */
export function tool<I extends z.ZodObject, O extends z.ZodObject>(
  definition: Omit<Tool, 'input' | 'output' | 'run'> & {
    readonly input: I
    readonly output: O
    run(call: Call, given: z.output<I>): Promise<{ readonly data: z.input<O>; readonly text: string }>
  },
): Tool {
  return definition as unknown as Tool
}

/* Arguments and fields that several tools have. */

export const sessionId = z.string().min(1).describe('the id of a session, as list_sessions returns it')
export const cursor = z
  .string()
  .optional()
  .describe('next_cursor of the previous answer, with the same other arguments; omit it for the first page')
export const nextCursor = z
  .string()
  .optional()
  .describe('present when more follows: pass it as cursor, with the same other arguments')
export const moment = z
  .string()
  .describe(
    'a moment of the session: now, message:ID, before:ID, position:12, before-position:12, audit:7, time:2026-01-31T10:00:00Z, compaction:ID, before-compaction:ID or request:ID',
  )
export const compactionId = z
  .string()
  .min(1)
  .describe('a compaction or a run, as list_compactions returns it, or @ for the newest run')
export const reason = z.string().max(1_000).optional().describe('why, for the audit')
const point = z
  .strictObject({ position: z.int(), audit_no: z.int() })
  .describe('the last position of the log, and the last entry of the audit')
export const momentPoint = point.optional()

/** Why a session with messages has no figures. */
export const FIGURES_OFF = 'Figures are off for this session (`enabled`).'

/** The moment that an argument names; `undefined` for now. */
export async function readMoment(
  { context, access }: Call,
  session: string,
  text: string | undefined,
): Promise<Moment | undefined> {
  return text === undefined ? undefined : momentOf(context, access.store, session, text)
}
