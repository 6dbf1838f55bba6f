import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { PositionRange, StoredMessage } from '../../core/messages/message.ts'
import type { Moment } from '../../core/model/moment.ts'
import type { Compaction } from '../../storage/storage.ts'
import { useCall } from './api.ts'
import { compactionWords } from './comparison-words.ts'
import { counted } from './format.ts'
import { useLast } from './hooks.ts'
import { hiderOf, type LogGroup, lastWindow, logGroups, windowWith } from './log-groups.ts'
import { sessionLink } from './router.ts'
import { lineOf } from './row-line.ts'
import { isIn, rangeWords } from './sent-messages.ts'
import { Badge, Empty, Show } from './ui.tsx'

const SIZE = 100
/** Longer runs of hidden rows are folded. */
const UNFOLDED = 6

/** The messages chosen in what was sent: ids of rows, and the positions that they represent. */
type Chosen = { readonly ids: readonly string[]; readonly ranges: readonly PositionRange[] }

/** The log as of a moment, with what was hidden then and why. */
export function RequestLog({
  sessionId,
  at,
  position,
  compactions,
  chosen,
}: {
  readonly sessionId: string
  readonly at: Moment
  readonly position: number
  readonly compactions: readonly Compaction[]
  readonly chosen: Chosen
}) {
  const [moved, setWindow] = useState<{ readonly after: number; readonly before: number }>()
  const window = moved ?? lastWindow(position, SIZE)
  const loaded = useCall('getMessages', [
    sessionId,
    { at, after: window.after, before: window.before, shown: true },
  ])
  const rows = useLast(loaded.value)
  const groups = useMemo(() => (rows === undefined ? [] : logGroups(rows)), [rows])
  const byId = useMemo(() => new Map(compactions.map((one) => [one.id, one] as const)), [compactions])
  const box = useRef<HTMLElement>(null)
  const key = chosen.ids.join()
  useEffect(() => {
    const first = chosen.ranges.at(0)?.[0]
    if (first !== undefined) setWindow(windowWith(window, first, position, SIZE))
  }, [key])
  useEffect(() => {
    if (key === '' || rows === undefined) return
    const row = box.current?.querySelector<HTMLElement>('.request-log-chosen, .request-log-within')
    const scroller = row?.closest<HTMLElement>('.request-log-scroll')
    if (row && scroller && scroller.scrollHeight > scroller.clientHeight)
      scroller.scrollTop +=
        row.getBoundingClientRect().top - scroller.getBoundingClientRect().top - scroller.clientHeight / 3
  }, [key, rows])
  return (
    <section class="request-log" aria-label="The log at that moment" ref={box} aria-busy={loaded.loading}>
      <h3 class="request-column-head">
        The log at that moment <span class="dim">{counted(position, 'message')}, hidden ones dimmed</span>
      </h3>
      <div class="request-log-scroll">
        {window.after > 0 && (
          <button
            type="button"
            class="request-log-more"
            onClick={() => setWindow({ after: Math.max(0, window.after - SIZE), before: window.before })}
          >
            Show {counted(Math.min(SIZE, window.after), 'earlier message')}
          </button>
        )}
        <Show of={{ value: rows, error: loaded.error, reload: loaded.reload }} lines={8}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="The log was empty at that moment." />
            ) : (
              <ol class="request-log-list" style={{ '--digits': String(position).length }}>
                {groups.map((group) => (
                  <Group
                    key={group.rows[0]!.id}
                    group={group}
                    compaction={byId.get(group.hiddenBy ?? '')}
                    sessionId={sessionId}
                    chosen={chosen}
                  />
                ))}
              </ol>
            )
          }
        </Show>
        {window.before <= position && (
          <button
            type="button"
            class="request-log-more"
            onClick={() =>
              setWindow({ after: window.after, before: Math.min(position + 1, window.before + SIZE) })
            }
          >
            Show {counted(Math.min(SIZE, position + 1 - window.before), 'later message')}
          </button>
        )}
      </div>
    </section>
  )
}

function Group({
  group: { hiddenBy, rows },
  compaction,
  sessionId,
  chosen,
}: {
  readonly group: LogGroup
  readonly compaction: Compaction | undefined
  readonly sessionId: string
  readonly chosen: Chosen
}) {
  const [isOpen, setOpen] = useState(false)
  const list = rows.map((row) => <Row key={row.id} row={row} sessionId={sessionId} chosen={chosen} />)
  if (hiddenBy === undefined) return <>{list}</>
  const hasChosen = rows.some((row) => isChosenRow(row, chosen) || isWithin(row, chosen))
  const isFolded = rows.length > UNFOLDED && !isOpen && !hasChosen
  const positions = rows.flatMap(({ position }) =>
    position === undefined ? [] : [[position, position] as const],
  )
  return (
    <li class="request-log-hidden">
      <p class="request-log-why">
        <span>
          {positions.length === 0 ? 'Rows' : rangeWords(positions)} hidden
          {hiddenBy !== '' && (
            <>
              :{' '}
              <a href={sessionLink(sessionId, 'compactions', { compaction: hiddenBy })}>
                {compaction === undefined ? hiddenBy : compactionWords(compaction)}
              </a>
            </>
          )}
          {compaction?.reason !== undefined && <span class="dim"> ({compaction.reason})</span>}
        </span>
        {rows.length > UNFOLDED && !hasChosen && (
          <button type="button" class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Fold' : `Show ${counted(rows.length, 'row')}`}
          </button>
        )}
      </p>
      {!isFolded && <ol class="request-log-list">{list}</ol>}
    </li>
  )
}

const isChosenRow = ({ id }: StoredMessage, { ids }: Chosen): boolean => ids.includes(id)
const isWithin = ({ position }: StoredMessage, { ranges }: Chosen): boolean =>
  position !== undefined && isIn(ranges, position)

const KIND_WORDS = { message: '', summary: 'summary', marker: 'marker' } as const

function Row({
  row,
  sessionId,
  chosen,
}: {
  readonly row: StoredMessage
  readonly sessionId: string
  readonly chosen: Chosen
}) {
  const { role, position, kind, content, pinned, shown = [] } = row
  const isChosen = isChosenRow(row, chosen)
  const state = isChosen ? 'request-log-chosen' : isWithin(row, chosen) ? 'request-log-within' : ''
  const isHidden = hiderOf(row) !== undefined
  return (
    <li class={`request-log-row request-log-${kind} ${isHidden ? 'request-log-dim' : ''} ${state}`}>
      <span class="request-log-no">
        {position === undefined ? (
          '–'
        ) : (
          <a href={sessionLink(sessionId, 'conversation', { message: position })}>{position}</a>
        )}
      </span>
      <span class="request-log-role">{KIND_WORDS[kind] || role}</span>
      <span class="request-log-text">
        {lineOf(content)}
        {shown.length > 0 && (
          <>
            {' '}
            <Badge kind="accent" title={shown.map(({ text }) => text.slice(0, 400)).join('\n')}>
              shown differently
            </Badge>
          </>
        )}
        {pinned && (
          <>
            {' '}
            <Badge>pinned</Badge>
          </>
        )}
      </span>
    </li>
  )
}
