import type { View } from '../model/view.ts'
import type { ResultEntry } from '../model/view-row.ts'

/** What is known of an output that is about to be cleared. */
export type ClearedOutput = {
  /** The tool's name, where it is known. */
  readonly tool: string | undefined
  readonly toolCallId: string
  /** What the output takes, tokens, by the session's estimator. */
  readonly tokens: number
}

/**
 * What is shown in place of a cleared output: a text, in which `{tokens}` and `{tool}` stand for what the output took and
 * whose it was, or a function that makes one. The same output must give the same text: it stands in a prefix that
 * providers cache.
 */
export type Placeholder = string | ((output: ClearedOutput) => string)

/** The placeholder of seed 002 that tells the size. Source: seed 002, checklist C-02. */
export const PRUNE_PLACEHOLDER_WITH_SIZE = '[Output pruned to save context. Original size: {tokens} tokens.]'

/** A placeholder as it is shown, and what it takes. */
export type MeasuredPlaceholder = { readonly text: string; readonly units: number; readonly tokens: number }

/** Gives the placeholder of each output of a view. One that is the same for all is measured once. */
export function placeholders(
  view: View,
  placeholder: Placeholder,
): (result: ResultEntry, tool: string | undefined, tokens: number) => MeasuredPlaceholder {
  const measured = new Map<string, MeasuredPlaceholder>()
  return (result, tool, tokens) => {
    const text = textOf(placeholder, { tool, toolCallId: result.id, tokens })
    const known = measured.get(text)
    if (known !== undefined) return known
    const units = view.estimator.measureText(text, 'toolResult')
    const found = { text, units, tokens: view.estimator.toTokens(units, view.provider) }
    measured.set(text, found)
    return found
  }
}

function textOf(placeholder: Placeholder, output: ClearedOutput): string {
  if (typeof placeholder === 'function') return String(placeholder(output))
  if (!placeholder.includes('{')) return placeholder
  return placeholder.replace(/\{(tokens|tool)\}/g, (_, name) =>
    name === 'tokens' ? String(output.tokens) : (output.tool ?? 'unknown'),
  )
}
