import { isObject } from '../../messages/json.ts'
import type { MessageCounts, Session } from '../../storage/storage.ts'
import type { SqliteStore } from '../../store/open.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { count, counted, time } from '../output/figures.ts'
import { type Column, table } from '../output/table.ts'
import { allSessions } from '../references.ts'

export type SessionsOptions = {
  readonly owner?: string
  readonly archived?: boolean
  readonly search?: string
  readonly limit: number
  readonly after?: string
}

/** A session as a list shows it. */
type Listed = Session & {
  readonly tokens: number
  readonly counts: MessageCounts
  /** The session it is a subagent's of. */
  readonly parent: string | undefined
}

export async function listSessions(context: Context, options: SessionsOptions): Promise<number> {
  const store = await context.open('read')
  const { found, more } = await select(context, store, options)
  if (context.json) context.printJson({ sessions: found.map(jsonOf), more })
  else write(context, found, more, options)
  return EXIT.done
}

async function select(
  context: Context,
  store: SqliteStore,
  { owner, archived = false, search, limit, after }: SessionsOptions,
): Promise<{ readonly found: readonly Listed[]; readonly more: boolean }> {
  const behind = after === undefined ? undefined : await context.session(store, after)
  const found: Listed[] = []
  for await (const session of allSessions(store, {
    archived,
    owner,
    search: search || undefined,
    after: behind,
  })) {
    if (found.length === limit) return { found, more: true }
    const tokens = await tokensOf(store, session)
    const counts = await store.countMessages(session.id)
    found.push({ ...session, tokens, counts, parent: parentOf(session) })
  }
  return { found, more: false }
}

/** Of a subagent of Claude Code the session that called it, under the prefix that both were imported with. */
function parentOf({ id, metadata }: Session): string | undefined {
  const about = metadata?.['claude-code']
  if (!isObject(about)) return undefined
  const { sessionId, agentId } = about
  if (typeof sessionId !== 'string' || typeof agentId !== 'string') return undefined
  const end = [`${sessionId}/agent-${agentId}`, `agent-${agentId}`].find((one) => id.endsWith(one))
  return end === undefined ? undefined : id.slice(0, -end.length) + sessionId
}

/** The sessions of a page, each subagent's below the session that called it, if that is among them; and which of them stand so. */
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

async function tokensOf(store: SqliteStore, { id, messageCount }: Session): Promise<number> {
  return messageCount === 0 ? 0 : ((await store.getContextStats(id))?.estimatedInputTokens ?? 0)
}

/** What `--json` tells of a session. */
function jsonOf(session: Listed) {
  const { id, title, owner, provider, model, createdAt, updatedAt, archivedAt } = session
  return {
    id,
    parent: session.parent ?? null,
    title: title ?? null,
    owner: owner ?? null,
    provider: provider ?? null,
    model: model ?? null,
    ...session.counts,
    tokens: session.tokens,
    compactionsInForce: session.activeCompactions,
    createdAt,
    updatedAt,
    archivedAt: archivedAt ?? null,
  }
}

const COLUMNS: readonly Column[] = [
  { title: 'ID', flexible: 'clip', isName: true },
  { title: 'TITLE', flexible: 'clip' },
  { title: 'MESSAGES', align: 'right' },
  { title: 'VISIBLE', align: 'right' },
  { title: 'TOKENS', align: 'right' },
  { title: 'IN FORCE', align: 'right', isExtra: true },
  { title: 'UPDATED' },
  { title: 'MODEL', flexible: 'clip', isExtra: true },
]

function write(context: Context, found: readonly Listed[], more: boolean, options: SessionsOptions): void {
  const { out, style } = context
  if (found.length === 0) {
    out.write(`${emptySentence(options)}\n`)
    return
  }
  const rows = belowParents(found).map(({ session, isBelow }) => [
    { text: session.id, style: style.cyan },
    (isBelow ? '└ ' : '') + (session.title ?? ''),
    count(session.counts.messages),
    count(session.counts.visible),
    count(session.tokens),
    session.activeCompactions === 0 ? '' : count(session.activeCompactions),
    { text: time(session.updatedAt, out), style: style.dim },
    modelOf(session),
  ])
  out.write(`${table(COLUMNS, rows, out, style).join('\n')}\n`)
  const last = found.at(-1)!
  if (more && out.isTerminal)
    out.write(style.dim(`\n${counted(found.length, 'session')} shown; go on with --after ${last.id}\n`))
}

function modelOf({ provider, model }: Session): string {
  return [provider, model].filter((name) => name !== undefined).join('/')
}

function emptySentence({ owner, archived, search, after }: SessionsOptions): string {
  if (search !== undefined || owner !== undefined || after !== undefined) return 'No session is like that.'
  return archived === true ? 'No session is archived.' : 'The store holds no session yet.'
}
