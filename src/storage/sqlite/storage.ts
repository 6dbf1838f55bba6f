import { complete } from '../../model/work.ts'
import { type Engine, storageOver } from '../sql/storage.ts'
import type { Awaitable, Estimators, Storage } from '../storage.ts'
import { finishClearing } from './residue.ts'
import type { SqliteSql } from './sqlite-sql.ts'

/** A storage whose verbs return at once. */
type Synchronous<T> = {
  readonly [K in keyof T]: T[K] extends (...parameters: infer P) => Awaitable<infer R>
    ? (...parameters: P) => R
    : Synchronous<T[K]>
}

export type SqliteStorage = Synchronous<Storage>

/** `Storage` over a connection to SQLite. */
export function sqliteStorage(connection: SqliteSql, estimators: Estimators): SqliteStorage {
  const engine: Engine = {
    perform: (work) => complete(work(connection)),
    close: () => {
      try {
        finishClearing(connection, 'close')
      } finally {
        connection.close()
      }
    },
  }
  const storage = storageOver(engine, estimators) as SqliteStorage
  return {
    ...storage,
    verify: (id, repair) => {
      finishClearing(connection, 'verifySession')
      return storage.verify(id, repair)
    },
  }
}
