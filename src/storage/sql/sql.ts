import type { Place, Places } from '../../core/search/places.ts'
import type { Sizes } from '../../core/tokens/measure.ts'
import type { Seen } from '../owners.ts'
import type { Also, AppendedMessage, Estimators } from '../storage.ts'
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
 * | `{named s}`                         | `s.owner = @owner and`        | `s.no = $s and`: the entered session, `s.id = ?` |
 * | `{seen s}`                          | `s.owner = @owner and`        | `s.owner = $o and`; nothing for a store of all  |
 * | `{index i}` after a table           | `indexed by i`                | nothing                                         |
 * | `{list ?} k` and `{texts ?} k`      | `json_each(?) k`              | the numbers or texts of a JSON list, as `value` |
 * | `{elements x} k`, `{int k 0}`       | `json_each(x) k`, `value ->> 0`| the arrays of a JSON list, and their integers   |
 * | `{at x 0}`                          | `x ->> 0`                     | an integer of a JSON list                       |
 * | `{number c key}`, `{unhex k 0}`     | the value of a key of a JSON object, and the bytes of a hexadecimal text       |
 * | `{instr}`, `{array}`                | `instr`, `json_array`         | `strpos`, `json_build_array`                    |
 * | `{cross}`, `{+}`                    | `cross join`, `+`             | `join`, nothing: its planner needs no hints     |
 * | `{find}`, `{where}`, `{found c}`    | `cross join`, `on`, nothing   | a row is looked up for each row, see `lookUp`   |
 * | `{distinct}`, `{latest r}`, `{last}`| `max` with bare columns       | `distinct on`: the newest replacement of a part |
 * | `{kept}` at the end                 | nothing                       | `for key share`: no other transaction deletes it |
 * | `{schema}`                          | not used                      | the schema of the tables                        |
 * | `{age}`, `{ages}`, `{newest}`       | `no`, `no desc`               | the columns of the order of insertion           |
 *
 * A family is to PostgreSQL what a file is to SQLite: the keys of rows and the numbers of sessions, compactions and entries of the audit
 * are unique in it, so every statement about a session names its family (`$f`, which the engine adds) and is otherwise the same.
 *
 * A store of all owners finds by an id the session without an owner, or else the only one with this id; if several owners use the id,
 * none (`rejectAmbiguous` in sessions.ts).
 */

/** A row: its values in the order of the columns. */
export type Row = readonly unknown[]

/** The tables whose rows are numbered. */
export type Numbered = 'undertext_compactions' | 'undertext_audit' | 'undertext_jobs'

/** An append of plain messages. */
export type AppendCall = {
  readonly id: string
  readonly estimator: string
  readonly expectedPosition: number | undefined
  readonly now: number
  readonly keys: readonly string[]
  readonly sizes: Sizes
  /** The number of messages that aren't silent. */
  readonly visible: number
  /** The role, flags, sizes and time of each message. */
  readonly numbers: readonly number[]
  /** The tools, content, metadata and idempotency key of each message. */
  readonly texts: readonly (string | null)[]
}

/** A connection to a database, in the form that the verbs use. */
export interface Sql {
  /**
   * Whether several transactions can write at a time, possibly from other machines, so that no process can see whether the holder of a
   * lease is alive.
   */
  readonly isShared: boolean
  /** Whether a statement costs a round trip, so that one statement writes many rows, and an error doesn't identify the row. */
  readonly isRemote: boolean
  /** The search index. */
  readonly words: WordIndex
  /** The query for a page of the index of a view (planning.ts). */
  readonly planning: string
  readonly readonly: boolean
  /** Whose sessions the statements see. */
  readonly seen: Seen
  /** The known estimators, and the one for new sessions. */
  readonly estimators: Estimators
  /** Whether the rows are distributed over several machines. */
  readonly isDistributed?: boolean

  /** Returns the first row, or `undefined`. */
  get(text: string, ...values: unknown[]): Step<Row | undefined>
  all(text: string, ...values: unknown[]): Step<Row[]>
  /**
   * Runs a statement that returns nothing. In a write transaction, PostgreSQL doesn't wait for its answer: a failure is thrown at a later
   * step, at the latest at the end of the transaction.
   */
  run(text: string, ...values: unknown[]): Step<void>
  /** Runs a statement that returns no rows; returns the number of changed rows. */
  change(text: string, ...values: unknown[]): Step<number>
  /** Inserts a row like `run`; returns its key. The first value is the key, from `keyOf` or `nextNo`; for `null`, SQLite chooses it. */
  insert(text: string, key: number | null, ...values: unknown[]): Step<number>

  /**
   * Enters a session: the following statements use its family. In a write transaction, PostgreSQL also locks the session, so this must
   * precede all reads. `seen` is the session's owner if it may be another than the store's; statements then find it by its number.
   */
  enter(id: string, seen?: Seen): Step<void>
  /**
   * Like `enter`, for work that also locks other sessions of the family, or removes references to its blobs. Only one such work runs in a
   * family at a time, so that no two of them wait for each other. It must precede all locks.
   */
  enterAlone(id: string): Step<void>
  /** Enters an owner. The notes of an owner have their own family, which is computed from the owner's name. */
  enterOwner(owner: string): Step<void>
  /**
   * Registers a new session and enters it; returns its number, or `null` if SQLite chooses it. With `isFork`, the session joins the current
   * family, with a number that no session of the family has had.
   */
  admit(id: string, owner: string | null, isFork?: boolean): Step<number | null>
  /** Returns whether an owner has a session with this id; with `null`, whether there is one without an owner; else, whether anyone has. */
  isTaken(id: string, owner: Seen): Step<boolean>
  /** Returns whether several owners have a session with this id, and none is without an owner. */
  isAmbiguous(id: string): Step<boolean>
  /** Returns the difference between the database's clock and this machine's, in milliseconds. Call `enter` first. */
  clockOffset(): Step<number>
  /** Gives the current session another id and owner. */
  rename(newId: string, owner: string | null): Step<void>
  /** Removes the id of the current session, which is purged. */
  leave(): Step<void>
  /** Returns the key of a new row: of the message at a position, or of the inserted row with an ordinal. */
  keyOf(session: number, place: { readonly position: number } | { readonly ordinal: number }): number | null
  /** Returns the number of a new row of an entered session, the first of `count`. Session 0 holds the receipts of purged sessions. */
  nextNo(table: Numbered, session: number, count?: number): Step<number | null>

  /**
   * Appends plain messages in one round trip if the engine supports it; returns the last position and the incarnation of the session.
   * Returns `undefined` if nothing was written or the session has no kept address; a transaction then finds the reason.
   */
  appendOnce?(batch: AppendCall): Step<Row | undefined>

  /** Runs one transaction that reads everything as of one moment. */
  read<T>(verb: string, work: () => Work<T>): Step<T>
  /**
   * Runs one write transaction. PostgreSQL may repeat the work, so it must have no other effects. SQLite blocks the process while it waits
   * for its lock; with `isPatient: false` it throws `STORE_BUSY` instead.
   */
  write<T>(verb: string, work: () => Work<T>, isPatient?: boolean): Step<T>
  /** Runs work that needs no transaction: a single reading statement, or the code around a transaction. */
  outside<T>(verb: string, work: () => Work<T>): Step<T>
  /**
   * Runs a write transaction that removes rows. What remains of them in the files is overwritten, or cleared later; with `isLater`, only by
   * `clearFiles`, and not when a store is opened or closed.
   */
  erase<T>(verb: string, work: () => Work<T>, isLater?: boolean): Step<T>
  /**
   * Clears what erased rows left in the files; returns whether nothing is left. `often`: this is one of a series of removals, which must
   * not rewrite the files each time.
   */
  clearFiles(how?: 'often'): Step<boolean>
  /**
   * Lends the client of a write transaction to a function of the application, and waits for it. Throws `ThrownByAlso`. A verb that the
   * function calls throws `IN_TRANSACTION`.
   */
  lend(also: Also, appended: readonly AppendedMessage[]): Step<void>
  /**
   * Returns some free pages of the file to the file system; returns whether there are more. A server does this by itself.
   */
  releaseSpace(): Step<boolean>
  /** Disables the guards against deletions for some work within a transaction. `what` describes, for people, what is removed. */
  unguarded<T>(what: string, work: () => Work<T>): Step<T>
  guardProblems(): Step<GuardProblems>
  /** Returns the column whose value is already taken if an error of `insert` reports a conflict; otherwise `undefined`. */
  takenColumn(error: unknown): string | undefined
}

/** A conjunction of words, each with alternatives. */
export type Expression = readonly (readonly string[])[]

/** The rows to search. */
export type Scope = {
  /** The number of the entered session; if absent, all families are searched. */
  readonly session: number | undefined
  /** A condition on the row `m` of the messages, and its values; empty for no condition. */
  readonly condition: string
  readonly values: readonly unknown[]
  /** Only rows up to this moment, see `moment`. */
  readonly moment: number | undefined
}

/** The distinct words of a row. */
export type RowWords = { readonly place: number; readonly words: readonly string[] }

export interface WordIndex {
  /** The number of sessions that are indexed in one transaction. */
  readonly sessionsAtOnce: number
  /** Whether the rows of a session are a range of the index, so that a few sessions can be searched one by one. */
  readonly hasRanges: boolean
  /** Adds rows of the entered session. */
  add(sql: Sql, session: number, rows: readonly RowWords[]): Step<void>
  /** Removes all rows of an entered session. */
  remove(sql: Sql, session: number): Step<void>
  /** Removes rows of an entered session, by their places. */
  removeRows(sql: Sql, session: number, places: readonly number[]): Step<void>
  /** Returns the sessions, places and families of rows that meet an expression, each list as one value, because there may be many rows. */
  find(sql: Sql, words: Expression, scope: Scope, limit: number): Step<Row | undefined>
  /** Returns the number of rows with a word, of all sessions or of the entered one. */
  count(sql: Sql, word: string, session: number | undefined): Work<number>
  /** Like `count`, for a common word whose newest rows are known, if counting them takes long. */
  estimate?(
    sql: Sql,
    newest: Places,
    session: { readonly messageCount: number } | undefined,
    documents: number,
  ): Work<number>
  /** Returns the moment of a search, by which rows stored later are recognized. */
  moment(sql: Sql): Work<number>
  /** Returns the number of rows at a moment. */
  documents(sql: Sql, session: number | undefined, moment: number): Work<number>
  /** Returns the columns `FOUND` of rows after their families, and the value that is compared with the moment of a search. */
  rows(sql: Sql, places: readonly Place[], most: number): Step<Row[]>
  /** Returns whether every row is known to be in the index; absent if the engine doesn't record this. */
  isComplete?(sql: Sql): Work<boolean>
  /** Records that every row is in the index, unless one has been added meanwhile. `unindexed` selects sessions with such rows. */
  markComplete?(sql: Sql, unindexed: string): Work<void>
}

/** Makes verbs of a kind: functions that run work on a connection. */
const verbs =
  (kind: 'read' | 'write' | 'outside' | 'erase') =>
  <P extends readonly unknown[], T>(name: string, work: (sql: Sql, ...parameters: P) => Work<T>) =>
  (sql: Sql, ...parameters: P): Step<T> =>
    sql[kind](name, () => work(sql, ...parameters))

export const reading = verbs('read')
export const writing = verbs('write')
export const outside = verbs('outside')
export const erasing = verbs('erase')

/** The names of triggers that differ from those of the migrations. */
export type GuardProblems = {
  readonly missing: readonly string[]
  /** Triggers with an expected name and another text. */
  readonly changed: readonly string[]
  /** Triggers on a table of the store that another program created. */
  readonly foreign: readonly string[]
}
