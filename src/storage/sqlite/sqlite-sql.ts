import type { GuardProblems, Sql } from '../sql/sql.ts'
import { complete, Done, type Work } from '../sql/work.ts'
import { Connection } from './connection.ts'
import { guardProblems } from './migrate.ts'
import { clearFiles, clearFilesInTurn, overwriting, recordRemoval } from './residue.ts'

/** A connection with the calls of the verbs that concern the whole file. */
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
