import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { whole } from './format.ts'
import { sessionLink } from './router.ts'
import { lineOf } from './row-line.ts'
import './row-list.css'

/* Rows of a session in one line each. */

/** A row as a line. */
export type LineRow = {
  readonly key: string
  /** Absent on summaries and markers. */
  readonly position?: number
  readonly role: string
  readonly kind?: 'message' | 'summary' | 'marker'
  /** Absent while it is read. */
  readonly content?: unknown
  /** A sign before the row: what happened to it. */
  readonly sign?: {
    readonly text: string
    readonly look: 'added' | 'removed' | 'changed'
    readonly label: string
  }
  /** What follows the text. */
  readonly note?: ComponentChildren
}

export function RowLine({ sessionId, row }: { readonly sessionId: string; readonly row: LineRow }) {
  const { position, role, kind = 'message', content, sign, note } = row
  return (
    <li class={`brief-line ${sign === undefined ? '' : `brief-${sign.look}`}`}>
      {sign !== undefined && (
        <span class="brief-sign" role="img" aria-label={sign.label} title={sign.label}>
          {sign.text}
        </span>
      )}
      {position === undefined ? (
        <span class="brief-position dim" />
      ) : (
        <a
          class="brief-position"
          href={sessionLink(sessionId, 'conversation', { message: position })}
          title={`Message ${position} in the conversation`}
        >
          {position}
        </a>
      )}
      <span class="brief-role">{kind === 'message' ? role : kind}</span>
      <span class="brief-text" title={content === undefined ? undefined : lineOf(content)}>
        {content === undefined ? <span class="dim">…</span> : lineOf(content)}
      </span>
      {note !== undefined && <span class="brief-note">{note}</span>}
    </li>
  )
}

const PAGE = 50

/** A list that grows by pages. `children` makes the rows of the first `count`. */
export function PagedRows({
  total,
  label,
  page = PAGE,
  children,
}: {
  readonly total: number
  readonly label: string
  readonly page?: number
  children(count: number): ComponentChildren
}) {
  const [count, setCount] = useState(page)
  const shown = Math.min(count, total)
  return (
    <>
      <ol class="brief-list" aria-label={label}>
        {children(shown)}
      </ol>
      {shown < total && (
        <p class="brief-more">
          <button type="button" onClick={() => setCount(count + 4 * page)}>
            Show more
          </button>
          <span class="dim">
            {whole(shown)} of {whole(total)}
          </span>
        </p>
      )}
    </>
  )
}
