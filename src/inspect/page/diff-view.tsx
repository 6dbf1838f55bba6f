import { useKept } from './kept-state.ts'
import type { FileEdit } from './tool-edits.ts'

const SIGNS = { added: '+', removed: '−', same: ' ', gap: '⋯' } as const
const MAX_LINES = 40

/** The change of a file as lines, with their signs as text. */
export function DiffView({ edit, id }: { readonly edit: FileEdit; readonly id: string }) {
  const { path, lines, added, removed } = edit
  const [isWhole, setWhole] = useKept(`${id} diff`, false)
  const shown = isWhole || lines.length <= MAX_LINES + 5 ? lines : lines.slice(0, MAX_LINES)
  return (
    <figure class="diff">
      <figcaption>
        <span class="diff-path" title={path}>
          {path ?? 'Edit'}
        </span>
        <span class="good-text">+{added}</span> <span class="bad-text">−{removed}</span>
      </figcaption>
      <div class="diff-lines" dir="ltr">
        {shown.map(({ kind, text }, at) => (
          <div key={at} class={`diff-${kind}`}>
            <span class="diff-sign">{SIGNS[kind]}</span>
            <span class="diff-text">{text === '' ? ' ' : text}</span>
          </div>
        ))}
      </div>
      {shown.length < lines.length && (
        <button type="button" class="link more" onClick={() => setWhole(true)}>
          Show all {lines.length} lines
        </button>
      )}
    </figure>
  )
}
