import type { GuardProblems, Sql } from '../sql/sql.ts'
import { type Engine, storageOver } from '../sql/storage.ts'
import { complete, Done, drive, type Step, type Work } from '../sql/work.ts'
import type { Awaitable, Estimators, Storage } from '../storage.ts'
import { Connection } from './connection.ts'
import { guardProblems } from './migrate.ts'
import { clearFiles, clearFilesInTurn, finishClearing, overwriting, recordRemoval } from './residue.ts'

/** A connection, with the verbs' calls that concern the whole file. */
export class SqliteSql extends Connection implements Sql {
  erase<T>(verb: string, work: () => Work<T>): Done<T> {
    const removing = (): T =>
      this.writing(verb, () => {
        const result = complete(work())
        recordRemoval(this)
        return result
      })
    return new Done(this.bare(verb, () => overwriting(this, removing)))
  }

  clearFiles(how?: 'often'): Done<boolean> {
    return new Done(how === 'often' ? clearFilesInTurn(this) : clearFiles(this))
  }

  guardProblems(): Done<GuardProblems> {
    return new Done(guardProblems(this))
  }
}

type Synchronous<T> = {
  readonly [K in keyof T]: T[K] extends (...parameters: infer P) => Awaitable<infer R>
    ? (...parameters: P) => R
    : Synchronous<T[K]>
}

/** A storage whose verbs return synchronously, except for the indexing of long texts. */
export type SqliteStorage = Synchronous<Omit<Storage, 'searching' | 'redaction'>> &
  Pick<Storage, 'searching' | 'redaction'>

/** Implements `Storage` over a connection to SQLite. */
export function sqliteStorage(connection: SqliteSql, estimators: Estimators): SqliteStorage {
  connection.estimators = estimators
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
  const storage = storageOver(engine) as SqliteStorage
  return {
    ...storage,
    verify: (id, repair) => {
      finishClearing(connection, 'sessions.verify')
      return storage.verify(id, repair)
    },
  }
}

/** Runs a verb, which may wait outside of its transactions. */
function performed<T>(work: Step<T>): Awaitable<T> {
  const rest = work[Symbol.iterator]()
  const first = rest.next()
  return first.done === true ? first.value : drive(rest, first)
}
