import { canonicalProvider, claudeModel } from './providers.ts'

/**
 * The data that a provider compares when reasoning is sent back in a later request.
 *
 * - `prefix`: everything that was sent before the block: `system`, the `tools` that are not deferred, and each earlier message without
 *   its reasoning and cache marks; and the preceding block of reasoning. The blocks that are sent back must therefore follow each other
 *   as they were produced: the oldest, the newest or all of them may be left out, but none between two others, and a block that was left
 *   out must not return before a block that was produced without it. A request that fails the comparison is refused (`The block is bound
 *   to a different conversation`).
 * - `item`: the item that contained it, and the account (on Azure, the resource). An item of reasoning needs the item that followed it, a
 *   call that keeps its id needs its reasoning, and an id may occur only once. Earlier content may change.
 * - `part`: the part that carries it. A signature stays on its part; the parts are neither joined nor reordered.
 * - `signature`: the signature alone. Reasoning is sent back unchanged or not at all.
 * - `none`: nothing; it is plain text, or it is not sent back.
 */
export type ReasoningBindingKind = 'prefix' | 'item' | 'part' | 'signature' | 'none'

/** The binding of reasoning for a provider and model. */
export type ReasoningBinding = {
  readonly kind: ReasoningBindingKind
  /** Whether the request is refused if the reasoning of the last turn's tool calls is missing (for Claude: with manual thinking). */
  readonly neededInLoop: boolean
  /** The page of the provider, or the public report, that states this. */
  readonly source: string
}

type Row = ReasoningBinding & {
  /** The models in words, for readers. */
  readonly models: string
  readonly matches: (model: Model) => boolean
}

/** A model in the form that the table reads: its name in lower case, and the provider if no name is given. */
type Model = { readonly name: string; readonly provider: string | undefined }

/**
 * The first version of each family whose blocks are bound to their prefix. Later versions and families are too, because the check stays.
 */
const PREFIX_FROM: ReadonlyMap<string, number> = new Map([
  ['fable', 501],
  ['mythos', 501],
])
const PREFIX_FROM_OTHERS = 505

/** The table, first match first, as of November 2026. If the model is known, it decides, because gateways pass reasoning on unchanged. */
export const REASONING_BINDINGS: readonly Row[] = [
  {
    models: 'Claude: Fable and Mythos from 5.1, other families from 5.5',
    matches: ({ name }) => {
      const claude = claudeModel(name)
      if (claude === undefined) return false
      return claude.version >= (PREFIX_FROM.get(claude.family) ?? PREFIX_FROM_OTHERS)
    },
    kind: 'prefix',
    neededInLoop: false,
    source: 'https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks',
  },
  {
    models: 'Claude: earlier models',
    matches: ({ name, provider }) => name.includes('claude') || (name === '' && provider === 'anthropic'),
    kind: 'signature',
    neededInLoop: true,
    source: 'https://platform.claude.com/docs/en/build-with-claude/extended-thinking',
  },
  {
    models: 'Gemini from 3, except those that make images',
    matches: ({ name }) => (geminiMajor(name) ?? 0) >= 3 && !name.includes('image'),
    kind: 'part',
    neededInLoop: true,
    source: 'https://ai.google.dev/gemini-api/docs/thought-signatures',
  },
  {
    models: 'Gemini: others',
    matches: ({ name, provider }) => name.includes('gemini') || (name === '' && provider === 'google-ai'),
    kind: 'part',
    neededInLoop: false,
    source: 'https://ai.google.dev/gemini-api/docs/thought-signatures',
  },
  {
    models: 'OpenAI: o1, o3, o4, GPT-5 and later',
    matches: ({ name, provider }) =>
      OPENAI_REASONING.test(name) || (name === '' && (provider === 'openai' || provider === 'azure')),
    kind: 'item',
    neededInLoop: true,
    source: 'https://developers.openai.com/api/docs/guides/reasoning',
  },
]

const NONE: ReasoningBinding = { kind: 'none', neededInLoop: false, source: '' }

/** Names of OpenAI's reasoning models, after the prefix of a host or gateway. */
const OPENAI_REASONING = /(?:^|[/.:_-])(?:o[1-9]|gpt-(?:[5-9]|[1-9]\d))(?![\da-z])/

function geminiMajor(name: string): number | undefined {
  const found = /gemini-(\d{1,2})(?!\d)/.exec(name)
  return found === null ? undefined : Number(found[1])
}

/**
 * Returns the binding of reasoning that is sent back. If the model is unknown, the prefix check is not assumed, because older models need
 * reasoning that it would leave out. Names of the same model on other hosts are recognized (`anthropic/claude-fable-5.1`,
 * `us.anthropic.claude-opus-5-5-v1:0`, `claude-sonnet-5-5@20260928`).
 */
export function reasoningBinding(provider: string | undefined, model?: string): ReasoningBinding {
  const subject: Model = {
    name: model?.toLowerCase() ?? '',
    provider: provider === undefined ? undefined : canonicalProvider(provider),
  }
  const row = REASONING_BINDINGS.find(({ matches }) => matches(subject))
  return row === undefined ? NONE : { kind: row.kind, neededInLoop: row.neededInLoop, source: row.source }
}

/** Returns whether a model checks that its reasoning follows the content it was made after. An empty name counts as no model. */
export function bindsReasoning(provider: string, model: string | undefined): boolean {
  return reasoningBinding(provider, model === '' ? undefined : model).kind === 'prefix'
}

/** Replaces a missing signature. Source: Google's page "Thought signatures", on calls that come from another model. */
export const DUMMY_SIGNATURE = 'skip_thought_signature_validator'
