import type { Compaction, Store } from '../../src/index.ts'
import { nameOf, shapeOf } from './watch.ts'

/*
 * The views that a serial order of the commits can show. A session's audit says in which order compactions came
 * into force and went; a view is a function of what is in force and of how many messages there are.
 */

/** One transaction: the compactions it brought into force or took out of it. */
type Commit = { readonly event: string; readonly ids: readonly string[] }

export type History = { readonly states: readonly (readonly Compaction[])[]; readonly store: Rows }
type Rows = {
  readonly messages: readonly { readonly name: string; readonly position: number }[]
  /** Rows that compactions inserted, by the compaction's id. */
  readonly inserted: ReadonlyMap<
    string,
    { readonly name: string; readonly anchor: number; readonly ordinal: number }
  >
}

/**
 * All states a session went through but for appends. A run's compactions are one transaction, and so are those
 * an undo or redo takes; callers therefore give every undo and redo an actor of its own.
 */
export async function historyOf(store: Store, session: string): Promise<History> {
  const commits: (Commit & { key: string; ids: string[] })[] = []
  for (const { event, compactionId, runId, actor } of await store.sessions.audit(session, {
    limit: 100_000,
  })) {
    if (event !== 'created' && event !== 'undone' && event !== 'redone') continue
    const key = event === 'created' ? `run ${runId}` : `${event} by ${actor}`
    if (commits.at(-1)?.key === key) commits.at(-1)!.ids.push(compactionId!)
    else commits.push({ event, key, ids: [compactionId!] })
  }
  const byId = new Map((await store.listCompactions(session)).map((one) => [one.id, one] as const))
  const states: Compaction[][] = [[]]
  for (const { event, ids } of commits) {
    const inForce = states.at(-1)!
    const these = ids.map((id) => byId.get(id)!)
    states.push(event === 'undone' ? inForce.filter((one) => !these.includes(one)) : [...inForce, ...these])
  }
  return { states, store: await rowsOf(store, session) }
}

async function rowsOf(store: Store, session: string): Promise<Rows> {
  const rows = await store.getMessages(session)
  const messages = rows.flatMap(({ position }) =>
    position === undefined ? [] : [{ name: String(position), position }],
  )
  const inserted = new Map(
    rows.flatMap((row) => {
      const by = row.condenseId ?? row.truncationId
      const name = nameOf({ id: row.id })
      return row.position !== undefined || by === undefined
        ? []
        : [[by, { name, anchor: row.anchor, ordinal: Number(name.slice(1)) }] as const]
    }),
  )
  return { messages, inserted }
}

/** What the view of a state is while the log has so many messages; `undefined` when it cannot have so few. */
export function shapeIn({ states, store }: History, at: number, length: number): string | undefined {
  const hidden = new Set<string>()
  const replaced = new Set<string>()
  const shown: { name: string; anchor: number; ordinal: number }[] = []
  for (const { id, coverage, replaced: parts } of states[at]!) {
    for (const [from, to] of coverage.hidden.positions) {
      if (to > length) return undefined
      for (let position = from; position <= to; position++) hidden.add(String(position))
    }
    for (const { ordinal } of coverage.hidden.inserted) hidden.add(`s${ordinal}`)
    for (const { messageId } of parts) replaced.add(messageId.slice(messageId.lastIndexOf(':') + 1))
    const row = store.inserted.get(id)
    if (row !== undefined) shown.push(row)
  }
  const all = [
    ...store.messages.slice(0, length).map(({ name, position }) => ({ name, anchor: position, ordinal: 0 })),
    ...shown,
  ]
  return shapeOf(
    all
      .filter(({ name }) => !hidden.has(name))
      .sort((a, b) => a.anchor - b.anchor || a.ordinal - b.ordinal)
      .map(({ name, anchor, ordinal }) => ({
        name: replaced.has(name) ? `${name}*` : name,
        position: ordinal === 0 ? anchor : undefined,
      })),
  )
}

/**
 * Holds the views a reader saw, in the order it saw them, to the states: each must be the view of one of them,
 * and time must not go backwards. Answers the first that cannot be explained.
 */
export function unexplained(history: History, shapes: readonly string[]): string | undefined {
  let state = 0
  let length = 0
  for (const shape of shapes) {
    const last = shape.slice(shape.lastIndexOf(' ') + 1)
    const seen = Number(last.slice(last.indexOf('-') + 1).replace('*', ''))
    let found = state
    while (found < history.states.length && shapeIn(history, found, seen) !== shape) found++
    if (found === history.states.length || seen < length)
      return `"${shape}" after state ${state} of ${history.states.length}, ${length} messages`
    state = found
    length = seen
  }
  return undefined
}
