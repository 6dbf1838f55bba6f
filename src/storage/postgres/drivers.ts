import { Socket } from 'node:net'
import { isNotFound, UndertextError } from '../../core/errors.ts'
import { isStalePlan } from './failure.ts'
import type { PostgresConnection, PostgresDriver, PostgresResult } from './port.ts'

/** The used part of a pool of `pg`. It is declared here so that a project doesn't need the driver's types. */
export interface Pool {
  /** Calls back with a client for exclusive use until it is released. */
  connect(done: (error: Error | undefined, client: PoolClient | undefined) => void): void
}

/** The used part of a client of such a pool. */
export interface PoolClient {
  /** Whether a statement is sent before the previous one is answered: an option of `pg` 8.23 and later. */
  readonly pipeline?: boolean
  /** Runs a statement and calls back; rows are arrays. */
  query(query: {
    readonly text: string
    readonly values: readonly unknown[]
    readonly name: string | undefined
    readonly rowMode: 'array'
    readonly types: { getTypeParser(type: number): (value: string) => unknown }
    readonly query_timeout: number | undefined
    readonly callback: (
      error: Error | undefined,
      result: { readonly rows: unknown[][]; readonly rowCount: number | null } | undefined,
    ) => void
  }): unknown
  /** Listens for the loss of the connection. */
  on(event: 'error', listener: () => void): unknown
  /** Returns the client to its pool, or closes a broken one. */
  release(isBroken?: boolean): void
}

/** The used part of a PGlite instance. */
export interface Pglite {
  /** Runs a statement; rows are arrays. */
  query(
    text: string,
    values: unknown[],
    options: { rowMode: 'array'; parsers: Record<number, (value: string) => unknown> },
  ): Promise<{ readonly rows: unknown[]; readonly affectedRows?: number }>
}

export type UrlOptions = {
  /** The maximum number of connections. Default: 10. */
  readonly connections?: number
  /** How long to wait for a connection, and for the server to close one, in milliseconds. Default: 10 seconds. */
  readonly connectTimeoutMs?: number
  /** How long to wait for the answer to a statement, in milliseconds. `query_timeout` in the URL takes precedence. Default: one minute. */
  readonly answerTimeoutMs?: number
}

/** Returns a driver for a pool of `pg`. The application keeps control of the pool: its settings, its `error` events and its end. */
export function fromPool(pool: Pool): PostgresDriver {
  // A callback, because a promise would be too late: the server may end a connection in the same packet that opens it.
  const take = (resolve: (connection: PoolConnection) => void, reject: (error: unknown) => void): void =>
    pool.connect((error, client) => {
      if (client === undefined) return reject(error)
      const connection = connectionOf(client)
      if (!connection.isStale) return resolve(connection)
      connection.release(true)
      take(resolve, reject)
    })
  return { acquire: () => new Promise(take), end: async () => {} }
}

/**
 * Returns a driver for a PGlite instance, which the application still has to close. The instance has one connection, so transactions take
 * turns, and a statement that the application runs meanwhile becomes part of one.
 */
export function fromPglite(instance: Pglite): PostgresDriver {
  return {
    acquire: async () => {
      const ahead = turns.get(instance) ?? Promise.resolve()
      let release = (): void => {}
      turns.set(instance, new Promise((resolve) => (release = resolve)))
      await ahead
      return { client: instance, query: (text, values) => queryPglite(instance, text, values), release }
    },
    end: async () => {},
  }
}

/** Returns a driver for a URL, with its own pool. Throws `DRIVER_UNAVAILABLE` if `pg` isn't installed. */
export async function fromUrl(url: string, options: UrlOptions = {}): Promise<PostgresDriver> {
  const { connections = 10, connectTimeoutMs = 10_000, answerTimeoutMs = 60_000 } = options
  const { Pool } = await loadPg()
  const sockets = new Set<Socket>()
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: answerTimeoutMs,
    fallback_application_name: 'undertext',
    keepAlive: true,
    // By default, the operating system waits two hours before it checks whether a silent server is still there.
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
    stream: () => {
      const socket = new Socket()
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
  })
  // A lost idle connection is replaced on its next use.
  pool.on('error', () => {})
  // The pool stops listening to a client that it ends, and the server may end that client at the same time.
  pool.on('connect', (client) => client.on('error', () => {}))
  const end = async (): Promise<void> => {
    await pool.end()
    // A server that no longer answers doesn't close its side, and an open socket keeps the process alive.
    setTimeout(() => sockets.forEach((socket) => void socket.destroy()), connectTimeoutMs).unref()
  }
  return { ...fromPool(pool), end }
}

const connections = new WeakMap<PoolClient, PoolConnection>()

function connectionOf(client: PoolClient): PoolConnection {
  const known = connections.get(client)
  if (known !== undefined) return known
  // The pool doesn't listen to a client in use, and an `error` event without a listener ends the process. The query fails too.
  client.on('error', ignore)
  const connection = new PoolConnection(client)
  connections.set(client, connection)
  return connection
}

/** How many times prepared statements no longer matched their tables. Older connections may still have such statements. */
let changes = 0

class PoolConnection implements PostgresConnection {
  readonly #client: PoolClient
  readonly #since = changes
  #last: Promise<unknown> | undefined

  constructor(client: PoolClient) {
    this.#client = client
  }

  get client(): PoolClient {
    return this.#client
  }

  get isStale(): boolean {
    return this.#since < changes
  }

  query(text: string, values: readonly unknown[], name?: string): Promise<PostgresResult> {
    // A client without a pipeline warns about queries that have to wait.
    if (this.#client.pipeline === true) return this.#send(text, values, name)
    const answer = (this.#last ?? Promise.resolve()).then(() => this.#send(text, values, name))
    this.#last = answer.catch(ignore)
    return answer
  }

  release(isBroken: boolean): void {
    this.#client.release(isBroken || this.isStale)
  }

  #send(text: string, values: readonly unknown[], name: string | undefined): Promise<PostgresResult> {
    return new Promise((resolve, reject) => {
      this.#client.query(
        new Query(text, values, name, (error, result) => {
          if (result !== undefined) {
            resolve({ rows: result.rows, count: result.rowCount ?? result.rows.length })
            return
          }
          if (isStalePlan(error) && !this.isStale) changes++
          reject(error)
        }),
      )
    })
  }
}

/** Statements of migrations, which get the longest timeout: they may be slow, or wait for the migration of another process. */
const UNLIMITED = /^(?:create|alter|drop|select pg_advisory_xact_lock)\b/i
const MAX_TIMEOUT_MS = 2 ** 31 - 1

type Answered = (
  error: Error | undefined,
  result: { readonly rows: unknown[][]; readonly rowCount: number | null } | undefined,
) => void

/** A statement for `pg`. `rowMode` and `types` are on the prototype, because `pg` copies the own properties of every statement. */
class Query {
  declare readonly rowMode: 'array'
  declare readonly types: typeof TYPES
  readonly text: string
  readonly values: readonly unknown[]
  readonly name: string | undefined
  declare query_timeout: number | undefined
  readonly callback: Answered

  constructor(text: string, values: readonly unknown[], name: string | undefined, callback: Answered) {
    this.text = text
    this.values = values
    this.name = name
    if (UNLIMITED.test(text)) this.query_timeout = MAX_TIMEOUT_MS
    this.callback = callback
  }
}

/** The last transaction that waits for each PGlite instance, shared by all of its drivers. */
const turns = new WeakMap<Pglite, Promise<void>>()

async function queryPglite(
  instance: Pglite,
  text: string,
  values: readonly unknown[],
): Promise<PostgresResult> {
  const { rows, affectedRows } = await instance.query(text, [...values], {
    rowMode: 'array',
    parsers: PARSERS,
  })
  return { rows: rows as unknown[][], count: affectedRows || rows.length }
}

function ignore(): void {}

function bytesOf(value: string): Uint8Array {
  if (value.startsWith('\\x')) return Buffer.from(value.slice(2), 'hex')
  throw new UndertextError('CONNECTION_UNSUITABLE', {
    detail: 'its bytea_output is "escape". Set it to "hex".',
  })
}

const text = (value: string): string => value

/** The parsers of the used types, by PostgreSQL's type numbers. Booleans are 1 and 0, as in SQLite. */
const PARSERS: Record<number, (value: string) => unknown> = {
  16: (value) => (value === 't' ? 1 : 0),
  17: bytesOf,
  20: Number,
  21: Number,
  23: Number,
  25: text,
  114: text,
  700: Number,
  701: Number,
  1700: Number,
}
const TYPES = { getTypeParser: (type: number) => PARSERS[type] ?? text }
Object.assign(Query.prototype, { rowMode: 'array', types: TYPES })

type Pg = {
  readonly Pool: new (
    options: object,
  ) => Pool & {
    on(event: 'error', listener: () => void): unknown
    on(event: 'connect', listener: (client: PoolClient) => void): unknown
    end(): Promise<void>
  }
}

async function loadPg(): Promise<Pg> {
  try {
    return (await import('pg')).default as Pg
  } catch (error) {
    const detail = isNotFound(error)
      ? 'it is not installed where this program runs. Install it there: npm install pg'
      : 'it is damaged or incomplete. Remove node_modules and install the packages again.'
    throw new UndertextError('DRIVER_UNAVAILABLE', { driver: 'pg', detail }, { cause: error })
  }
}
