import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Costs as CostsFound } from '../../store/costs.ts'
import { type Loaded, useCall } from './api.ts'
import { wholePercent } from './comparison-words.ts'
import { CostChart, TableBox } from './cost-chart.tsx'
import {
  byModel,
  bySummarizer,
  cachedShare,
  chartData,
  dayOf,
  daysWithCosts,
  inputOf,
  type Measure,
  type ModelSums,
  modelName,
  offsetOf,
  PERIODS,
  type Period,
  pricedRequests,
  pricesOf,
  savedByCompaction,
  startOf,
  totalOf,
} from './cost-sums.ts'
import './costs.css'
import { counted, money, short, whole } from './format.ts'
import { useLast } from './hooks.ts'
import { useLive } from './live.ts'
import type { TabProps } from './session-tab.ts'
import { Badge, Empty, Fact, Show } from './ui.tsx'
import { useRequests } from './use-requests.ts'

/** The costs of all sessions of the store. */
export function Costs() {
  const { state, connected } = useLive()
  const [period, setPeriod] = useState<Period>(30)
  const costs = useCosts(undefined, period, state?.newest)
  return (
    <section class="page costs">
      <Toolbar title="Costs" period={period} onPeriod={setPeriod} isConnected={connected} />
      <Show of={costs} lines={8}>
        {(found) => (
          <Found costs={found} period={period}>
            <p class="dim small">
              The costs page of a session shows what compaction saved in its later requests.
            </p>
          </Found>
        )}
      </Show>
    </section>
  )
}

/** The costs of a session. */
export function SessionCosts({ session, version }: TabProps) {
  const [period, setPeriod] = useState<Period>('all')
  const costs = useCosts(session.id, period, version)
  return (
    <section class="page costs">
      <Toolbar title="Costs of this session" period={period} onPeriod={setPeriod} isConnected={true} />
      <Show of={costs} lines={8}>
        {(found) => (
          <Found costs={found} period={period} none={<Imported sessionId={session.id} version={version} />}>
            <Savings sessionId={session.id} version={version} />
          </Found>
        )}
      </Show>
    </section>
  )
}

/** The costs of a period up to now. While they are read again, the previous ones stay. */
function useCosts(
  session: string | undefined,
  period: Period,
  version: string | undefined,
): Loaded<CostsFound> {
  const [now, setNow] = useState(Date.now)
  useEffect(() => setNow(Date.now()), [version, period])
  const from = startOf(period, now)
  const loaded = useCall(
    'requests.costs',
    [
      {
        utcOffsetMinutes: offsetOf(now),
        ...(session !== undefined && { session }),
        ...(from !== undefined && { from }),
      },
    ],
    version,
  )
  return { ...loaded, value: useLast(loaded.value) }
}

const PERIOD_WORDS = (period: Period): string => (period === 'all' ? 'All' : `${period} days`)

function Toolbar({
  title,
  period,
  onPeriod,
  isConnected,
}: {
  readonly title: string
  readonly period: Period
  onPeriod(period: Period): void
  readonly isConnected: boolean
}) {
  return (
    <div class="toolbar">
      <h1>{title}</h1>
      {!isConnected && <Badge kind="warn">not connected</Badge>}
      <span class="spring" />
      <fieldset class="cost-segments">
        <legend class="hidden-text">Period</legend>
        {PERIODS.map((one) => (
          <button key={one} type="button" aria-pressed={one === period} onClick={() => onPeriod(one)}>
            {PERIOD_WORDS(one)}
          </button>
        ))}
      </fieldset>
    </div>
  )
}

function Found({
  costs,
  period,
  none,
  children,
}: {
  readonly costs: CostsFound
  readonly period: Period
  /** Shown if nothing was ever recorded. */
  readonly none?: ComponentChildren
  readonly children: ComponentChildren
}) {
  const models = byModel(costs.requests)
  const total = totalOf(models)
  const summaries = bySummarizer(costs.compactions)
  const hasPrices = total.cost !== null
  const [measure, setMeasure] = useState<Measure>()
  const shown = measure ?? (hasPrices ? 'cost' : 'tokens')
  const days = daysWithCosts(costs)
  if (days === undefined)
    return period === 'all' ? (
      (none ?? <NotRecorded title="No usage was recorded." />)
    ) : (
      <NotRecorded title="No usage was recorded in this period." />
    )
  const start = startOf(period, Date.now())
  const data = chartData(costs, {
    measure: shown,
    from: start === undefined ? days[0] : dayOf(start),
    to: start === undefined ? days[1] : dayOf(Date.now()),
  })
  return (
    <>
      <Totals total={total} summaryCost={costOf(summaries)} />
      {costs.requests.length > 0 && (
        <section class="costs-part" aria-label="By day">
          <header class="costs-head">
            <h2>By day</h2>
            <span class="spring" />
            <fieldset class="cost-segments">
              <legend class="hidden-text">Measure</legend>
              <button type="button" aria-pressed={shown === 'cost'} onClick={() => setMeasure('cost')}>
                Cost
              </button>
              <button type="button" aria-pressed={shown === 'tokens'} onClick={() => setMeasure('tokens')}>
                Tokens
              </button>
            </fieldset>
          </header>
          {shown === 'cost' && !hasPrices ? (
            <p class="dim">No list price is known for these models.</p>
          ) : (
            <CostChart data={data} measure={shown} />
          )}
        </section>
      )}
      {models.length > 0 && <Models models={models} total={total} />}
      <section class="costs-part" aria-label="Compaction">
        <h2>Compaction</h2>
        {summaries.length === 0 ? (
          <p class="dim">Nothing was compacted in this period.</p>
        ) : (
          <TableBox label="Table by summarizer">
            <table>
              <thead>
                <tr>
                  <th>Summarizer</th>
                  <th class="number">Compactions</th>
                  <th
                    class="number"
                    title="Tokens by which they shortened the history, each when it was applied"
                  >
                    Shortened by
                  </th>
                  <th class="number">Cost</th>
                </tr>
              </thead>
              <tbody>
                {summaries.map(({ summarizer, model, compactions, tokensSaved, cost }) => (
                  <tr key={`${summarizer} ${model}`}>
                    <td class="costs-name">
                      {summarizerName(summarizer)}
                      {model !== undefined && <span class="dim"> {model}</span>}
                    </td>
                    <td class="number">{whole(compactions)}</td>
                    <td class="number">{whole(tokensSaved)} tokens</td>
                    <td class="number">{money(cost)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableBox>
        )}
        {children}
      </section>
      <p class="dim small">
        Costs are list prices in US dollars; what you pay may differ. “–” means that no price is known.
        Requests without reported usage and those of imported conversations aren’t counted.
      </p>
    </>
  )
}

/** The usage that came with an imported conversation: only its sums are stored, without days. */
function Imported({ sessionId, version }: { readonly sessionId: string; readonly version: string }) {
  const { value } = useCall('requests.usage', [sessionId], version)
  if (value === undefined || value.total.requests === 0) return <NotRecorded title="No usage was recorded." />
  const { requests, outputTokens, cost } = value.total
  return (
    <Empty title={`${counted(requests, 'request')}, ${money(cost)}`}>
      <p>
        This usage was imported with the conversation: {short(inputOf(value.total))} tokens of input and{' '}
        {short(outputTokens)} of output. Only the sums are stored, so there are no costs by day.
      </p>
    </Empty>
  )
}

function NotRecorded({ title }: { readonly title: string }) {
  return (
    <Empty title={title}>
      <p>
        Costs come from the usage that providers report. <code>recordResponse</code> and{' '}
        <code>requests.recordUsage</code> record it, and so do the middleware and the adapters.
      </p>
    </Empty>
  )
}

/** The store writes `given` for a summary that the caller passed. */
function summarizerName(summarizer: string | undefined): string {
  if (summarizer === undefined) return 'Without a summary'
  return summarizer === 'given' ? 'Text of the caller' : summarizer
}

/** The sum of the known costs of summaries. */
const costOf = (summaries: ReturnType<typeof bySummarizer>): number =>
  summaries.reduce((sum, { cost }) => sum + (cost ?? 0), 0)

function Totals({ total, summaryCost }: { readonly total: ModelSums; readonly summaryCost: number }) {
  const share = cachedShare(total)
  return (
    <dl class="cost-totals">
      <Fact name={summaryCost > 0 ? 'Cost of requests' : 'Cost'}>{money(total.cost)}</Fact>
      {summaryCost > 0 && <Fact name="Cost of summaries">{money(summaryCost)}</Fact>}
      <Fact name="Requests">{whole(total.requests)}</Fact>
      <Fact name="Input tokens">{short(inputOf(total))}</Fact>
      <Fact name="Output tokens">{short(total.outputTokens)}</Fact>
      <Fact name="Input from the cache">{share === undefined ? '–' : wholePercent(share)}</Fact>
      <Fact name="Saved by caching">{money(total.saved)}</Fact>
    </dl>
  )
}

function Models({ models, total }: { readonly models: readonly ModelSums[]; readonly total: ModelSums }) {
  return (
    <section class="costs-part" aria-label="By model">
      <h2>By model</h2>
      <TableBox label="Table by model">
        <table>
          <thead>
            <tr>
              <th>Model</th>
              <th class="number">Requests</th>
              <th class="number" title="Not read from the cache and not written to it">
                Input
              </th>
              <th class="number">Cache read</th>
              <th class="number">Cache written</th>
              <th class="number">Output</th>
              <th class="number">Cost</th>
              <th class="number" title="Share of the input that was read from the cache">
                From cache
              </th>
              <th class="number" title="The cost without a cache, minus the cost">
                Saved by caching
              </th>
            </tr>
          </thead>
          <tbody>
            {models.map((sums) => (
              <ModelRow key={modelName(sums)} name={modelName(sums)} sums={sums} />
            ))}
          </tbody>
          {models.length > 1 && (
            <tfoot>
              <ModelRow name="All models" sums={total} />
            </tfoot>
          )}
        </table>
      </TableBox>
    </section>
  )
}

function ModelRow({ name, sums }: { readonly name: string; readonly sums: ModelSums }) {
  const share = cachedShare(sums)
  return (
    <tr>
      <td class="costs-name">{name}</td>
      <td class="number">{whole(sums.requests)}</td>
      <td class="number">{whole(sums.inputTokens)}</td>
      <td class="number">{whole(sums.cacheReadTokens)}</td>
      <td class="number">{whole(sums.cacheCreationTokens)}</td>
      <td class="number">{whole(sums.outputTokens)}</td>
      <td class="number">{money(sums.cost)}</td>
      <td class="number">{share === undefined ? '–' : wholePercent(share)}</td>
      <td class={`number ${(sums.saved ?? 0) < 0 ? 'warn-text' : ''}`}>{money(sums.saved)}</td>
    </tr>
  )
}

/** The largest number of answers that are read one by one. */
const POINTS = 5_000

/** What compaction saved in the requests of a session: in tokens, and in money where prices can be derived. */
function Savings({ sessionId, version }: { readonly sessionId: string; readonly version: string }) {
  const loaded = useCall('messages.timeline', [sessionId, { points: POINTS }], version)
  const timeline = useLast(loaded.value)
  const all = useCall('requests.costs', [{ session: sessionId }], version)
  const requests = useRequests(sessionId, version)
  if (loaded.error !== undefined || timeline === undefined) return <Show of={loaded}>{() => null}</Show>
  const { tokens, answers, counted: points } = savedByCompaction(timeline)
  if (tokens === 0) return <p class="dim">Compaction hasn’t shortened a request of this session.</p>
  const model = pricedRequests(requests.items)
  const rows = all.value?.requests.filter(
    (row) => row.provider === model?.provider && row.model === model?.model,
  )
  const prices = model && rows && pricesOf(rows, model.billed)
  return (
    <div class="cost-savings">
      <p>
        Compaction left out <b>{whole(tokens)} tokens</b> in {counted(answers, 'answer')}
        {prices?.cacheRead !== undefined && (
          <>
            : <b>{money(tokens * prices.cacheRead)}</b> at the price of a cache read
          </>
        )}
        {prices?.input !== undefined && (
          <>
            {prices.cacheRead === undefined ? ': ' : ', '}
            <b>{money(tokens * prices.input)}</b> at the price of input
          </>
        )}
        .
      </p>
      <p class="dim small">
        Over all answers of the session: the tokens of the log, rewound messages included, minus those of the
        view
        {points < answers && `, extrapolated from ${whole(points)} answers`}
        {prices === undefined
          ? '. No prices could be derived from the recorded requests.'
          : `; at prices derived from the requests to ${modelName(model!)}, as if the whole log had been sent each time.`}
      </p>
    </div>
  )
}
