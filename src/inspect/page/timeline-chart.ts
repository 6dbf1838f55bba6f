import { scaleLinear } from 'd3-scale'
import { area, curveStepAfter, line } from 'd3-shape'
import { countBefore } from '../../core/messages/json.ts'
import type { AuditEntry, Compaction } from '../../storage/storage.ts'
import type { TimelinePoint } from '../../store/topics/messages.ts'
import { kindWords, workWords } from './compaction-runs.ts'
import { change } from './format.ts'
import { type ByCategory, CATEGORIES, type Category, tokensByCategory } from './tokens.ts'

/* The geometry of the context over time. Each point has a band of the axis, so that a chart of one point has an area too. */

/** A moment on the axis: an answer, or now. */
export type ChartPoint = Omit<TimelinePoint, 'answer' | 'logTokens'> & {
  /** Absent for now. */
  readonly answer?: number
  readonly logTokens?: number
}

/** What a chart measures. */
export type Measure = 'tokens' | 'images' | 'bytes'
/** What the axis counts. */
export type Axis = 'answers' | 'time'

/** The index of the point for the address of the page: by the position of the log, or by an entry of the audit. Default: the last. */
export function indexIn(
  points: readonly ChartPoint[],
  { position, audit }: { readonly position?: string | undefined; readonly audit?: string | undefined },
): number {
  const last = points.length - 1
  const find = (
    given: string | undefined,
    isReached: (point: ChartPoint, wanted: number) => boolean,
  ): number => {
    const wanted = Number(given)
    return given === undefined || !Number.isFinite(wanted)
      ? -1
      : points.findIndex((point) => isReached(point, wanted))
  }
  if (position !== undefined)
    return orLast(
      find(position, ({ answer, position: end }, wanted) => (answer ?? end) >= wanted),
      last,
    )
  return orLast(
    find(audit, ({ auditNo }, wanted) => auditNo >= wanted),
    last,
  )
}

const orLast = (index: number, last: number): number => (index === -1 ? last : index)

/**
 * Returns the figures of a point that are stacked. Tokens are corrected by the ratio learned from reports, and include the parts besides the
 * history.
 */
export function stackOf(
  { sizes, tokens }: ChartPoint,
  measure: Measure,
  { ratio, fixed }: { readonly ratio: number; readonly fixed: ByCategory },
): ByCategory {
  if (measure === 'images') return { media: sizes.images }
  if (measure === 'bytes') return { media: sizes.mediaBytes }
  return { ...tokensByCategory(sizes, tokens * ratio), ...fixed }
}

/** Returns the left edges of the bands of all points, and the right edge of the last. */
export function edgesOf(times: readonly number[], axis: Axis, width: number): number[] {
  const count = times.length
  if (count === 0) return []
  const even = times.map((_, index) => (index * width) / count)
  const centers = axis === 'time' ? centersInTime(times, width) : undefined
  if (centers === undefined) return [...even, width]
  return [0, ...centers.slice(1).map((center, index) => (center + centers[index]!) / 2), width]
}

/** The room at both ends of an axis of time, so that the first and the last point have a band. */
const END = 6

function centersInTime(times: readonly number[], width: number): number[] | undefined {
  const ordered = inOrder(times)
  const [first = 0, last = 0] = [ordered[0], ordered.at(-1)]
  if (last === first) return undefined
  return ordered.map((time) => END + ((time - first) / (last - first)) * (width - 2 * END))
}

/** Times of messages are those of the application, so a later message may have an earlier time. */
function inOrder(times: readonly number[]): number[] {
  let latest = Number.NEGATIVE_INFINITY
  return times.map((time) => {
    latest = Math.max(latest, time)
    return latest
  })
}

/** Returns the index of the point whose band contains a place of the axis. */
export function indexAt(edges: readonly number[], x: number): number {
  const reached = countBefore(edges, (edge) => edge <= x)
  return Math.max(0, Math.min(edges.length - 1, reached) - 1)
}

/** The middle of a point's band. */
export const middleOf = (edges: readonly number[], index: number): number =>
  (edges[index]! + edges[index + 1]!) / 2

/** An area of the stack, as the path of an SVG. */
type Layer = { readonly category: Category; readonly path: string }

/** Returns the areas of the stacked figures, bottom first, without empty ones. */
export function layersOf(
  stacks: readonly ByCategory[],
  edges: readonly number[],
  { height, most }: { readonly height: number; readonly most: number },
): Layer[] {
  const y = heightScale(height, most)
  const bottoms = stacks.map(() => 0)
  const layers: Layer[] = []
  for (const { key } of CATEGORIES) {
    const values = stacks.map((stack) => stack[key] ?? 0)
    if (values.every((value) => value === 0)) continue
    const steps = values.map((value, index) => {
      const bottom = bottoms[index]!
      bottoms[index] = bottom + value
      return { x: edges[index]!, low: y(bottom), high: y(bottom + value) }
    })
    const path = area<(typeof steps)[number]>()
      .x(({ x }) => x)
      .y0(({ low }) => low)
      .y1(({ high }) => high)
      .curve(curveStepAfter)
      .digits(1)
    layers.push({ category: key, path: path([...steps, { ...steps.at(-1)!, x: edges.at(-1)! }]) ?? '' })
  }
  return layers
}

/** Returns a line over the bands, each at its full width; it has a gap where a figure is undefined. */
export function stepsOf(
  values: readonly (number | undefined)[],
  edges: readonly number[],
  { height, most }: { readonly height: number; readonly most: number },
): string {
  const y = heightScale(height, most)
  // Both ends of a band, so that the last one before a gap is drawn too.
  const ends = values.flatMap((value, index) => {
    const place = value === undefined ? undefined : y(value)
    const next = values[index + 1] === undefined ? [{ x: edges[index + 1]!, y: place }] : []
    return [{ x: edges[index]!, y: place }, ...next]
  })
  const path = line<(typeof ends)[number]>()
    .defined((end) => end.y !== undefined)
    .x(({ x }) => x)
    .y((end) => end.y!)
    .curve(curveStepAfter)
    .digits(1)
  return path(ends) ?? ''
}

const heightScale = (height: number, most: number) => scaleLinear([0, Math.max(1, most)], [height, 0])

/** Round figures for the horizontal lines of a chart. */
export const ticksOf = (most: number, count: number): number[] =>
  scaleLinear([0, Math.max(1, most)], [0, 1])
    .ticks(count)
    .filter((tick) => Number.isInteger(tick))

/**
 * Returns the top of the chart. The window is in it unless the reader asked for the usage; the log without compaction only if it isn't much
 * higher than the rest, because it would flatten everything else.
 */
export function topOf({
  used,
  log,
  limit,
  fit,
}: {
  readonly used: number
  readonly log: number
  readonly limit: number | undefined
  readonly fit: 'window' | 'usage'
}): number {
  const base = fit === 'window' ? Math.max(used, limit ?? 0) : used
  return Math.max(base, log <= 2 * base ? log : 0, 1) * 1.06
}

/* Events. */

type HappeningKind = 'compaction' | 'refusal' | 'repair' | 'rewind' | 'undone' | 'redone' | 'failed' | 'other'

/** Something that happened to the view, between two points. */
export type Happening = {
  readonly no: number
  readonly at: number
  readonly kind: HappeningKind
  /** One letter or sign. */
  readonly sign: string
  readonly label: string
  readonly compactionId?: string
}

const OTHER_EVENTS: { readonly [event: string]: string } = {
  forked: 'Forked',
  'brought back': 'The outcome of a fork was brought back',
  'text purged': 'Text was removed',
  retired: 'Old contents were removed',
}
const ENDED: ReadonlySet<string> = new Set(['failed', 'rejected', 'aborted', 'expired'])

/** Returns the events of the audit that concern the view. */
export function happeningsOf(audit: readonly AuditEntry[], compactions: readonly Compaction[]): Happening[] {
  const byId = new Map(compactions.map((one) => [one.id, one]))
  return audit.flatMap(({ no, at, event, compactionId }): Happening[] => {
    const other = OTHER_EVENTS[event]
    if (other !== undefined) return [{ no, at, kind: 'other', sign: '•', label: other }]
    const compaction = compactionId === undefined ? undefined : byId.get(compactionId)
    if (compaction === undefined) return []
    const common = { no, at, compactionId: compaction.id }
    const name = kindWords(compaction)
    if (event === 'created') return [{ ...common, ...madeOf(compaction, name) }]
    if (event === 'undone') return [{ ...common, kind: 'undone', sign: '↶', label: `Undone: ${name}` }]
    if (event === 'redone') return [{ ...common, kind: 'redone', sign: '↷', label: `Redone: ${name}` }]
    if (ENDED.has(event)) return [{ ...common, kind: 'failed', sign: '✕', label: `${name}: ${event}` }]
    return []
  })
}

const SIGNS: { readonly [kind in Compaction['kind']]: string } = {
  prune: 'P',
  deduplicate: 'D',
  condense: 'S',
  truncate: 'T',
  cut: 'C',
  manual: 'H',
  provider: 'S',
  preview: 'O',
  repair: 'R',
}

function madeOf(compaction: Compaction, name: string): Pick<Happening, 'kind' | 'sign' | 'label'> {
  const { kind, trigger, coverage, tokensBefore, tokensAfter } = compaction
  const why =
    trigger === 'overflow' ? ', after an overflow' : trigger === 'refusal' ? ', after a refusal' : ''
  const label = `${name}: ${workWords(compaction)}, ${change(tokensAfter - tokensBefore)} tokens${why}`
  if (coverage.rewinds === true) return { kind: 'rewind', sign: '«', label }
  if (kind === 'repair') return { kind: 'repair', sign: SIGNS.repair, label }
  if (why !== '') return { kind: 'refusal', sign: '!', label }
  return { kind: 'compaction', sign: SIGNS[kind] ?? '•', label }
}

/** Returns the index of the first point in which an event is in force; the number of points if it was after all of them. */
export function slotOf(points: readonly Pick<ChartPoint, 'auditNo'>[], no: number): number {
  return countBefore(points, ({ auditNo }) => auditNo < no)
}

/** Events at one place of the axis. */
export type Mark = { readonly x: number; readonly happenings: readonly Happening[] }

/** Places events between the points, and merges those that would overlap. */
export function marksOf(
  happenings: readonly Happening[],
  points: readonly Pick<ChartPoint, 'auditNo'>[],
  edges: readonly number[],
  size: number,
): Mark[] {
  const placed = happenings
    .map((happening) => ({ x: edges[slotOf(points, happening.no)]!, happening }))
    .sort((a, b) => a.x - b.x || a.happening.no - b.happening.no)
  const groups: { x: number; happenings: Happening[] }[] = []
  for (const { x, happening } of placed) {
    const group = groups.at(-1)
    if (group !== undefined && x - group.x < size) group.happenings.push(happening)
    else groups.push({ x, happenings: [happening] })
  }
  const width = edges.at(-1) ?? 0
  const within = (x: number): number => Math.min(Math.max(x, size / 2), Math.max(size / 2, width - size / 2))
  return groups.map((group) => ({ ...group, x: within(group.x) }))
}

/** What a mark says of its events: `Pruned …`, or `3 events: …`. */
export function markLabel({ happenings }: Mark): string {
  const labels = happenings.map(({ label }) => label)
  return labels.length === 1
    ? labels[0]!
    : `${labels.length} events: ${labels.slice(0, 4).join('; ')}${labels.length > 4 ? '; …' : ''}`
}
