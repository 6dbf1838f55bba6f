import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { AuditEntry } from '../../storage/storage.ts'
import type { RecordedRequest } from '../../store/requests/recorded.ts'
import { asCallError, type CallError, call } from './api.ts'
import { keptPages } from './recorded-requests.ts'

/* Whole lists that the store returns in pages, oldest first. They grow at the end, so only their last part is read again. */

const PAGE = 500
/** The newest requests may get the positions of their answer later. */
const OVERLAP = 20

export type Growing<T> = {
  readonly items: readonly T[]
  readonly isDone: boolean
  readonly error: CallError | undefined
  reload(): void
}

/** The recorded requests of a session, oldest first. */
export function useRequests(sessionId: string, version: string): Growing<RecordedRequest> {
  return useGrowing(sessionId, version, OVERLAP, (last, signal) =>
    call('requests.list', [sessionId, { limit: PAGE, ...(last && { after: last.id }) }], { signal }),
  )
}

/** The audit of a session, oldest first. */
export function useAudit(sessionId: string, version: string): Growing<AuditEntry> {
  return useGrowing(sessionId, version, 0, (last, signal) =>
    call('sessions.audit', [sessionId, { limit: PAGE, ...(last && { after: last.no }) }], { signal }),
  )
}

function useGrowing<T>(
  key: string,
  version: string,
  overlap: number,
  load: (last: T | undefined, signal: AbortSignal) => Promise<readonly T[]>,
): Growing<T> {
  const [state, setState] = useState<{
    key: string
    items: readonly T[]
    isDone: boolean
    error?: CallError
  }>({ key, items: [], isDone: false })
  const [repeats, setRepeats] = useState(0)
  const latest = useRef(state)
  const shown = state.key === key ? state : { key, items: [], isDone: false }
  latest.current = shown
  useEffect(() => {
    const abort = new AbortController()
    const { items: known, isDone } = latest.current
    const read = async (): Promise<void> => {
      let items = keptPages(known, overlap)
      for (;;) {
        const page = await load(items.at(-1), abort.signal)
        if (abort.signal.aborted) return
        items = [...items, ...page]
        const isLast = page.length < PAGE
        // A list that was complete stays until the new one is.
        if (isLast || !isDone) setState({ key, items, isDone: isLast })
        if (isLast) return
      }
    }
    read().catch((error) => {
      if (!abort.signal.aborted) setState({ key, items: [], isDone: true, error: asCallError(error) })
    })
    return () => abort.abort()
  }, [key, version, repeats])
  const reload = useCallback(() => setRepeats((count) => count + 1), [])
  return {
    items: shown.items,
    isDone: shown.isDone,
    error: 'error' in shown ? shown.error : undefined,
    reload,
  }
}
