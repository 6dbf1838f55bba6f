import { z } from 'zod'
import { invalid } from '../../../core/errors.ts'
import type { Session } from '../../../storage/storage.ts'
import type { Store } from '../../../store/store.ts'
import type { PERMISSIONS } from '../../options.ts'
import { MOMENT_FORMS } from '../../references.ts'
import { type Answer, timeText } from './answer.ts'

/*
 * The definition of a tool. Its schemas have the names and the nulls of the protocol; tools themselves work with objects as the store has
 * them.
 */

/** The store that a server shows: all of it, or that of one owner. */
export class Access {
  readonly store: Store
  /** The only owner whose sessions and notes exist for the client; `undefined` for no restriction. */
  readonly owner: string | undefined

  constructor(store: Store, owner: string | undefined) {
    this.store = owner === undefined ? store : store.forOwner(owner)
    this.owner = owner
  }

  /** Returns a session. Throws `SESSION_NOT_FOUND`. */
  session(id: string): Promise<Session> {
    return this.store.sessions.get(id)
  }

  /**
   * Returns the owner that an argument names, or without one the owner of the restriction. Throws `INVALID_INPUT` for an owner that the
   * restriction excludes.
   */
  ownerNamed(owner: string | undefined): string | undefined {
    if (this.owner !== undefined && owner !== undefined && owner !== this.owner)
      throw invalid('this server is restricted to one owner; omit owner')
    return owner ?? this.owner
  }
}

/** Each permission lets a client change the store in one way. */
export type Permission = (typeof PERMISSIONS)[number]

/** The context of a call. */
export type Call = {
  readonly access: Access
  /** The most tokens of the answer. */
  readonly maxTokens: number
  /** Aborted when the client cancels the call or the server ends. */
  readonly signal: AbortSignal
  /** The author of a change, for the audit. */
  readonly actor: string
}

export type Tool = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: z.ZodObject
  readonly output: z.ZodObject
  /** The permission that `--allow` must name; a tool without one only reads. */
  readonly permission?: Permission
  /** Whether a second call with the same arguments changes nothing. True for a tool that only reads. */
  readonly idempotent?: boolean
  run(call: Call, given: never): Promise<Answer>
}

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name

/** The arguments of a tool as it receives them: `session_id` is `sessionId`. */
export type Given<I extends z.ZodObject> = {
  readonly [N in keyof z.output<I> as Camel<N & string>]: z.output<I>[N]
}

/** Makes a tool whose arguments are checked by the compiler. Its result is checked against its schema for each answer. */
export function tool<I extends z.ZodObject>(
  definition: Omit<Tool, 'input' | 'run'> & {
    readonly input: I
    run(call: Call, given: Given<I>): Promise<Answer>
  },
): Tool {
  return definition as unknown as Tool
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Arguments by the names that tools give them. */
export function givenOf(input: object): object {
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [camelCase(name), value]))
}

/** A time as the protocol has it; the store has milliseconds. */
export const time = z.string()

/** The fields of a shape from an object with the same names in camel case. An absent field is `null` if its schema allows that. */
export function shaped({ shape }: z.ZodObject, from: object): { [name: string]: unknown } {
  const source = from as { readonly [name: string]: unknown }
  const fields = Object.entries(shape).map(([name, field]) => [name, fieldOf(field, source[camelCase(name)])])
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

function fieldOf(field: unknown, value: unknown): unknown {
  if (field instanceof z.ZodOptional) return value === undefined ? value : fieldOf(field.unwrap(), value)
  if (field instanceof z.ZodNullable) return value == null ? null : fieldOf(field.unwrap(), value)
  if (field instanceof z.ZodArray) return (value as unknown[]).map((one) => fieldOf(field.element, one))
  if (field instanceof z.ZodObject) return shaped(field, value as object)
  return field === time ? timeText(value as number) : value
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
export const moment = z.string().describe(`a moment of the session, one of ${MOMENT_FORMS}`)
export const compactionId = z
  .string()
  .min(1)
  .describe('a compaction or a run, as list_compactions returns it, or @ for the newest run')
export const reason = z.string().max(1_000).optional().describe('why, for the audit')
export const pointShape = z
  .strictObject({ position: z.int(), audit_no: z.int() })
  .describe('the last position of the log, and the last entry of the audit')
export const momentPoint = pointShape.optional()

/** Why a session with messages has no figures. */
export const FIGURES_OFF = 'Figures are disabled for this session (`enabled`).'
