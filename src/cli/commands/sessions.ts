import { isUndertextError } from '../../core/errors.ts'
import { defined } from '../../core/messages/json.ts'
import { shownTitle } from '../../core/messages/title.ts'
import { callerOf } from '../../core/retention/subagent.ts'
import type { ListedSession, MessageCounts } from '../../storage/storage.ts'
import type { Store } from '../../store/store.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { count, counted, time } from '../output/figures.ts'
import { report } from '../output/layout.ts'
import { nulled } from '../output/safe-text.ts'
import { type Column, table } from '../output/table.ts'
import { allSessions, findSession, shortSessions, storeOf } from '../references.ts'

type SessionsOptions = Given<'sessions'>

/** A session as a list shows it. */
type Listed = ListedSession & {
  /** `undefined` when the session was counted by an estimator that is not available here. */
  readonly tokens: number | undefined
  readonly counts: MessageCounts
  /** The session whose subagent it belongs to. */
  readonly parent: string | undefined
}

export async function listSessions(context: Context, options: SessionsOptions): Promise<number> {
  const store = await context.open('read')
  const { archived = false, owner, search } = options
  const after = options.after === undefined ? undefined : await findSession(store, options.after)
  const found: Listed[] = []
  let more = false
  for await (const session of allSessions(
    store,
    defined({ archived, owner, search: search || undefined, after }),
  )) {
    more = found.length === options.limit
    if (more) break
    found.push(await listed(store, session))
  }
  const short = context.json ? new Map<string, string>() : await shortOf(context, store, found)
  return report(context, { sessions: found.map(sessionJson), more }, () =>
    sessionLines(context, found, more, options, short),
  )
}

async function listed(whole: Store, session: ListedSession): Promise<Listed> {
  const { id, messageCount } = session
  const store = storeOf(whole, session)
  const tokens = messageCount === 0 ? 0 : await tokensIn(store, id)
  return {
    ...session,
    tokens,
    counts: (await store.sessions.get(id, { counts: true })).counts,
    parent: callerOf(session),
  }
}

/** The tokens of the view; `undefined` when the session was counted by an estimator that is not available here. */
export async function tokensIn(store: Store, id: string): Promise<number | undefined> {
  try {
    return (await store.getContextStats(id))?.estimatedInputTokens ?? 0
  } catch (error) {
    if (isUndertextError(error, 'ESTIMATOR_UNKNOWN')) return undefined
    throw error
  }
}

/** The sessions of a page, each subagent's below the session that called it, if that is on the page. */
function belowParents(page: readonly Listed[]): readonly { session: Listed; isBelow: boolean }[] {
  const children = new Map<string, Listed[]>()
  for (const { id, parent } of page) if (parent === undefined) children.set(id, [])
  const first = page.filter((session) => {
    const below = session.parent === undefined ? undefined : children.get(session.parent)
    below?.push(session)
    return below === undefined
  })
  return first.flatMap((session) => [
    { session, isBelow: false },
    ...(children.get(session.id) ?? []).map((child) => ({ session: child, isBelow: true })),
  ])
}

function sessionJson(session: Listed) {
  const { id, title, owner, provider, model, createdAt, updatedAt, newestAt, archivedAt } = session
  return {
    ...nulled({ id, parent: session.parent, title, owner, provider, model }),
    ...nulled({ ...session.counts, tokens: session.tokens, compactionsInForce: session.activeCompactions }),
    ...nulled({ createdAt, updatedAt, newestAt: newestAt || null, archivedAt }),
  }
}

/** Longer ids are shortened if the table doesn't fit. */
const LONG_ID = 12

function shortOf(
  { out }: Context,
  store: Store,
  found: readonly Listed[],
): Promise<ReadonlyMap<string, string>> | ReadonlyMap<string, string> {
  const long = found.map(({ id }) => id).filter((id) => id.length > LONG_ID)
  return out.isTerminal && long.length > 0 ? shortSessions(store, long) : new Map()
}

const COLUMNS: readonly Column[] = [
  { title: 'ID', flexible: 'clip', isName: true },
  { title: 'TITLE', flexible: 'clip' },
  { title: 'MESSAGES', align: 'right' },
  { title: 'VISIBLE', align: 'right', isExtra: true },
  { title: 'TOKENS', align: 'right' },
  { title: 'IN FORCE', align: 'right', isExtra: true },
  { title: 'NEWEST' },
  { title: 'MODEL', flexible: 'clip', isExtra: true },
]

function sessionLines(
  { out, style }: Context,
  found: readonly Listed[],
  more: boolean,
  { owner, archived, search, after }: SessionsOptions,
  short: ReadonlyMap<string, string>,
): string[] {
  if (found.length === 0) {
    const isFiltered = search !== undefined || owner !== undefined || after !== undefined
    const none = archived === true ? 'No sessions are archived.' : 'There are no sessions yet.'
    return [isFiltered ? 'No sessions match.' : none]
  }
  const rows = belowParents(found).map(({ session, isBelow }) => [
    { text: session.id, short: short.get(session.id), style: style.cyan },
    (isBelow ? '└ ' : '') + shownTitle(session.title ?? ''),
    count(session.counts.messages),
    count(session.counts.visible),
    session.tokens === undefined ? '?' : count(session.tokens),
    session.activeCompactions === 0 ? '' : count(session.activeCompactions),
    { text: session.newestAt === 0 ? '' : time(session.newestAt, out), style: style.dim },
    [session.provider, session.model].filter((name) => name !== undefined).join('/'),
  ])
  const next = `${counted(found.length, 'session')} shown; next: --after ${found.at(-1)!.id}`
  return [...table(COLUMNS, rows, out, style), ...(more && out.isTerminal ? ['', style.dim(next)] : [])]
}
