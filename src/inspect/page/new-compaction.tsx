import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Session } from '../../storage/storage.ts'
import type { PlannedCompaction } from '../../store/compaction/result.ts'
import type { ContextStats } from '../../store/compaction/stats.ts'
import type { NamedPreview } from '../verbs.ts'
import { asCallError, type CallError, useCall } from './api.ts'
import { applyPreview } from './compaction-actions.tsx'
import { Scrolling, SummaryText } from './compaction-detail.tsx'
import { bytes, change, counted, short, whole } from './format.ts'
import { useLast, useSettled } from './hooks.ts'
import type { Live, Progress } from './live.ts'
import { IDLE_WORDS, OFF_TARGET_WORDS, optionsOf, type PreviewSettings, STAGES } from './preview-settings.ts'
import { PagedRows, RowLine } from './row-list.tsx'
import { TokensChange } from './tokens-change.tsx'
import { ask, Fact, Failed, Skeleton } from './ui.tsx'

/** How long settings stay as they are before they are tried. */
const PAUSE_MS = 350

/** Plans a compaction with any settings, shows what it would do, and applies it. */
export function NewCompaction({
  session,
  stats,
  live,
  onClose,
}: {
  readonly session: Session
  readonly stats: ContextStats | undefined
  readonly live: Live
  onClose(): void
}) {
  const config = useCall('sessions.config', [session.id])
  if (config.error !== undefined) return <Failed error={config.error} retry={config.reload} />
  if (config.value === undefined || stats === undefined)
    return (
      <section class="card planner">
        <Skeleton lines={6} />
      </section>
    )
  const { settings } = config.value
  const own: PreviewSettings = {
    target: Math.round(100 * stats.profile.target.value),
    stages: Object.fromEntries(
      STAGES.map(({ key }) => [key, settings[key] !== false]),
    ) as PreviewSettings['stages'],
    keepRecentTokens: '',
    reason: '',
  }
  return (
    <Planner
      session={session}
      own={own}
      hasOwnStages={settings.stages !== undefined}
      available={stats.availableInputTokens}
      scale={stats.estimated === 0 ? 1 : stats.breakdown.conversationHistory / stats.estimated}
      live={live}
      onClose={onClose}
    />
  )
}

function Planner({
  session,
  own,
  hasOwnStages,
  available,
  scale,
  live,
  onClose,
}: {
  readonly session: Session
  readonly own: PreviewSettings
  readonly hasOwnStages: boolean
  readonly available: number
  /** The provider's tokens for each estimated one. */
  readonly scale: number
  readonly live: Live
  onClose(): void
}) {
  const [set, setSet] = useState(own)
  const [applying, setApplying] = useState(false)
  const [failure, setFailure] = useState<CallError>()
  const options = useSettled(optionsOf(set, own), PAUSE_MS)
  const loaded = useCall('previewCompaction', [session.id, options], live.state?.session?.viewEpoch)
  const preview = useLast(loaded.value ?? undefined)
  const isWaiting = loaded.loading || JSON.stringify(options) !== JSON.stringify(optionsOf(set, own))
  const again = (): void => {
    setFailure(undefined)
    loaded.reload()
  }
  const apply = async (ready: NamedPreview): Promise<void> => {
    if (
      !(await ask({ title: 'Compact this session?', body: <Question preview={ready} />, action: 'Compact' }))
    )
      return
    setApplying(true)
    setFailure(undefined)
    try {
      if (!(await applyPreview(session.id, ready.previewId))) loaded.reload()
    } catch (error) {
      setFailure(asCallError(error))
    } finally {
      setApplying(false)
    }
  }
  const change = (part: Partial<PreviewSettings>): void => setSet((before) => ({ ...before, ...part }))
  return (
    <section class="card planner" aria-label="Preview a compaction">
      <header class="detail-head">
        <h2>Preview a compaction</h2>
        <span class="spring" />
        <button type="button" class="icon-button" aria-label="Close the preview" onClick={onClose}>
          ✕
        </button>
      </header>
      <div class="planner-columns">
        <form class="planner-settings" onSubmit={(event) => event.preventDefault()}>
          <label class="planner-target">
            <span>
              Target <b class="number">{set.target}%</b>{' '}
              <span class="dim">
                {short((set.target / 100) * available)} of {short(available)} tokens
              </span>
            </span>
            <input
              type="range"
              min={1}
              max={95}
              value={set.target}
              aria-valuetext={`${set.target} percent of the available input`}
              onInput={(event) => change({ target: Number(event.currentTarget.value) })}
            />
          </label>
          <fieldset class="choices">
            <legend>Stages, in order</legend>
            {STAGES.map(({ key, label, hint }) => (
              <label key={key}>
                <input
                  type="checkbox"
                  checked={set.stages[key]}
                  onChange={(event) =>
                    change({ stages: { ...set.stages, [key]: event.currentTarget.checked } })
                  }
                />
                <span>
                  {label} <span class="dim">{hint}</span>
                </span>
              </label>
            ))}
          </fieldset>
          {hasOwnStages && (
            <p class="dim small">
              This session has its own list of stages. The switches apply to those of them that they name.
            </p>
          )}
          <label class="planner-field">
            <span>Keep recent tokens</span>
            <input
              type="number"
              min={0}
              step={500}
              placeholder="by the target"
              value={set.keepRecentTokens}
              onInput={(event) => change({ keepRecentTokens: event.currentTarget.value })}
            />
          </label>
          <label class="planner-field">
            <span>Reason</span>
            <input
              type="text"
              placeholder="for the audit"
              value={set.reason}
              onInput={(event) => change({ reason: event.currentTarget.value })}
            />
          </label>
          <button
            type="button"
            class="link"
            disabled={JSON.stringify(set) === JSON.stringify(own)}
            onClick={() => setSet(own)}
          >
            Use the session’s settings
          </button>
        </form>
        <div class="planner-result" aria-live="polite" aria-busy={isWaiting}>
          {applying ? (
            <Applying live={live} sessionId={session.id} />
          ) : failure !== undefined ? (
            <NotApplied error={failure} again={again} />
          ) : loaded.error !== undefined ? (
            <Failed error={loaded.error} retry={loaded.reload} />
          ) : loaded.value === null ? (
            <p class="dim">This session has no messages to compact.</p>
          ) : preview === undefined ? (
            <Skeleton lines={6} />
          ) : (
            <div class={isWaiting ? 'difference-waiting' : ''}>
              <Planned session={session} preview={preview} scale={scale} />
              <footer class="planner-foot">
                <button
                  type="button"
                  class="primary"
                  disabled={!preview.compacted || isWaiting}
                  onClick={() => void apply(preview)}
                >
                  Apply…
                </button>
                {preview.summaryPending !== undefined && (
                  <span class="warn-text">Applying calls a model, which costs money.</span>
                )}
              </footer>
            </div>
          )}
        </div>
      </div>
    </section>
  )
}

function Question({ preview }: { readonly preview: NamedPreview }) {
  const { tokensBefore, tokensAfter, compactions, summaryPending = [] } = preview
  const { hidden, replaced } = sumsOf(compactions)
  return (
    <>
      <p>
        {short(tokensBefore)} → {short(tokensAfter)} tokens: {counted(hidden, 'row')} hidden from the model,{' '}
        {counted(replaced, 'part')} replaced. Everything stays stored, and you can undo this.
      </p>
      {summaryPending.length > 0 && (
        <p>
          It calls a model {counted(summaryPending.length, 'time')} ({pendingWords(preview)}), which costs
          money.
        </p>
      )}
    </>
  )
}

/** The rows and parts that a plan changes. */
const sumsOf = (compactions: NamedPreview['compactions']) => ({
  hidden: compactions.reduce((sum, one) => sum + one.rowsHidden, 0),
  replaced: compactions.reduce((sum, one) => sum + one.partsReplaced, 0),
})

function pendingWords({ summaryPending = [] }: NamedPreview): string {
  const input = summaryPending.reduce((sum, one) => sum + one.inputTokens, 0)
  const output = summaryPending.reduce((sum, one) => sum + one.maxTokens, 0)
  return `about ${short(input)} tokens of input, at most ${short(output)} of output`
}

/** The errors after which the same settings can be tried again. */
const STALE: { readonly [code: string]: string } = {
  STALE_PLAN: 'The conversation has changed since this preview. Nothing was changed.',
  PREVIEW_GONE: 'The server no longer keeps this preview. Nothing was changed.',
}

function NotApplied({ error, again }: { readonly error: CallError; again(): void }) {
  return (
    <div class="failed" role="alert">
      <p>{STALE[error.code] ?? error.message}</p>
      <p>
        <button type="button" onClick={again}>
          Preview again
        </button>
      </p>
    </div>
  )
}

function Applying({ live, sessionId }: { readonly live: Live; readonly sessionId: string }) {
  const [before] = useState(live.progress)
  const [events, setEvents] = useState<readonly Progress[]>([])
  const { progress } = live
  useEffect(() => {
    if (progress === undefined || progress === before || progress.sessionId !== sessionId) return
    setEvents((known) => [...known, progress])
  }, [progress])
  return (
    <div class="applying">
      <p>
        <b>Compacting…</b>
      </p>
      <ol class="dim">
        {events.length === 0 && <li>Applying the plan.</li>}
        {events.map((event, at) => (
          <li key={at}>{progressWords(event)}</li>
        ))}
      </ol>
    </div>
  )
}

/** What an event of a run says. */
export function progressWords({ phase, stage, tokensBefore, tokensAfter, targetTokens }: Progress): string {
  const figure = (tokens: number | undefined): string =>
    tokens === undefined ? '' : ` ${short(tokens)} tokens`
  if (phase === 'started')
    return `Started at${figure(tokensBefore)}, with a target of${figure(targetTokens)}.`
  if (phase === 'stage') return `Planned ${stage}: the history would have${figure(tokensAfter)}.`
  if (phase === 'completed') return `Done: the history has${figure(tokensAfter)}.`
  return phase === 'failed' ? 'Ended without effect.' : phase
}

function Planned({
  session,
  preview,
  scale,
}: {
  readonly session: Session
  readonly preview: NamedPreview
  readonly scale: number
}) {
  const { compactions, summaryPending, reason, offTarget, fits, invalidatedReasoning } = preview
  const { imagesBefore, imagesAfter, mediaBytesBefore, mediaBytesAfter } = preview
  const { hidden, replaced } = sumsOf(compactions)
  return (
    <>
      <dl class="difference-figures">
        <Fact name="Tokens of the history">
          <TokensChange before={preview.tokensBefore} after={preview.tokensAfter} />
        </Fact>
        <Fact name="Target">{short(preview.targetTokens)}</Fact>
        <Fact name="Rows hidden">{whole(hidden)}</Fact>
        <Fact name="Parts replaced">{whole(replaced)}</Fact>
        {imagesBefore > 0 && (
          <Fact name="Images">
            {imagesBefore} → {imagesAfter}
          </Fact>
        )}
        {mediaBytesBefore !== mediaBytesAfter && (
          <Fact name="Images and files">
            {bytes(mediaBytesBefore)} → {bytes(mediaBytesAfter)}
          </Fact>
        )}
      </dl>
      {Math.abs(scale - 1) > 0.03 && (
        <p class="dim small">
          These are estimated tokens. By the provider’s reports, {short(1000)} of them are about{' '}
          {short(1000 * scale)}.
        </p>
      )}
      {reason !== undefined && <p>{IDLE_WORDS[reason]}</p>}
      {offTarget !== undefined && <p class="dim">{OFF_TARGET_WORDS[offTarget]}</p>}
      {!fits && <p class="warn-text">The request would still not fit.</p>}
      {invalidatedReasoning !== undefined && (
        <p class="warn-text">
          Some reasoning would no longer be sent, because the model checks what precedes it.
        </p>
      )}
      {summaryPending !== undefined && (
        <p class="planner-note">
          {counted(summaryPending.length, 'summary', 'summaries')} would be written by{' '}
          {[...new Set(summaryPending.map(({ summarizer }) => summarizer))].join(', ')}:{' '}
          {pendingWords(preview)}. The figures count the largest summary.
        </p>
      )}
      <ol class="planned">
        {compactions.map((one, at) => (
          <PlannedItem key={`${at} ${one.stage}`} session={session} planned={one} />
        ))}
      </ol>
    </>
  )
}

/** A summary that a model would write has no text yet. */
const isPending = ({ inserts }: PlannedCompaction): boolean =>
  inserts?.kind === 'summary' && inserts.text === ''

function PlannedItem({
  session,
  planned,
}: {
  readonly session: Session
  readonly planned: PlannedCompaction
}) {
  const pending = isPending(planned)
  const { stage, kind, hides, replaces, inserts, tokensBefore, tokensAfter, summarizer } = planned
  const [isOpen, setOpen] = useState(false)
  return (
    <li>
      <details onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
        <summary>
          <b>{stage}</b>{' '}
          <span>
            {[
              ...(hides.length > 0 ? [`hides ${counted(hides.length, 'row')}`] : []),
              ...(replaces.length > 0 ? [`replaces ${counted(replaces.length, 'part')}`] : []),
              ...(inserts !== undefined ? [`writes a ${inserts.kind}`] : []),
            ].join(', ')}
          </span>{' '}
          <span class="dim">{change(tokensAfter - tokensBefore)} tokens</span>
        </summary>
        {isOpen && <PlannedRows session={session} planned={planned} />}
      </details>
      {inserts !== undefined && kind === 'condense' && (
        <details open={!pending}>
          <summary class="dim">
            The summary {summarizer !== undefined && `by ${summarizer}`}
            {pending && ': its text is written when it is applied'}
          </summary>
          {!pending && (
            <Scrolling look="written" label="The planned summary">
              <SummaryText content={inserts.text} />
            </Scrolling>
          )}
        </details>
      )}
    </li>
  )
}

/** What a planned compaction hides and replaces. The rows are those of the view, by id. */
function PlannedRows({
  session,
  planned,
}: {
  readonly session: Session
  readonly planned: PlannedCompaction
}) {
  const view = useCall('getEffectiveHistory', [session.id])
  const byId = useMemo(() => new Map((view.value ?? []).map((row) => [row.id, row])), [view.value])
  if (view.error !== undefined) return <Failed error={view.error} retry={view.reload} />
  const { hides, replaces } = planned
  return (
    <PagedRows total={hides.length + replaces.length} label="Planned changes" page={30}>
      {(count) =>
        [
          ...hides.map((id) => ({ id, text: undefined, part: undefined })),
          ...replaces.map(({ messageId, part, text }) => ({ id: messageId, part, text })),
        ]
          .slice(0, count)
          .map(({ id, part, text }) => {
            const row = byId.get(id)
            return (
              <RowLine
                key={`${id} ${part}`}
                sessionId={session.id}
                row={{
                  key: id,
                  role: row?.role ?? '',
                  content: row?.content,
                  ...(row?.kind !== undefined && { kind: row.kind }),
                  ...(row?.position !== undefined && { position: row.position }),
                  sign:
                    text === undefined
                      ? { text: '−', look: 'removed', label: 'Hidden' }
                      : { text: '~', look: 'changed', label: 'Replaced' },
                  ...(text !== undefined && { note: text === '' ? 'left out' : `→ ${text}` }),
                }}
              />
            )
          })
      }
    </PagedRows>
  )
}
