import { isSilent, partsOf, textsOf } from '../../core/messages/message.ts'
import type { Compaction, Session } from '../../storage/storage.ts'
import { canChange, fork, hide, rewindTo, setPin } from './actions.tsx'
import { undoOrRedo } from './compaction-actions.tsx'
import { kindWords, triggerWords } from './compaction-runs.ts'
import type { ConversationRows, LoadedRow } from './conversation-rows.ts'
import { Fold } from './fold.tsx'
import { bytes, counted, money, short, time, whole } from './format.ts'
import { hiderOf } from './log-groups.ts'
import { MessageParts, type PartsContext } from './message-parts.tsx'
import { pure } from './pure.ts'
import { go, sessionLink } from './router.ts'
import { SummarySources } from './summary-sources.tsx'
import { absorbedParts, resultsOf } from './tool-pairs.ts'
import { attempt, Badge, copy, Menu, Time } from './ui.tsx'

/** What rows share. */
export type RowContext = PartsContext & {
  readonly messageCount: number
  readonly compactions: readonly Compaction[]
  readonly forksAt: ReadonlyMap<number, readonly Session[]>
}

type RowProps = {
  readonly row: LoadedRow
  readonly rows: ConversationRows
  readonly hiddenBy: string | undefined
  readonly context: RowContext
}

/** A stored row: its head, what hides it, its parts. */
export const ConversationRow = pure(function Row({ row, rows, hiddenBy, context }: RowProps) {
  const { forksAt } = context
  const rowAt = (position: number): LoadedRow | undefined => rows.rowAt(position)
  const absorbed = absorbedParts(row, rowAt).parts
  const parts = partsOf(row)
  const forks = row.position === undefined ? undefined : forksAt.get(row.position)
  // Everything of it is in the card of an earlier row.
  if (absorbed.size > 0 && absorbed.size === parts.length) return <Forks forks={forks} at={row.position} />
  if (isSilent(row)) return <Bookkeeping row={row} context={context} />
  return (
    <>
      <RowHead row={row} context={context} />
      {row.kind !== 'message' && <WrittenBy row={row} context={context} />}
      {row.hidden && <HiddenBy id={hiddenBy} row={row} context={context} />}
      <div class="row-body">
        <MessageParts row={row} results={resultsOf(row, rowAt)} absorbed={absorbed} context={context} />
        {row.shortened !== undefined && (
          <button type="button" class="link more" onClick={() => void attempt(() => rows.readWhole(row))}>
            Show the whole message ({bytes(row.shortened)} more)
          </button>
        )}
        {row.kind === 'summary' && (
          <Fold id={`${row.id} sources`} look="opens" label="What this summary replaces">
            {() => <SummarySources id={row.id} context={context} />}
          </Fold>
        )}
      </div>
      <Forks forks={forks} at={row.position} />
    </>
  )
})

const isAnswer = (row: LoadedRow): boolean => row.role === 'assistant' && row.kind === 'message'

/** The address of the request that a row answers. */
export const requestLink = (sessionId: string, row: LoadedRow): string =>
  sessionLink(sessionId, 'requests', { answer: row.position })

function RowHead({ row, context }: { readonly row: LoadedRow; readonly context: RowContext }) {
  const { sessionId } = context
  const { position, role, kind, pinned } = row
  const model = modelOf(row.metadata)
  const speaker = speakerOf(row.metadata)
  return (
    <header class="row-head">
      {position === undefined ? (
        <span class="row-place" title={`After message ${row.anchor}`}>
          ≤ {whole(row.anchor)}
        </span>
      ) : (
        <a
          class="row-place"
          href={sessionLink(sessionId, 'conversation', { message: position })}
          title="Link to this message"
        >
          {whole(position)}
        </a>
      )}
      <span class={`row-role role-${kind === 'message' ? role : kind}`}>
        {kind === 'message' ? role : kind}
      </span>
      {speaker !== undefined && <span class="row-model">{speaker}</span>}
      {pinned && (
        <Badge kind="accent" title="Compactions keep it">
          <span aria-hidden="true">⚑ </span>pinned
        </Badge>
      )}
      {row.copiedFrom !== undefined && (
        <span class="dim small wide-only" title={`Copied from ${row.copiedFrom.sessionId}`}>
          copied
        </span>
      )}
      {model !== undefined && <span class="dim small row-model">{model}</span>}
      <span class="spring" />
      <span class="dim small nowrap">
        <Time at={row.createdAt} />
      </span>
      {isAnswer(row) && (
        <a
          class="saw-link"
          href={requestLink(sessionId, row)}
          aria-label="What the model saw"
          title="What the model saw (w)"
        >
          <span class="saw-long">What the model saw</span>
          <span class="saw-short">Saw</span>
        </a>
      )}
      <RowMenu row={row} context={context} />
    </header>
  )
}

/** The name of a speaker in a message of the OpenAI form. */
function speakerOf(metadata: LoadedRow['metadata']): string | undefined {
  const { name } = (metadata?.openai ?? {}) as { readonly name?: unknown }
  return typeof name === 'string' && name !== '' ? name : undefined
}

function modelOf(metadata: LoadedRow['metadata']): string | undefined {
  const found = [metadata?.model, metadata?.modelId, metadata?.model_id].find(
    (one) => typeof one === 'string',
  )
  return found as string | undefined
}

function RowMenu({ row, context }: { readonly row: LoadedRow; readonly context: RowContext }) {
  const { sessionId } = context
  const { position, id, pinned, hidden, kind } = row
  return (
    <Menu
      label={`Actions for ${position === undefined ? `this ${kind}` : `message ${position}`}`}
      items={[
        isAnswer(row) && {
          label: 'What the model saw',
          hint: 'w',
          run: () => go(requestLink(sessionId, row)),
        },
        position !== undefined && {
          label: 'Context at this moment',
          run: () => go(sessionLink(sessionId, 'context', { position })),
        },
        canChange && {
          label: pinned ? 'Unpin' : 'Pin',
          hint: 'p',
          run: () => void setPin(sessionId, [id], !pinned),
        },
        canChange &&
          !hidden && { label: 'Hide from the model', hint: 'h', run: () => void hide(sessionId, [id]) },
        canChange &&
          position !== undefined && {
            label: 'Rewind to before this',
            run: () => void rewindTo(sessionId, id),
          },
        canChange &&
          position !== undefined && {
            label: 'Fork from here',
            run: () => void fork(sessionId, { afterMessage: position }),
          },
        { label: 'Copy link', run: () => void copy(linkTo(sessionId, row), 'Copied the link.') },
        { label: 'Copy text', run: () => void copy(textsOf(row).join('\n\n'), 'Copied the text.') },
        { label: 'Copy id', run: () => void copy(id, 'Copied the id.') },
      ]}
    />
  )
}

function linkTo(sessionId: string, { position, id }: LoadedRow): string {
  return new URL(sessionLink(sessionId, 'conversation', { message: position ?? id }), location.href).href
}

/** What hid a row: `Summarized by run 4f2a…, 12:03, automatic`. */
export function hiddenWords(compaction: Compaction): string {
  const { kind, coverage, runId, createdAt } = compaction
  const at = time(createdAt)
  if (coverage.rewinds === true) return `Rewound, ${at}`
  if (kind === 'provider' || kind === 'manual') return `${kindWords(compaction)}, ${at}`
  const what = HIDING_WORDS[kind] ?? kindWords(compaction)
  return `${what} by run ${runId.slice(-8)}, ${at}, ${triggerWords(compaction)}`
}

const HIDING_WORDS: { readonly [kind in Compaction['kind']]?: string } = {
  condense: 'Summarized',
  truncate: 'Truncated',
  prune: 'Pruned',
}

/** What wrote a summary or a marker, and what that saved. */
function WrittenBy({ row, context }: { readonly row: LoadedRow; readonly context: RowContext }) {
  const id = row.condenseId ?? row.truncationId
  const compaction = id === undefined ? undefined : context.compaction(id)
  if (compaction === undefined) return null
  const { tokensBefore, tokensAfter, rowsHidden, summarizer, model, cost } = compaction
  return (
    <p class="hidden-by">
      <a href={sessionLink(context.sessionId, 'compactions', { compaction: compaction.id })}>
        In place of {counted(rowsHidden, 'row')}
      </a>
      <span>
        context {short(tokensBefore)} → {short(tokensAfter)} tokens
      </span>
      {(model ?? summarizer) !== undefined && <span>by {model ?? summarizer}</span>}
      {cost !== undefined && <span>{money(cost)}</span>}
      {!row.hidden && <UndoLink compaction={compaction} context={context} />}
    </p>
  )
}

function HiddenBy({
  id,
  row,
  context,
}: {
  readonly id: string | undefined
  readonly row: LoadedRow
  readonly context: RowContext
}) {
  const by = id ?? hiderOf(row)
  const compaction = by === undefined ? undefined : context.compaction(by)
  if (compaction === undefined)
    return (
      <p class="hidden-by">Hidden from the model{row.kind !== 'message' && ': its compaction was undone'}</p>
    )
  const isOwn = row.kind !== 'message' && compaction.insertedIds.includes(row.id)
  return (
    <p class="hidden-by">
      <a href={sessionLink(context.sessionId, 'compactions', { compaction: compaction.id })}>
        {isOwn
          ? `Not in force: its compaction was undone, ${time(compaction.changedAt)}`
          : hiddenWords(compaction)}
      </a>
      {compaction.actor !== undefined && <span>by {compaction.actor}</span>}
      {compaction.reason !== undefined && <span class="hidden-reason">“{compaction.reason}”</span>}
      <UndoLink compaction={compaction} context={context} />
    </p>
  )
}

/** Undoes a compaction, after a question if others build on it. */
export function UndoLink({
  compaction,
  context,
}: {
  readonly compaction: Compaction
  readonly context: RowContext
}) {
  if (!canChange || compaction.status !== 'active') return null
  // What followed a rewind is another version, which an undo alone would mix with this one.
  const { rewinds, hidden } = compaction.coverage
  if (rewinds === true && (hidden.positions.at(-1)?.[1] ?? 0) < context.messageCount) return null
  return (
    <button
      type="button"
      class="link"
      onClick={() => void undoOrRedo(context.sessionId, compaction.id, [compaction], context.compactions)}
    >
      Undo
    </button>
  )
}

function Bookkeeping({ row, context }: { readonly row: LoadedRow; readonly context: RowContext }) {
  return (
    <div class="bookkeeping">
      <span class="row-place">{row.position === undefined ? '' : whole(row.position)}</span>
      <Fold
        id={`${row.id} silent`}
        label="Not for the model"
        note={partsOf(row)
          .map((part) => (part.type === 'provider' ? part.provider : part.type))
          .join(', ')}
      >
        {() => <MessageParts row={row} results={new Map()} absorbed={new Set()} context={context} />}
      </Fold>
    </div>
  )
}

function Forks({
  forks,
  at,
}: {
  readonly forks: readonly Session[] | undefined
  readonly at: number | undefined
}) {
  if (forks === undefined) return null
  return (
    <ul class="row-forks">
      {forks.map((one) => (
        <li key={one.id}>
          Fork after {at}: <a href={sessionLink(one.id)}>{one.title ?? one.id} →</a>
        </li>
      ))}
    </ul>
  )
}
