import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { listIn } from '../../core/messages/json.ts'
import { callerOf } from '../../core/retention/subagent.ts'
import type { ListedSession } from '../../storage/storage.ts'
import { archive, canChange } from './actions.tsx'
import { asCallError, type CallError, call, facts, useCall } from './api.ts'
import { counted, money, percent, whole } from './format.ts'
import { useKeys } from './keys.tsx'
import { useLive } from './live.ts'
import { go, type Query, readRoute, sessionLink, sessionsLink } from './router.ts'
import { tokensByCategory } from './tokens.ts'
import { Badge, Bar, Empty, Failed, Menu, Skeleton, Time } from './ui.tsx'

const PAGE = 50

/** The sessions of the store, newest message first, in pages that are fetched as one scrolls. */
export function Sessions({ query }: { readonly query: Query }) {
  const archived = query.archived === 'yes'
  const { state, connected } = useLive()
  const list = useSessions({ archived, search: query.search, owner: query.owner }, state?.newest)
  const [chosen, setChosen] = useState(0)
  const rows = folded(list.sessions)
  useKeys('Sessions', [
    {
      keys: 'j / ArrowDown',
      label: 'Next session',
      run: () => setChosen(Math.min(rows.length - 1, chosen + 1)),
    },
    { keys: 'k / ArrowUp', label: 'Previous session', run: () => setChosen(Math.max(0, chosen - 1)) },
    {
      keys: 'Enter / o',
      label: 'Open the session',
      run: () => rows[chosen] && go(linkOf(rows[chosen].session)),
    },
    {
      keys: 'a',
      label: 'Archived sessions, or the others',
      run: () => go(sessionsLink({ ...query, archived: archived ? undefined : 'yes' })),
    },
  ])
  useEffect(() => {
    const again = (): void => {
      if (document.visibilityState === 'visible') list.restart()
    }
    for (const event of ['sessionschange', 'visibilitychange']) document.addEventListener(event, again)
    return () => {
      for (const event of ['sessionschange', 'visibilitychange']) document.removeEventListener(event, again)
    }
  }, [list.restart])
  useEffect(() => {
    document.querySelector('.session-row.chosen')?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  return (
    <section class="page">
      <div class="toolbar">
        <h1>{archived ? 'Archived sessions' : 'Sessions'}</h1>
        <Filter query={query} />
        <span class="spring" />
        <a class="link" href={sessionsLink({ ...query, archived: archived ? undefined : 'yes' })}>
          {archived ? 'Show the others' : 'Archived'}
        </a>
        {!connected && <Badge kind="warn">not connected</Badge>}
      </div>
      {list.error !== undefined ? (
        <Failed error={list.error} retry={list.restart} />
      ) : rows.length === 0 && list.done ? (
        <NoSessions query={query} />
      ) : (
        <div class="table-box">
          <table class="sessions">
            <thead>
              <tr>
                <th>Session</th>
                <th class="wide-only">Model</th>
                <th class="number wide-only">Messages</th>
                <th class="context-cell">Context</th>
                <th class="number wide-only">Cost</th>
                <th class="number">Last used</th>
                <th>
                  <span class="hidden-text">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ session, depth, children }, at) => (
                <SessionRow
                  key={`${session.owner ?? ''} ${session.id}`}
                  session={session}
                  depth={depth}
                  folded={children}
                  isChosen={at === chosen}
                  onToggle={() => list.toggle(session.id)}
                />
              ))}
            </tbody>
          </table>
          <More list={list} />
        </div>
      )}
    </section>
  )
}

function linkOf(session: ListedSession): string {
  return sessionLink(session.id, 'conversation', {
    owner: facts.owners ? session.owner : undefined,
  })
}

function Filter({ query }: { readonly query: Query }) {
  const [text, setText] = useState(query.search ?? '')
  // What is typed stays while the page is shown again, and each field keeps what the other one just wrote.
  const [owner, setOwner] = useState(query.owner ?? '')
  useEffect(() => setOwner(query.owner ?? ''), [query.owner])
  const change = (name: string, value: string): void => {
    const { query: newest } = readRoute(location.hash)
    go(sessionsLink({ ...newest, [name]: value || undefined }), { replace: true })
  }
  return (
    <>
      <input
        type="search"
        aria-label="Filter by title or id"
        placeholder="Filter by title or id"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value)
          change('search', event.currentTarget.value)
        }}
      />
      {facts.owners && (
        <input
          type="search"
          class="owner-filter"
          aria-label="Owner"
          placeholder="Owner"
          value={owner}
          onInput={(event) => setOwner(event.currentTarget.value)}
          onChange={(event) => change('owner', event.currentTarget.value)}
        />
      )}
    </>
  )
}

function NoSessions({ query }: { readonly query: Query }) {
  if (query.search !== undefined || query.owner !== undefined)
    return (
      <Empty title="No session matches">
        The filter looks at titles and ids. To search the text of messages, press <kbd>/</kbd>.
      </Empty>
    )
  if (query.archived === 'yes') return <Empty title="No archived sessions" />
  return (
    <Empty title="No sessions yet">
      <p>Sessions appear here as soon as a program appends messages. To look at existing ones:</p>
      <pre>undertext import ~/.claude/projects</pre>
    </Empty>
  )
}

function SessionRow({
  session,
  depth,
  folded,
  isChosen,
  onToggle,
}: {
  readonly session: ListedSession
  readonly depth: number
  readonly folded: { readonly count: number; readonly open: boolean } | undefined
  readonly isChosen: boolean
  onToggle(): void
}) {
  const { title, id, owner, newestAt, messageCount, metadata } = session
  const options = { owner: facts.owners ? owner : undefined }
  const version = `${session.version} ${session.viewEpoch}`
  const stats = useCall('getContextStats', [id], version, options)
  const usage = useCall('requests.usage', [id], version, options)
  const project = typeof metadata?.project === 'string' ? metadata.project : undefined
  return (
    <tr
      class={`session-row${isChosen ? ' chosen' : ''}`}
      onClick={(event) =>
        !(event.target as Element).closest('a, button, summary, .menu') && go(linkOf(session))
      }
    >
      <td class="title-cell" style={{ paddingLeft: `${12 + depth * 20}px` }}>
        <div>
          {folded !== undefined && (
            <button
              type="button"
              class="fold"
              aria-expanded={folded.open}
              aria-label={counted(folded.count, 'child session')}
              onClick={onToggle}
            >
              {folded.open ? '▾' : '▸'} {folded.count}
            </button>
          )}
          <a href={linkOf(session)} class="session-title" title={title ?? id}>
            {title ?? <span class="untitled">{id}</span>}
          </a>
        </div>
        <div class="dim small">
          {[
            project,
            owner && `owner ${owner}`,
            session.forkedFrom && `fork at ${session.forkedFrom.position}`,
          ]
            .filter(Boolean)
            .join(' · ')}
        </div>
      </td>
      <td class="model-cell wide-only" title={session.model}>
        {session.model ?? <span class="dim">–</span>}
      </td>
      <td class="number wide-only">{whole(messageCount)}</td>
      <td class="context-cell">
        {stats.value && (
          <div class="context-mini">
            <Bar
              label="Context"
              parts={tokensByCategory(stats.value.sizes, stats.value.estimatedInputTokens)}
              limit={stats.value.availableInputTokens}
            />
            <span class={stats.value.shouldCompact ? 'warn-text' : 'dim'}>
              {percent(stats.value.usageRatio)}
            </span>
          </div>
        )}
      </td>
      <td class="number wide-only">
        {usage.value &&
          (usage.value.total.requests > 0 ? money(usage.value.total.cost) : <span class="dim">–</span>)}
      </td>
      <td class="number nowrap">{newestAt > 0 ? <Time at={newestAt} /> : <span class="dim">empty</span>}</td>
      <td class="menu-cell">
        {canChange && (
          <Menu
            label={`Actions for ${title ?? id}`}
            items={[
              {
                label: session.archivedAt === undefined ? 'Archive' : 'Move back to the list',
                run: () => archive(id, session.archivedAt === undefined),
              },
            ]}
          />
        )}
      </td>
    </tr>
  )
}

/** Fetches the next page when it comes into sight. */
function More({ list }: { readonly list: SessionList }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && list.more(), {
      rootMargin: '600px',
    })
    if (box.current !== null) observer.observe(box.current)
    return () => observer.disconnect()
  }, [list.more, list.sessions.length])
  return <div ref={box}>{list.done ? null : <Skeleton lines={3} />}</div>
}

type Shown = Fold & { readonly session: ListedSession; readonly open: boolean }
type Fold = { readonly parent: string | undefined }

/** Puts children under a parent that is listed, folded unless opened; others stay in their place. */
function folded(sessions: readonly Shown[]): readonly {
  readonly session: ListedSession
  readonly depth: number
  readonly children: { readonly count: number; readonly open: boolean } | undefined
}[] {
  const byId = new Map(sessions.map((one) => [one.session.id, one]))
  const children = new Map<string, Shown[]>()
  for (const one of sessions)
    if (one.parent !== undefined && byId.has(one.parent)) listIn(children, one.parent).push(one)
  const walk = (one: Shown, depth: number, path: readonly string[]): ReturnType<typeof folded> => {
    const below = (children.get(one.session.id) ?? []).filter(({ session }) => !path.includes(session.id))
    const row = {
      session: one.session,
      depth,
      children: below.length === 0 ? undefined : { count: below.length, open: one.open },
    }
    return [
      row,
      ...(one.open ? below.flatMap((child) => walk(child, depth + 1, [...path, one.session.id])) : []),
    ]
  }
  return sessions
    .filter(({ parent }) => parent === undefined || !byId.has(parent))
    .flatMap((one) => walk(one, 0, []))
}

/** The session that a session belongs under: the one it was forked from, or whose subagent it is. */
const parentOf = (session: ListedSession): string | undefined =>
  session.forkedFrom?.sessionId ?? callerOf(session)

type SessionList = {
  readonly sessions: readonly Shown[]
  readonly done: boolean
  readonly error: CallError | undefined
  more(): void
  restart(): void
  toggle(id: string): void
}

/** Pages of the list. When a session changes anywhere, the first page is read again and merged, so that the place stays. */
function useSessions(
  filter: {
    readonly archived: boolean
    readonly search: string | undefined
    readonly owner: string | undefined
  },
  newest: string | undefined,
): SessionList {
  const key = JSON.stringify(filter)
  const [pages, setPages] = useState<{ key: string; sessions: readonly ListedSession[]; done: boolean }>({
    key,
    sessions: [],
    done: false,
  })
  const [error, setError] = useState<CallError>()
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const busy = useRef(false)
  const current = useRef(key)
  current.current = key
  const own = pages.key === key ? pages : { key, sessions: [], done: false }
  const query = (after?: ListedSession) =>
    call('sessions.list', [
      {
        archived: filter.archived,
        limit: PAGE,
        ...(filter.search && { search: filter.search }),
        ...(filter.owner && { owner: filter.owner }),
        ...(after && {
          after: {
            id: after.id,
            newestAt: after.newestAt,
            ...(after.owner !== undefined && { owner: after.owner }),
          },
        }),
      },
    ])
  const refresh = async (): Promise<void> => {
    try {
      const first = await query()
      if (current.current !== key) return
      setError(undefined)
      setPages((before) => {
        const rest = before.key === key ? before.sessions : []
        const last = first.at(-1)
        const known = new Set(first.map(nameOf))
        const older =
          last === undefined || first.length < PAGE
            ? []
            : rest.filter((one) => one.newestAt <= last.newestAt && !known.has(nameOf(one)))
        return {
          key,
          sessions: [...first, ...older],
          done: first.length < PAGE || (before.key === key && before.done && rest.length > 0),
        }
      })
    } catch (thrown) {
      setError(asCallError(thrown))
    }
  }
  const latest = useRef(refresh)
  latest.current = refresh
  const restart = useCallback(() => void latest.current(), [])
  useEffect(restart, [key, newest])
  const more = useCallback(async (): Promise<void> => {
    if (busy.current || own.done || own.sessions.length === 0) return
    busy.current = true
    try {
      const next = await query(own.sessions.at(-1))
      setPages((before) =>
        before.key === key
          ? { key, sessions: [...before.sessions, ...next], done: next.length < PAGE }
          : before,
      )
    } catch (thrown) {
      setError(asCallError(thrown))
    } finally {
      busy.current = false
    }
  }, [key, own.sessions.length, own.done])
  return {
    sessions: own.sessions.map((session) => ({
      session,
      parent: parentOf(session),
      open: open.has(session.id),
    })),
    done: own.done,
    error,
    more,
    restart,
    toggle: (id) => setOpen(new Set(open.has(id) ? [...open].filter((one) => one !== id) : [...open, id])),
  }
}

const nameOf = ({ owner = '', id }: ListedSession): string => `${owner} ${id}`
