import type { Sizes } from '../../core/tokens/measure.ts'
import type { Estimators } from '../storage.ts'
import type { Step, Work } from './work.ts'

/*
 * One logic for two engines. The verbs of the storage are generators over this interface: SQLite runs them to the end at once,
 * PostgreSQL waits at each step (work.ts).
 *
 * The text of a statement is SQL that both engines understand, with `?` for values and these fragments:
 *
 * | fragment                            | SQLite                        | PostgreSQL                                      |
 * | `{family}` and `{family m}`         | nothing                       | `family = $f and`, `m.family = $f and`          |
 * | `{family,}` and `{?,}` in an insert | nothing                       | `family,` and `$f,`                             |
 * | `{family, m}` in a selection         | nothing                       | `m.family,`                                     |
 * | `{same a b}`                        | nothing                       | `a.family = b.family and`                       |
 * | `{index i}` after a table           | `indexed by i`                | nothing                                         |
 * | `{list ?} k` and `{texts ?} k`      | `json_each(?) k`              | the numbers or texts of a JSON list, as `value` |
 * | `{elements x} k`, `{int k 0}`       | `json_each(x) k`, `value ->> 0`| the arrays of a JSON list, and their integers   |
 * | `{at x 0}`                          | `x ->> 0`                     | an integer of a JSON list                       |
 * | `{number c key}`, `{unhex k 0}`     | the value of a key of a JSON object, and the bytes of a hexadecimal text       |
 * | `{least}`, `{greatest}`, `{instr}`, `{array}` | `min`, `max`, `instr`, `json_array` | `least`, `greatest`, `strpos`, `json_build_array` |
 * | `{cross}`, `{+}`                    | `cross join`, `+`             | `join`, nothing: its planner needs no hints     |
 * | `{kept}` at the end                 | nothing                       | `for key share`: no other transaction deletes it |
 * | `{schema}`                          | not used                      | the schema of the tables                        |
 * | `{age}`, `{ages}`, `{newest}`       | `no`, `no desc`               | the columns of the order of insertion           |
 *
 * A family is to PostgreSQL what a file is to SQLite: the keys of rows and the numbers of sessions, compactions and entries of the audit
 * are unique in it, so every statement about a session names its family (`$f`, which the engine adds) and is otherwise the same.
 */

/** A row: its values in the order of the columns. */
export type Row = readonly unknown[]

/** The tables whose rows have numbers. */
export type Numbered = 'undertext_compactions' | 'undertext_audit' | 'undertext_jobs'

/** A statement that stores a token in `last_write` of its session, and returns `messages` and `incarnation`. */
export type OnceStatement = {
  readonly text: string
  readonly values: (session: number, token: string, lockTimeoutMs: number) => unknown[]
  /** Whether it depends on rows besides that of the session. */
  readonly readsRows: boolean
}

/** An append of plain messages, as the function takes it. */
export type AppendCall = {
  readonly id: string
  readonly estimator: string
  readonly expectedPosition: number | undefined
  readonly now: number
  readonly keys: readonly string[]
  readonly sizes: Sizes
  /** How many of the messages are not silent. */
  readonly sent: number
  /** Role, flags, the sizes and the time of each message. */
  readonly numbers: readonly number[]
  /** Tools, content, metadata and idempotency key of each message. */
  readonly texts: readonly (string | null)[]
}

/** A connection to a database, as the verbs see it. */
export interface Sql {
  /** Other machines may use a store in PostgreSQL, so no process can see whether the holder of a lease is alive. */
  readonly dialect: 'sqlite' | 'postgres'
  readonly readonly: boolean
  /** The known estimators, and that of new sessions. */
  readonly estimators: Estimators
  /** Whether the rows are on several machines. */
  readonly isDistributed?: boolean

  /** The first row, or `undefined`. */
  get(text: string, ...values: unknown[]): Step<Row | undefined>
  all(text: string, ...values: unknown[]): Step<Row[]>
  /**
   * Runs a statement that returns nothing. While writing, PostgreSQL does not wait for its answer: a failure is thrown at a later step, at
   * the latest at the end of the transaction.
   */
  run(text: string, ...values: unknown[]): Step<void>
  /** Runs a statement that returns no rows; returns the number of changed rows. */
  change(text: string, ...values: unknown[]): Step<number>
  /**
   * Inserts a row like `run`. Its first value is its key, from `keyOf` or `nextNo`; returns the key, which SQLite chooses for `null`.
   */
  insert(text: string, key: number | null, ...values: unknown[]): Step<number>

  /**
   * Makes the session with this id the one that the work is about: its family is that of the following statements. While writing,
   * PostgreSQL also locks the session, so this comes before anything that is read.
   */
  enter(id: string): Step<void>
  /**
   * The same for a work that locks other sessions of the family too, or removes references to its blobs. Only one such work at a time is
   * at work in a family, so no two of them wait for each other; it comes before anything that is locked.
   */
  enterAlone(id: string): Step<void>
  /** Makes an owner the one that the work is about: its notes have a family of their own, which follows from its name. */
  enterOwner(owner: string): Step<void>
  /**
   * Registers a new session; returns its number, which SQLite chooses for `null`. Then it is entered. `isFork`: in the family of the
   * session that the work is about, with a number that no session of the family had.
   */
  admit(id: string, isFork?: boolean): Step<number | null>
  /** What to add to this machine's clock to get the database's, milliseconds; after `enter`. */
  clockOffset(): Step<number>
  /** Gives the session that was entered another id. */
  rename(id: string, newId: string): Step<void>
  /** Removes the id of a purged session. */
  leave(id: string): Step<void>
  /** The key of a new row: of the message at a position, or of the inserted row with an ordinal. */
  keyOf(session: number, place: { readonly position: number } | { readonly ordinal: number }): number | null
  /** The number of a new row of a session that was entered, the first of `count`; 0 for the receipts of purged sessions. */
  nextNo(table: Numbered, session: number, count?: number): Step<number | null>

  /**
   * One writing statement as a transaction of its own, in one round trip, where the engine has such a thing. `undefined` when it
   * returned no row, or the session was not used here before: then a transaction says why.
   */
  once?(verb: string, id: string, statement: OnceStatement): Step<Row | undefined>

  /** The statement of `once` for an append, where the machine that has the rows makes it of the values: in a distributed database. */
  readonly appendCall?: ((batch: AppendCall) => OnceStatement) | undefined

  /** One transaction in which everything that is read is of one moment. */
  read<T>(verb: string, work: () => Work<T>): Step<T>
  /**
   * One writing transaction. PostgreSQL may repeat the work, so it changes nothing else. SQLite stops the process while it waits for its
   * lock; with `isPatient: false` it throws `STORE_BUSY` instead.
   */
  write<T>(verb: string, work: () => Work<T>, isPatient?: boolean): Step<T>
  /** Work that needs no transaction: a single reading statement, or work around a transaction. */
  outside<T>(verb: string, work: () => Work<T>): Step<T>
  /** A writing transaction that removes rows, whose remains in the files are overwritten or cleared later. */
  erase<T>(verb: string, work: () => Work<T>): Step<T>
  /**
   * Removes what erased rows left in the files; returns whether nothing is left. `often`: one of a series of removals, which must not
   * rewrite the files each time.
   */
  clearFiles(how?: 'often'): Step<boolean>
  /** Disables the guards against deletions for some work within a transaction. `what`: what is removed, for people. */
  unguarded<T>(what: string, work: () => Work<T>): Step<T>
  guardProblems(): Step<GuardProblems>
  /** The column whose value another row has already, when an error of `insert` says so. */
  takenColumn(error: unknown): string | undefined
}

/** A verb: work on a connection, and how it is run. */
const verbs =
  (kind: 'read' | 'write' | 'outside' | 'erase') =>
  <P extends readonly unknown[], T>(name: string, work: (sql: Sql, ...parameters: P) => Work<T>) =>
  (sql: Sql, ...parameters: P): Step<T> =>
    sql[kind](name, () => work(sql, ...parameters))

export const reading = verbs('read')
export const writing = verbs('write')
export const outside = verbs('outside')
export const erasing = verbs('erase')

/** Names of triggers that differ from those of the migrations. */
export type GuardProblems = {
  readonly missing: readonly string[]
  /** With a name of ours and another text. */
  readonly changed: readonly string[]
  /** On a table of ours, created by others. */
  readonly foreign: readonly string[]
}
