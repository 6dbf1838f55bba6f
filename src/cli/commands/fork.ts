import { shownTitle } from '../../core/messages/title.ts'
import type { Session } from '../../storage/storage.ts'
import type { Store } from '../../store/store.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { counted } from '../output/figures.ts'
import { report, sentence } from '../output/layout.ts'
import { nulled, safeLine } from '../output/safe-text.ts'
import { allSessions, findSession, momentOf, openSession, storeOf } from '../references.ts'

type ForkOptions = Given<'fork'>

export async function fork(
  context: Context,
  given: string,
  { at, id, title, actor }: ForkOptions,
): Promise<number> {
  const { out, style } = context
  const { store, id: origin } = await openSession(context, 'change', given)
  const moment = await momentOf(store, origin, at)
  const made = await store.sessions.fork(origin, { at: moment, id, title, actor })
  const position = made.forkedFrom!.position
  const text = `Forked: session ${safeLine(made.id)} has the first ${counted(position, 'message')} of ${safeLine(origin)}.`
  return report(context, { session: made.id, forkedFrom: origin, position }, () =>
    sentence(text, out, style.green),
  )
}

export async function bringBack(
  context: Context,
  given: string,
  { text, actor, reason }: Given<'bring-back'>,
): Promise<number> {
  const { out, style } = context
  const { store, id: session } = await openSession(context, 'change', given)
  const brought = await store.sessions.bringBack(session, { text, actor, reason })
  const done = `Brought back: message ${brought.position} of session ${safeLine(brought.sessionId)} has the conclusion of ${safeLine(session)}.`
  const value = { fork: session, ...brought, summarizer: brought.summarizer ?? null }
  return report(context, value, () => sentence(done, out, style.green))
}

/** A session with its forks. */
type Node = { readonly session: Session; readonly messages: number; readonly forks: readonly Node[] }

export async function tree(context: Context, given: string | undefined): Promise<number> {
  const store = await context.open('read')
  const nodes =
    given === undefined
      ? await nodesOf(store)
      : [await nodeOf(store, await rootOf(store, await store.sessions.get(await findSession(store, given))))]
  return report(context, { sessions: nodes.map(nodeJson) }, () =>
    nodes.length === 0 ? ['No session has forks.'] : nodes.flatMap((node) => nodeLines(node, '', '')),
  )
}

/** Sessions that have forks and aren't forks themselves. Forks are read only for sessions that have some. */
async function nodesOf(store: Store): Promise<Node[]> {
  const sessions: Session[] = []
  for await (const session of allSessions(store)) sessions.push(session)
  const parents = new Set(sessions.flatMap(({ forkedFrom }) => forkedFrom?.sessionId ?? []))
  const roots = sessions.filter(({ id, forkedFrom }) => forkedFrom === undefined && parents.has(id))
  return Promise.all(roots.map((session) => nodeOf(store, session, parents)))
}

async function rootOf(store: Store, session: Session): Promise<Session> {
  let root = session
  while (root.forkedFrom !== undefined) root = await store.sessions.get(root.forkedFrom.sessionId)
  return root
}

/** `parents`: the ids of the sessions with forks, if known. */
async function nodeOf(whole: Store, session: Session, parents?: ReadonlySet<string>): Promise<Node> {
  const store = storeOf(whole, session)
  const forks = parents?.has(session.id) === false ? [] : await store.sessions.forks(session.id)
  const { messages } = (await store.sessions.get(session.id, { counts: true })).counts
  return { session, messages, forks: await Promise.all(forks.map((one) => nodeOf(whole, one, parents))) }
}

type JsonNode = {
  readonly id: string
  readonly title: string | null
  readonly position: number | null
  readonly messages: number
  readonly createdAt: number
  readonly forks: readonly JsonNode[]
}

function nodeJson({ session, messages, forks }: Node): JsonNode {
  const { id, title, forkedFrom, createdAt } = session
  const position = forkedFrom?.position
  return { ...nulled({ id, title, position, messages, createdAt }), forks: forks.map(nodeJson) }
}

function nodeLines({ session, messages, forks }: Node, first: string, rest: string): string[] {
  const { id, title, forkedFrom } = session
  const name = title === undefined ? id : `${id} (${shownTitle(title)})`
  const from = forkedFrom === undefined ? '' : `, from message ${forkedFrom.position}`
  return [
    `${first}${safeLine(name)}: ${counted(messages, 'message')}${from}`,
    ...forks.flatMap((node, at) => {
      const isLast = at === forks.length - 1
      return nodeLines(node, `${rest}${isLast ? '└ ' : '├ '}`, `${rest}${isLast ? '  ' : '│ '}`)
    }),
  ]
}
