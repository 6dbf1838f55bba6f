import type { ExpandedRow, ExpandedSummary } from '../../core/model/expansion.ts'
import { useCall } from './api.ts'
import { Fold } from './fold.tsx'
import { change, counted, short, whole } from './format.ts'
import { useKept } from './kept-state.ts'
import { MessageParts, type PartsContext } from './message-parts.tsx'
import { sessionLink } from './router.ts'
import { lineOf } from './row-line.ts'
import { Show } from './ui.tsx'

const PAGE = 20
const NONE: ReadonlySet<number> = new Set()
const NO_RESULTS = new Map()

/** What a summary replaces, level by level; each level is read when it is opened. */
export function SummarySources({ id, context }: { readonly id: string; readonly context: PartsContext }) {
  const expanded = useCall('messages.expand', [context.sessionId, id, { depth: 1 }])
  return (
    <Show of={expanded} lines={3}>
      {(summary) => (
        <>
          <Figures summary={summary} />
          <Children summary={summary} context={context} />
        </>
      )}
    </Show>
  )
}

/** The tokens of a summary beside those of what it replaces. */
function Figures({ summary }: { readonly summary: ExpandedSummary }) {
  const { tokens, sourceTokens, messages, level } = summary
  return (
    <p class="figures">
      <b>{whole(sourceTokens)}</b> tokens in {counted(messages, 'message')} → <b>{whole(tokens)}</b> in this{' '}
      {summary.kind}
      <span class="dim">
        {' '}
        {change(tokens - sourceTokens)}
        {level > 1 && ` · ${counted(level, 'level')}`}
      </span>
    </p>
  )
}

function Children({
  summary,
  context,
}: {
  readonly summary: ExpandedSummary
  readonly context: PartsContext
}) {
  const { children = [] } = summary
  const [count, setCount] = useKept(`${summary.id} children`, PAGE)
  return (
    <>
      <ol class="sources">
        {children.slice(0, count).map((row) => (
          <li key={row.id}>
            <Source row={row} context={context} />
          </li>
        ))}
      </ol>
      {children.length > count && (
        <button type="button" class="link more" onClick={() => setCount(count + 4 * PAGE)}>
          Show more of {counted(children.length, 'row')}
        </button>
      )}
    </>
  )
}

function Source({ row, context }: { readonly row: ExpandedRow; readonly context: PartsContext }) {
  const [from, to] = row.positions
  const place = from === to ? whole(from) : `${whole(from)}–${whole(to)}`
  return (
    <Fold
      id={`source ${row.id}`}
      look="source"
      label={
        <>
          <span class="row-place">{place}</span>
          <span class={`row-role role-${row.role}`}>{row.kind === 'message' ? row.role : row.kind}</span>
          <span class="source-text">{lineOf(row.content)}</span>
        </>
      }
      note={
        row.kind === 'message'
          ? `${short(row.tokens)} tokens`
          : `${short(row.sourceTokens)} → ${short(row.tokens)} tokens`
      }
    >
      {() => (
        <>
          <MessageParts
            row={{ ...row, hidden: true }}
            results={NO_RESULTS}
            absorbed={NONE}
            context={context}
          />
          {row.kind === 'message' ? (
            <a class="small" href={sessionLink(context.sessionId, 'conversation', { message: from })}>
              Show message {whole(from)} in its place
            </a>
          ) : (
            <Fold id={`nested ${row.id}`} label={`What this ${row.kind} replaces`}>
              {() => <SummarySources id={row.id} context={context} />}
            </Fold>
          )}
        </>
      )}
    </Fold>
  )
}
