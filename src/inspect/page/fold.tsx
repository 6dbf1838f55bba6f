import type { ComponentChildren } from 'preact'
import { useKept } from './kept-state.ts'

/** A line that opens what is beneath it. Its state is kept while the row is out of sight. */
export function Fold({
  id,
  label,
  note,
  isOpen = false,
  look = '',
  children,
}: {
  readonly id: string
  readonly label: ComponentChildren
  readonly note?: ComponentChildren
  readonly isOpen?: boolean
  readonly look?: string
  children(): ComponentChildren
}) {
  const [open, setOpen] = useKept(id, isOpen)
  return (
    <div class={`fold-box ${look}`}>
      <button type="button" class="fold-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="fold-sign" aria-hidden="true">
          {open ? '▾' : '▸'}
        </span>
        <span class="fold-label">{label}</span>
        {note !== undefined && <span class="fold-note dim">{note}</span>}
      </button>
      {open && <div class="fold-body">{children()}</div>}
    </div>
  )
}
