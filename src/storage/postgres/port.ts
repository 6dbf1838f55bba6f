/*
 * What undertext needs of a driver of PostgreSQL: four functions. `fromPool` (pg), `fromPglite` and `fromUrl` make one; for another
 * driver an application writes these four.
 */

/** A pool of connections to one database. */
export interface PostgresDriver {
  /** Takes a connection that no one else uses until it is released. */
  acquire(): Promise<PostgresConnection>
  /** Closes all connections. */
  end(): Promise<void>
}

/** A connection that was taken from the pool. */
export interface PostgresConnection {
  /**
   * Runs one statement with values for `$1`, `$2` …: numbers, texts, bytes and null. A statement with a name is prepared once per
   * connection. Calls are run in the order in which they are made; a driver that can sends the next one before the answer to the last
   * has come. Errors have the server's five-character code as `code`.
   */
  query(text: string, values: readonly unknown[], name?: string): Promise<PostgresResult>
  /** Returns the connection to the pool, or closes a broken one. */
  release(isBroken: boolean): void
}

/** The result of a statement. */
export type PostgresResult = {
  /** Rows as arrays, in the order of the columns. 64-bit integers are numbers: all of ours are below 2^53. Bytes are `Uint8Array`, truth values 1 and 0. */
  readonly rows: readonly (readonly unknown[])[]
  /** Changed or returned rows. */
  readonly count: number
}
