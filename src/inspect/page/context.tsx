import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ViewMessage } from '../../core/messages/message.ts'
import type { Moment } from '../../core/model/moment.ts'
import type { Compaction, Session } from '../../storage/storage.ts'
import type { ContextStats } from '../../store/compaction/stats.ts'
import type { Timeline } from '../../store/topics/messages.ts'
import { useCall } from './api.ts'
import { ContextChart, HappeningList, inUnits, type Limit, pointName } from './context-chart.tsx'
import { change, counted, percent, short, whole } from './format.ts'
import { useLast, useSettled } from './hooks.ts'
import { useKeys } from './keys.tsx'
import { inputOf, sumOf as sumOfInput } from './recorded-requests.ts'
import { go, sessionLink } from './router.ts'
import { type LineRow, PagedRows, RowLine } from './row-list.tsx'
import { partsOf, type TabProps } from './session-tab.ts'
import {
  type Axis,
  type ChartPoint,
  happeningsOf,
  indexIn,
  type Measure,
  slotOf,
  stackOf,
} from './timeline-chart.ts'
import { type ByCategory, CATEGORIES, sumOf } from './tokens.ts'
import { color, Empty, Fact, Failed, Legend, Skeleton, Time } from './ui.tsx'
import { useAudit, useRequests } from './use-requests.ts'
import { ViewDifference } from './view-difference.tsx'
import './context.css'

/** The most answers that are drawn at once; of more, some at even distances, until the reader zooms in. */
const MAX_POINTS = 2_000
/** How long a moment stays selected before its view is read, so that scrubbing reads only the last. */
const PAUSE_MS = 180

type Range = { readonly from?: number; readonly to?: number }

/** The context over time. */
export function ContextView(props: TabProps) {
  const { session, version, live, stats, query } = props
  const [range, setRange] = useState<Range>({})
  const isKnown = live.state !== undefined || !live.connected
  // The version is known in a moment; a long session is not read twice until then.
  const args = isKnown ? ([session.id, { points: MAX_POINTS, ...range }] as const) : null
  const loaded = useCall('messages.timeline', args && [...args], version)
  const timeline = useLast(loaded.value)
  const checked = useRef<string | undefined>(undefined)
  const { position } = query
  useEffect(() => {
    if (timeline === undefined || position === undefined || checked.current === position) return
    checked.current = position
    const around = rangeAround(timeline, Number(position))
    if (around !== undefined) setRange(around)
  }, [timeline, position])
  const auditNo = live.state?.session?.auditNo
  const points = useMemo((): ChartPoint[] => {
    if (timeline === undefined) return []
    const answers: ChartPoint[] = [...timeline.points]
    const isWhole = range.to === undefined
    return isWhole && answers.length > 0 && stats !== undefined
      ? [...answers, nowOf(stats, session, auditNo)]
      : answers
  }, [timeline, stats, session, auditNo, range])
  if (loaded.error !== undefined) return <Failed error={loaded.error} retry={loaded.reload} />
  if (timeline === undefined)
    return (
      <div class="page">
        <Skeleton lines={8} />
      </div>
    )
  if (points.length === 0)
    return (
      <Empty title="No answers yet">
        The chart shows how full the context was at each answer of the model. It begins with the first one.
      </Empty>
    )
  return <OverTime {...props} points={points} answers={timeline.answers} range={range} onRange={setRange} />
}

/** Messages on both sides of an answer that isn't drawn; there are fewer answers among them than are drawn at once. */
const AROUND = 900

/** Returns the range to zoom to for an answer that was left out of a long chart; undefined if it is drawn, or isn't one. */
function rangeAround({ points, answers }: Timeline, wanted: number): Range | undefined {
  const isThinned = answers > points.length
  const isWithin = wanted > (points[0]?.answer ?? 0) && wanted < (points.at(-1)?.answer ?? 0)
  if (!isThinned || !isWithin || points.some(({ answer }) => answer === wanted)) return undefined
  return { from: Math.max(1, wanted - AROUND), to: wanted + AROUND }
}

/** The present as a point of the chart, in the figures of the others. */
function nowOf(stats: ContextStats, session: Session, auditNo: number | undefined): ChartPoint {
  return {
    position: stats.storedMessages,
    auditNo: auditNo ?? Number.MAX_SAFE_INTEGER,
    time: session.updatedAt,
    rows: stats.messageCount,
    sizes: stats.sizes,
    tokens: stats.breakdown.conversationHistory / stats.calibration.ratio,
  }
}

function OverTime({
  session,
  version,
  stats,
  query,
  points,
  answers,
  range,
  onRange,
}: TabProps & {
  readonly points: readonly ChartPoint[]
  readonly answers: number
  readonly range: Range
  onRange(range: Range): void
}) {
  const { id } = session
  const [measure, setMeasure] = useState<Measure>('tokens')
  const [axis, setAxis] = useState<Axis>('answers')
  const requests = useRequests(id, version)
  const audit = useAudit(id, version)
  const compactions = useLast(useCall('listCompactions', [id], version).value) ?? []
  const [index, select] = useSelected(id, points, query)
  const happenings = useMemo(() => happeningsOf(audit.items, compactions), [audit.items, compactions])
  const ratio = stats?.calibration.ratio ?? 1
  const fixed = useMemo(() => fixedOf(stats), [stats])
  const stacks = useMemo(
    () => points.map((point) => stackOf(point, measure, { ratio, fixed: fixedAt(point, fixed) })),
    [points, measure, ratio, fixed],
  )
  const drawn = useMemo(
    () =>
      points.map(({ logTokens, ...rest }) =>
        logTokens === undefined ? rest : { ...rest, logTokens: logTokens * ratio },
      ),
    [points, ratio],
  )
  const reported = useMemo(() => {
    if (measure !== 'tokens') return points.map(() => undefined)
    const byRequest = new Map(requests.items.map((one) => [one.id, inputOf(one)]))
    return points.map(({ requestId }) => {
      const input = requestId === undefined ? undefined : byRequest.get(requestId)
      return input && sumOfInput(input)
    })
  }, [points, requests.items, measure])
  const limits = limitsOf(stats, measure)
  const most = Math.max(...stacks.map(sumOf))
  const isSmall = limits[0] !== undefined && most < 0.25 * limits[0].value
  const [chosenFit, setFit] = useState<'window' | 'usage'>()
  const fit = chosenFit ?? (isSmall ? 'usage' : 'window')
  const pinned = pinnedIn(points, query.compare)
  const step = (by: number): void => select(Math.min(points.length - 1, Math.max(0, index + by)))
  const pin = (value: string | undefined): void =>
    go(sessionLink(id, 'context', { ...query, compare: value }), { replace: true })
  useKeys('Context', [
    { keys: 'j', label: 'Next answer', run: () => step(1) },
    { keys: 'k', label: 'Previous answer', run: () => step(-1) },
    { keys: 'c', label: 'Compare with this moment', run: () => pin(pinKey(points[index]!)) },
  ])
  const point = points[index]!
  return (
    <div class="page context-page">
      <section class="card context-card" aria-label="Context over time">
        <div class="context-tools">
          <Choice
            label="Measure"
            value={measure}
            onChange={(value: Measure) => setMeasure(value)}
            options={[
              { value: 'tokens', label: 'Tokens' },
              { value: 'images', label: 'Images' },
              { value: 'bytes', label: 'Bytes' },
            ]}
          />
          <Choice
            label="Axis"
            value={axis}
            onChange={(value: Axis) => setAxis(value)}
            options={[
              { value: 'answers', label: 'By answer' },
              { value: 'time', label: 'By time' },
            ]}
          />
          {limits.length > 0 && (
            <Choice
              label="Height"
              value={fit}
              onChange={(value: 'window' | 'usage') => setFit(value)}
              options={[
                { value: 'window', label: measure === 'tokens' ? 'To the window' : 'To the limit' },
                { value: 'usage', label: 'To the usage' },
              ]}
            />
          )}
          <span class="spring" />
          <Zoom points={points} answers={answers} range={range} index={index} onRange={onRange} />
        </div>
        <ChartLegend
          stacks={stacks}
          measure={measure}
          hasReports={reported.some((one) => one !== undefined)}
          ratio={ratio}
        />
        <ContextChart
          sessionId={id}
          {...{ stacks, measure, axis, fit, limits, reported, happenings, index }}
          pinned={pinned?.index}
          points={drawn}
          onIndex={select}
        />
      </section>
      <div class="moment">
        <MomentFacts
          session={session}
          point={drawn[index]!}
          stack={stackOf(point, 'tokens', { ratio, fixed: fixedAt(point, fixed) })}
          reported={reported[index]}
          available={stats?.availableInputTokens}
          happenings={happenings.filter(({ no }) => slotOf(points, no) === index)}
          isFirst={index === 0}
          isLast={index === points.length - 1}
          isPinned={pinned !== undefined}
          onStep={step}
          onPin={() => pin(pinKey(point))}
        />
        {pinned === undefined ? (
          <ViewThere session={session} point={point} version={version} compactions={compactions} />
        ) : (
          <Compared
            session={session}
            version={version}
            compactions={compactions}
            pinned={pinned.point}
            point={point}
            onClear={() => pin(undefined)}
          />
        )}
      </div>
    </div>
  )
}

/** What an address calls a moment. */
const pinKey = ({ answer }: ChartPoint): string => (answer === undefined ? 'now' : String(answer))

/** What is needed of a moment to compare it. */
type Comparable = Pick<ChartPoint, 'answer' | 'position'>

/** The moment in the address to compare with. It may be outside the answers that are drawn, and then has no index. */
function pinnedIn(
  points: readonly ChartPoint[],
  compare: string | undefined,
): { readonly point: Comparable; readonly index: number | undefined } | undefined {
  const answer = compare === 'now' ? undefined : Number(compare)
  if (compare === undefined || (answer !== undefined && !(Number.isInteger(answer) && answer > 0)))
    return undefined
  const index = points.findIndex((point) => point.answer === answer)
  if (index !== -1) return { point: points[index]!, index }
  return answer === undefined ? undefined : { point: { answer, position: answer - 1 }, index: undefined }
}

/**
 * The moment of a point, for the methods of the store; undefined for now. It isn't that of the request, which was often made before its
 * prompt was stored: the figures count the prompt.
 */
function momentOf({ answer }: Comparable): Moment | undefined {
  return answer === undefined ? undefined : { beforeMessage: answer }
}

/**
 * The selected point. It is that of the address until the reader selects another one; the address follows after a pause, because browsers
 * limit how often it may change.
 */
function useSelected(
  sessionId: string,
  points: readonly ChartPoint[],
  query: TabProps['query'],
): readonly [number, (index: number) => void] {
  const [chosen, setChosen] = useState<string>()
  const written = useRef<string | undefined>(undefined)
  const { position, audit } = query
  useEffect(() => {
    if (position !== undefined && position === written.current) return
    if (position === undefined && audit === undefined && written.current === 'now') return
    setChosen(undefined)
  }, [position, audit])
  const settled = useSettled(chosen, PAUSE_MS)
  useEffect(() => {
    if (settled === undefined || settled !== chosen) return
    written.current = settled
    const place = settled === 'now' ? {} : { position: settled }
    const { position: _, audit: __, ...rest } = query
    go(sessionLink(sessionId, 'context', { ...rest, ...place }), { replace: true })
  }, [settled])
  const index =
    chosen === undefined
      ? indexIn(points, query)
      : indexIn(points, chosen === 'now' ? {} : { position: chosen })
  return [index, (next) => setChosen(pinKey(points[next]!))]
}

/** The parts of a request besides the history, as the last report shows them. */
function fixedOf(stats: ContextStats | undefined): ByCategory {
  if (stats === undefined) return {}
  const { system = 0, tools = 0, other = 0 } = partsOf(stats)
  return system + tools > 0 ? { system, tools, other } : { other }
}

/** What the last report shows besides the known parts is known of the present only. */
function fixedAt({ answer }: ChartPoint, { other, ...fixed }: ByCategory): ByCategory {
  return answer === undefined && other !== undefined ? { ...fixed, other } : fixed
}

function limitsOf(stats: ContextStats | undefined, measure: Measure): Limit[] {
  if (stats === undefined) return []
  if (measure !== 'tokens') {
    const { limit } = measure === 'images' ? stats.images : stats.bytes
    return limit === undefined ? [] : [{ key: 'window', label: 'Limit', value: limit }]
  }
  const { availableInputTokens: available, threshold, profile } = stats
  return [
    { key: 'window', label: 'Window', value: available },
    { key: 'threshold', label: 'Threshold', value: threshold * available },
    { key: 'target', label: 'Target', value: profile.targetTokens.value },
  ]
}

/** A choice among a few options, as one control. */
function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string
  readonly value: T
  readonly options: readonly { readonly value: T; readonly label: string }[]
  onChange(value: T): void
}) {
  return (
    <fieldset class="segmented">
      <legend class="hidden-text">{label}</legend>
      {options.map((option) => (
        <label key={option.value} class={option.value === value ? 'chosen' : ''}>
          <input
            type="radio"
            class="hidden-text"
            name={`context-${label}`}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  )
}

/** Which answers are drawn. */
function Zoom({
  points,
  answers,
  range,
  index,
  onRange,
}: {
  readonly points: readonly ChartPoint[]
  readonly answers: number
  readonly range: Range
  readonly index: number
  onRange(range: Range): void
}) {
  const shown = points.filter(({ answer }) => answer !== undefined)
  const zoomed = (): Range => {
    const center = Math.min(index, shown.length - 1)
    const { answer = 1 } = shown[center]!
    // If answers were left out, the next step is to draw all of them around this one.
    if (answers > shown.length) return { from: Math.max(1, answer - AROUND), to: answer + AROUND }
    const side = Math.max(10, Math.ceil(shown.length / 8))
    const from = shown[Math.max(0, center - side)]!.answer!
    const to = shown[Math.min(shown.length - 1, center + side)]!.answer!
    return { from, to }
  }
  const isWhole = range.from === undefined && range.to === undefined
  return (
    <span class="context-zoom">
      <span class="dim">
        {answers > shown.length
          ? `${whole(shown.length)} of ${counted(answers, 'answer')}`
          : counted(answers, 'answer')}
      </span>
      {shown.length > 20 && (
        <button
          type="button"
          onClick={() => onRange(zoomed())}
          title="Show fewer answers around the selected one"
        >
          Zoom in
        </button>
      )}
      {!isWhole && (
        <button type="button" onClick={() => onRange({})}>
          Show all
        </button>
      )}
    </span>
  )
}

function ChartLegend({
  stacks,
  measure,
  hasReports,
  ratio,
}: {
  readonly stacks: readonly ByCategory[]
  readonly measure: Measure
  readonly hasReports: boolean
  readonly ratio: number
}) {
  const used = CATEGORIES.filter(({ key }) => stacks.some((stack) => (stack[key] ?? 0) > 0))
  if (measure !== 'tokens')
    return (
      <p class="dim small timeline-legend">
        {measure === 'images' ? 'Images in the view.' : 'Bytes of images and files in the view, in base64.'}
      </p>
    )
  return (
    <ul class="legend small timeline-legend">
      {used.map(({ key, label }) => (
        <li key={key}>
          <span class="dot" style={{ background: color(key) }} />
          {label}
        </li>
      ))}
      <li>
        <span class="legend-line" />
        Without compaction
      </li>
      {hasReports && (
        <li>
          <span class="legend-dot" />
          Reported by the provider
        </li>
      )}
      {Math.abs(ratio - 1) >= 0.005 && (
        <li class="dim" title="Learned from what the provider reported for this model">
          Estimates × {ratio.toFixed(2)}
        </li>
      )}
    </ul>
  )
}

function MomentFacts({
  session,
  point,
  stack,
  reported,
  available,
  happenings,
  isFirst,
  isLast,
  isPinned,
  onStep,
  onPin,
}: {
  readonly session: Session
  readonly point: ChartPoint
  readonly stack: ByCategory
  readonly reported: number | undefined
  readonly available: number | undefined
  readonly happenings: ReturnType<typeof happeningsOf>
  readonly isFirst: boolean
  readonly isLast: boolean
  readonly isPinned: boolean
  onStep(by: number): void
  onPin(): void
}) {
  const { answer, requestId, sizes } = point
  const tokens = sumOf(stack)
  return (
    <section class="card moment-facts" aria-label="The selected moment">
      <header class="moment-head">
        <h2>{pointName(point)}</h2>
        <span class="spring" />
        <button
          type="button"
          class="icon-button"
          aria-label="Previous answer"
          title="Previous answer (k)"
          disabled={isFirst}
          onClick={() => onStep(-1)}
        >
          ‹
        </button>
        <button
          type="button"
          class="icon-button"
          aria-label="Next answer"
          title="Next answer (j)"
          disabled={isLast}
          onClick={() => onStep(1)}
        >
          ›
        </button>
      </header>
      <p class="dim">
        <Time at={point.time} />
      </p>
      <dl class="moment-figures">
        <Fact name="Tokens">
          <b>{whole(Math.round(tokens))}</b>
          {available !== undefined && available > 0 && (
            <span class="dim"> {percent(tokens / available)} of the window</span>
          )}
        </Fact>
        {reported !== undefined && (
          <Fact name="Reported">
            {whole(reported)} <span class="dim">by the provider</span>
          </Fact>
        )}
        {point.logTokens !== undefined && <Fact name="Without compaction">{short(point.logTokens)}</Fact>}
        <Fact name="Rows sent">{whole(point.rows)}</Fact>
        {sizes.images + sizes.mediaBytes > 0 && (
          <Fact name="Images and files">
            {counted(sizes.images, 'image')}, {inUnits('bytes', sizes.mediaBytes)}
          </Fact>
        )}
      </dl>
      <Legend parts={stack} />
      {happenings.length > 0 && (
        <>
          <h3>Just before</h3>
          <HappeningList sessionId={session.id} happenings={happenings} />
        </>
      )}
      <footer class="moment-links">
        {answer !== undefined && (
          <a href={sessionLink(session.id, 'conversation', { message: answer })}>
            Answer {whole(answer)} in the conversation
          </a>
        )}
        {requestId !== undefined && (
          <a href={sessionLink(session.id, 'requests', { request: requestId })}>What the model saw</a>
        )}
        <button type="button" onClick={onPin} title="Keep this moment as A, then select another one (c)">
          {isPinned ? 'Compare with this one instead' : 'Compare with…'}
        </button>
      </footer>
    </section>
  )
}

function ViewThere({
  session,
  point,
  version,
  compactions,
}: {
  readonly session: Session
  readonly point: ChartPoint
  readonly version: string
  readonly compactions: readonly Compaction[]
}) {
  const at = useSettled(momentOf(point) ?? null, PAUSE_MS)
  const loaded = useCall(
    'getEffectiveHistory',
    at === null ? [session.id] : [session.id, { at }],
    at === null ? version : undefined,
  )
  const rows = useLast(loaded.value)
  const isWaiting =
    loaded.value === undefined || JSON.stringify(at) !== JSON.stringify(momentOf(point) ?? null)
  // The rows are drawn again only when others have arrived, so that scrubbing stays smooth.
  const list = useMemo(
    () => rows && <ViewRows sessionId={session.id} rows={rows} compactions={compactions} />,
    [rows, compactions],
  )
  return (
    <section class="card moment-view" aria-label="The view there" aria-busy={isWaiting}>
      <header class="moment-head">
        <h2>The view there</h2>
        <span class="dim">{rows !== undefined && counted(rows.length, 'row')}</span>
      </header>
      {loaded.error !== undefined ? (
        <Failed error={loaded.error} retry={loaded.reload} />
      ) : rows === undefined ? (
        <Skeleton lines={6} />
      ) : rows.length === 0 ? (
        <p class="dim moment-empty">Nothing was sent of the history yet.</p>
      ) : (
        <div class={isWaiting ? 'difference-waiting' : ''}>{list}</div>
      )}
    </section>
  )
}

/** The newest rows are at the end, so a long view shows its end first. */
function ViewRows({
  sessionId,
  rows,
  compactions,
}: {
  readonly sessionId: string
  readonly rows: readonly ViewMessage[]
  readonly compactions: readonly Compaction[]
}) {
  const byInserted = useMemo(
    () => new Map(compactions.flatMap((one) => one.insertedIds.map((id) => [id, one] as const))),
    [compactions],
  )
  return (
    <PagedRows total={rows.length} label="Rows of the view" page={100}>
      {(count) =>
        rows
          .slice(0, count)
          .map((row) => (
            <RowLine
              key={row.id}
              sessionId={sessionId}
              row={lineRow(sessionId, row, byInserted.get(row.id))}
            />
          ))
      }
    </PagedRows>
  )
}

function lineRow(sessionId: string, row: ViewMessage, by: Compaction | undefined): LineRow {
  const { id, role, kind, content, position, replacedParts = [] } = row
  const saved = by && by.tokensBefore - by.tokensAfter
  return {
    key: id,
    ...{ role, kind, content },
    ...(position !== undefined && { position }),
    ...(by !== undefined && {
      note: (
        <a href={sessionLink(sessionId, 'compactions', { compaction: by.id })}>
          hides {counted(by.rowsHidden, 'row')}, {change(-saved!)} tokens
        </a>
      ),
    }),
    ...(replacedParts.length > 0 && { note: `${counted(replacedParts.length, 'part')} replaced` }),
  }
}

function Compared({
  session,
  version,
  compactions,
  pinned,
  point,
  onClear,
}: {
  readonly session: Session
  readonly version: string
  readonly compactions: readonly Compaction[]
  readonly pinned: Comparable
  readonly point: Comparable
  onClear(): void
}) {
  const isLater = point.answer === undefined || (pinned.answer !== undefined && pinned.answer <= point.answer)
  const [first, second] = isLater ? [pinned, point] : [point, pinned]
  const key = useSettled([momentOf(first) ?? null, momentOf(second) ?? null] as const, PAUSE_MS)
  const [from, to] = key
  return (
    <section class="card moment-view" aria-label="The difference">
      <header class="moment-head">
        <h2>
          {pointName(first)} → {pointName(second).replace('Before', 'before').replace('Now', 'now')}
        </h2>
        <span class="spring" />
        <button type="button" onClick={onClear}>
          End the comparison
        </button>
      </header>
      {pinned.answer === point.answer || from === null ? (
        <p class="dim moment-empty">
          This moment is A. Select another one, on the chart or with the slider, to see what differs.
        </p>
      ) : (
        <div class="moment-difference">
          <ViewDifference
            sessionId={session.id}
            from={from}
            to={to ?? undefined}
            version={version}
            compactions={compactions}
          />
        </div>
      )}
    </section>
  )
}
