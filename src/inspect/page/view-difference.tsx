import { useState } from 'preact/hooks'
import type { Moment } from '../../core/model/moment.ts'
import type { Compaction } from '../../storage/storage.ts'
import type { ViewDiff } from '../../store/topics/messages.ts'
import { useCall } from './api.ts'
import { kindWords } from './compaction-runs.ts'
import { change, counted, short, shortId, whole } from './format.ts'
import { useLast } from './hooks.ts'
import { sessionLink } from './router.ts'
import { type LineRow, PagedRows, RowLine } from './row-list.tsx'
import { useStoredRows } from './stored-rows.ts'
import { Empty, Fact, Failed, Skeleton } from './ui.tsx'
import './view-difference.css'

type Change = ViewDiff['changes'][number]

/** The difference between the views at two moments; the second is now unless it is given. */
export function ViewDifference({
  sessionId,
  from,
  to,
  version,
  compactions,
}: {
  readonly sessionId: string
  readonly from: Moment
  readonly to: Moment | undefined
  readonly version: unknown
  readonly compactions: readonly Compaction[]
}) {
  const args = to === undefined ? ([sessionId, from] as const) : ([sessionId, from, to] as const)
  const loaded = useCall('messages.diff', [...args], to === undefined ? version : undefined)
  const diff = useLast(loaded.value)
  if (loaded.error !== undefined) return <Failed error={loaded.error} retry={loaded.reload} />
  if (diff === undefined) return <Skeleton lines={5} />
  return (
    <div class={loaded.value === undefined ? 'difference difference-waiting' : 'difference'}>
      <dl class="difference-figures">
        <Fact name="Tokens">
          {short(diff.tokens.before)} → <b>{short(diff.tokens.after)}</b>{' '}
          <span class="dim">{change(diff.tokens.after - diff.tokens.before)}</span>
        </Fact>
        <Fact name="Rows sent">
          {whole(diff.rows.before)} → <b>{whole(diff.rows.after)}</b>
        </Fact>
        {(['appeared', 'disappeared', 'changed'] as const).map((kind) => (
          <Fact key={kind} name={NAMES[kind]}>
            {whole(diff.changes.filter((one) => one.change === kind).length)}
          </Fact>
        ))}
      </dl>
      <Responsible sessionId={sessionId} changes={diff.changes} compactions={compactions} />
      {diff.changes.length === 0 ? (
        <Empty title="The two views are the same" />
      ) : (
        <PagedRows key={`${JSON.stringify(from)}`} total={diff.changes.length} label="Rows that differ">
          {(count) => (
            <ChangedRows
              sessionId={sessionId}
              changes={diff.changes.slice(0, count)}
              compactions={compactions}
            />
          )}
        </PagedRows>
      )}
    </div>
  )
}

const NAMES = { appeared: 'Appeared', disappeared: 'Disappeared', changed: 'Changed' } as const
const SIGNS = {
  appeared: { text: '+', look: 'added', label: 'Appeared' },
  disappeared: { text: '−', look: 'removed', label: 'Disappeared' },
  changed: { text: '~', look: 'changed', label: 'Changed' },
} as const

/** The compactions that a change comes from. */
function compactionsOf({ compactionId, parts = [] }: Change): string[] {
  return [
    ...(compactionId === undefined ? [] : [compactionId]),
    ...new Set(parts.flatMap(({ before, after }) => after ?? before ?? [])),
  ]
}

function Responsible({
  sessionId,
  changes,
  compactions,
}: {
  readonly sessionId: string
  readonly changes: readonly Change[]
  readonly compactions: readonly Compaction[]
}) {
  const [isWhole, setWhole] = useState(false)
  const counts = new Map<string, number>()
  for (const one of changes) for (const id of compactionsOf(one)) counts.set(id, (counts.get(id) ?? 0) + 1)
  if (counts.size === 0) return null
  const all = [...counts].sort(([, a], [, b]) => b - a)
  const shown = isWhole ? all : all.slice(0, 5)
  return (
    <div class="responsible">
      <h3>Compactions responsible</h3>
      <ul>
        {shown.map(([id, count]) => (
          <li key={id}>
            <a href={sessionLink(sessionId, 'compactions', { compaction: id })}>{nameIn(compactions, id)}</a>{' '}
            <span class="dim">{counted(count, 'row')}</span>
          </li>
        ))}
      </ul>
      {all.length > shown.length && (
        <button type="button" class="link" onClick={() => setWhole(true)}>
          {counted(all.length - shown.length, 'more')}
        </button>
      )}
    </div>
  )
}

function nameIn(compactions: readonly Compaction[], id: string): string {
  const found = compactions.find((one) => one.id === id)
  return found === undefined ? shortId(id) : kindWords(found)
}

function ChangedRows({
  sessionId,
  changes,
  compactions,
}: {
  readonly sessionId: string
  readonly changes: readonly Change[]
  readonly compactions: readonly Compaction[]
}) {
  const anchors = new Map(
    compactions.flatMap(({ insertedIds, coverage }) =>
      coverage.inserted === undefined
        ? []
        : insertedIds.map((id) => [id, coverage.inserted!.anchor] as const),
    ),
  )
  const stored = useStoredRows(
    sessionId,
    changes.flatMap(({ id, position }) => position ?? anchors.get(id) ?? []),
  )
  return (
    <>
      {changes.map((one) => {
        const { id, change: what, position, role, kind } = one
        const [by] = compactionsOf(one)
        const row: LineRow = {
          key: id,
          ...{ role, kind, content: stored.byId.get(id)?.content, sign: SIGNS[what] },
          ...(position !== undefined && { position }),
          ...(by !== undefined && {
            note: (
              <>
                {what === 'changed' && `${partWords(one)} `}
                <a href={sessionLink(sessionId, 'compactions', { compaction: by })}>
                  {nameIn(compactions, by)}
                </a>
              </>
            ),
          }),
        }
        return <RowLine key={id} sessionId={sessionId} row={row} />
      })}
    </>
  )
}

/** What changed of a row: `1 part replaced by`, or `1 part original again`. */
function partWords({ parts = [] }: Change): string {
  const replaced = parts.filter(({ after }) => after !== null).length
  return replaced === 0
    ? `${counted(parts.length, 'part')} original again`
    : `${counted(replaced, 'part')} replaced`
}
