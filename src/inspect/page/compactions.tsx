import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Compaction, Job } from '../../storage/storage.ts'
import { canChange } from './actions.tsx'
import { call, useCall } from './api.ts'
import { undoOrRedo } from './compaction-actions.tsx'
import { CompactionDetail } from './compaction-detail.tsx'
import {
  didWords,
  isApplied,
  kindWords,
  type Run,
  runsOf,
  statusKind,
  statusWords,
  triggerWords,
} from './compaction-runs.ts'
import { counted, money, time, whole } from './format.ts'
import { useLast } from './hooks.ts'
import { useKeys } from './keys.tsx'
import type { Live } from './live.ts'
import { NewCompaction, progressWords } from './new-compaction.tsx'
import { go, sessionLink } from './router.ts'
import { SessionStrip } from './session-strip.tsx'
import type { TabProps } from './session-tab.ts'
import { TokensChange } from './tokens-change.tsx'
import { attempt, Badge, Empty, Failed, Skeleton, toast } from './ui.tsx'
import { useAudit } from './use-requests.ts'
import './compactions.css'

/** The compactions of a session: a map, the runs, one of them in detail, and a new one. */
export function Compactions({ session, live, version, query, stats }: TabProps) {
  const { id } = session
  const loaded = useCall('listCompactions', [id], version)
  const compactions = useLast(loaded.value)
  const audit = useAudit(id, version)
  const runs = useMemo(() => runsOf(compactions ?? []), [compactions])
  const flat = useMemo(() => runs.flatMap((run) => run.compactions), [runs])
  const { compaction: wanted } = query
  const select = (target: string | undefined, replace = false): void =>
    go(sessionLink(id, 'compactions', { compaction: target }), { replace })
  const found = flat.find((one) => one.id === wanted)
  const run = found === undefined ? runs.find((one) => one.id === wanted) : undefined
  // Without a choice, the newest is shown.
  const chosen = found ?? run?.compactions[0] ?? (wanted === undefined ? flat[0] : undefined)
  const step = (by: number): void => {
    const at = chosen === undefined ? -1 : flat.indexOf(chosen)
    const next = flat[Math.min(flat.length - 1, Math.max(0, at + by))]
    if (next !== undefined) select(next.id, true)
  }
  useKeys('Compactions', [
    { keys: 'j', label: 'Next compaction', run: () => step(1) },
    { keys: 'k', label: 'Previous compaction', run: () => step(-1) },
    ...(canChange
      ? [
          {
            keys: 'u',
            label: 'Undo or redo the selected compaction',
            run: () => {
              if (chosen !== undefined) void undoOrRedo(id, chosen.id, [chosen], compactions ?? [])
            },
          },
          { keys: 'n', label: 'Preview a compaction', run: () => openNew(id, true) },
        ]
      : []),
  ])
  if (loaded.error !== undefined) return <Failed error={loaded.error} retry={loaded.reload} />
  if (compactions === undefined)
    return (
      <div class="page">
        <Skeleton lines={8} />
      </div>
    )
  const isNew = canChange && query.new !== undefined
  const selected = new Set(
    run === undefined ? (chosen === undefined ? [] : [chosen.id]) : run.compactions.map((one) => one.id),
  )
  return (
    <div class="page compactions-page">
      <Running sessionId={id} live={live} version={version} compactions={compactions} />
      {session.messageCount > 0 && (
        <SessionStrip
          compactions={compactions}
          messages={stats?.storedMessages ?? session.messageCount}
          selected={selected}
          onSelect={(target) => select(target)}
        />
      )}
      {isNew ? (
        <NewCompaction session={session} stats={stats} live={live} onClose={() => openNew(id, false)} />
      ) : (
        canChange &&
        session.messageCount > 0 && (
          <p>
            <button type="button" class="primary" onClick={() => openNew(id, true)}>
              Preview a compaction
            </button>
          </p>
        )
      )}
      {runs.length === 0 ? (
        <Empty title="No compactions yet">
          When the context fills up, old tool outputs are pruned and old messages are summarized. Each of
          these compactions appears here, and can be undone.
        </Empty>
      ) : (
        <div class={chosen === undefined ? 'runs-alone' : 'runs-and-detail'}>
          <Runs
            sessionId={id}
            runs={runs}
            compactions={compactions}
            chosen={chosen?.id}
            isFresh={loaded.value !== undefined}
          />
          {chosen !== undefined ? (
            <CompactionDetail
              key={chosen.id}
              sessionId={id}
              compaction={chosen}
              compactions={compactions}
              audit={audit.items}
            />
          ) : (
            wanted !== undefined &&
            loaded.value !== undefined && <p class="dim">This session has no compaction with this id.</p>
          )}
        </div>
      )}
    </div>
  )
}

const openNew = (sessionId: string, isOpen: boolean): void =>
  go(sessionLink(sessionId, 'compactions', { new: isOpen ? '1' : undefined }), { replace: !isOpen })

/** A run that is under way: of this server, of another process, or of a job. */
function Running({
  sessionId,
  live,
  version,
  compactions,
}: {
  readonly sessionId: string
  readonly live: Live
  readonly version: string
  readonly compactions: readonly Compaction[]
}) {
  const isHeld = live.state?.session?.run === true
  const jobs = useCall('jobs.list', [sessionId, { limit: 5 }], `${version} ${isHeld}`)
  const open = useLast(jobs.value)?.find(({ state }) => state === 'queued' || state === 'running')
  const attempts = compactions.filter(({ status }) => status === 'running')
  const { progress } = live
  const isReported = progress !== undefined && (progress.phase === 'started' || progress.phase === 'stage')
  if (!isHeld && open === undefined && attempts.length === 0 && !isReported) return null
  return (
    <section class="card running" aria-label="Running now" aria-live="polite">
      <span class="running-sign" aria-hidden="true" />
      <div class="running-text">
        <p>
          <b>{open?.state === 'queued' && !isHeld ? 'A compaction is queued' : 'A compaction is running'}</b>
          {open !== undefined && <span class="dim"> in the background, {jobWords(open)}</span>}
        </p>
        {attempts.map((one) => (
          <p key={one.id} class="dim">
            A summary is being written{one.summarizer !== undefined && ` by ${one.model ?? one.summarizer}`}{' '}
            of {counted(one.rowsHidden, 'row')}, since {time(one.createdAt)}.
          </p>
        ))}
        {isReported && <p class="dim">{progressWords(progress)}</p>}
      </div>
      {canChange && open !== undefined && (
        <button type="button" onClick={() => void cancel(open)}>
          Cancel
        </button>
      )}
    </section>
  )
}

const jobWords = ({ state, attempts, notBefore }: Job): string =>
  state === 'queued' ? `not before ${time(notBefore)}` : `attempt ${attempts}`

async function cancel(job: Job): Promise<void> {
  await attempt(async () => {
    const canceled = await call('jobs.cancel', [{ job: job.id }])
    toast({ text: canceled === null ? 'It had ended already.' : 'Canceled. Nothing was changed.' })
  })
}

/** Scrolls the list to the chosen compaction, and the page only as far as the head of its details is hidden. */
function showChosen(list: HTMLElement | null): void {
  const item = list?.querySelector('[aria-current]')?.getBoundingClientRect()
  const box = list?.closest('.runs')
  if (item === undefined || !box) return
  const page = box.closest('.tab-body')
  const { top, bottom } = box.getBoundingClientRect()
  const end = Math.min(bottom, page?.getBoundingClientRect().bottom ?? bottom)
  box.scrollTop += Math.min(0, item.top - top) + Math.max(0, item.bottom - end)
  const detail = box.parentElement?.querySelector('.detail')
  if (detail && page && detail.getBoundingClientRect().top < page.getBoundingClientRect().top)
    detail.scrollIntoView({ block: 'start' })
}

const FIRST_RUNS = 100

function Runs({
  sessionId,
  runs,
  compactions,
  chosen,
  isFresh,
}: {
  readonly sessionId: string
  readonly runs: readonly Run[]
  readonly compactions: readonly Compaction[]
  readonly chosen: string | undefined
  readonly isFresh: boolean
}) {
  const [count, setCount] = useState(FIRST_RUNS)
  const list = useRef<HTMLOListElement>(null)
  const rank = runs.findIndex((run) => run.compactions.some(({ id }) => id === chosen))
  const shown = runs.slice(0, Math.max(count, rank + 1))
  useEffect(() => {
    showChosen(list.current)
  }, [chosen])
  return (
    <section class="runs" aria-label="Runs, newest first" aria-busy={!isFresh}>
      <ol ref={list}>
        {shown.map((run) => (
          <RunItem key={run.id} sessionId={sessionId} run={run} compactions={compactions} chosen={chosen} />
        ))}
      </ol>
      {shown.length < runs.length && (
        <p class="brief-more">
          <button type="button" onClick={() => setCount(count + 4 * FIRST_RUNS)}>
            Show more
          </button>
          <span class="dim">
            {whole(shown.length)} of {counted(runs.length, 'run')}
          </span>
        </p>
      )}
    </section>
  )
}

function RunItem({
  sessionId,
  run,
  compactions,
  chosen,
}: {
  readonly sessionId: string
  readonly run: Run
  readonly compactions: readonly Compaction[]
  readonly chosen: string | undefined
}) {
  const { id, at, tokens, cost } = run
  const [first] = run.compactions
  const { actor, reason } = first!
  const isGroup = run.compactions.length > 1
  return (
    <li class="card run">
      <header class="run-head">
        <span class="run-when" title={new Date(at).toISOString()}>
          {time(at)}
        </span>
        <span>
          {triggerWords(first!)}
          {actor !== undefined && `, by ${actor}`}
        </span>
        {tokens !== undefined && <TokensChange {...tokens} />}
        {cost !== undefined && <span>{money(cost)}</span>}
        {/* One button for both, so that it keeps the focus. */}
        {isGroup && canChange && run.compactions.some(isApplied) && (
          <button
            type="button"
            class="link"
            onClick={() => void undoOrRedo(sessionId, id, run.compactions, compactions)}
          >
            {run.compactions.some(({ status }) => status === 'active') ? 'Undo run' : 'Redo run'}
          </button>
        )}
      </header>
      {reason !== undefined && <p class="run-reason">{reason}</p>}
      <ul>
        {run.compactions.map((one) => (
          <li key={one.id}>
            <a
              class={`run-compaction run-${one.status}`}
              href={sessionLink(sessionId, 'compactions', { compaction: one.id })}
              aria-current={one.id === chosen ? 'true' : undefined}
            >
              <span class="run-name">{kindWords(one)}</span>
              <Badge kind={statusKind(one)}>{statusWords(one)}</Badge>
              <span class="run-work">
                {[didWords(one), one.model, one.error].filter((word) => word !== undefined).join(' · ')}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </li>
  )
}
