import { useEffect, useRef, useState } from 'preact/hooks'
import type { StoredMessage } from '../../core/messages/message.ts'
import { call } from './api.ts'
import { windowsOf } from './row-windows.ts'

/** The stored rows at some positions, by id and, for messages, also by position. They appear as they are read. */
type StoredRows = {
  readonly byId: ReadonlyMap<string, StoredMessage>
  readonly byPosition: ReadonlyMap<number, StoredMessage>
}

/** Reads the rows at some positions; rows that are known aren't read again, because what is stored of them never changes. */
export function useStoredRows(sessionId: string, positions: readonly number[]): StoredRows {
  const [rows, setRows] = useState<StoredRows>({ byId: new Map(), byPosition: new Map() })
  const asked = useRef(new Set<number>())
  const key = positions.join()
  useEffect(() => {
    const missing = positions.filter((position) => !asked.current.has(position))
    if (missing.length === 0) return
    for (const position of missing) asked.current.add(position)
    for (const { after, limit } of windowsOf(missing))
      call('getMessages', [sessionId, { after, limit }]).then(
        (read) =>
          setRows((known) => ({
            byId: new Map([...known.byId, ...read.map((row) => [row.id, row] as const)]),
            byPosition: new Map([
              ...known.byPosition,
              ...read.flatMap((row) => (row.position === undefined ? [] : [[row.position, row] as const])),
            ]),
          })),
        // The list shows positions without text, and asks again the next time.
        () => {
          for (const position of missing) asked.current.delete(position)
        },
      )
  }, [sessionId, key])
  return rows
}
