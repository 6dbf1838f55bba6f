import type { Compaction } from '../../storage/storage.ts'
import type { SqliteStore } from '../../store/open.ts'
import { CliError } from '../cli-error.ts'
import type { TokenCounter } from '../token-counter.ts'
import { type Difference, differences } from './differences.ts'
import { dependentsOf, type ReplacementText, type StoredHistory, viewAt } from './view-at.ts'

/** Two views, and what they are. */
export type Comparison = {
  readonly targets: readonly Compaction[]
  /** What the second view is: with the compactions alone, as it is now, or as a redo would make it. */
  readonly after: 'with' | 'now' | 'redone'
  /** Compactions in force that build on it and are in neither view, or with `now` only in the second. */
  readonly dependents: readonly string[]
  readonly rows: { readonly before: number; readonly after: number }
  /** Tokens of the views; `undefined` where nobody here counts as the session does. */
  readonly tokens: { readonly before: number | undefined; readonly after: number | undefined }
  readonly differences: readonly Difference[]
}

/** Compares the views of a session without a compaction, or all of a run, and with it. */
export async function compare(
  store: SqliteStore,
  id: string,
  target: string,
  now: boolean,
  tokens: TokenCounter | undefined,
): Promise<Comparison> {
  const compactions = await store.listCompactions(id)
  const history: StoredHistory = {
    rows: await store.getMessages(id),
    compactions,
    replacements: await replacementTexts(store, id),
  }
  const members = compactions.filter((one) => one.id === target || one.runId === target)
  const active = new Set(compactions.filter(({ status }) => status === 'active').map((one) => one.id))
  const inForce = members.filter((one) => active.has(one.id))
  const targets = inForce.length > 0 ? inForce : members.filter(({ status }) => status === 'undone')
  if (targets.length === 0) throw neverInForce(target)
  const ids = new Set(targets.map((one) => one.id))
  const dependents = inForce.length > 0 ? dependentsOf(compactions, ids) : []
  const without = inForce.length > 0 ? minus(active, new Set([...ids, ...dependents])) : active
  const before = viewAt(history, without)
  const after = viewAt(history, now && inForce.length > 0 ? active : new Set([...without, ...ids]))
  return {
    targets,
    after: inForce.length === 0 ? 'redone' : now ? 'now' : 'with',
    dependents,
    rows: { before: before.length, after: after.length },
    tokens: { before: tokens?.of(before), after: tokens?.of(after) },
    differences: differences(
      before,
      after,
      history.rows.map((row) => row.id),
    ),
  }
}

function minus(all: ReadonlySet<string>, some: ReadonlySet<string>): Set<string> {
  return new Set([...all].filter((one) => !some.has(one)))
}

function neverInForce(target: string): CliError {
  return new CliError(
    'NOT_THERE',
    `Compaction ${target} never came into force, so there is nothing to compare.`,
    {
      facts: { compactionId: target },
      hint: '`undertext log SESSION` shows which did.',
    },
  )
}

/** The texts of all replacements of a session, those out of force too: of the session's history, which alone tells them. */
export async function replacementTexts(store: SqliteStore, sessionId: string): Promise<ReplacementText[]> {
  const texts: ReplacementText[] = []
  for await (const record of store.exportSession(sessionId)) {
    if (record.type !== 'replacement') continue
    const { compaction, message, part, text } = record
    texts.push({ compactionId: compaction, messageId: message, part, text })
  }
  return texts
}
