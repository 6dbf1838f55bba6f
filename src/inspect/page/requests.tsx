import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Compaction } from '../../storage/storage.ts'
import type { RecordedRequest } from '../../store/requests/recorded.ts'
import { useCall } from './api.ts'
import { change, clock, counted, fullTime, money, short, time, whole } from './format.ts'
import { useLast } from './hooks.ts'
import { useKeys } from './keys.tsx'
import {
  inputOf,
  type ListedRequest,
  listedRequests,
  requestOfAnswer,
  rowsInSight,
  sumOf,
  type ViewEvent,
} from './recorded-requests.ts'
import { RequestDetail, UnrecordedView } from './request-detail.tsx'
import './requests.css'
import { go, sessionLink } from './router.ts'
import type { TabProps } from './session-tab.ts'
import { Badge, Empty, Failed, Skeleton } from './ui.tsx'
import { type Growing, useAudit, useRequests } from './use-requests.ts'

const NO_COMPACTIONS: readonly Compaction[] = []

/** What the model saw: the recorded requests, and one of them as it was sent. */
export function Requests({ session, version, query }: TabProps) {
  const { id } = session
  const list = useRequests(id, version)
  const audit = useAudit(id, version)
  const compactions = useLast(useCall('listCompactions', [id], version).value) ?? NO_COMPACTIONS
  const rows = useMemo(
    () => listedRequests(list.items, audit.items, compactions),
    [list.items, audit.items, compactions],
  )
  const answer = query.request === undefined ? positionOf(query.answer) : undefined
  const [first, setFirst] = useState<string>()
  // The newest one when the list was opened: what one reads stays when another is recorded.
  if (first === undefined && list.isDone && list.items.length > 0) setFirst(list.items.at(-1)?.id)
  const key = query.request ?? (answer === undefined ? first : keyOf(list, answer))
  const loaded = useCall('requests.get', key === undefined ? null : [id, key])
  const isUnrecorded =
    answer !== undefined && (key === undefined ? list.isDone : loaded.error?.code === 'REQUEST_NOT_FOUND')
  const shown = useLast(loaded.value)
  const chosen = rows.findIndex(({ request }) => request.id === (query.request ?? loaded.value?.id))
  const select = (row: ListedRequest | undefined): void => {
    if (row !== undefined) go(sessionLink(id, 'requests', { request: row.request.id }), { replace: true })
  }
  const older = rows[chosen === -1 ? rows.length - 1 : chosen - 1]
  const newer = chosen === -1 ? undefined : rows[chosen + 1]
  useKeys('Requests', [
    { keys: '[ / j', label: 'The request before', run: () => select(older) },
    { keys: '] / k', label: 'The request after', run: () => select(newer) },
  ])
  if (list.error !== undefined) return <Failed error={list.error} retry={list.reload} />
  if (list.isDone && rows.length === 0 && answer === undefined) return <NoRequests />
  const isChosen = query.request !== undefined || answer !== undefined
  return (
    <div class={`requests ${isChosen ? 'requests-chosen' : ''} ${rows.length === 0 ? 'requests-none' : ''}`}>
      {rows.length > 0 ? (
        <RequestList rows={rows} chosen={chosen} isDone={list.isDone} sessionId={id} />
      ) : (
        !list.isDone && (
          <div class="requests-list">
            <Skeleton lines={6} />
          </div>
        )
      )}
      <div class="request-pane" aria-busy={loaded.loading}>
        {isChosen && rows.length > 0 && (
          <a class="requests-back" href={sessionLink(id, 'requests')}>
            ← All requests
          </a>
        )}
        {isUnrecorded ? (
          <UnrecordedView
            sessionId={id}
            answer={answer}
            compactions={compactions}
            hasRequests={rows.length > 0}
          />
        ) : loaded.error !== undefined ? (
          <Failed error={loaded.error} retry={loaded.reload} />
        ) : shown === undefined ? (
          <Skeleton lines={8} />
        ) : (
          <RequestDetail
            session={session}
            request={shown}
            row={rows.find(({ request }) => request.id === shown.id)}
            rows={rows}
            compactions={compactions}
            older={older && (() => select(older))}
            newer={newer && (() => select(newer))}
          />
        )}
      </div>
    </div>
  )
}

/** What `requests.get` receives. A position is looked up in the list, so that nothing fails for an answer without a request. */
function keyOf(
  { items, isDone }: Growing<RecordedRequest>,
  answer: number | string,
): string | { readonly answer: string } | undefined {
  if (typeof answer === 'string') return { answer }
  return isDone ? requestOfAnswer(items, answer)?.id : undefined
}

function positionOf(text: string | undefined): number | string | undefined {
  if (text === undefined || text === '') return undefined
  return /^[1-9]\d*$/.test(text) ? Number(text) : text
}

function NoRequests() {
  return (
    <Empty title="No requests were recorded in this session.">
      <p class="request-hint">
        <code>recordResponse</code> records the request that <code>prepareRequest</code> prepared, with its
        hash and usage. The middleware of the AI SDK and the adapters for OpenAI Agents and LangChain do so by
        themselves.
      </p>
      <pre>{`const request = await store.prepareRequest(id, { prompt })
// … call the model …
await store.recordResponse(id, { request, messages, usage })`}</pre>
      <p class="request-hint">
        For any answer, the conversation has a link to the view as of that moment, recorded or not.
      </p>
    </Empty>
  )
}

/** The height of a row in the list, as in requests.css. */
const ROW_HEIGHT = 62

const EVENT_WORDS: { readonly [event in ViewEvent]: { readonly label: string; readonly title: string } } = {
  compaction: { label: 'compacted', title: 'The view was compacted since the request before.' },
  rewind: { label: 'rewound', title: 'The conversation was rewound since the request before.' },
  undo: { label: 'undone', title: 'A compaction was undone since the request before.' },
  redo: { label: 'redone', title: 'A compaction was redone since the request before.' },
}

/** The orders of the list: what was sent last, what lost most, what cost most. */
const ORDERS = {
  newest: { label: 'newest first', value: ({ no }: ListedRequest) => no },
  lost: { label: 'largest cache loss', value: ({ lostTokens }: ListedRequest) => lostTokens },
  cost: { label: 'highest cost', value: ({ request }: ListedRequest) => request.cost ?? 0 },
} as const

/** The requests. Only rows in sight are elements, so that thousands are as fast as ten. */
function RequestList({
  rows,
  chosen,
  isDone,
  sessionId,
}: {
  readonly rows: readonly ListedRequest[]
  /** The index in `rows`, which are oldest first; -1 for none. */
  readonly chosen: number
  readonly isDone: boolean
  readonly sessionId: string
}) {
  const box = useRef<HTMLDivElement>(null)
  const [order, setOrder] = useState<keyof typeof ORDERS>('newest')
  const ordered = useMemo(() => {
    const { value } = ORDERS[order]
    return [...rows].sort((a, b) => value(b) - value(a) || b.no - a.no)
  }, [rows, order])
  const [sight, setSight] = useState({ top: 0, height: 800 })
  const measure = (): void => {
    const element = box.current
    if (element !== null) setSight({ top: element.scrollTop, height: element.clientHeight })
  }
  useLayoutEffect(() => {
    measure()
    const observer = new ResizeObserver(measure)
    if (box.current !== null) observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  const place = ordered.indexOf(rows[chosen]!)
  useEffect(() => {
    const element = box.current
    if (element === null || chosen === -1) return
    const top = place * ROW_HEIGHT
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + ROW_HEIGHT > element.scrollTop + element.clientHeight)
      element.scrollTop = top + ROW_HEIGHT - element.clientHeight
  }, [chosen === -1 ? undefined : rows[chosen]?.request.id, order])
  const { from, to } = rowsInSight(sight, ROW_HEIGHT, rows.length)
  const largest = useMemo(
    () => rows.reduce((most, { request }) => Math.max(most, sumOf(inputOf(request) ?? NO_INPUT)), 1),
    [rows],
  )
  return (
    <section class="requests-list" aria-label="Requests">
      <header class="requests-list-head">
        <h2>{counted(rows.length, 'request')}</h2>
        {isDone ? (
          <select
            aria-label="Order"
            value={order}
            onChange={(event) => {
              setOrder(event.currentTarget.value as keyof typeof ORDERS)
              box.current?.scrollTo({ top: 0 })
            }}
          >
            {Object.entries(ORDERS).map(([name, { label }]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        ) : (
          <span class="dim small">loading …</span>
        )}
      </header>
      <div class="requests-scroll" ref={box} onScroll={measure}>
        <ol style={{ height: `${rows.length * ROW_HEIGHT}px` }}>
          {Array.from({ length: to - from }, (_, at) => {
            const row = ordered[from + at]!
            return (
              <li
                key={row.request.id}
                class="request-item"
                style={{ top: `${(from + at) * ROW_HEIGHT}px` }}
                aria-setsize={rows.length}
                aria-posinset={from + at + 1}
              >
                <Row
                  row={row}
                  largest={largest}
                  isNewDay={isOtherDay(ordered[from + at - 1]?.request, row.request)}
                  isChosen={from + at === place}
                  link={sessionLink(sessionId, 'requests', { request: row.request.id })}
                />
              </li>
            )
          })}
        </ol>
      </div>
      <p class="requests-legend small dim">
        <span class="dot input-read" /> cache read <span class="dot input-written" /> written{' '}
        <span class="dot input-uncached" /> uncached
      </p>
    </section>
  )
}

function isOtherDay(above: RecordedRequest | undefined, { at }: RecordedRequest): boolean {
  return above === undefined || new Date(above.at).toDateString() !== new Date(at).toDateString()
}

const NO_INPUT = { read: 0, written: 0, uncached: 0 }

function Row({
  row: { request, no, before, lostTokens },
  largest,
  isNewDay,
  isChosen,
  link,
}: {
  readonly row: ListedRequest
  readonly largest: number
  /** Whether the row above is of another day: then the day is shown. */
  readonly isNewDay: boolean
  readonly isChosen: boolean
  readonly link: string
}) {
  const { usage, answerPositions, model, provider, at, cost } = request
  const input = inputOf(request)
  return (
    <a class="request-link" href={link} aria-current={isChosen ? 'true' : undefined}>
      <span class="request-line">
        <b class="request-no">#{no}</b>
        <span class="request-model" title={`${provider} / ${model ?? ''}`}>
          {model ?? provider}
        </span>
        {before[0] !== undefined && (
          <Badge kind="accent" title={before.map((event) => EVENT_WORDS[event].title).join('\n')}>
            {EVENT_WORDS[before[0]].label}
            {before.length > 1 && ` +${before.length - 1}`}
          </Badge>
        )}
        {lostTokens > 0 && (
          <Badge
            kind="warn"
            title={`${whole(lostTokens)} tokens could have been read from the cache and weren’t.`}
          >
            cache {change(-lostTokens)}
          </Badge>
        )}
        <span class="spring" />
        <span class="dim small nowrap">
          <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
            {isNewDay ? time(at) : clock(at)}
          </time>
        </span>
      </span>
      <span class="request-line small">
        <InputBar request={request} largest={largest} />
        <span class="request-tokens">
          {input === undefined || usage === undefined
            ? 'no usage'
            : `${short(sumOf(input))} in, ${short(usage.outputTokens)} out`}
        </span>
        <span class="request-cost">{usage === undefined ? '' : money(cost)}</span>
        <span class="request-answer dim">
          {answerPositions === undefined ? '' : `→ ${answerPositions[0]}`}
        </span>
      </span>
    </a>
  )
}

/** The input tokens of a request by how they were billed, against the largest request. */
function InputBar({
  request,
  largest,
}: {
  readonly request: Pick<RecordedRequest, 'usage'>
  readonly largest: number
}) {
  const input = inputOf(request)
  if (input === undefined) return <span class="request-input request-input-none" />
  const share = (tokens: number): string => `${(tokens / Math.max(1, largest)) * 100}%`
  const words = `${whole(input.read)} read from the cache, ${whole(input.written)} written to it, ${whole(input.uncached)} uncached`
  return (
    <span class="request-input" role="img" aria-label={`Input tokens: ${words}`} title={words}>
      {input.read > 0 && <span class="input-read" style={{ width: share(input.read) }} />}
      {input.written > 0 && <span class="input-written" style={{ width: share(input.written) }} />}
      {input.uncached > 0 && <span class="input-uncached" style={{ width: share(input.uncached) }} />}
    </span>
  )
}
