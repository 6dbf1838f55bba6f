import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ExpandedRow, ExpandedSummary } from '../../core/model/expansion.ts'
import type { AuditEntry, Compaction } from '../../storage/storage.ts'
import { canChange } from './actions.tsx'
import { useCall } from './api.ts'
import { undoOrRedo } from './compaction-actions.tsx'
import {
  auditOf,
  dependentsOf,
  didWords,
  isApplied,
  kindWords,
  statusKind,
  statusWords,
  triggerWords,
  workWords,
} from './compaction-runs.ts'
import { change, counted, money, short, shortId, whole } from './format.ts'
import { Markdown } from './markdown.tsx'
import { sessionLink } from './router.ts'
import { lineOf } from './row-line.ts'
import { type LineRow, PagedRows, RowLine } from './row-list.tsx'
import { positionsIn, rangeWords } from './row-windows.ts'
import { useStoredRows } from './stored-rows.ts'
import { Badge, Fact, Failed, Id, Show, Time } from './ui.tsx'
import { ViewDifference } from './view-difference.tsx'

/** Everything about one compaction. */
export function CompactionDetail({
  sessionId,
  compaction,
  compactions,
  audit,
}: {
  readonly sessionId: string
  readonly compaction: Compaction
  readonly compactions: readonly Compaction[]
  readonly audit: readonly AuditEntry[]
}) {
  const [isComparing, setComparing] = useState(false)
  const { id, runId, status, actor, reason, model, summarizer, cost, usage, error, createdAt, changedAt } =
    compaction
  const { tokensBefore, tokensAfter } = compaction
  const dependents = status === 'active' ? dependentsOf(compactions, [id]) : []
  const applied = isApplied(compaction)
  const entries = auditOf(audit, compaction)
  return (
    <article class="card detail" aria-label={`Compaction: ${kindWords(compaction)}`}>
      <header class="detail-head">
        <h2>{kindWords(compaction)}</h2>
        <Badge kind={statusKind(compaction)}>{statusWords(compaction)}</Badge>
        <Id id={id} />
        <span class="spring" />
        {applied && (
          <button type="button" aria-pressed={isComparing} onClick={() => setComparing(!isComparing)}>
            {isComparing ? 'Hide the comparison' : 'Compare before and after'}
          </button>
        )}
        {/* One button for both, so that it keeps the focus. */}
        {canChange && applied && (
          <button type="button" onClick={() => void undoOrRedo(sessionId, id, [compaction], compactions)}>
            {status === 'undone' ? 'Redo' : 'Undo'}
            {dependents.length > 0 && ` with ${dependents.length} later`}
          </button>
        )}
      </header>
      <dl class="detail-facts">
        <Fact name="Did">{applied ? workWords(compaction) : didWords(compaction)}</Fact>
        {applied && (
          <Fact name="Tokens">
            {short(tokensBefore)} → <b>{short(tokensAfter)}</b>{' '}
            <span class="dim">{change(tokensAfter - tokensBefore)}</span>
          </Fact>
        )}
        <Fact name="Started">
          {triggerWords(compaction)}
          {actor !== undefined && `, by ${actor}`}, <Time at={createdAt} />
        </Fact>
        {reason !== undefined && <Fact name="Reason">{reason}</Fact>}
        {changedAt !== createdAt && (
          <Fact name="Changed">
            <Time at={changedAt} />
          </Fact>
        )}
        {(model ?? summarizer) !== undefined && (
          <Fact name="Written by">{[model, summarizer].filter((one) => one !== undefined).join(', ')}</Fact>
        )}
        {cost !== undefined && <Fact name="Cost">{money(cost)}</Fact>}
        {usage !== undefined && <Fact name="Usage">{usageWords(usage)}</Fact>}
        {error !== undefined && (
          <Fact name="Error">
            <code>{error}</code>
          </Fact>
        )}
        <Fact name="Run">
          <a href={sessionLink(sessionId, 'compactions', { compaction: runId })}>
            <code title={runId}>{shortId(runId)}</code>
          </a>
        </Fact>
      </dl>
      {dependents.length > 0 && (
        <section class="detail-part">
          <h3>Builds on it</h3>
          <p class="dim">Undoing this one undoes {dependents.length === 1 ? 'this' : 'these'} too.</p>
          <ul class="detail-links">
            {dependents.map((one) => (
              <li key={one.id}>
                <a href={sessionLink(sessionId, 'compactions', { compaction: one.id })}>{kindWords(one)}</a>{' '}
                <span class="dim">{workWords(one)}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {isComparing && (
        <section class="detail-part">
          <h3>Before and after</h3>
          <ViewDifference
            sessionId={sessionId}
            from={{ beforeCompaction: id }}
            to={{ afterCompaction: id }}
            version={undefined}
            compactions={compactions}
          />
        </section>
      )}
      <Wrote sessionId={sessionId} compaction={compaction} />
      <Hidden sessionId={sessionId} compaction={compaction} compactions={compactions} />
      <Replaced sessionId={sessionId} compaction={compaction} />
      <Parameters params={compaction.params} />
      {entries.length > 0 && <Audit entries={entries} />}
    </article>
  )
}

function usageWords(usage: { readonly [name: string]: unknown }): string {
  const words = Object.entries(usage).flatMap(([name, value]) =>
    typeof value === 'number'
      ? [
          `${whole(value)} ${name.replace(/Tokens$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`,
        ]
      : [],
  )
  return `${words.join(', ')} tokens`
}

/** The rows that it hid. Those of a summary are beside it. */
function Hidden({
  sessionId,
  compaction,
  compactions,
}: {
  readonly sessionId: string
  readonly compaction: Compaction
  readonly compactions: readonly Compaction[]
}) {
  const { positions, inserted } = compaction.coverage.hidden
  if (compaction.rowsHidden === 0) return null
  const total = positions.reduce((sum, [from, to]) => sum + to - from + 1, 0)
  const writers = inserted.flatMap(
    ({ ordinal }) => compactions.find((one) => one.coverage.inserted?.ordinal === ordinal) ?? [],
  )
  return (
    <details class="detail-part" open={compaction.rowsInserted === 0}>
      <summary>
        <h3>
          {isApplied(compaction) ? 'Hid' : 'Covers'} {counted(compaction.rowsHidden, 'row')}
        </h3>{' '}
        <span class="dim">{positions.length > 0 && `positions ${rangeWords(positions)}`}</span>
      </summary>
      {writers.length > 0 && (
        <p>
          Among them {writers.length === 1 ? 'what was written by' : 'what these wrote:'}{' '}
          {writers.map((one, at) => (
            <span key={one.id}>
              {at > 0 && ', '}
              <a href={sessionLink(sessionId, 'compactions', { compaction: one.id })}>{kindWords(one)}</a>
            </span>
          ))}
        </p>
      )}
      {total > 0 && (
        <PagedRows total={total} label="Hidden messages" page={20}>
          {(count) => <PositionRows sessionId={sessionId} positions={positionsIn(positions, count)} />}
        </PagedRows>
      )}
    </details>
  )
}

function PositionRows({
  sessionId,
  positions,
}: {
  readonly sessionId: string
  readonly positions: readonly number[]
}) {
  const rows = useStoredRows(sessionId, positions)
  return (
    <>
      {positions.map((position) => {
        const row = rows.byPosition.get(position)
        return (
          <RowLine
            key={position}
            sessionId={sessionId}
            row={{ key: String(position), position, role: row?.role ?? '', content: row?.content }}
          />
        )
      })}
    </>
  )
}

/** The summary beside its sources, or the marker. */
function Wrote({ sessionId, compaction }: { readonly sessionId: string; readonly compaction: Compaction }) {
  const { insertedIds, coverage, kind } = compaction
  const [id] = insertedIds
  if (id === undefined || coverage.inserted === undefined) return null
  const isSummary = kind === 'condense' || kind === 'provider'
  return isSummary ? (
    <WrittenSummary sessionId={sessionId} id={id} />
  ) : (
    <WrittenMarker sessionId={sessionId} id={id} anchor={coverage.inserted.anchor} />
  )
}

function WrittenMarker({
  sessionId,
  id,
  anchor,
}: {
  readonly sessionId: string
  readonly id: string
  readonly anchor: number
}) {
  const rows = useStoredRows(sessionId, [anchor])
  return (
    <section class="detail-part">
      <h3>Wrote</h3>
      <Scrolling look="written" label="The marker">
        <pre>{textOf(rows.byId.get(id)?.content)}</pre>
      </Scrolling>
    </section>
  )
}

function WrittenSummary({ sessionId, id }: { readonly sessionId: string; readonly id: string }) {
  const loaded = useCall('messages.expand', [sessionId, id, { depth: 1 }])
  if (loaded.error !== undefined) return <Failed error={loaded.error} retry={loaded.reload} />
  return (
    <section class="detail-part">
      <Show of={loaded} lines={8}>
        {(expanded) => <SummaryBesideSources sessionId={sessionId} summary={expanded as ExpandedSummary} />}
      </Show>
    </section>
  )
}

function SummaryBesideSources({
  sessionId,
  summary,
}: {
  readonly sessionId: string
  readonly summary: ExpandedSummary
}) {
  const { tokens, messages, sourceTokens, children = [] } = summary
  return (
    <div class="beside">
      <div class="beside-column">
        <h3>
          Wrote <span class="dim">{short(tokens)} tokens</span>
        </h3>
        <Scrolling look="written" label="The summary">
          <SummaryText content={summary.content} />
        </Scrolling>
      </div>
      <div class="beside-column">
        <h3>
          From{' '}
          <span class="dim">
            {counted(messages, 'message')}, {short(sourceTokens)} tokens
          </span>
        </h3>
        <Scrolling look="sources" label="The sources of the summary">
          <Sources sessionId={sessionId} rows={children} />
        </Scrolling>
      </div>
    </div>
  )
}

/** A box that scrolls, also by keyboard. */
export function Scrolling({
  look,
  label,
  children,
}: {
  readonly look: 'written' | 'sources'
  readonly label: string
  readonly children: ComponentChildren
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class={look} aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}

export function SummaryText({ content }: { readonly content: unknown }) {
  return <Markdown text={textOf(content)} />
}

function Sources({ sessionId, rows }: { readonly sessionId: string; readonly rows: readonly ExpandedRow[] }) {
  return (
    <PagedRows total={rows.length} label="Sources" page={100}>
      {(count) =>
        rows.slice(0, count).map((row) =>
          row.kind === 'message' ? (
            <RowLine key={row.id} sessionId={sessionId} row={sourceLine(row)} />
          ) : (
            <li key={row.id} class="source-summary">
              <NestedSummary sessionId={sessionId} row={row} />
            </li>
          ),
        )
      }
    </PagedRows>
  )
}

function sourceLine({ id, role, content, positions: [position], tokens }: ExpandedRow): LineRow {
  return { key: id, position, role, content, note: `${short(tokens)} tokens` }
}

/** A summary among the sources, which opens to its own. */
function NestedSummary({ sessionId, row }: { readonly sessionId: string; readonly row: ExpandedSummary }) {
  const [isOpen, setOpen] = useState(false)
  const loaded = useCall(
    'messages.expand',
    isOpen && row.kind === 'summary' ? [sessionId, row.id, { depth: 1 }] : null,
  )
  const [from, to] = row.positions
  return (
    <details onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>
        {row.kind === 'summary' ? 'Summary' : 'Marker'} of messages {whole(from)} to {whole(to)}{' '}
        <span class="dim">{short(row.tokens)} tokens</span>
      </summary>
      <Scrolling look="written" label={`Text for messages ${from} to ${to}, ${row.id}`}>
        <pre>{textOf(row.content)}</pre>
      </Scrolling>
      {row.kind === 'summary' && (
        <Show of={loaded}>
          {(expanded) => (
            <Sources sessionId={sessionId} rows={(expanded as ExpandedSummary).children ?? []} />
          )}
        </Show>
      )}
    </details>
  )
}

/** The whole text of a row. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return '…'
  return content
    .map((part: { readonly type?: unknown; readonly text?: unknown }) =>
      part.type === 'text' && typeof part.text === 'string' ? part.text : lineOf([part]),
    )
    .join('\n\n')
}

/** The replaced parts: each opens to the original beside what the model sees. */
function Replaced({
  sessionId,
  compaction,
}: {
  readonly sessionId: string
  readonly compaction: Compaction
}) {
  const { replaced } = compaction
  if (replaced.length === 0) return null
  return (
    <details class="detail-part" open={compaction.rowsHidden === 0}>
      <summary>
        <h3>Replaced {counted(replaced.length, 'part')}</h3> <span class="dim">the originals are kept</span>
      </summary>
      <PagedRows total={replaced.length} label="Replaced parts" page={20}>
        {(count) => <ReplacedRows sessionId={sessionId} compaction={compaction} count={count} />}
      </PagedRows>
    </details>
  )
}

function ReplacedRows({
  sessionId,
  compaction,
  count,
}: {
  readonly sessionId: string
  readonly compaction: Compaction
  readonly count: number
}) {
  const shown = compaction.replaced.slice(0, count)
  const rows = useStoredRows(
    sessionId,
    shown.flatMap(({ position }) => position ?? []),
  )
  return (
    <>
      {shown.map(({ messageId, part, position }) => {
        const row = rows.byId.get(messageId)
        const original = typeof row?.content === 'string' ? row.content : row?.content[part]
        return (
          <li key={`${messageId} ${part}`} class="replaced">
            <ReplacedPart
              sessionId={sessionId}
              compactionId={compaction.id}
              {...{ messageId, part, position }}
              original={original}
              role={row?.role ?? ''}
            />
          </li>
        )
      })}
    </>
  )
}

function ReplacedPart({
  sessionId,
  compactionId,
  messageId,
  part,
  position,
  original,
  role,
}: {
  readonly sessionId: string
  readonly compactionId: string
  readonly messageId: string
  readonly part: number
  readonly position: number | undefined
  readonly original: unknown
  readonly role: string
}) {
  const [isOpen, setOpen] = useState(false)
  const after = useCall(
    'getMessages',
    isOpen && position !== undefined
      ? [sessionId, { after: position - 1, limit: 1, shown: true, at: { afterCompaction: compactionId } }]
      : null,
  )
  const text = after.value
    ?.find((one) => one.id === messageId)
    ?.shown?.find((one) => one.part === part && one.compactionId === compactionId)?.text
  return (
    <details onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary class="replaced-line">
        <span class="brief-position">{position ?? ''}</span>
        <span class="brief-role">{role}</span>
        <span class="brief-text">{original === undefined ? '…' : lineOf([partOf(original)])}</span>
      </summary>
      {isOpen && (
        <div class="beside">
          <div class="beside-column">
            <h3>Original</h3>
            <Scrolling look="written" label={`Original of message ${position}, part ${part}`}>
              <pre>{original === undefined ? '…' : fullText(original)}</pre>
            </Scrolling>
          </div>
          <div class="beside-column">
            <h3>What the model sees</h3>
            {after.error !== undefined ? (
              <Failed error={after.error} retry={after.reload} />
            ) : (
              <Scrolling look="written" label={`What the model sees of message ${position}, part ${part}`}>
                <pre>
                  {text === ''
                    ? '(left out)'
                    : (text ?? (after.value === undefined ? '…' : '(the original again)'))}
                </pre>
              </Scrolling>
            )}
          </div>
          {position !== undefined && (
            <p class="beside-link">
              <a href={sessionLink(sessionId, 'conversation', { message: position })}>
                Message {whole(position)} in the conversation
              </a>
            </p>
          )}
        </div>
      )}
    </details>
  )
}

const partOf = (original: unknown): unknown =>
  typeof original === 'string' ? { type: 'text', text: original } : original

function fullText(original: unknown): string {
  if (typeof original === 'string') return original
  const part = original as {
    readonly type?: string
    readonly text?: string
    readonly output?: { readonly value?: unknown }
  }
  if (typeof part.text === 'string') return part.text
  const value = part.output?.value
  if (typeof value === 'string') return value
  return JSON.stringify(value ?? part, null, 2)
}

function Parameters({ params }: { readonly params: Compaction['params'] }) {
  const entries = Object.entries(params).filter(([, value]) => value !== undefined)
  if (entries.length === 0) return null
  return (
    <details class="detail-part">
      <summary>
        <h3>Parameters</h3>
      </summary>
      <dl class="detail-facts detail-parameters">
        {entries.map(([name, value]) => (
          <Fact key={name} name={<code>{name}</code>}>
            <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>
          </Fact>
        ))}
      </dl>
    </details>
  )
}

function Audit({ entries }: { readonly entries: readonly AuditEntry[] }) {
  return (
    <details class="detail-part">
      <summary>
        <h3>Audit</h3> <span class="dim">{counted(entries.length, 'entry', 'entries')}</span>
      </summary>
      <ol class="audit">
        {entries.map(({ no, event, at, actor, detail }) => (
          <li key={no}>
            <span class="number dim">{no}</span>
            <span>{event}</span>
            <span class="dim">{actor ?? ''}</span>
            <span class="audit-reason">{typeof detail?.reason === 'string' ? detail.reason : ''}</span>
            <span class="dim">
              <Time at={at} />
            </span>
          </li>
        ))}
      </ol>
    </details>
  )
}
