import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { isCall, isResult, partsOf, type StoredMessage } from '../../core/messages/message.ts'
import { call } from './api.ts'
import type { placeOf } from './conversation-items.ts'
import { PAGE_SIZE, pageOf } from './conversation-rows.ts'
import { attempt } from './ui.tsx'

/* Roles and tools of rows, for the filters: they are known of rows that were read, so a filter reads the log from its end. */

/** What a filter selects; an empty text selects everything. */
export type Wanted = { readonly role: string; readonly tool: string }

type RowFacts = { readonly role: string; readonly tools: readonly string[] }

/** Returns the role of a row as a filter knows it, and the names of the tools in it. */
function factsOf(row: Pick<StoredMessage, 'role' | 'kind' | 'content'>): RowFacts {
  const tools = partsOf(row).flatMap((part) =>
    isCall(part) ? [part.toolName] : isResult(part) && part.toolName !== undefined ? [part.toolName] : [],
  )
  const onlyResults = row.role === 'user' && partsOf(row).every(isResult) && partsOf(row).length > 0
  return {
    role: row.kind !== 'message' ? row.kind : onlyResults ? 'tool' : row.role,
    tools: [...new Set(tools)],
  }
}

export function isWanted({ role, tools }: RowFacts, wanted: Wanted): boolean {
  const tool = wanted.tool.trim().toLowerCase()
  return (
    (wanted.role === '' || wanted.role === role) &&
    (tool === '' || tools.some((name) => name.toLowerCase().includes(tool)))
  )
}

type FilterItem = Parameters<typeof placeOf>[0]

type Scan = {
  /** Selects the rows that are known to match; undefined without a filter. */
  readonly matches: ((item: FilterItem) => boolean) | undefined
  /** How much of the log was read, from 0 to 1. */
  readonly share: number
  /** Changes when more is known. */
  readonly revision: number
  readonly toolNames: readonly string[]
}

const MAX_NAMES = 100

function namesIn(facts: Iterable<RowFacts>): string[] {
  const names = new Set<string>()
  for (const { tools } of facts) for (const tool of tools) if (names.size < MAX_NAMES) names.add(tool)
  return [...names].sort()
}

/** Pages between two updates of the list. */
const PAGES_PER_UPDATE = 5

/** Reads the log from its end while a filter is set, and keeps roles and tools of what it read. */
export function useScan(sessionId: string, messageCount: number, wanted: Wanted): Scan {
  const known = useRef(new Map<number | string, RowFacts>())
  const readPages = useRef(new Map<number, number>())
  const [revision, setRevision] = useState(0)
  const isActive = wanted.role !== '' || wanted.tool.trim() !== ''
  useEffect(() => {
    if (!isActive) return
    let stopped = false
    const scan = async (): Promise<void> => {
      let unseen = 0
      for (let page = pageOf(messageCount); page >= 0 && !stopped; page--) {
        // The last page grows.
        const rowsOfPage = Math.min(PAGE_SIZE, messageCount - page * PAGE_SIZE)
        if (readPages.current.get(page) === rowsOfPage) continue
        const read = await call('getMessages', [sessionId, { after: page * PAGE_SIZE, limit: PAGE_SIZE }])
        for (const row of read) known.current.set(row.position ?? row.id, factsOf(row))
        readPages.current.set(page, rowsOfPage)
        if (++unseen % PAGES_PER_UPDATE === 1 && !stopped) setRevision((count) => count + 1)
      }
    }
    void attempt(scan).then(() => {
      if (!stopped) setRevision((count) => count + 1)
    })
    return () => {
      stopped = true
    }
  }, [sessionId, messageCount, isActive])
  const pages = pageOf(messageCount) + 1
  const toolNames = useMemo(() => namesIn(known.current.values()), [revision])
  return {
    matches: isActive
      ? (item) => {
          const facts = known.current.get(item.key)
          return facts !== undefined && isWanted(facts, wanted)
        }
      : undefined,
    share: Math.min(1, readPages.current.size / pages),
    revision,
    toolNames,
  }
}
