import { UndertextError } from '../../core/errors.ts'
import { listIn } from '../../core/messages/json.ts'
import { type Part, partsOf } from '../../core/messages/message.ts'
import { overlaid } from '../../core/messages/overlay.ts'
import type { PlannedInsert, PlannedReplacement } from '../../core/model/plan.ts'
import type { ViewRow } from '../../core/model/view-row.ts'
import { namedBy } from '../../core/summarizers/extractive/speakers.ts'
import type { CommitStep, Snapshot, Storage } from '../../storage/storage.ts'
import type { RunConfig } from '../config/run-config.ts'
import type { SummarySource } from './summary-chunks.ts'

/** The part of a storage that planning reads, besides the snapshot. */
export type ContentReader = Pick<Storage, 'contents' | 'metadata' | 'shownTexts' | 'redaction'>

/** Number of rows whose contents are read at once. */
export const PAGE_ROWS = 500

type SourceInput = {
  readonly storage: ContentReader
  readonly snapshot: Snapshot
  readonly config: Pick<RunConfig, 'signal'>
}

/** Reads the rows of a run as they are stored, and as the view shows them after the steps so far. */
export class RowSources {
  readonly #in: SourceInput
  readonly #steps: readonly CommitStep[]

  constructor(input: SourceInput, steps: readonly CommitStep[]) {
    this.#in = input
    this.#steps = steps
  }

  throwIfAborted(): void {
    const { config, snapshot } = this.#in
    if (config.signal?.aborted) throw new UndertextError('ABORTED', { sessionId: snapshot.session.id })
  }

  /** Returns the rows as they are stored, and as the view shows them after the steps so far. */
  async all(rows: readonly ViewRow[]): Promise<SummarySource[]> {
    const sources: SummarySource[] = []
    await this.read(rows, (source) => sources.push(source))
    return sources
  }

  /** Passes the same rows on one by one, read in pages, so that memory doesn't grow with the rows unless the caller keeps them. */
  async read(rows: readonly ViewRow[], use: (source: SummarySource, row: ViewRow) => unknown): Promise<void> {
    const planned = new Map<number, PlannedReplacement[]>()
    for (const { plan } of this.#steps) {
      for (const replacement of plan.replace) listIn(planned, replacement.row.key).push(replacement)
    }
    for (let from = 0; from < rows.length; from += PAGE_ROWS) {
      this.throwIfAborted()
      const page = rows.slice(from, from + PAGE_ROWS)
      for (const [i, source] of (await this.#pageOf(page, planned)).entries()) use(source, page[i]!)
    }
  }

  async #pageOf(
    rows: readonly ViewRow[],
    planned: ReadonlyMap<number, readonly PlannedReplacement[]>,
  ): Promise<readonly SummarySource[]> {
    const stored = rows.filter(({ key }) => key > 0)
    const { storage, snapshot } = this.#in
    const { id } = snapshot.session
    const [contents, metadata, shownTexts] = await Promise.all([
      storage.contents(id, keysOf(stored)),
      storage.metadata(id, keysOf(stored.filter(({ kind, role }) => kind === 'summary' || role !== 'tool'))),
      storage.shownTexts(id, keysOf(rows.filter(({ shown }) => shown.length > 0))),
    ])
    return rows.map((row) => {
      const insert = this.insertOf(row.key)
      const content = contents.get(row.key) ?? partsOf({ content: insert?.text ?? [] })
      const known = metadata.get(row.key) ?? insert?.metadata
      const message = { role: row.role, ...(row.kind === 'message' && namedBy(known)) }
      const original = { ...message, content }
      const texts = new Map(shownTexts.get(row.key))
      for (const { part, text } of planned.get(row.key) ?? []) texts.set(part, text)
      const show = (part: Part, index: number): Part => {
        const text = texts.get(index)
        return text === undefined ? part : overlaid(part, text)
      }
      return {
        kind: row.kind,
        shown: texts.size === 0 ? original : { ...message, content: content.map(show) },
        original,
        metadata: row.kind === 'summary' ? known : undefined,
        position: row.position,
      }
    })
  }

  insertOf(key: number): PlannedInsert | undefined {
    return key > 0 ? undefined : this.#steps.find(({ inserted }) => inserted?.key === key)?.plan.insert
  }
}

function keysOf(rows: readonly ViewRow[]): number[] {
  return rows.map(({ key }) => key)
}
