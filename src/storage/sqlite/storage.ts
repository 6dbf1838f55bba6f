import { type Engine, storageOver } from '../sql/storage.ts'
import { drive, type Work } from '../sql/work.ts'
import type { Awaitable, Estimators, Storage } from '../storage.ts'
import { finishClearing } from './residue.ts'
import type { SqliteSql } from './sqlite-sql.ts'

/** Verbs that return at once. */
type Synchronous<T> = {
  readonly [K in keyof T]: T[K] extends (...parameters: infer P) => Awaitable<infer R>
    ? (...parameters: P) => R
    : Synchronous<T[K]>
}

/** A storage whose verbs return at once, except for the index of long texts. */
export type SqliteStorage = Synchronous<Omit<Storage, 'searching'>> & Pick<Storage, 'searching'>

/** `Storage` over a connection to SQLite. */
export function sqliteStorage(connection: SqliteSql, estimators: Estimators): SqliteStorage {
  const engine: Engine = {
    perform: (work) => performed(work(connection)),
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

/** Runs a verb: outside of its transactions it may wait. */
function performed<T>(work: Work<T>): Awaitable<T> {
  const step = work.next()
  return step.done === true ? step.value : drive(work, step)
}
