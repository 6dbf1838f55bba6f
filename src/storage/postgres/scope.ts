import type { Numbered, Row } from '../sql/sql.ts'
import type { Failure } from './failure.ts'
import type { PostgresConnection } from './port.ts'

/* The state of one attempt of a transaction. */

/** The location of a session's rows. */
export type Address = { readonly family: number; readonly number: number }

/** A session that a transaction has entered. For a write, its row is locked. */
export type Entered = Address & {
  readonly id: string
  /** Its id and whose sessions were seen when it was entered. */
  readonly name: string
  /** Whether the name will stand for this address in later transactions. */
  readonly isLasting: boolean
  /** The owner of a session that the transaction creates; empty for none. */
  owner?: string
  /** `last_write` and `version` before the transaction; `undefined` for a session that it creates. */
  before: Row | undefined
  /** The last numbers of its compactions, audit entries and jobs. */
  readonly counters: Record<Numbered, number>
  /** The query of the session's row, from which `before` and the counters are read; for a new session, the insertion of its name. */
  look: Promise<unknown> | undefined
  /** The tables in which it has used new numbers. */
  readonly counted: Set<Numbered>
  isForgotten: boolean
}

export type Outcome = 'done' | 'undone' | 'unknown'

/** The state that `read`, `write` and `outside` run with. */
export type Scope = {
  readonly kind: 'read' | 'write' | 'outside'
  readonly verb: string
  connection: Promise<PostgresConnection> | undefined
  hasConnected: boolean
  hasAnswered: boolean
  hasWritten: boolean
  isBroken: boolean
  /** The outcome of a commit whose connection was lost. */
  outcome: Outcome | undefined
  /** The first failure of a transaction. Later statements fail because of it, and the commit is answered without an error. */
  failure: Failure | undefined
  /** The session that the statements are about; `null` if it doesn't exist. */
  session: Entered | null | undefined
  entered: Entered[]
  /** Whether a session wasn't found at its kept address. */
  isStale: boolean
  /** The number of statements since the last awaited answer. */
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
