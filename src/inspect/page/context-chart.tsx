import { useMemo, useState } from 'preact/hooks'
import { bytes, clock, short, time, whole } from './format.ts'
import { useWidth } from './hooks.ts'
import { sessionLink } from './router.ts'
import {
  type Axis,
  type ChartPoint,
  edgesOf,
  type Happening,
  indexAt,
  layersOf,
  type Mark,
  type Measure,
  markLabel,
  marksOf,
  middleOf,
  stepsOf,
  ticksOf,
  topOf,
} from './timeline-chart.ts'
import { type ByCategory, sumOf } from './tokens.ts'
import { color } from './ui.tsx'

export type Limit = {
  readonly key: 'window' | 'threshold' | 'target'
  readonly label: string
  readonly value: number
}

const HEIGHT = 232
/** Room for the events, and for the labels of the axis. */
const MARK_SIZE = 20

export const inUnits = (measure: Measure, value: number): string =>
  measure === 'bytes' ? bytes(Math.round(value)) : short(value)

/** The context over time, with a slider to a moment. */
export function ContextChart({
  sessionId,
  points,
  stacks,
  measure,
  axis,
  fit,
  limits,
  reported,
  happenings,
  index,
  pinned,
  onIndex,
}: {
  readonly sessionId: string
  readonly points: readonly ChartPoint[]
  readonly stacks: readonly ByCategory[]
  readonly measure: Measure
  readonly axis: Axis
  readonly fit: 'window' | 'usage'
  readonly limits: readonly Limit[]
  /** The input that the provider reported, by point. */
  readonly reported: readonly (number | undefined)[]
  readonly happenings: readonly Happening[]
  readonly index: number
  /** The index of the moment to compare with. */
  readonly pinned: number | undefined
  onIndex(index: number): void
}) {
  const [box, width] = useWidth<HTMLDivElement>()
  const edges = useMemo(
    () =>
      edgesOf(
        points.map((point) => point.time),
        axis,
        width,
      ),
    [points, axis, width],
  )
  const logs = useMemo(() => points.map(({ logTokens }) => logTokens), [points])
  const top = useMemo(() => {
    const used = Math.max(0, ...stacks.map(sumOf), ...reported.map((value) => value ?? 0))
    const log = measure === 'tokens' ? Math.max(0, ...logs.map((value) => value ?? 0)) : 0
    const limit = limits.find(({ key }) => key === 'window')?.value
    return topOf({ used, log, limit, fit })
  }, [stacks, reported, logs, measure, fit, limits])
  const size = { height: HEIGHT, most: top }
  const layers = useMemo(() => (width === 0 ? [] : layersOf(stacks, edges, size)), [stacks, edges, top])
  const logLine = useMemo(
    () => (width === 0 || measure !== 'tokens' ? '' : stepsOf(logs, edges, size)),
    [logs, edges, top, measure],
  )
  const marks = useMemo(() => marksOf(happenings, points, edges, MARK_SIZE), [happenings, points, edges])
  const y = (value: number): number => HEIGHT - (value / top) * HEIGHT
  const ticks = ticksOf(top, 4).filter((tick) => tick > 0)
  const at = Math.min(index, points.length - 1)
  const band = width / Math.max(1, points.length)
  const select = (event: PointerEvent, isDown: boolean): void => {
    if (!isDown && event.buttons !== 1) return
    const { left } = box.current!.getBoundingClientRect()
    const next = indexAt(edges, event.clientX - left)
    if (next !== at) onIndex(next)
  }
  return (
    <div class="timeline">
      <div class="timeline-box" ref={box}>
        {width > 0 && (
          <svg
            width={width}
            height={HEIGHT}
            role="img"
            aria-label={`${chartName(measure)}: ${whole(points.length)} moments. Use the slider below to read each of them.`}
            onPointerDown={(event) => {
              event.currentTarget.setPointerCapture(event.pointerId)
              select(event, true)
            }}
            onPointerMove={(event) => select(event, false)}
          >
            {ticks.map((tick) => (
              <line key={tick} class="timeline-grid" x1={0} x2={width} y1={y(tick)} y2={y(tick)} />
            ))}
            {layers.map(({ category, path }) => (
              <path key={category} d={path} fill={color(category)} class="timeline-layer" />
            ))}
            {logLine !== '' && <path d={logLine} class="timeline-log" />}
            {limits.map(({ key, value }) =>
              value <= top ? (
                <line
                  key={key}
                  class={`timeline-limit timeline-${key}`}
                  x1={0}
                  x2={width}
                  y1={y(value)}
                  y2={y(value)}
                />
              ) : null,
            )}
            <Reported reported={reported} edges={edges} y={y} isDotted={band >= 7} />
            {pinned !== undefined && pinned < points.length && (
              <Cursor x={middleOf(edges, pinned)} isPinned />
            )}
            <rect
              class="timeline-band"
              x={edges[at]}
              width={Math.max(1, edges[at + 1]! - edges[at]!)}
              y={0}
              height={HEIGHT}
            />
            <Cursor x={middleOf(edges, at)} />
            {ticks.map((tick) => (
              <text key={tick} class="timeline-label" x={4} y={y(tick) - 4}>
                {inUnits(measure, tick)}
              </text>
            ))}
            {limits.map(({ key, value, label }) =>
              value <= top ? (
                <text
                  key={key}
                  class="timeline-label timeline-label-end"
                  x={width - 4}
                  y={Math.max(11, y(value) - 4)}
                >
                  {label} {inUnits(measure, value)}
                </text>
              ) : null,
            )}
          </svg>
        )}
        {width === 0 && <div class="timeline-space" />}
      </div>
      <Slider points={points} stacks={stacks} measure={measure} index={at} width={width} onIndex={onIndex} />
      <AxisLabels points={points} edges={edges} axis={axis} width={width} />
      {width > 0 && <Marks sessionId={sessionId} marks={marks} isEmpty={happenings.length === 0} />}
    </div>
  )
}

const chartName = (measure: Measure): string =>
  measure === 'tokens' ? 'Tokens by category' : measure === 'images' ? 'Images' : 'Bytes of images and files'

function Cursor({ x, isPinned }: { readonly x: number; readonly isPinned?: boolean }) {
  return (
    <g class={isPinned ? 'timeline-cursor timeline-pinned' : 'timeline-cursor'}>
      <line x1={x} x2={x} y1={0} y2={HEIGHT} />
      {isPinned && (
        <text x={x + 4} y={12} class="timeline-label">
          A
        </text>
      )}
    </g>
  )
}

/** The input as reported: dots, or a line if there is no room for them. */
function Reported({
  reported,
  edges,
  y,
  isDotted,
}: {
  readonly reported: readonly (number | undefined)[]
  readonly edges: readonly number[]
  y(value: number): number
  readonly isDotted: boolean
}) {
  const places = reported.flatMap((value, index) =>
    value === undefined ? [] : [{ x: middleOf(edges, index), y: y(value) }],
  )
  if (places.length === 0) return null
  return isDotted || places.length === 1 ? (
    <g class="timeline-reported">
      {places.map((place) => (
        <circle key={place.x} cx={place.x} cy={place.y} r={2.5} />
      ))}
    </g>
  ) : (
    <polyline
      class="timeline-reported"
      points={places.map((place) => `${place.x.toFixed(1)},${place.y.toFixed(1)}`).join(' ')}
    />
  )
}

const THUMB = 16

/** The slider is aligned with the bands: its thumb is at the middle of the selected one on an even axis. */
function Slider({
  points,
  stacks,
  measure,
  index,
  width,
  onIndex,
}: {
  readonly points: readonly ChartPoint[]
  readonly stacks: readonly ByCategory[]
  readonly measure: Measure
  readonly index: number
  readonly width: number
  onIndex(index: number): void
}) {
  const point = points[index]!
  const inset = Math.max(0, width / points.length / 2 - THUMB / 2)
  return (
    <input
      type="range"
      class="timeline-slider"
      aria-label="Moment"
      aria-valuetext={`${pointName(point)}, ${inUnits(measure, sumOf(stacks[index]!))} ${measure}, ${time(point.time)}`}
      min={0}
      max={Math.max(0, points.length - 1)}
      value={index}
      disabled={points.length < 2}
      style={{ margin: `0 ${inset}px`, width: `${Math.max(THUMB, width - 2 * inset)}px` }}
      onInput={(event) => onIndex(Number(event.currentTarget.value))}
    />
  )
}

/** What a moment is: the state from which an answer was written, or the present. */
export const pointName = ({ answer, position }: Pick<ChartPoint, 'answer' | 'position'>): string =>
  answer === undefined ? `Now, after message ${whole(position)}` : `Before answer ${whole(answer)}`

function AxisLabels({
  points,
  edges,
  axis,
  width,
}: {
  readonly points: readonly ChartPoint[]
  readonly edges: readonly number[]
  readonly axis: Axis
  readonly width: number
}) {
  if (width === 0) return <div class="timeline-axis" />
  const count = Math.max(1, Math.min(points.length, Math.floor(width / 150)))
  const shown = [
    ...new Set(Array.from({ length: count }, (_, at) => indexAt(edges, ((at + 0.5) * width) / count))),
  ]
  return (
    <div class="timeline-axis" aria-hidden="true">
      {shown.map((index) => {
        const point = points[index]!
        return (
          <span key={index} style={{ left: `${(middleOf(edges, index) / width) * 100}%` }}>
            {axis === 'time'
              ? axisTime(points, point.time)
              : point.answer === undefined
                ? 'now'
                : `message ${whole(point.answer)}`}
          </span>
        )
      })}
    </div>
  )
}

/** The clock alone, if the whole axis is one day. */
function axisTime(points: readonly ChartPoint[], at: number): string {
  const day = (time: number): string => new Date(time).toDateString()
  return day(points[0]!.time) === day(points.at(-1)!.time) ? clock(at) : time(at)
}

/** Events under the axis. One alone leads to its compaction; several open a list. */
function Marks({
  sessionId,
  marks,
  isEmpty,
}: {
  readonly sessionId: string
  readonly marks: readonly Mark[]
  readonly isEmpty: boolean
}) {
  const [open, setOpen] = useState<number>()
  const opened = marks.find(({ happenings: [first] }) => first!.no === open)
  return (
    <>
      <section class="timeline-marks" aria-label="Events">
        {isEmpty && <span class="dim small">No compactions, rewinds or other events yet.</span>}
        {marks.map((mark) => {
          const [first] = mark.happenings
          const { kind, sign, no, compactionId } = first!
          const label = markLabel(mark)
          const place = { left: `${mark.x}px` }
          if (mark.happenings.length === 1 && compactionId !== undefined)
            return (
              <a
                key={no}
                class={`event-mark event-${kind}`}
                style={place}
                href={sessionLink(sessionId, 'compactions', { compaction: compactionId })}
                aria-label={label}
                title={label}
              >
                {sign}
              </a>
            )
          return (
            <button
              key={no}
              type="button"
              class={`event-mark event-${sameKind(mark)}`}
              style={place}
              aria-label={label}
              title={label}
              aria-expanded={opened === mark}
              onClick={() => setOpen(open === no ? undefined : no)}
            >
              {mark.happenings.length === 1 ? sign : countSign(mark.happenings.length)}
            </button>
          )
        })}
      </section>
      {!isEmpty && (
        <p class="dim small">
          Events: a letter is a compaction, « a rewind, a number several at one answer. Point at one, or open
          it.
        </p>
      )}
      {opened !== undefined && (
        <div class="timeline-opened">
          <HappeningList sessionId={sessionId} happenings={opened.happenings} />
          <button
            type="button"
            class="icon-button"
            aria-label="Close the list of events"
            onClick={() => setOpen(undefined)}
          >
            ✕
          </button>
        </div>
      )}
    </>
  )
}

const countSign = (count: number): string => (count > 99 ? '99+' : String(count))

const sameKind = ({ happenings }: Mark): string =>
  happenings.every(({ kind }) => kind === happenings[0]!.kind) ? happenings[0]!.kind : 'other'

const MOST_LISTED = 30

export function HappeningList({
  sessionId,
  happenings,
}: {
  readonly sessionId: string
  readonly happenings: readonly Happening[]
}) {
  return (
    <ul class="happenings">
      {happenings.slice(-MOST_LISTED).map(({ no, at, kind, sign, label, compactionId }) => (
        <li key={no}>
          <span class={`event-mark event-${kind}`} aria-hidden="true">
            {sign}
          </span>
          {compactionId === undefined ? (
            <span>{label}</span>
          ) : (
            <a href={sessionLink(sessionId, 'compactions', { compaction: compactionId })}>{label}</a>
          )}
          <span class="dim nowrap">{time(at)}</span>
        </li>
      ))}
      {happenings.length > MOST_LISTED && (
        <li class="dim">and {whole(happenings.length - MOST_LISTED)} earlier events</li>
      )}
    </ul>
  )
}
