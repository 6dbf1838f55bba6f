import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { isUndertextError } from '../../../core/errors.ts'
import { type Store, storageOf } from '../../../store/store.ts'
import type { ImportReport } from '../../../transfer/import-report.ts'

type Mark = { readonly key: string; readonly value: string }

/**
 * What imports of folders have reported: marks in the store, by file, with a digest of the file's bytes and of what could not be stored of it. A file
 * that stays bad would otherwise fail every later import of its folder.
 */
export class Reported {
  readonly #store: Store
  readonly #owner: string | undefined
  #news: Mark[] = []

  constructor(store: Store, owner: string | undefined) {
    this.#store = store
    this.#owner = owner
  }

  /** Whether the same was reported of a file before. Anything else is to be kept once it was reported. */
  async knows(path: string, report: ImportReport): Promise<boolean> {
    const bad = report.conversations.filter(
      ({ status, skipped, compactions }) => status === 'refused' || skipped + compactions.refused > 0,
    )
    if (bad.length === 0) return false
    const key = `reported:${digestOf([resolve(path), this.#owner ?? null])}`
    const what = bad.map(({ sessionId, why, skipped, compactions }) => [
      sessionId,
      why ?? null,
      skipped,
      compactions.refused,
    ])
    const value = digestOf([report.digest, what])
    if ((await storageOf(this.#store).histories.mark(key)) === value) return true
    this.#news.push({ key, value })
    return false
  }

  /** Stores what was reported by now. Without it the same is reported again, so an import does not fail where marks cannot be written. */
  async keep(): Promise<void> {
    const news = this.#news
    this.#news = []
    try {
      for (const { key, value } of news) await storageOf(this.#store).histories.writeMark(key, value)
    } catch (error) {
      if (!isUndertextError(error)) throw error
    }
  }
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}
