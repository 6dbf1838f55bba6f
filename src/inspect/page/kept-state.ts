import { createContext } from 'preact'
import { useContext, useState } from 'preact/hooks'

/* What a row remembers while it is scrolled out of sight: its elements are gone then. */

export const KeptState = createContext<Map<string, unknown>>(new Map())

/** Like `useState`, kept by a key as long as the conversation is open. */
export function useKept<T>(key: string, initial: T): readonly [T, (value: T) => void] {
  const kept = useContext(KeptState)
  const [, setCount] = useState(0)
  const value = kept.has(key) ? (kept.get(key) as T) : initial
  return [
    value,
    (next) => {
      kept.set(key, next)
      setCount((count) => count + 1)
    },
  ]
}
