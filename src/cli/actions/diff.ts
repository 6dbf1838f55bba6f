import type { Context } from '../command.ts'
import { type Comparison, compare } from '../diff/compare.ts'
import { diffText } from '../diff/diff-lines.ts'
import type { Difference } from '../diff/differences.ts'
import { EXIT } from '../exit-codes.ts'
import { type TokenCounter, tokenCounter } from '../token-counter.ts'

export type DiffOptions = { readonly now?: boolean; readonly full?: boolean }

export async function showDiff(
  context: Context,
  givenSession: string,
  givenId: string,
  options: DiffOptions,
): Promise<number> {
  const store = await context.open('read')
  const id = await context.session(store, givenSession)
  const target = await context.compaction(store, id, givenId)
  const { estimator, provider = 'openai' } = await store.getSession(id)
  const tokens = await tokenCounter(estimator, provider)
  const comparison = await compare(store, id, target, options.now === true, tokens)
  if (context.json) await context.pourJson(jsonOf(id, comparison, tokens))
  else await context.page(diffText(context, comparison, tokens, options.full === true))
  return EXIT.done
}

function jsonOf(session: string, comparison: Comparison, tokens: TokenCounter | undefined) {
  const { targets, after, dependents, rows, differences: all } = comparison
  return {
    session,
    compactions: targets.map(({ id }) => id),
    after,
    dependents,
    rows,
    tokens: { before: comparison.tokens.before ?? null, after: comparison.tokens.after ?? null },
    changes: changesOf(all, tokens),
  }
}

async function* changesOf(all: readonly Difference[], tokens: TokenCounter | undefined) {
  for (const one of all) {
    if (one.change === 'same') continue
    yield {
      change: one.change,
      id: one.seen.row.id,
      kind: one.seen.row.kind,
      role: one.seen.row.role,
      position: one.seen.row.position ?? null,
      tokens: tokens === undefined ? null : tokens.own(one.seen),
      parts: one.change === 'replaced' ? one.parts : [],
    }
  }
}
