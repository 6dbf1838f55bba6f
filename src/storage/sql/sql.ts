import type { Place, Places } from '../../core/search/places.ts'
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
 */

/** A row: its values in the order of the columns. */
export type Row = readonly unknown[]

/** The tables whose rows have numbers. */
export type Numbered = 'undertext_compactions' | 'undertext_audit' | 'undertext_jobs'

/** An append of plain messages. */
export type AppendCall = {
  readonly id: string
  readonly estimator: string
  readonly expectedPosition: number | undefined
  readonly now: number
  readonly keys: readonly string[]
  readonly sizes: Sizes
  /** How many of the messages are not silent. */
  readonly visible: number
  /** Role, flags, the sizes and the time of each message. */
  readonly numbers: readonly number[]
  /** Tools, content, metadata and idempotency key of each message. */
  readonly texts: readonly (string | null)[]
}

/** A connection to a database, as the verbs see it. */
export interface Sql {
  /** Whether several transactions write at a time, also of other machines, so that no process can see whether the holder of a lease is alive. */
  readonly isShared: boolean
  /** Whether an answer takes a round trip, so that one statement writes or changes many rows, and an error does not say which row it is of. */
  readonly isRemote: boolean
  /** The index of the search. */
  readonly words: WordIndex
  /** The query of a page of the index of a view (planning.ts). */
  readonly planning: string
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
   * Appends plain messages in one round trip, where the engine can; returns the last position and the incarnation of the session.
   * `undefined` when nothing was written, or the session was not used here before: then a transaction says why.
   */
  appendOnce?(batch: AppendCall): Step<Row | undefined>

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

/** All of these words, of which each is one of several. */
export type Expression = readonly (readonly string[])[]

/** Which rows are asked for. */
export type Scope = {
  /** The number of the session that was entered; without, all families. */
  readonly session: number | undefined
  /** A condition on the row `m` of the messages, and its values; empty for none. */
  readonly condition: string
  readonly values: readonly unknown[]
  /** Only rows up to here, see `moment`. */
  readonly moment: number | undefined
}

/** The words of a row, each once. */
export type RowWords = { readonly place: number; readonly words: readonly string[] }

export interface WordIndex {
  /** How many sessions are indexed in one transaction. */
  readonly sessionsAtOnce: number
  /** Whether the rows of a session are a range of the index, so that a few sessions are looked through one by one. */
  readonly hasRanges: boolean
  /** Adds rows of the session that was entered. */
  add(sql: Sql, session: number, rows: readonly RowWords[]): Step<void>
  /** Removes all rows of a session that was entered. */
  remove(sql: Sql, session: number): Step<void>
  /** Lists of sessions, places and families of rows that meet an expression, each list one value: they are many. */
  find(sql: Sql, words: Expression, scope: Scope, limit: number): Step<Row | undefined>
  /** In how many rows a word is: of all, or of the session that was entered. */
  count(sql: Sql, word: string, session: number | undefined): Work<number>
  /** The same for a common word whose newest rows are known, where to count them takes long. */
  estimate?(
    sql: Sql,
    newest: Places,
    session: { readonly messageCount: number } | undefined,
    documents: number,
  ): Work<number>
  /** The moment of a search: it distinguishes rows that are stored later. */
  moment(sql: Sql): Work<number>
  /** How many rows there were at a moment. */
  documents(sql: Sql, session: number | undefined, moment: number): Work<number>
  /** The columns `FOUND` of rows after their families, with what the moment of a search is compared with. */
  rows(sql: Sql, places: readonly Place[], most: number): Step<Row[]>
  /** Whether it is known that every row is in the index; absent where that is not recorded. */
  isComplete?(sql: Sql): Work<boolean>
  /** Records it, unless a row is missing in the meantime: `unindexed` selects sessions with such rows. */
  markComplete?(sql: Sql, unindexed: string): Work<void>
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
