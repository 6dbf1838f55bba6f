/*
 * The interface that undertext needs from a driver of PostgreSQL: four functions. `fromPool` (pg), `fromPglite` and `fromUrl` return a
 * driver; for any other client, an application implements these functions itself.
 */

/** A pool of connections to one database. */
export interface PostgresDriver {
  /** Takes a connection for exclusive use until it is released. */
  acquire(): Promise<PostgresConnection>
  /** Closes all connections. */
  end(): Promise<void>
}

/** A connection that was taken from the pool. */
export interface PostgresConnection {
  /** The client behind the connection, which the option `also` of `append` receives. Default: the connection. */
  readonly client?: unknown
  /**
   * Runs one statement with values for `$1`, `$2` …: numbers, texts, bytes and null. A named statement is prepared once per connection.
   * Calls run in the order in which they are made; a driver may send a statement before the previous one is answered. Errors have the
   * server's five-character code as `code`.
   */
  query(text: string, values: readonly unknown[], name?: string): Promise<PostgresResult>
  /** Returns the connection to the pool, or closes a broken one. */
  release(isBroken: boolean): void
}

/** The result of a statement. */
export type PostgresResult = {
  /**
   * Rows as arrays, in the order of the columns. 64-bit integers are numbers, because all stored integers are below 2^53. Bytes are
   * `Uint8Array`, booleans 1 and 0.
   */
  readonly rows: readonly (readonly unknown[])[]
  /** The number of changed or returned rows. */
  readonly count: number
}
