import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { StoredMessage } from '../../core/messages/message.ts'
import type { Shortened } from '../verbs.ts'
import { asCallError, type CallError, call } from './api.ts'

/* The loaded rows of a session: pages of the log, read when they are needed, and again when the session changes. */

export type LoadedRow = StoredMessage & Shortened

export const PAGE_SIZE = 100
/** Pages that are kept. Rows of a page that was dropped are read again when they are shown. */
const MAX_PAGES = 40

type Page = {
  readonly rows: ReadonlyMap<number | string, LoadedRow>
  /** The state of the session when it was read. */
  readonly version: string
}

export type ConversationRows = {
  /** A row by its position, or an inserted row by its id; undefined until it is loaded. */
  rowAt(key: number | string): LoadedRow | undefined
  /** Reads some pages, and keeps those near them. */
  need(pages: readonly number[]): void
  /** Reads one message with its whole texts. */
  readWhole(row: LoadedRow): Promise<void>
  readonly error: CallError | undefined
  retry(): void
  /** Changes when rows arrive. */
  readonly revision: number
}

export const pageOf = (position: number): number => Math.floor((Math.max(1, position) - 1) / PAGE_SIZE)

export function useConversationRows(sessionId: string, version: string): ConversationRows {
  const pages = useRef(new Map<number, Page>())
  const byId = useRef(new Map<string, LoadedRow>())
  const wholes = useRef(new Map<number | string, Pick<LoadedRow, 'content' | 'shown'>>())
  const asked = useRef(new Map<number, string>())
  const latest = useRef(version)
  const wanted = useRef<readonly number[]>([])
  const [revision, setRevision] = useState(0)
  const [error, setError] = useState<CallError>()
  latest.current = version

  const load = useCallback(
    async (page: number): Promise<void> => {
      const { current: state } = latest
      if (asked.current.get(page) === state || pages.current.get(page)?.version === state) return
      asked.current.set(page, state)
      try {
        const read: readonly LoadedRow[] = await call('getMessages', [
          sessionId,
          { after: page * PAGE_SIZE, limit: PAGE_SIZE, shown: true },
        ])
        const rows = new Map(read.map((row) => [row.position ?? row.id, row] as const))
        pages.current.set(page, { rows, version: state })
        for (const row of read) if (row.position === undefined) byId.current.set(row.id, row)
        dropFar(pages.current, byId.current, wanted.current)
        setError(undefined)
      } catch (failure) {
        setError(asCallError(failure))
      } finally {
        if (asked.current.get(page) === state) asked.current.delete(page)
        setRevision((count) => count + 1)
      }
    },
    [sessionId],
  )
  const need = useCallback(
    (needed: readonly number[]): void => {
      wanted.current = needed
      for (const page of needed) void load(page)
    },
    [load],
  )
  const retry = useCallback((): void => {
    setError(undefined)
    for (const page of wanted.current) void load(page)
  }, [load])
  useEffect(retry, [version, retry])

  const rowAt = useCallback((key: number | string): LoadedRow | undefined => {
    const row =
      typeof key === 'number' ? pages.current.get(pageOf(key))?.rows.get(key) : byId.current.get(key)
    const whole = row && wholes.current.get(key)
    if (row === undefined || whole === undefined) return row
    const { shortened: _, ...rest } = row
    return { ...rest, ...whole }
  }, [])
  const readWhole = useCallback(
    async (row: LoadedRow): Promise<void> => {
      const rows: readonly LoadedRow[] = await call(
        'getMessages',
        [sessionId, { after: (row.position ?? row.anchor) - 1, limit: 1, shown: true }],
        { whole: true },
      )
      const found = rows.find(({ id }) => id === row.id)
      if (found === undefined) return
      wholes.current.set(row.position ?? row.id, found)
      setRevision((count) => count + 1)
    },
    [sessionId],
  )
  return useMemo(
    () => ({ rowAt, need, readWhole, error, retry, revision }),
    [rowAt, need, readWhole, error, retry, revision],
  )
}

/** Drops the pages that are farthest from those that are shown. */
function dropFar(pages: Map<number, Page>, byId: Map<string, LoadedRow>, wanted: readonly number[]): void {
  if (pages.size <= MAX_PAGES) return
  const middle = ((wanted[0] ?? 0) + (wanted.at(-1) ?? 0)) / 2
  const farthest = [...pages.keys()].sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle))
  for (const page of farthest.slice(0, pages.size - MAX_PAGES)) {
    for (const key of pages.get(page)!.rows.keys()) if (typeof key === 'string') byId.delete(key)
    pages.delete(page)
  }
}
