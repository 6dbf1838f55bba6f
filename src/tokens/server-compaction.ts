import { canonicalProvider } from './providers.ts'

/*
 * What providers compact by themselves when a request asks for it under `context_management`. Sources: Anthropic's pages on
 * compaction and context editing (models from Claude 4 edit, from 4.6 compact; the same on Bedrock and Vertex), OpenAI's guide to
 * compaction of the Responses API. Read in November 2026.
 */

/** Anthropic's edits, by what they do: one summarizes, the others clear parts of a request before the model reads it. */
export const ANTHROPIC_EDITS = {
  compact: 'compact_20260112',
  clear_tool_uses: 'clear_tool_uses_20250919',
  clear_thinking: 'clear_thinking_20251015',
} as const
const CLEARING_EDITS = [ANTHROPIC_EDITS.clear_tool_uses, ANTHROPIC_EDITS.clear_thinking] as const
/** OpenAI's type of context management, which compacts into an opaque item. */
export const OPENAI_COMPACTION = 'compaction'

const COMPACTIONS: ReadonlySet<string> = new Set([ANTHROPIC_EDITS.compact, OPENAI_COMPACTION])
const CLAUDE_HOSTS: ReadonlySet<string> = new Set(['anthropic', 'bedrock', 'vertex'])
const OPENAI_HOSTS: ReadonlySet<string> = new Set(['openai', 'azure'])

/** Claude's versions that edit, and that compact, as major × 100 + minor. */
const EDITS_FROM = 400
const COMPACTS_FROM = 406

/**
 * The types of context management a server knows for a model, none for most. Without a model: what the provider's newest models
 * know, where it serves one family alone.
 */
export function contextManagementTypes(provider: string, model?: string): readonly string[] {
  const name = canonicalProvider(provider)
  if (OPENAI_HOSTS.has(name)) return [OPENAI_COMPACTION]
  if (!CLAUDE_HOSTS.has(name)) return []
  if (model === undefined) return name === 'anthropic' ? [...CLEARING_EDITS, ANTHROPIC_EDITS.compact] : []
  const version = claudeVersion(model)
  if (version === undefined || version < EDITS_FROM) return []
  return version < COMPACTS_FROM ? CLEARING_EDITS : [...CLEARING_EDITS, ANTHROPIC_EDITS.compact]
}

/** Whether one of these types summarizes, and does not only clear. */
export function compactsHistory(types: readonly string[]): boolean {
  return types.some((type) => COMPACTIONS.has(type))
}

/** A Claude model's version as major × 100 + minor; `undefined` for another model, or a name of the old form (`claude-3-5-sonnet`). */
function claudeVersion(model: string): number | undefined {
  if (model.includes('claude-mythos-preview')) return COMPACTS_FROM
  const found = /claude-[a-z]{3,12}-(\d{1,2})(?:-(\d{1,2}))?(?!\d)/.exec(model.toLowerCase())
  return found === null ? undefined : Number(found[1]) * 100 + Number(found[2] ?? 0)
}
