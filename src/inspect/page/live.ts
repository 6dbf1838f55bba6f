import { useEffect, useState } from 'preact/hooks'
import type { LiveState } from '../verbs.ts'
import { ownerOfPage } from './router.ts'

/** The state of the store and of a session, also if another process changed it; `connected` is false while the server doesn't answer. */
export type Live = {
  readonly state: LiveState | undefined
  readonly connected: boolean
  /** Changes with the session: pass it to `useCall` as the version. */
  readonly version: string
  /** The last event of a compaction that runs in the server's process. */
  readonly progress: Progress | undefined
}

/** The events `compaction` of the store, as far as the page shows them. */
export type Progress = {
  readonly sessionId: string
  readonly runId: string
  readonly phase: string
  readonly stage?: string
  readonly percent?: number
  readonly tokensBefore?: number
  readonly tokensAfter?: number
  readonly targetTokens?: number
}

/** The event of the window when the server answers, also again. */
export const CONNECTED = 'undertext-connected'

/** Listens to the server as long as the component exists. */
export function useLive(sessionId?: string): Live {
  const [state, setState] = useState<LiveState>()
  const [connected, setConnected] = useState(true)
  const [progress, setProgress] = useState<Progress>()
  useEffect(() => {
    setState(undefined)
    setProgress(undefined)
    const owner = ownerOfPage()
    const query =
      sessionId === undefined
        ? ''
        : `?${new URLSearchParams({ session: sessionId, ...(owner && { owner }) })}`
    let source: EventSource | undefined
    const listen = (): void => {
      source?.close()
      source = undefined
      // Browsers open six connections to a host, for all tabs together. A hidden tab reads the state again when it is shown.
      if (document.visibilityState === 'hidden') return
      source = new EventSource(`events${query}`)
      source.addEventListener('open', () => {
        setConnected(true)
        dispatchEvent(new Event(CONNECTED))
      })
      source.addEventListener('error', () => setConnected(false))
      source.addEventListener('state', (event) => setState(JSON.parse(event.data)))
      source.addEventListener('progress', (event) => setProgress(JSON.parse(event.data)))
    }
    listen()
    document.addEventListener('visibilitychange', listen)
    return () => {
      document.removeEventListener('visibilitychange', listen)
      source?.close()
    }
  }, [sessionId])
  return { state, connected, version: versionOf(state, sessionId), progress }
}

function versionOf(state: LiveState | undefined, sessionId: string | undefined): string {
  if (state === undefined) return ''
  if (sessionId === undefined) return state.newest ?? ''
  const { session } = state
  if (!session) return ''
  const { version, viewEpoch, messageCount, auditNo, newestRequest } = session
  return [version, viewEpoch, messageCount, auditNo, newestRequest].join()
}
