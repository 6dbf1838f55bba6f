import { Component, type ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Session } from '../../storage/storage.ts'
import type { ContextStats } from '../../store/compaction/stats.ts'
import { archive, bringBack, canChange, fork, rename } from './actions.tsx'
import { CallError, download, facts, setTitle, useCall } from './api.ts'
import { Compactions } from './compactions.tsx'
import { ContextView } from './context.tsx'
import { Conversation } from './conversation.tsx'
import { SessionCosts } from './costs.tsx'
import { counted, money, percent, short } from './format.ts'
import { useLast } from './hooks.ts'
import { useKeys } from './keys.tsx'
import { type Live, useLive } from './live.ts'
import { Requests } from './requests.tsx'
import { go, type Route, sessionLink, sessionsLink, TABS, type Tab } from './router.ts'
import { partsOf, type TabProps } from './session-tab.ts'
import { attempt, Badge, Bar, Dialog, Empty, Failed, Id, Legend, Menu, Skeleton, Time } from './ui.tsx'

const NAMES: { readonly [tab in Tab]: string } = {
  conversation: 'Conversation',
  requests: 'Requests',
  context: 'Context',
  compactions: 'Compactions',
  costs: 'Costs',
}

const NO_FORKS: readonly Session[] = []

/**
 * Whether the first state has arrived, so that nothing is called for an unknown version and then once more. If it takes longer than a
 * moment, the page doesn't wait for it.
 */
function useReady({ version }: Live): boolean {
  const [waited, setWaited] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setWaited(true), 250)
    return () => clearTimeout(timer)
  }, [])
  return waited || version !== ''
}

/** Shows an error of the page in place of a tab that fails, so that the others still work. */
class Guard extends Component<{ readonly children: ComponentChildren }, { readonly failed: boolean }> {
  override state = { failed: false }

  static override getDerivedStateFromError(): { readonly failed: boolean } {
    return { failed: true }
  }

  override render() {
    if (!this.state.failed) return this.props.children
    const error = new CallError('PAGE', 'This view failed. What is stored is not affected.')
    return <Failed error={error} retry={() => this.setState({ failed: false })} />
  }
}

/** A session: its header, and one of its tabs. */
export function SessionPage({ route }: { readonly route: Extract<Route, { page: 'session' }> }) {
  const { id, tab, query } = route
  const live = useLive(id)
  const session = useCall('sessions.get', [id], live.version)
  const ready = useReady(live)
  const stats = useCall('getContextStats', ready ? [id] : null, live.version)
  const forks = useLast(useCall('sessions.forks', ready ? [id] : null, live.version).value) ?? NO_FORKS
  // The last values stay while they are read again, so that nothing jumps.
  const shown = useLast(session.value)
  const shownStats = useLast(stats.value ?? undefined)
  const name = shown?.title ?? id
  useEffect(() => setTitle(name, NAMES[tab]), [name, tab])
  useKeys(
    'Session',
    TABS.map((one, at) => ({ keys: String(at + 1), label: NAMES[one], run: () => go(sessionLink(id, one)) })),
  )
  useEffect(() => {
    // On a narrow screen, the tabs scroll.
    document.querySelector('.tabs [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [tab, shown === undefined || !ready])
  if (session.error !== undefined)
    return (
      <div class="page">
        <h1>{id}</h1>
        {session.error.code === 'SESSION_NOT_FOUND' ? (
          <Empty title="There is no session with this id.">
            <p>
              It may have been purged, or it is in another store. <a href={sessionsLink()}>All sessions</a>
            </p>
          </Empty>
        ) : (
          <Failed error={session.error} retry={session.reload} />
        )}
      </div>
    )
  if (shown === undefined || !ready)
    return (
      <div class="page">
        <Skeleton lines={8} />
      </div>
    )
  const props: TabProps = { session: shown, live, version: live.version, query, stats: shownStats, forks }
  return (
    <div class={`session session-${tab}`}>
      <Header session={shown} stats={shownStats} forks={forks} live={live} />
      <nav class="tabs" aria-label="Session">
        {TABS.map((one) => (
          <a key={one} href={sessionLink(id, one)} aria-current={one === tab ? 'page' : undefined}>
            {NAMES[one]}
          </a>
        ))}
      </nav>
      <div class="tab-body">
        <Guard key={tab}>
          {tab === 'conversation' && <Conversation {...props} />}
          {tab === 'requests' && <Requests {...props} />}
          {tab === 'context' && <ContextView {...props} />}
          {tab === 'compactions' && <Compactions {...props} />}
          {tab === 'costs' && <SessionCosts {...props} />}
        </Guard>
      </div>
    </div>
  )
}

function Header({
  session,
  stats,
  forks,
  live,
}: {
  readonly session: Session
  readonly stats: ContextStats | undefined
  readonly forks: readonly Session[]
  readonly live: Live
}) {
  const { id, title, model, provider, owner, forkedFrom } = session
  const usage = useCall('requests.usage', [id], live.version)
  const [isRenaming, setRenaming] = useState(false)
  const [isExporting, setExporting] = useState(false)
  const run = live.state?.session?.run
  return (
    <header class="session-head">
      <div class="session-line">
        <a href={sessionsLink()} class="back" aria-label="All sessions">
          ←
        </a>
        <h1 title={title ?? id}>{title ?? <span class="untitled">{id}</span>}</h1>
        {title !== undefined && <Id id={id} />}
        {!live.connected && <Badge kind="warn">not connected</Badge>}
        {live.state?.session?.turn && <Badge kind="accent">answering</Badge>}
        {run && <Badge kind="accent">compacting</Badge>}
        <span class="spring" />
        <Menu
          label="Actions for this session"
          items={[
            canChange && { label: 'Rename', run: () => setRenaming(true) },
            canChange && { label: 'Fork', hint: 'a copy to continue', run: () => void fork(id) },
            canChange &&
              forkedFrom !== undefined && {
                label: 'Bring the outcome back',
                run: () => void bringBack(id, forkedFrom.sessionId),
              },
            { label: 'Export', run: () => setExporting(true) },
            canChange && {
              label: session.archivedAt === undefined ? 'Archive' : 'Move back to the list',
              run: () => void archive(id, session.archivedAt === undefined),
            },
          ]}
        />
      </div>
      <div class="session-facts dim">
        <span>{[provider, model].filter(Boolean).join(' / ') || 'no model'}</span>
        {facts.owners && owner !== undefined && <span>owner {owner}</span>}
        <span>{counted(session.messageCount, 'message')}</span>
        <span>{counted(session.activeCompactions, 'compaction')} in force</span>
        {usage.value && usage.value.total.requests > 0 && <span>{money(usage.value.total.cost)}</span>}
        <span>
          changed <Time at={session.updatedAt} />
        </span>
        {forkedFrom !== undefined && (
          <a href={sessionLink(forkedFrom.sessionId, 'conversation', { message: forkedFrom.position })}>
            forked at {forkedFrom.position}
          </a>
        )}
        {forks.length > 0 && (
          <Menu
            label="Forks"
            items={forks.map((one) => ({
              label: one.title ?? one.id,
              hint: `at ${one.forkedFrom?.position}`,
              run: () => go(sessionLink(one.id)),
            }))}
          >
            {counted(forks.length, 'fork')} ▾
          </Menu>
        )}
      </div>
      {stats !== undefined ? (
        <ContextBar stats={stats} />
      ) : (
        session.messageCount > 0 && <div class="context-bar" aria-hidden="true" />
      )}
      {isRenaming && <Rename session={session} onClose={() => setRenaming(false)} />}
      {isExporting && <Export session={session} onClose={() => setExporting(false)} />}
    </header>
  )
}

/** Where the limit of the bar comes from. */
function limitWords({ availableInputTokens, contextWindow, outputReserve }: ContextStats): string {
  const { tokens, source, entry } = contextWindow
  const isAssumed = source === 'default' || (source === 'registry' && entry === '_default')
  const window = isAssumed
    ? `No window is known for the model, so ${short(tokens)} tokens are assumed`
    : `The window of the model has ${short(tokens)} tokens`
  return contextWindow.tokens - outputReserve.tokens > availableInputTokens
    ? `${window}; the settings or the provider limit the input to ${short(availableInputTokens)}.`
    : `${window}; ${short(outputReserve.tokens)} of them are reserved for the answer.`
}

/** Whether the provider reported far less than what the view must have. */
const isFarFromEstimate = ({
  source,
  estimated,
  calibration,
  estimatedInputTokens: used,
}: ContextStats): boolean => source.startsWith('measured') && estimated * calibration.ratio > 1.5 * used

const SOURCES: { readonly [source in ContextStats['source']]: string } = {
  measured: 'The provider reported this number of tokens.',
  'measured+estimated':
    'The number of tokens is that of the provider’s last report, plus an estimate of what was added since.',
  calibrated: 'The number of tokens is an estimate, corrected by the provider’s reports.',
  estimated: 'The number of tokens is an estimate.',
}

function ContextBar({ stats }: { readonly stats: ContextStats }) {
  const { availableInputTokens: available, estimatedInputTokens: used, usageRatio, threshold } = stats
  const parts = partsOf(stats)
  return (
    <details class="context-bar">
      <summary>
        <Bar
          label="Context"
          parts={parts}
          limit={available}
          marks={[{ at: threshold * available, label: `Compaction is due at ${percent(threshold)}` }]}
        />
        <span class="nowrap">
          <b class={stats.shouldCompact ? 'warn-text' : ''}>{short(used)}</b>
          <span class="dim">
            {' '}
            of {short(available)} tokens, {percent(usageRatio)}
          </span>
        </span>
      </summary>
      <Legend parts={parts} />
      <p class="dim small">
        {limitWords(stats)} {SOURCES[stats.source]}
        {isFarFromEstimate(stats) &&
          ` By an estimate, the view has ${short(stats.estimated)} tokens: something else was sent, such as what the agent compacted itself.`}
      </p>
    </details>
  )
}

function Rename({ session, onClose }: { readonly session: Session; onClose(): void }) {
  const [title, setTitle] = useState(session.title ?? '')
  return (
    <Dialog title="Rename" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onClose()
          void rename(session.id, title || null, session.title ?? null)
        }}
      >
        <input
          type="text"
          autofocus
          aria-label="Title"
          value={title}
          onInput={(event) => setTitle(event.currentTarget.value)}
        />
        <footer class="dialog-foot">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Rename
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

const FORMATS = [
  { format: 'html', label: 'HTML', hint: 'one page to read' },
  { format: 'markdown', label: 'Markdown', hint: 'text to paste' },
  { format: 'json', label: 'JSON', hint: 'for programs' },
] as const

function Export({ session, onClose }: { readonly session: Session; onClose(): void }) {
  const [full, setFull] = useState(false)
  return (
    <Dialog title="Export" onClose={onClose}>
      <fieldset class="choices">
        <legend class="hidden-text">What to export</legend>
        <label>
          <input type="radio" name="full" checked={!full} onChange={() => setFull(false)} /> the view: what
          the model would be sent now
        </label>
        <label>
          <input type="radio" name="full" checked={full} onChange={() => setFull(true)} /> everything stored
        </label>
      </fieldset>
      <footer class="dialog-foot">
        {FORMATS.map(({ format, label, hint }) => (
          <button
            key={format}
            type="button"
            title={hint}
            onClick={() => {
              onClose()
              void attempt(() => download({ session: session.id, format, full }))
            }}
          >
            {label}
          </button>
        ))}
      </footer>
    </Dialog>
  )
}
