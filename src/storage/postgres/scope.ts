import type { Numbered, Row } from '../sql/sql.ts'
import type { Failure } from './failure.ts'
import type { PostgresConnection } from './port.ts'

/* What one attempt of a transaction knows. */

/** Where the rows of a session are. */
export type Address = { readonly family: number; readonly number: number }

/** A session that a transaction entered. While writing, its row is locked. */
export type Entered = Address & {
  readonly id: string
  /** `last_write` and `version` before the transaction; nothing for a session that it creates. */
  before: Row | undefined
  /** The last numbers of its compactions, entries of the audit and jobs. */
  readonly counters: Record<Numbered, number>
  /** The answer of its row, which `before` and the counters come from, if it was not waited for. */
  look: Promise<unknown> | undefined
  /** The tables of which it has new numbers. */
  readonly counted: Set<Numbered>
  isForgotten: boolean
}

export type Outcome = 'done' | 'undone' | 'unknown'

/** What `read`, `write` and `outside` run in. */
export type Scope = {
  readonly kind: 'read' | 'write' | 'outside'
  readonly verb: string
  connection: Promise<PostgresConnection> | undefined
  hasConnected: boolean
  hasAnswered: boolean
  hasWritten: boolean
  isBroken: boolean
  /** What became of a commit whose connection was lost. */
  outcome: Outcome | undefined
  /** The first failure of a transaction: the statements after it fail because of it, and its commit answers without an error. */
  failure: Failure | undefined
  /** The session that the statements are about: `null` for one that does not exist. */
  session: Entered | null | undefined
  entered: Entered[]
  /** Whether a session that was entered by a kept address was not there. */
  isStale: boolean
  /** Statements since the last answer that was waited for. */
  sent: number
}

export function scopeOf(kind: Scope['kind'], verb: string): Scope {
  return {
    kind,
    verb,
    connection: undefined,
    hasConnected: false,
    hasAnswered: false,
    hasWritten: false,
    isBroken: false,
    outcome: undefined,
    failure: undefined,
    session: undefined,
    entered: [],
    isStale: false,
    sent: 0,
  }
}

export async function release(scope: Scope): Promise<void> {
  const connection = await scope.connection?.catch(ignore)
  scope.connection = undefined
  connection?.release(scope.isBroken)
}

export function ignore(): undefined {}
