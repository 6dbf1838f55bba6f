import { useEffect, useRef, useState } from 'preact/hooks'

/** The width of an element in pixels; 0 before it is laid out. */
export function useWidth<E extends HTMLElement>(): readonly [{ current: E | null }, number] {
  const element = useRef<E>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const { current } = element
    if (current === null) return
    setWidth(current.clientWidth)
    const observer = new ResizeObserver(() => setWidth(current.clientWidth))
    observer.observe(current)
    return () => observer.disconnect()
  }, [])
  return [element, width]
}

/** A value once it hasn't changed for a while. Values are compared as JSON. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  const key = JSON.stringify(value)
  useEffect(() => {
    if (key === JSON.stringify(settled)) return
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [key, settled])
  return settled
}

/** The last value that was loaded: it stays on the page while the next one is read. */
export function useLast<T>(value: T | undefined): T | undefined {
  const last = useRef(value)
  if (value !== undefined) last.current = value
  return last.current
}
