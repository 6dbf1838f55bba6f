import { useEffect, useRef } from 'preact/hooks'

/* Keyboard shortcuts. Components register what they do while they exist; `?` lists what is registered. */

/** A shortcut: the keys as written in the overview (`j`, `Shift+U`), what it does, and its function. */
type Shortcut = { readonly keys: string; readonly label: string; run(): void }

const registered = new Set<{ readonly group: string; shortcuts: readonly Shortcut[] }>()

/** Registers shortcuts as long as the component exists. Later components come first. */
export function useKeys(group: string, shortcuts: readonly Shortcut[]): void {
  const entry = useRef({ group, shortcuts })
  entry.current.shortcuts = shortcuts
  useEffect(() => {
    const own = entry.current
    registered.add(own)
    return () => void registered.delete(own)
  }, [])
}

/** What can be pressed now, by group. */
export const shortcutGroups = (): readonly {
  readonly group: string
  readonly shortcuts: readonly Shortcut[]
}[] => [...registered]

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  )
}

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return
  const pressed = event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key
  for (const { shortcuts } of [...registered].reverse()) {
    const found = shortcuts.find(({ keys }) => keys.split(' / ').includes(pressed))
    if (found === undefined) continue
    event.preventDefault()
    found.run()
    return
  }
})
