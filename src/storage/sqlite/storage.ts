import type { Seen } from '../owners.ts'
import type { GuardProblems, Sql } from '../sql/sql.ts'
import { storageOver } from '../sql/storage.ts'
import { complete, Done, drive, type Step, type Work } from '../sql/work.ts'
import type { Awaitable, Estimators, Storage } from '../storage.ts'
import { backUp } from './backup.ts'
import { Connection } from './connection.ts'
import { guardProblems } from './migrate.ts'
import {
  clearFiles,
  clearFilesInTurn,
  finishClearing,
  overwriting,
  recordRemoval,
  releaseSpace,
} from './residue.ts'

/** A connection, with the verbs' calls that concern the whole file. */
export class SqliteSql extends Connection implements Sql {
  erase<T>(verb: string, work: () => Work<T>, isLater = false): Done<T> {
    const removing = (): T =>
      this.writing(verb, () => {
        const result = complete(work())
        recordRemoval(this, isLater)
        return result
      })
    return new Done(this.bare(verb, () => overwriting(this, removing)))
  }

  clearFiles(how?: 'often'): Done<boolean> {
    return new Done(how === 'often' ? clearFilesInTurn(this) : clearFiles(this))
  }

  releaseSpace(): Done<boolean> {
    return new Done(releaseSpace(this))
  }

  guardProblems(): Done<GuardProblems> {
    return new Done(guardProblems(this))
  }
}

/** The calls whose statements may name an owner, and those that only need their connection. */
const STATEMENTS = ['get', 'all', 'run', 'change', 'insert'] as const
const OTHERS = [
  ...(['enter', 'enterAlone', 'enterOwner', 'admit', 'isTaken', 'clockOffset', 'rename', 'leave'] as const),
  ...(['keyOf', 'nextNo', 'read', 'write', 'outside', 'erase', 'clearFiles', 'unguarded', 'lend'] as const),
  ...(['releaseSpace', 'isAmbiguous'] as const),
  ...(['guardProblems', 'takenColumn'] as const),
]

/** Returns a connection whose statements see the sessions of an owner, or with `null` those without an owner. */
function seenBy(connection: SqliteSql, seen: string | null): Sql {
  const { isShared, isRemote, words, planning, readonly, estimators } = connection
  const texts = seen === null ? OF_NONE : OF_OWNER
  const statement =
    (call: (typeof STATEMENTS)[number]) =>
    (text: string, ...values: unknown[]) => {
      const own = texts.get(text) ?? keepText(texts, text, seen)
      if (own === text || seen === null) return connection[call](own, ...values)
      return connection[call](own, ...values, { owner: seen })
    }
  const calls = [
    ...STATEMENTS.map((name) => [name, statement(name)]),
    ...OTHERS.map((name) => [name, connection[name].bind(connection)]),
  ]
  return {
    ...{ isShared, isRemote, words, planning, readonly, estimators, seen },
    ...(Object.fromEntries(calls) as Pick<Sql, (typeof STATEMENTS | typeof OTHERS)[number]>),
  }
}

/** Statements with the conditions of an owner, by their text. */
const OF_OWNER = new Map<string, string>()
const OF_NONE = new Map<string, string>()

function keepText(texts: Map<string, string>, text: string, seen: string | null): string {
  const is = seen === null ? 'is null' : '= @owner'
  const own = text.replace(
    /\{(?:named|seen)(?: (\w+))?\}/g,
    (_, table = 'undertext_sessions') => `${table}.owner ${is} and`,
  )
  texts.set(text, own)
  return own
}

type Synchronous<T> = {
  readonly [K in keyof T]: T[K] extends (...parameters: infer P) => Awaitable<infer R>
    ? (...parameters: P) => R
    : Synchronous<T[K]>
}

/** A storage whose verbs return synchronously, except for backups and the indexing of long texts. */
export type SqliteStorage = Synchronous<Omit<Storage, 'searching' | 'redaction' | 'backup' | 'seenBy'>> &
  Pick<Storage, 'redaction'> &
  Required<Pick<Storage, 'searching' | 'backup'>> & { seenBy(seen: string | null): SqliteStorage }

/** Implements `Storage` over a connection to SQLite. */
export function sqliteStorage(connection: SqliteSql, estimators: Estimators, seen?: Seen): SqliteStorage {
  connection.estimators = estimators
  const sql = seen === undefined ? connection : seenBy(connection, seen)
  const storage = storageOver({
    perform: (work) => performed(work(sql)),
    seenBy: (other) => sqliteStorage(connection, estimators, other),
    close: () => {
      try {
        finishClearing(connection, 'close')
      } finally {
        connection.close()
      }
    },
  }) as SqliteStorage
  return {
    ...storage,
    backup: (request) => backUp(connection, request),
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
