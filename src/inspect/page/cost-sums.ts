import type { Costs, DayOfCompactions, DayOfRequests } from '../../store/costs.ts'
import type { RecordedRequest } from '../../store/requests/recorded.ts'
import type { Timeline } from '../../store/topics/messages.ts'

/* Sums of what requests and compactions cost. Days are local and named as `2026-11-29`. */

export type Period = 7 | 30 | 90 | 'all'
export const PERIODS: readonly Period[] = [7, 30, 90, 'all']

/** Returns the local midnight with which a period begins; undefined for all. */
export function startOf(period: Period, now: number): number | undefined {
  if (period === 'all') return undefined
  const day = new Date(now)
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() - (period - 1)).getTime()
}

/** Returns the minutes by which local time is ahead of UTC. */
export const offsetOf = (now: number): number => -new Date(now).getTimezoneOffset()

/** Returns the name of the local day of a time. */
export function dayOf(at: number): string {
  const day = new Date(at)
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`
}

type Dollars = number | null
/** Adds costs; the sum is unknown only if all are. */
const plus = (a: Dollars, b: Dollars): Dollars => (a === null ? b : b === null ? a : a + b)

export type ModelSums = {
  readonly provider: string
  readonly model: string | undefined
  readonly requests: number
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheCreationTokens: number
  readonly outputTokens: number
  readonly cost: Dollars
  /** What caching saved: the cost without a cache, minus the cost. */
  readonly saved: Dollars
}

/** Returns the sums by provider and model, the most expensive first. */
export function byModel(rows: readonly DayOfRequests[]): ModelSums[] {
  const sums = new Map<string, ModelSums>()
  for (const row of rows) {
    const key = keyOf(row)
    const saved = row.cost === null || row.uncachedCost === null ? null : row.uncachedCost - row.cost
    const sum = sums.get(key) ?? { ...NOTHING, provider: row.provider, model: row.model }
    sums.set(key, added(sum, { ...row, model: row.model, saved }))
  }
  return [...sums.values()].sort((a, b) => (b.cost ?? -1) - (a.cost ?? -1) || b.requests - a.requests)
}

const NOTHING = {
  ...{ requests: 0, inputTokens: 0, cacheReadTokens: 0, cacheCreationTokens: 0, outputTokens: 0 },
  ...{ cost: null, saved: null },
}

function added(a: ModelSums, b: ModelSums): ModelSums {
  return {
    ...{ provider: a.provider, model: a.model },
    requests: a.requests + b.requests,
    inputTokens: a.inputTokens + b.inputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheCreationTokens: a.cacheCreationTokens + b.cacheCreationTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cost: plus(a.cost, b.cost),
    saved: plus(a.saved, b.saved),
  }
}

/** Returns the sum of all models. */
export function totalOf(sums: readonly ModelSums[]): ModelSums {
  return sums.reduce<ModelSums>(added, { ...NOTHING, provider: '', model: undefined })
}

type Input = Pick<ModelSums, 'inputTokens' | 'cacheReadTokens' | 'cacheCreationTokens'>

/** The tokens of the input, cached or not. */
export const inputOf = ({ inputTokens, cacheReadTokens, cacheCreationTokens }: Input): number =>
  inputTokens + cacheReadTokens + cacheCreationTokens

/** The share of the input that was read from the cache; undefined without input. */
export function cachedShare(sums: Input): number | undefined {
  const input = inputOf(sums)
  return input === 0 ? undefined : sums.cacheReadTokens / input
}

type CompactionSums = Omit<DayOfCompactions, 'day'>

/** Returns the sums by summarizer and model. */
export function bySummarizer(rows: readonly DayOfCompactions[]): CompactionSums[] {
  const sums = new Map<string, CompactionSums>()
  for (const { day: _, ...row } of rows) {
    const key = JSON.stringify([row.summarizer ?? null, row.model ?? null])
    const sum = sums.get(key)
    sums.set(
      key,
      sum === undefined
        ? row
        : {
            ...row,
            compactions: sum.compactions + row.compactions,
            tokensSaved: sum.tokensSaved + row.tokensSaved,
            cost: plus(sum.cost, row.cost),
          },
    )
  }
  return [...sums.values()].sort((a, b) => (b.cost ?? -1) - (a.cost ?? -1) || b.compactions - a.compactions)
}

/* The chart. */

/** What the bars show: dollars by model, or tokens by how they were billed. */
export type Measure = 'cost' | 'tokens'
type Series = { readonly key: string; readonly label: string; readonly color: string }
export type Bucket = { readonly from: string; readonly to: string; readonly values: readonly number[] }
export type ChartData = { readonly series: readonly Series[]; readonly buckets: readonly Bucket[] }

/** More models than this are shown as one series. */
const MAX_MODELS = 6
const COLORS = ['text', 'toolResults', 'media', 'reasoning', 'toolCalls', 'tools', 'other'] as const
const KINDS = [
  { key: 'cacheReadTokens', label: 'Read from the cache', color: 'toolResults' },
  { key: 'cacheCreationTokens', label: 'Written to the cache', color: 'tools' },
  { key: 'inputTokens', label: 'Input, uncached', color: 'media' },
  { key: 'outputTokens', label: 'Output', color: 'reasoning' },
] as const

/**
 * Returns the stacked bars from `from` to `to`, which are days. More than `most` days become weeks, and more than that many weeks become
 * months. Days without requests are bars without a height.
 */
export function chartData(
  costs: Costs,
  {
    measure,
    from,
    to,
    most = 92,
  }: { readonly measure: Measure; from: string; to: string; readonly most?: number },
): ChartData {
  const { series, valuesOf } = measure === 'cost' ? dollars(costs) : tokens(costs)
  const buckets = bucketsOf(from, to, most).map((bucket) => ({ ...bucket, values: series.map(() => 0) }))
  for (const { day, values } of valuesOf) {
    const bucket = buckets.findLast((one) => one.from <= day)
    if (bucket === undefined || bucket.to < day) continue
    for (const [at, value] of values.entries()) bucket.values[at]! += value
  }
  return { series, buckets }
}

type Values = {
  readonly series: readonly Series[]
  readonly valuesOf: readonly { readonly day: string; readonly values: readonly number[] }[]
}

function dollars({ requests, compactions }: Costs): Values {
  const models = byModel(requests)
  const shown = models.length > MAX_MODELS ? models.slice(0, MAX_MODELS - 1) : models
  const hasOthers = shown.length < models.length
  const hasSummaries = compactions.some(({ cost }) => (cost ?? 0) > 0)
  const series: Series[] = [
    ...shown.map((sums, at) => ({ key: keyOf(sums), label: modelName(sums), color: COLORS[at]! })),
    ...(hasOthers ? [{ key: 'others', label: 'Other models', color: 'other' }] : []),
    ...(hasSummaries ? [{ key: 'summaries', label: 'Summaries', color: 'system' }] : []),
  ]
  const at = new Map(series.map(({ key }, index) => [key, index] as const))
  const only = (index: number | undefined, value: number): number[] =>
    series.map((_, other) => (other === index ? value : 0))
  return {
    series,
    valuesOf: [
      ...requests.map((row) => ({
        day: row.day,
        values: only(at.get(keyOf(row)) ?? at.get('others'), row.cost ?? 0),
      })),
      ...compactions.map(({ day, cost }) => ({ day, values: only(at.get('summaries'), cost ?? 0) })),
    ],
  }
}

function tokens({ requests }: Costs): Values {
  const series = KINDS.filter(({ key }) => requests.some((row) => row[key] > 0))
  return {
    series,
    valuesOf: requests.map((row) => ({ day: row.day, values: series.map(({ key }) => row[key]) })),
  }
}

const keyOf = ({
  provider,
  model,
}: {
  readonly provider: string
  readonly model?: string | undefined
}): string => JSON.stringify([provider, model ?? null])

/** A model with its provider, which is left out if the name of the model says it. */
export function modelName({
  provider,
  model,
}: {
  readonly provider: string
  readonly model?: string | undefined
}): string {
  return model === undefined ? provider : model.startsWith(`${provider}/`) ? model : `${provider} / ${model}`
}

/** Returns the first and last day with anything; undefined for none. */
export function daysWithCosts({ requests, compactions }: Costs): readonly [string, string] | undefined {
  const days = [...requests, ...compactions].map(({ day }) => day).sort()
  return days.length === 0 ? undefined : [days[0]!, days.at(-1)!]
}

const DAY_MS = 86_400_000

/** Names of days are counted in UTC, in which all days have the same length. */
const timeOf = (day: string): number => Date.parse(`${day}T00:00:00Z`)
const nameOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

type Range = { readonly from: string; readonly to: string }

/** Returns the days, weeks (from Monday) or months between two days. */
export function bucketsOf(from: string, to: string, most: number): Range[] {
  const days = Math.round((timeOf(to) - timeOf(from)) / DAY_MS) + 1
  if (days <= 0) return []
  if (days <= most) return Array.from({ length: days }, (_, at) => ofDays(timeOf(from) + at * DAY_MS, 1))
  const monday = timeOf(from) - ((new Date(timeOf(from)).getUTCDay() + 6) % 7) * DAY_MS
  const weeks = Math.floor((timeOf(to) - monday) / (7 * DAY_MS)) + 1
  if (weeks <= most) return Array.from({ length: weeks }, (_, at) => ofDays(monday + at * 7 * DAY_MS, 7))
  const start = new Date(timeOf(from))
  const [year, month] = [start.getUTCFullYear(), start.getUTCMonth()]
  const end = new Date(timeOf(to))
  const months = (end.getUTCFullYear() - year) * 12 + end.getUTCMonth() - month + 1
  return Array.from({ length: months }, (_, at) => ({
    from: nameOf(Date.UTC(year, month + at, 1)),
    to: nameOf(Date.UTC(year, month + at + 1, 0)),
  }))
}

function ofDays(at: number, count: number): Range {
  return { from: nameOf(at), to: nameOf(at + (count - 1) * DAY_MS) }
}

/* What compaction saved in the requests of a session. */

/** The tokens that the requests of a session would have contained without compaction, minus those that they contained. */
export type Saved = {
  readonly tokens: number
  readonly answers: number
  /** The answers that were counted, if not all were: the sum is then scaled. */
  readonly counted: number
}

/** Adds up the difference between the log and the view at each answer. */
export function savedByCompaction({ points, answers }: Timeline): Saved {
  const sum = points.reduce((total, { logTokens, tokens }) => total + Math.max(0, logTokens - tokens), 0)
  const scale = points.length === 0 ? 0 : answers / points.length
  return { tokens: Math.round(sum * scale), answers, counted: points.length }
}

/** Dollars for a token, by how it is billed; undefined where no request had such tokens. */
export type Prices = {
  readonly input?: number
  readonly cacheRead?: number
  readonly cacheCreation?: number
  readonly output?: number
}

type Billed = {
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
  readonly outputTokens: number
}
type Equation = { readonly tokens: readonly number[]; readonly cost: number }

const NAMES = ['input', 'cacheRead', 'cacheCreation', 'output'] as const

/** The largest difference between a cost and the prices found, as a share: prices that depend on the length don't fit. */
const TOLERANCE = 0.01
/** A price per token, in dollars, that counts as zero: a tenth of a cent per million. */
const ROUNDING = 1e-9

/**
 * Returns the prices of a model, derived from what its requests cost: those with the least squares of the differences. Returns undefined if
 * the requests are too few or too much alike, or if no prices fit.
 */
export function pricesOf(
  costs: Costs['requests'],
  requests: readonly (Billed & { readonly cost: number })[],
): Prices | undefined {
  const equations: Equation[] = [
    ...requests.map(({ cost, ...billed }) => ({ tokens: tokensOf(billed), cost })),
    ...costs.flatMap((row) => [
      ...(row.cost === null ? [] : [{ tokens: tokensOf(row), cost: row.cost }]),
      ...(row.uncachedCost === null ? [] : [{ tokens: tokensOf(withoutCache(row)), cost: row.uncachedCost }]),
    ]),
  ]
  const used = NAMES.map((_, at) => at).filter((at) => equations.some(({ tokens: all }) => all[at]! > 0))
  const prices = leastSquares(
    equations.map(({ tokens: all, cost }) => ({ tokens: used.map((at) => all[at]!), cost })),
    used.length,
  )
  if (prices === undefined) return undefined
  const largest = Math.max(...equations.map(({ cost }) => cost))
  const isWrong = equations.some(({ tokens: all, cost }) => {
    const expected = used.reduce((sum, column, at) => sum + all[column]! * prices[at]!, 0)
    return Math.abs(expected - cost) > TOLERANCE * Math.max(cost, largest * TOLERANCE)
  })
  if (isWrong || prices.some((price) => price < -ROUNDING)) return undefined
  return Object.fromEntries(used.map((column, at) => [NAMES[column]!, Math.max(0, prices[at]!)]))
}

function tokensOf({
  inputTokens,
  cacheReadTokens = 0,
  cacheCreationTokens = 0,
  outputTokens,
}: Billed): number[] {
  return [inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens]
}

const withoutCache = (row: DayOfRequests): Billed => ({
  inputTokens: inputOf(row),
  outputTokens: row.outputTokens,
})

/** Solves the normal equations. Columns are scaled to the same length, so that one limit tells whether they determine the result. */
function leastSquares(equations: readonly Equation[], count: number): number[] | undefined {
  if (count === 0 || equations.length < count) return undefined
  const lengths = Array.from({ length: count }, (_, at) =>
    Math.sqrt(equations.reduce((sum, { tokens: all }) => sum + all[at]! ** 2, 0)),
  )
  const rows = Array.from({ length: count }, (_, a) => [
    ...Array.from({ length: count }, (_, b) =>
      equations.reduce((sum, { tokens: all }) => sum + (all[a]! / lengths[a]!) * (all[b]! / lengths[b]!), 0),
    ),
    equations.reduce((sum, { tokens: all, cost }) => sum + (all[a]! / lengths[a]!) * cost, 0),
  ])
  return eliminate(rows)?.map((value, at) => value / lengths[at]!)
}

/** A smaller pivot means that the columns depend on each other: the requests are too much alike. */
const LEAST_PIVOT = 1e-9

/** Gauss–Jordan elimination. */
function eliminate(rows: number[][]): number[] | undefined {
  for (let at = 0; at < rows.length; at++) {
    let best = at
    for (let other = at + 1; other < rows.length; other++)
      if (Math.abs(rows[other]![at]!) > Math.abs(rows[best]![at]!)) best = other
    ;[rows[at], rows[best]] = [rows[best]!, rows[at]!]
    const pivot = rows[at]![at]!
    if (Math.abs(pivot) < LEAST_PIVOT) return undefined
    for (let other = 0; other < rows.length; other++) {
      if (other === at) continue
      const factor = rows[other]![at]! / pivot
      rows[other] = rows[other]!.map((value, column) => value - factor * rows[at]![column]!)
    }
  }
  return rows.map((row, at) => row.at(-1)! / row[at]!)
}

/** Returns the requests to the model that most of them use, as far as their cost is known. */
export function pricedRequests(requests: readonly (RecordedRequest & { readonly cost?: number | null })[]):
  | {
      readonly provider: string
      readonly model: string | undefined
      readonly billed: (Billed & { cost: number })[]
    }
  | undefined {
  const groups = new Map<string, RecordedRequest[]>()
  for (const request of requests) {
    const key = keyOf(request)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [request])
    else group.push(request)
  }
  const [largest] = [...groups.values()].sort((a, b) => b.length - a.length)
  if (largest === undefined) return undefined
  const [{ provider, model }] = largest as [RecordedRequest, ...RecordedRequest[]]
  return {
    provider,
    model,
    billed: (largest as (RecordedRequest & { cost?: number | null })[]).flatMap(({ usage, cost }) =>
      usage !== undefined && typeof cost === 'number' ? [{ ...usage, cost }] : [],
    ),
  }
}
