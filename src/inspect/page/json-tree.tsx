import { useKept } from './kept-state.ts'

/** Entries of an object or a list that are shown at first. */
const MAX_ENTRIES = 50

/** JSON as a tree: what is nested deeply opens with a click. Texts are text, so the browser's search finds them. */
export function JsonTree({
  value,
  id,
  depth = 0,
}: {
  readonly value: unknown
  readonly id: string
  readonly depth?: number
}) {
  const [open, setOpen] = useKept<boolean>(`${id} open`, depth < 2)
  const [count, setCount] = useKept(`${id} count`, MAX_ENTRIES)
  if (typeof value !== 'object' || value === null) return <Scalar value={value} />
  const isList = Array.isArray(value)
  const entries = isList ? value.map((one, at) => [String(at), one] as const) : Object.entries(value)
  if (entries.length === 0) return <span class="dim">{isList ? '[]' : '{}'}</span>
  if (!open)
    return (
      <button type="button" class="link" aria-expanded={false} onClick={() => setOpen(true)}>
        {isList ? `[ ${entries.length} ]` : `{ ${entries.length} }`}
      </button>
    )
  return (
    <>
      {depth > 1 && (
        <button type="button" class="link dim" aria-expanded={true} onClick={() => setOpen(false)}>
          close
        </button>
      )}
      <dl class="json">
        {entries.slice(0, count).map(([name, one]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <JsonTree value={one} id={`${id}/${name}`} depth={depth + 1} />
            </dd>
          </div>
        ))}
      </dl>
      {entries.length > count && (
        <button type="button" class="link" onClick={() => setCount(count + 4 * MAX_ENTRIES)}>
          {entries.length - count} more
        </button>
      )}
    </>
  )
}

function Scalar({ value }: { readonly value: unknown }) {
  if (typeof value === 'string')
    return (
      <span class="json-text" dir="auto">
        {value === '' ? <span class="dim">empty text</span> : value}
      </span>
    )
  return <span class="json-value">{String(value)}</span>
}
