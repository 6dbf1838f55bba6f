import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { UndertextError } from '../../core/errors.ts'
import { endedByAlso, ThrownByAlso } from '../also.ts'
import type { Seen } from '../owners.ts'
import { POSTGRES_QUERY } from '../sql/planning.ts'
import type { AppendCall, GuardProblems, Numbered, Row, Sql } from '../sql/sql.ts'
import { Done, drive, type Step, type Work } from '../sql/work.ts'
import type { Also, AppendedMessage, Estimators } from '../storage.ts'
import { appendStatement, KEYS_OF_SESSION, type OnceStatement } from './append.ts'
import { appendCall } from './citus.ts'
import { conflictIn, type Failure, isTooLarge, NO_CONNECTION_FREE, readFailure, tooLarge } from './failure.ts'
import { guardProblems } from './guards.ts'
import type { PostgresConnection, PostgresDriver, PostgresResult } from './port.ts'
import { pause, retried } from './retry.ts'
import { type Address, type Entered, ignore, type Outcome, release, type Scope, scopeOf } from './scope.ts'
import { type Translated, translate } from './text.ts'
import { words } from './words.ts'

export type PostgresOptions = {
  readonly estimators: Estimators
  readonly schema: string
  /** The name of the store in messages; it contains no password. */
  readonly location: string
  /** How long a call waits for locks and retries, in milliseconds. */
  readonly busyTimeoutMs: number
  readonly readonly: boolean
  /** Whether statements are prepared by name. A pooler in transaction mode doesn't support this. */
  readonly prepare: boolean
  /** Whether the tables are distributed over several machines (citus.ts). */
  readonly isDistributed?: boolean
  /** Whether the transactions of an owner set `undertext.owner`, for row-level security (docs/postgres-owners.sql). */
  readonly rowSecurity: boolean
}

const KEPT_ADDRESSES = 10_000
/** The maximum number of statements sent before an answer is awaited. */
const MAX_PIPELINED = 256

/** A database: a pool of connections, and the state that they share. */
export class PostgresDatabase {
  readonly driver: PostgresDriver
  readonly options: PostgresOptions
  /** By what the statements see (none, an owner, all), and by text. */
  readonly #statements = [0, 1, 2].map(() => new Map<string, Statement>())
  /** By id and owner; least recently used first. A stale address does no harm, because `enter` checks it. */
  readonly #addresses = new Map<string, Address>()
  #closed = false

  constructor(driver: PostgresDriver, options: PostgresOptions) {
    this.driver = driver
    this.options = options
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Runs a verb. The code before its first step runs at once. */
  async perform<T>(work: (sql: PostgresSql) => Step<T>, seen?: Seen): Promise<T> {
    try {
      return await drive(work(new PostgresSql(this, seen))[Symbol.iterator]())
    } catch (error) {
      throw isTooLarge(error) ? tooLarge() : error
    }
  }

  /** Closes the connections, unless they were passed in. Further calls have no effect. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.driver.end()
  }

  statement(text: string, seen: Seen): Statement {
    const statements = this.#statements[seen === null ? 0 : seen === undefined ? 2 : 1]!
    const kept = statements.get(text)
    if (kept !== undefined) return kept
    const translated = translate(text, this.options.schema, seen)
    // Two stores may share a connection, so the name must depend on the text alone.
    const hash = createHash('sha256').update(translated.text).digest('base64url').slice(0, 22)
    const statement = { ...translated, name: this.options.prepare ? `undertext_${hash}` : undefined }
    statements.set(text, statement)
    return statement
  }

  addressOf(name: string): Address | undefined {
    return this.#addresses.get(name)
  }

  keepAddress(name: string, address: Address | undefined): void {
    this.#addresses.delete(name)
    if (address === undefined) return
    this.#addresses.set(name, address)
    const [oldest] = this.#addresses.keys()
    if (this.#addresses.size > KEPT_ADDRESSES) this.#addresses.delete(oldest!)
  }
}

type Statement = Translated & { readonly name: string | undefined }
/** `isLasting`: the name will always stand for this address, unless the session is purged or renamed. */
type Located = Address & { readonly isLasting?: boolean }

/** The name under which an address is kept. An owner isn't empty, and no text in the database contains NUL. */
function nameOf(id: string, seen: Seen): string {
  return seen === undefined ? id : `${seen ?? ''}\0${id}`
}

/** The owner in the table of names. A long name is a hash, because a row of an index has a limited size. */
function ownerIn(owner: string | null): string {
  if (owner === null || Buffer.byteLength(owner) <= MAX_OWNER_BYTES) return owner ?? ''
  return `sha256:${createHash('sha256').update(owner).digest('hex').slice(0, 32)}`
}

const MAX_OWNER_BYTES = 64

/** One call of a verb: the connection that its statements use, and its transaction. */
export class PostgresSql implements Sql {
  readonly isShared = true
  readonly isRemote = true
  readonly words = words
  readonly planning = POSTGRES_QUERY
  readonly readonly: boolean
  readonly estimators: Estimators
  readonly isDistributed: boolean
  #clockOffset = 0
  /** The number of session numbers that the next fork skips: they belong to sessions that row-level security hides. */
  #skipped = 0
  /** The last result that the clock was read from. */
  #look: Promise<boolean> | undefined
  readonly #database: PostgresDatabase
  #scope: Scope | undefined
  readonly seen: Seen

  constructor(database: PostgresDatabase, seen?: Seen) {
    this.#database = database
    this.seen = seen
    this.readonly = database.options.readonly
    this.estimators = database.options.estimators
    this.isDistributed = database.options.isDistributed === true
  }

  // A statement is sent at once, and awaited at its `yield*`, unless it returns nothing.

  get(text: string, ...values: unknown[]): Step<Row | undefined> {
    return waitFor(this.#run(text, values), ({ rows }) => rows[0])
  }

  all(text: string, ...values: unknown[]): Step<Row[]> {
    return waitFor(this.#run(text, values), ({ rows }) => rows as Row[])
  }

  *run(text: string, ...values: unknown[]): Work<void> {
    const scope = this.#current()
    const answer = this.#run(text, values, true)
    // Outside of a transaction, its failure would not make a later step fail.
    if (scope.kind !== 'write' || ++scope.sent % MAX_PIPELINED === 0) yield answer
  }

  change(text: string, ...values: unknown[]): Step<number> {
    return waitFor(this.#run(text, values, true), ({ count }) => count)
  }

  *insert(text: string, key: number | null, ...values: unknown[]): Work<number> {
    if (key === null) throw new Error('An insert on PostgreSQL requires a key.')
    yield* this.run(text, key, ...values)
    return key
  }

  *enter(id: string, seen: Seen = this.seen): Work<void> {
    const scope = this.#current()
    const name = nameOf(id, seen)
    const known = scope.entered.find((one) => one.name === name && !one.isForgotten)
    const kept = this.#database.addressOf(name)
    if (known !== undefined) scope.session = known
    // With a kept address, the following statements don't wait for the session; if it isn't there, everything is repeated.
    else if (kept !== undefined) void this.#lookFor(scope, id, seen, { ...kept, isLasting: true }, true)
    else yield this.#find(scope, id, seen)
  }

  *enterAlone(id: string): Work<void> {
    const scope = this.#current()
    const kept: Located | undefined = this.#database.addressOf(nameOf(id, this.seen))
    const found = kept ?? ((yield this.#lookUp(scope, id, this.seen)) as Located | undefined)
    if (found?.isLasting === true) this.#database.keepAddress(nameOf(id, this.seen), found)
    if (found !== undefined) void this.#ask(scope, LOCK_FAMILY, [found.family])
    yield* this.enter(id)
  }

  /** Enters an owner without a lock: if two writers take the same number for a note, one of them retries. */
  enterOwner(owner: string): Step<void> {
    const counters = { undertext_compactions: 0, undertext_audit: 0, undertext_jobs: 0 }
    const state = { before: undefined, counters, look: undefined, counted: new Set<Numbered>() }
    this.#current().session = {
      id: '',
      name: '',
      family: familyOf(owner),
      number: 0,
      ...state,
      isLasting: false,
      isForgotten: false,
    }
    return new Done(undefined)
  }

  /** Chooses the address of a new session and enters the session. The caller inserts its row. */
  *admit(id: string, owner: string | null, isFork = false): Work<number> {
    const scope = this.#current()
    const address = isFork
      ? {
          family: scope.session!.family,
          number: ((yield* this.get(NEXT_SESSION))![0] as number) + this.#skipped,
        }
      : { family: randomFamily(), number: 1 }
    scope.hasWritten = true
    const held = this.#ask(scope, INSERT_NAME, [id, ownerIn(owner), address.family, address.number])
    // The transaction must have the name before it commits.
    const name = nameOf(id, owner ?? (this.seen === undefined ? undefined : null))
    const entered = this.#take(scope, id, name, { ...address, isLasting: true })
    entered.owner = ownerIn(owner)
    entered.look = held
    return address.number
  }

  *isTaken(id: string, owner: Seen): Work<boolean> {
    const [own, ...values] = owner === undefined ? ['true'] : ['owner = ?', ownerIn(owner)]
    return (
      (yield* this.get(`select 1 from undertext_names where id = ? and ${own} limit 1`, id, ...values)) !==
      undefined
    )
  }

  // Another client may have created the only session with this id since it wasn't found.
  *isAmbiguous(id: string): Work<boolean> {
    const [first, second] = yield* this.all(LOOK_UP_ANY, id)
    return second !== undefined && first![2] !== ''
  }

  *rename(newId: string, owner: string | null): Work<void> {
    const scope = this.#current()
    const entered = scope.session!
    const { id, name, family, number } = entered
    // An insert, not an update: on a cluster, the id determines the machine of the row.
    yield* this.run(DELETE_NAME, id, family, number)
    yield* this.run(INSERT_NAME, newId, ownerIn(owner), family, number)
    this.#database.keepAddress(name, undefined)
    Object.assign(entered, { id: newId, name: nameOf(newId, owner) })
  }

  /** Removes the address of the session, which stays the current session of the work. */
  *leave(): Work<void> {
    const entered = this.#current().session!
    const { id, name, family, number } = entered
    yield* this.run(KEEP_NUMBER, number, number)
    yield* this.run(DELETE_NAME, id, family, number)
    this.#database.keepAddress(name, undefined)
    entered.isForgotten = true
  }

  keyOf(session: number, place: { readonly position: number } | { readonly ordinal: number }): number {
    const key = 'position' in place ? 2 * place.position : 2 * place.ordinal + 1
    return (session - 1) * KEYS_OF_SESSION + key
  }

  *clockOffset(): Work<number> {
    if (this.#look !== undefined) yield this.#look
    return this.#clockOffset
  }

  *nextNo(table: Numbered, session: number, count = 1): Work<number> {
    const scope = this.#current()
    // The receipt of a purge belongs to no session, so no session counts it.
    if (session === 0) return -randomFamily()
    const family = scope.session?.family
    const entered = scope.entered.findLast((one) => one.family === family && one.number === session)
    if (entered === undefined) throw new Error('Enter the session before requesting a number.')
    if (entered.look !== undefined) yield entered.look
    // The counters are written at the commit.
    scope.hasWritten = true
    entered.counted.add(table)
    const first = entered.counters[table] + 1
    entered.counters[table] += count
    return (session - 1) * KEYS_OF_SESSION + first
  }

  appendOnce(batch: AppendCall): Step<Row | undefined> {
    // The function of a cluster, and a statement without a transaction, can't check the owner.
    if (this.seen !== undefined && (this.isDistributed || this.#setsOwner)) return NOT_ONCE
    const statement = this.isDistributed ? appendCall(batch) : appendStatement(batch, this.seen)
    return this.once('append', batch.id, statement)
  }

  get #setsOwner(): boolean {
    return this.#database.options.rowSecurity && typeof this.seen === 'string'
  }

  /**
   * Runs one writing statement as its own transaction, in one round trip. Returns `undefined` if nothing was written and the caller must
   * run an ordinary transaction: the session has no kept address, the statement returned no row, or a retry may help.
   */
  *once(verb: string, id: string, statement: OnceStatement): Work<Row | undefined> {
    return (yield this.#once(verb, id, statement)) as Row | undefined
  }

  *read<T>(verb: string, work: () => Work<T>): Work<T> {
    return (yield this.#transact('read', verb, work)) as T
  }

  *write<T>(verb: string, work: () => Work<T>): Work<T> {
    return (yield this.#transact('write', verb, work)) as T
  }

  *outside<T>(verb: string, work: () => Work<T>): Work<T> {
    return (yield this.#outside(verb, work)) as T
  }

  erase<T>(verb: string, work: () => Work<T>): Work<T> {
    return this.write(verb, work)
  }

  /** Does nothing: removed rows stay in the server's files until it vacuums, and in its backups, which a client can't change. */
  clearFiles(): Step<boolean> {
    return new Done(false)
  }

  *lend(also: Also, appended: readonly AppendedMessage[]): Work<void> {
    yield this.#lend(also, appended)
  }

  /**
   * The first savepoint waits for the statements before it, so that the function doesn't run if one of them failed. Its release shows
   * whether the function ended the transaction or ignored a failure. Deferred constraints are checked while the errors are the function's.
   */
  async #lend(also: Also, appended: readonly AppendedMessage[]): Promise<void> {
    const scope = this.#current()
    await this.#send(scope, 'savepoint undertext_also')
    if (await this.#isStale(scope)) throw new Error('a session moved to another address')
    const connection = await scope.connection!
    const loan: Loan = { of: this.#database, isOver: false }
    try {
      await loans.run(loan, () => also((connection.client ?? connection) as never, appended))
    } catch (error) {
      throw this.#thrown(scope, error)
    } finally {
      loan.isOver = true
    }
    await this.#send(scope, 'release savepoint undertext_also').catch((error: unknown) => {
      throw scope.isBroken ? error : new ThrownByAlso(endedByAlso())
    })
    await connection.query('set constraints all immediate', []).catch((error: unknown) => {
      throw this.#thrown(scope, error)
    })
  }

  /** Wraps an error of a function of the application. If it is a conflict of transactions, the transaction is repeated. */
  #thrown(scope: Scope, error: unknown): ThrownByAlso {
    const conflict = conflictIn(error)
    const where = { ...this.#database.options, verb: scope.verb }
    if (conflict !== undefined) scope.failure ??= readFailure(conflict, where)
    return new ThrownByAlso(error)
  }

  /** Does nothing: the server's autovacuum makes the space of removed rows available again. */
  releaseSpace(): Step<boolean> {
    return new Done(false)
  }

  *unguarded<T>(_what: string, work: () => Work<T>): Work<T> {
    yield* this.run("set local undertext.purging = 'on'")
    const result = yield* work()
    yield* this.run("set local undertext.purging = 'off'")
    return result
  }

  *guardProblems(): Work<GuardProblems> {
    const scope = this.#current()
    const connection = {
      query: (text: string, values: readonly unknown[]) => this.#send(scope, text, [...values]),
    }
    const problems = yield guardProblems(connection, this.#database.options.schema)
    const { missing, changed, disabled, foreign } = problems as Awaited<ReturnType<typeof guardProblems>>
    return { missing, changed: [...changed, ...disabled], foreign }
  }

  takenColumn(error: unknown): string | undefined {
    const { failure } = this.#current()
    return failure?.error === error && failure?.constraint === 'messages_id' ? 'id' : undefined
  }

  async #outside<T>(verb: string, work: () => Work<T>): Promise<T> {
    this.#check('outside', verb)
    if (this.#scope !== undefined) return drive(work())
    for (;;) {
      const scope = scopeOf('outside', verb)
      this.#scope = scope
      try {
        const result = await drive(work())
        if (!(await this.#isStale(scope))) return result
      } catch (error) {
        if (!(await this.#isStale(scope))) throw error
      } finally {
        this.#scope = undefined
        await this.#leaveOutside(scope)
      }
    }
  }

  /** Returns the connection of statements without a transaction of their own. */
  async #leaveOutside(scope: Scope): Promise<void> {
    if (scope.kind === 'outside' && this.#setsOwner) await this.#end(scope, 'rollback')
    else await release(scope)
  }

  /** Runs a transaction, and retries it while that may help. */
  async #transact<T>(kind: 'read' | 'write', verb: string, work: () => Work<T>): Promise<T> {
    this.#check(kind, verb)
    const around = this.#scope
    if (around !== undefined) await this.#leaveOutside(around)
    const deadline = this.#deadline()
    const begin = (): Scope => (this.#scope = scopeOf(kind, verb))
    try {
      return await retried(begin, deadline, async (scope) => {
        try {
          return await this.#attempt(scope, work, deadline)
        } catch (error) {
          const isTaken = !scope.isStale && scope.failure?.constraint?.startsWith('sessions_pkey')
          if (isTaken) this.#skipped = 2 * this.#skipped + 1
          throw error
        }
      })
    } finally {
      this.#scope = around
    }
  }

  async #attempt<T>(scope: Scope, work: () => Work<T>, deadline: number): Promise<T> {
    if (scope.kind === 'read') {
      this.#send(scope, 'begin isolation level repeatable read, read only')
      this.#setOwner(scope)
    } else this.#begin(scope, deadline)
    try {
      const result = await drive(work())
      if (await this.#isStale(scope)) throw new Error('a session moved to another address')
      if (scope.failure !== undefined) throw scope.failure.error
      // A read result is valid even if the end of the transaction fails.
      if (scope.hasWritten && scope.kind === 'write') await this.#commit(scope)
      else void this.#end(scope, 'commit').catch(ignore)
      return result
    } catch (error) {
      await this.#isStale(scope)
      await this.#end(scope, 'rollback')
      throw error
    }
  }

  #begin(scope: Scope, deadline: number): void {
    this.#send(scope, 'begin isolation level read committed')
    // The workers wait for locks and look for the permit of a purge, so they need these settings too.
    if (this.isDistributed) this.#send(scope, "set local citus.propagate_set_commands = 'local'")
    // Zero would mean no limit.
    const left = Math.max(1, Math.ceil(deadline - performance.now()))
    this.#send(scope, `set local lock_timeout = ${left}`)
    this.#setOwner(scope)
  }

  #setOwner(scope: Scope): void {
    if (this.#setsOwner) this.#send(scope, "select set_config('undertext.owner', $1, true)", [this.seen])
  }

  /**
   * For a single statement, the server begins and commits the transaction. A statement that reads rows must see those of the writer that it
   * waited for, so it follows a lock in the same flush.
   */
  async #once(
    verb: string,
    id: string,
    { text, values, readsRows }: OnceStatement,
  ): Promise<Row | undefined> {
    this.#check('write', verb)
    const name = nameOf(id, this.seen)
    const address = this.#database.addressOf(name)
    if (address === undefined) return undefined
    const scope = scopeOf('write', verb)
    this.#take(scope, id, name, { ...address, isLasting: true })
    const token = randomUUID()
    const limit = Math.max(1, this.#database.options.busyTimeoutMs)
    if (readsRows) {
      this.#begin(scope, this.#deadline())
      void this.#ask(scope, LOCK_LAST, [address.family, address.number])
    }
    const answer = this.#ask(scope, text, values(address.number, token, limit))
    if (readsRows) await this.#send(scope, 'commit').catch(ignore)
    let row: Row | undefined
    try {
      row = (await answer).rows[0]
    } catch {}
    const { failure } = scope
    await release(scope)
    if (failure === undefined) return row
    if (failure.isPassing || failure.isRefused || !scope.hasConnected) return undefined
    if (!failure.isLost) throw failure.error
    // If the row lacks the token, the statement may still reach the server, so a retry might store the messages twice.
    const { rows } = (await this.#askOnNewConnection(verb, (anew) =>
      this.#ask(anew, LOCK_LAST, [address.family, address.number]),
    )) ?? { rows: [] }
    const [lastWrite, ...result] = rows[0] ?? []
    if (lastWrite === token) return result
    throw this.#unknown(failure)
  }

  /** Asks on new connections until one answers, which includes waiting for the end of a lost transaction. */
  async #askOnNewConnection<T>(verb: string, ask: (scope: Scope) => Promise<T>): Promise<T | undefined> {
    const deadline = this.#deadline()
    for (let attempt = 0; ; attempt++) {
      const scope = scopeOf('write', verb)
      try {
        this.#begin(scope, deadline)
        return await ask(scope)
      } catch {
        if (!scope.failure?.isLost || !(await pause(attempt, deadline))) return undefined
      } finally {
        await this.#end(scope, 'rollback')
      }
    }
  }

  #unknown({ code }: Failure): UndertextError {
    const { location } = this.#database.options
    const named = code === undefined ? '' : ` (${code})`
    const detail = `the connection was lost during a commit${named}, so it is unknown whether this call was stored. Read the session before you repeat the call.`
    return new UndertextError('STORE_UNAVAILABLE', { location, detail, outcome: 'unknown' })
  }

  /** Commits the transaction. If the connection is lost meanwhile, the session's row shows whether the commit succeeded. */
  async #commit(scope: Scope): Promise<void> {
    const token = randomUUID()
    const sent = scope.entered.map(({ family, number, counters, counted }) => {
      const counts = COUNTED.map((table) => (counted.has(table) ? counters[table] : null))
      return this.#ask(scope, UPDATE_SESSION, [token, ...counts, family, number])
    })
    // The answer to the commit of a failed transaction isn't an error, but an earlier answer is.
    await Promise.allSettled([...sent, this.#send(scope, 'commit')])
    const { failure } = scope
    if (failure === undefined) {
      for (const { name, family, number, isForgotten, isLasting } of scope.entered)
        if (!isForgotten && isLasting) this.#database.keepAddress(name, { family, number })
      return release(scope)
    }
    if (!failure.isLost || !scope.hasConnected) throw failure.error
    await release(scope)
    scope.outcome = await this.#outcome(scope, token)
    if (scope.outcome === 'done') return
    if (scope.outcome === 'undone') throw failure.error
    throw this.#unknown(failure)
  }

  async #outcome({ verb, entered: [entered] }: Scope, token: string): Promise<Outcome> {
    if (entered === undefined) return 'unknown'
    const { family, number, id, owner, before, isForgotten } = entered
    const outcome = await this.#askOnNewConnection(verb, async (scope): Promise<Outcome> => {
      // The lost transaction may still be running. Both statements wait for its end, because it holds the name or the row.
      if (before === undefined)
        await this.#ask(scope, `${INSERT_NAME} on conflict do nothing`, [id, owner ?? '', family, number])
      const now = (await this.#ask(scope, LOCK_WRITE, [family, number])).rows[0]
      if (now?.[0] === token || (now === undefined && isForgotten)) return 'done'
      return now?.[0] === before?.[0] && now?.[1] === before?.[1] ? 'undone' : 'unknown'
    })
    return outcome ?? 'unknown'
  }

  /** Ends a transaction and returns its connection. */
  async #end(scope: Scope, command: 'commit' | 'rollback'): Promise<void> {
    if (scope.connection === undefined) return
    if (!scope.isBroken) await this.#send(scope, command).catch(ignore)
    await release(scope)
  }

  async #find(scope: Scope, id: string, seen: Seen): Promise<void> {
    scope.session = null
    const found = await this.#lookUp(scope, id, seen)
    if (found === undefined) return
    const { family, number } = found
    // It may have been entered under another name: as the session of its owner, or as the only one with its id.
    const known = scope.entered.find((one) => one.family === family && one.number === number)
    if (known !== undefined && !known.isForgotten) scope.session = known
    else if (!(await this.#lookFor(scope, id, seen, found, false))) scope.session = null
  }

  /** For a store of all owners, finds the session without an owner, or else the only one with this id; its address isn't kept. */
  async #lookUp(scope: Scope, id: string, seen: Seen): Promise<Located | undefined> {
    const { rows } = await (seen === undefined
      ? this.#ask(scope, LOOK_UP_ANY, [id])
      : this.#ask(scope, LOOK_UP, [id, ownerIn(seen)]))
    const [first, second] = rows
    if (first === undefined || (first[2] !== '' && second !== undefined)) return undefined
    const isLasting = seen !== undefined || first[2] === ''
    return { family: first[0] as number, number: first[1] as number, isLasting }
  }

  /** Enters a session at an address, and for a write locks its row; returns whether it is there. */
  #lookFor(scope: Scope, id: string, seen: Seen, located: Located, isKept: boolean): Promise<boolean> {
    const { family, number } = located
    const name = nameOf(id, seen)
    const entered = this.#take(scope, id, name, located)
    const sentAt = Date.now()
    const ofOwner = seen === undefined ? '' : 'and owner is not distinct from cast(? as text)'
    const text = scope.kind === 'write' ? LOCK_SESSION : FIND_SESSION
    const values = seen === undefined ? [] : [seen]
    const look = this.#ask(scope, text(ofOwner), [family, number, id, ...values]).then(({ rows: [row] }) => {
      if (row === undefined) {
        scope.isStale ||= isKept
        this.#database.keepAddress(name, undefined)
        return false
      }
      // `row[0]` is when the statement arrived at the server, however long it then waited for the lock.
      this.#clockOffset = (row[0] as number) - sentAt
      if (!isKept && located.isLasting === true) this.#database.keepAddress(name, { family, number })
      if (scope.kind !== 'write') return true
      const [, lastWrite, version, ...counts] = row
      entered.before = [lastWrite, version]
      for (const [at, table] of COUNTED.entries()) entered.counters[table] = counts[at] as number
      return true
    })
    look.catch(ignore)
    entered.look = look
    this.#look = look
    return look
  }

  /** Returns whether a scope entered a session that wasn't there. */
  async #isStale(scope: Scope): Promise<boolean> {
    for (const { look } of scope.entered) await look?.catch(ignore)
    return scope.isStale
  }

  #take(scope: Scope, id: string, name: string, { family, number, isLasting = false }: Located): Entered {
    const counters = { undertext_compactions: 0, undertext_audit: 0, undertext_jobs: 0 }
    const state = { before: undefined, counters, look: undefined, counted: new Set<Numbered>() }
    const entered: Entered = { id, name, family, number, isLasting, ...state, isForgotten: false }
    scope.session = entered
    scope.entered.push(entered)
    return entered
  }

  #run(text: string, values: unknown[], writes = !/^\s*select\b/i.test(text)): Promise<PostgresResult> {
    const scope = this.#current()
    if (writes) scope.hasWritten = true
    return this.#ask(scope, text, values)
  }

  /** Sends a statement in the common SQL. The promise may be ignored. */
  #ask(scope: Scope, text: string, values: unknown[]): Promise<PostgresResult> {
    const statement = this.#database.statement(text, this.seen)
    if (values.length !== statement.parameters)
      throw new Error(`A statement with ${statement.parameters} parameters received ${values.length} values.`)
    const { added } = statement
    if (scope.session === undefined && (added.includes('family') || added.includes('session')))
      throw new Error('Enter the session before running statements about it.')
    if (scope.session === null && text.includes('{?,}'))
      throw new Error('A row can only be inserted into an existing session.')
    // -1 stands for no family.
    const { family = -1, number = -1 } = scope.session ?? {}
    const known = { family, session: number, owner: this.seen }
    const all = added.length === 0 ? values : [...values, ...added.map((what) => known[what])]
    return this.#send(scope, statement.text, all, statement.name)
  }

  /** Sends a statement in PostgreSQL's SQL. The promise may be ignored. */
  #send(scope: Scope, text: string, values: unknown[] = [], name?: string): Promise<PostgresResult> {
    const answer = this.#answer(scope, text, values, name)
    answer.catch(ignore)
    return answer
  }

  async #answer(scope: Scope, text: string, values: unknown[], name?: string): Promise<PostgresResult> {
    try {
      if (scope.connection === undefined) {
        scope.connection = this.#acquire(scope)
        // The setting of an owner only lasts as long as a transaction.
        if (scope.kind === 'outside' && this.#setsOwner) {
          void this.#send(scope, 'begin isolation level read committed, read only')
          this.#setOwner(scope)
        }
      }
      const connection = await scope.connection
      const result = await connection.query(text, values, name)
      scope.hasAnswered = true
      return result
    } catch (error) {
      const { location, busyTimeoutMs } = this.#database.options
      const failure = readFailure(error, { location, busyTimeoutMs, verb: scope.verb })
      if (failure.isLost) scope.isBroken = true
      if (scope.kind === 'outside') throw failure.error
      scope.failure ??= failure
      throw scope.failure.error
    }
  }

  async #acquire(scope: Scope): Promise<PostgresConnection> {
    const deadline = this.#deadline()
    for (let attempt = 0; ; attempt++)
      try {
        const connection = await this.#database.driver.acquire()
        scope.hasConnected = true
        return connection
      } catch (error) {
        const isBusy = (error as { code?: unknown } | null)?.code === NO_CONNECTION_FREE
        if (!isBusy || !(await pause(attempt, deadline))) throw error
      }
  }

  #check(kind: Scope['kind'], verb: string): void {
    if (this.#database.closed) throw new UndertextError('STORE_CLOSED', {})
    const loan = loans.getStore()
    const isLent = loan?.of === this.#database && !loan.isOver
    if (isLent || (this.#scope !== undefined && this.#scope.kind !== 'outside'))
      throw new UndertextError('IN_TRANSACTION', { verb })
    if (kind === 'write' && this.#database.options.readonly)
      throw new UndertextError('STORE_READONLY', { verb })
  }

  #current(): Scope {
    if (this.#scope === undefined) throw new Error('A statement can only run within read, write or outside.')
    return this.#scope
  }

  #deadline(): number {
    return performance.now() + this.#database.options.busyTimeoutMs
  }
}

/** A connection that is lent to a function of the application. A verb within it would wait for a lock of its own transaction. */
type Loan = { readonly of: PostgresDatabase; isOver: boolean }
const loans = new AsyncLocalStorage<Loan>()

const COUNTED = ['undertext_compactions', 'undertext_audit', 'undertext_jobs'] as const

const CLOCK = '(extract(epoch from statement_timestamp()) * 1000)::bigint'
const ROW = 'from undertext_sessions where family = ? and no = ?'
const FIND_SESSION = (ofOwner: string): string => `select ${CLOCK} ${ROW} and id = ? ${ofOwner}`
const LOCK_SESSION = (ofOwner: string): string =>
  `select ${CLOCK}, last_write, version, compacted, audited, jobbed ${ROW} and id = ? ${ofOwner} for no key update`
const LOCK_LAST = `select last_write, messages, incarnation ${ROW} for no key update`
const LOCK_WRITE = `select last_write, version ${ROW} for no key update`
const LOCK_FAMILY = 'select pg_advisory_xact_lock(cast(? as bigint))'
const UPDATE_SESSION = `update undertext_sessions set last_write = ?, compacted = coalesce(?, compacted),
  audited = coalesce(?, audited), jobbed = coalesce(?, jobbed) where family = ? and no = ?`
/** If two forks take the same number at once, one of them is retried. */
const NEXT_SESSION = 'select 1 + max(greatest(no, purged_no)) from undertext_sessions where {family} true'
const KEEP_NUMBER = 'update undertext_sessions set purged_no = greatest(purged_no, ?) where {family} no <> ?'
const LOOK_UP = 'select family, session, owner from undertext_names where id = ? and owner = ?'
const LOOK_UP_ANY = 'select family, session, owner from undertext_names where id = ? order by owner limit 2'
const INSERT_NAME = 'insert into undertext_names (id, owner, family, session) values (?, ?, ?, ?)'
const DELETE_NAME = 'delete from undertext_names where id = ? and family = ? and session = ?'
const NOT_ONCE = new Done(undefined)

function* waitFor<T>(answer: Promise<PostgresResult>, pick: (result: PostgresResult) => T): Work<T> {
  return pick((yield answer) as PostgresResult)
}

function randomFamily(): number {
  const bytes = randomBytes(7)
  return bytes.readUIntBE(0, 6) * 32 + (bytes[6]! >> 3)
}

/**
 * Returns the family of an owner's notes. It is negative, so that no session has it. Owners may share a family, because their rows name
 * them.
 */
function familyOf(owner: string): number {
  return -2 - createHash('sha256').update(owner).digest().readUIntBE(0, 6)
}
