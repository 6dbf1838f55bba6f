import { scaleBand, scaleLinear } from 'd3-scale'
import { type SeriesPoint, stack } from 'd3-shape'
import type { ComponentChildren, TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Bucket, ChartData, Measure } from './cost-sums.ts'
import { axisMoney, money, short, whole } from './format.ts'

/* Stacked bars by day. The same figures are in a table that can be opened. */

const HEIGHT = 220
const MARGIN = { top: 10, right: 8, bottom: 22, left: 8 }
const MAX_BAR = 56
/** About the width of a digit of a label, in pixels. */
const DIGIT_WIDTH = 7
/** Pixels between two labels of days. */
const LABEL_WIDTH = 64

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const DAY_AND_YEAR = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})
const MONTH = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone: 'UTC' })
const day = (name: string): string => DAY.format(Date.parse(`${name}T00:00:00Z`))
const dayAndYear = (name: string): string => DAY_AND_YEAR.format(Date.parse(`${name}T00:00:00Z`))

/** The name of a bucket: a day, a week by its days, or a month. */
function bucketName({ from, to }: Pick<Bucket, 'from' | 'to'>): string {
  if (from === to) return dayAndYear(from)
  return from.endsWith('-01') && from.slice(0, 7) === to.slice(0, 7) && to.slice(8) >= '28'
    ? MONTH.format(Date.parse(`${from}T00:00:00Z`))
    : `${day(from)} – ${dayAndYear(to)}`
}

const exact = (measure: Measure, value: number): string => (measure === 'cost' ? money(value) : whole(value))
const sumOf = ({ values }: Bucket): number => values.reduce((sum, value) => sum + value, 0)
const colorOf = (category: string): string => `var(--cat-${category})`

export function CostChart({ data, measure }: { readonly data: ChartData; readonly measure: Measure }) {
  const { series, buckets } = data
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(800)
  const [chosen, setChosen] = useState<number>()
  useLayoutEffect(() => {
    const measured = (): void => setWidth(Math.max(240, box.current?.clientWidth ?? 800))
    measured()
    const observer = new ResizeObserver(measured)
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])
  const shown = chosen === undefined ? undefined : buckets[chosen]
  const onKeyDown = (event: TargetedKeyboardEvent<SVGSVGElement>): void => {
    const last = buckets.length - 1
    const at = chosen ?? last
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key]
    if (next === undefined) return
    event.preventDefault()
    event.stopPropagation()
    const target = Math.min(last, Math.max(0, next))
    setChosen(target)
    event.currentTarget.querySelector<SVGGElement>(`[data-at="${target}"]`)?.focus()
  }
  const y = scaleLinear()
    .domain([0, Math.max(...buckets.map(sumOf), 0) || 1])
    .nice(4)
    .range([HEIGHT - MARGIN.bottom, MARGIN.top])
  const labels = y.ticks(4)
  const axisLabel = (value: number): string =>
    measure === 'cost' ? axisMoney(value, labels[1] ?? 1) : short(value)
  const left = MARGIN.left + 8 + Math.max(...labels.map((value) => axisLabel(value).length)) * DIGIT_WIDTH
  const x = scaleBand<number>()
    .domain(buckets.map((_, at) => at))
    .range([left, width - MARGIN.right])
    .paddingInner(Math.max(0.2, 1 - (MAX_BAR * buckets.length) / (width - left - MARGIN.right)))
    .paddingOuter(0.1)
  const layers = stack<Bucket, number>()
    .keys(series.map((_, at) => at))
    .value(({ values }, at) => values[at]!)([...buckets])
  const mark = Math.min(12, (x.step() - x.bandwidth()) / 2)
  const every = Math.ceil(buckets.length / Math.max(1, Math.floor((width - left) / LABEL_WIDTH)))
  return (
    <figure class="cost-chart">
      <ul class="legend">
        {series.map(({ key, label, color }) => (
          <li key={key}>
            <span class="dot" style={{ background: colorOf(color) }} />
            {label}
          </li>
        ))}
      </ul>
      <div class="cost-chart-box" ref={box}>
        {/* biome-ignore lint/a11y/useSemanticElements: no HTML element is a group in a drawing */}
        <svg
          width={width}
          height={HEIGHT}
          role="group"
          aria-label="Bars by day; arrow keys move between them"
          onKeyDown={onKeyDown}
          onMouseLeave={() => setChosen(undefined)}
        >
          {labels.map((value) => (
            <g key={value}>
              <line class="cost-chart-grid" x1={left} x2={width - MARGIN.right} y1={y(value)} y2={y(value)} />
              <text class="cost-chart-label" x={left - 8} y={y(value)} dy="0.32em" text-anchor="end">
                {axisLabel(value)}
              </text>
            </g>
          ))}
          {buckets.map((bucket, at) => (
            // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it is focused to be read, and has no action
            <g
              key={bucket.from}
              data-at={at}
              class={`cost-chart-bar ${at === chosen ? 'cost-chart-chosen' : ''}`}
              // One bar is in the order of Tab; arrow keys reach the others.
              tabIndex={at === (chosen ?? buckets.length - 1) ? 0 : -1}
              role="img"
              aria-label={`${bucketName(bucket)}: ${valuesOf(data, bucket, measure)}`}
              onFocus={() => setChosen(at)}
              onMouseEnter={() => setChosen(at)}
            >
              <rect
                class="cost-chart-hit"
                x={x(at)! - (x.step() - x.bandwidth()) / 2}
                width={x.step()}
                y={MARGIN.top}
                height={HEIGHT - MARGIN.top - MARGIN.bottom}
              />
              <rect
                class="cost-chart-mark"
                x={x(at)! - mark}
                width={x.bandwidth() + 2 * mark}
                y={MARGIN.top}
                height={HEIGHT - MARGIN.top - MARGIN.bottom}
              />
              {layers.map((layer) => (
                <BarPart
                  key={layer.key}
                  point={layer[at]!}
                  y={y}
                  x={x(at)!}
                  width={x.bandwidth()}
                  color={series[layer.key]!.color}
                />
              ))}
              {(buckets.length - 1 - at) % every === 0 && (
                <text
                  class="cost-chart-label"
                  x={Math.min(width - 20, x(at)! + x.bandwidth() / 2)}
                  y={HEIGHT - 6}
                  text-anchor="middle"
                >
                  {day(bucket.from)}
                </text>
              )}
            </g>
          ))}
          <line
            class="cost-chart-axis"
            x1={left}
            x2={width - MARGIN.right}
            y1={HEIGHT - MARGIN.bottom}
            y2={HEIGHT - MARGIN.bottom}
          />
        </svg>
      </div>
      <p class="cost-chart-values" aria-live="off">
        {shown === undefined ? (
          <span class="dim">Point at a bar for its values, or focus it and use the arrow keys.</span>
        ) : (
          <>
            <b>{bucketName(shown)}</b> {exact(measure, sumOf(shown))}
            {series.map(
              ({ key, label, color }, at) =>
                shown.values[at]! > 0 && (
                  <span key={key} class="cost-chart-value">
                    <span class="dot" style={{ background: colorOf(color) }} />
                    {label} {exact(measure, shown.values[at]!)}
                  </span>
                ),
            )}
          </>
        )}
      </p>
      <ChartTable data={data} measure={measure} />
    </figure>
  )
}

function BarPart({
  point: [from, to],
  x,
  y,
  width,
  color,
}: {
  readonly point: SeriesPoint<Bucket>
  readonly x: number
  readonly y: (value: number) => number
  readonly width: number
  readonly color: string
}) {
  const height = y(from) - y(to)
  return height > 0 ? (
    <rect x={x} width={width} y={y(to)} height={height} style={{ fill: colorOf(color) }} />
  ) : null
}

function valuesOf({ series }: ChartData, bucket: Bucket, measure: Measure): string {
  const parts = series.flatMap(({ label }, at) =>
    bucket.values[at]! > 0 ? [`${label} ${exact(measure, bucket.values[at]!)}`] : [],
  )
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

function ChartTable({
  data: { series, buckets },
  measure,
}: {
  readonly data: ChartData
  readonly measure: Measure
}) {
  const used = buckets.filter((bucket) => sumOf(bucket) > 0).toReversed()
  return (
    <details class="cost-chart-table">
      <summary>Values as a table</summary>
      <TableBox label="Values by day">
        <table>
          <thead>
            <tr>
              <th>Day</th>
              {series.map(({ key, label }) => (
                <th key={key} class="number">
                  {label}
                </th>
              ))}
              <th class="number">Sum</th>
            </tr>
          </thead>
          <tbody>
            {used.map((bucket) => (
              <tr key={bucket.from}>
                <td class="nowrap">{bucketName(bucket)}</td>
                {series.map(({ key }, at) => (
                  <td key={key} class="number">
                    {bucket.values[at] === 0 ? '–' : exact(measure, bucket.values[at]!)}
                  </td>
                ))}
                <td class="number">{exact(measure, sumOf(bucket))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
    </details>
  )
}

/** A table that scrolls sideways where there is no room, also with the keyboard. */
export function TableBox({
  label,
  children,
}: {
  readonly label: string
  readonly children: ComponentChildren
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
    <section class="table-box" aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
