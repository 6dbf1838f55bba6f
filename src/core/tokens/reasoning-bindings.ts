import { canonicalProvider, claudeModel } from './providers.ts'

/**
 * What a provider compares when reasoning comes back in a later request.
 *
 * - `prefix`: everything that was sent before it: `system`, the `tools` that are not deferred, and each earlier message without its
 *   reasoning and cache marks; and the block of reasoning that came before it. So the blocks that come back must follow each other as they
 *   were produced: the oldest, the newest or all may be left out, none between two others, and one that was left out does not return
 *   before a block that was produced without it. A request that fails is refused (`The block is bound to a different conversation`).
 * - `item`: the item that it came with, and the account (on Azure, the resource). An item of reasoning needs the item that followed it, a
 *   call that keeps its id needs its reasoning, and an id may occur once. What precedes it may change.
 * - `part`: the part that carries it. A signature stays on its part; the parts are neither joined nor reordered.
 * - `signature`: itself. It comes back unchanged or not at all.
 * - `none`: nothing; it is plain text, or it does not come back.
 */
export type ReasoningBindingKind = 'prefix' | 'item' | 'part' | 'signature' | 'none'

/** What reasoning is bound to, for a provider and model. */
export type ReasoningBinding = {
  readonly kind: ReasoningBindingKind
  /** Whether the request is refused if the reasoning of the last turn's tool calls is missing (for Claude: with manual thinking). */
  readonly neededInLoop: boolean
  /** Where the provider, or a public report, states this. */
  readonly source: string
}

type Row = ReasoningBinding & {
  /** The models, for readers. */
  readonly models: string
  readonly matches: (model: Model) => boolean
}

/** A model as the table reads it: its name in lower case, and the provider if no name is given. */
type Model = { readonly name: string; readonly provider: string | undefined }

/** The first version of a family whose blocks are bound to their prefix; later versions and families are too, because the check is kept. */
const PREFIX_FROM: ReadonlyMap<string, number> = new Map([
  ['fable', 501],
  ['mythos', 501],
])
const PREFIX_FROM_OTHERS = 505

/** The table, first match first, as of November 2026. The model decides where it is known, because gateways pass reasoning on unchanged. */
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

/** Names of OpenAI's models that reason, after the prefix of a host or gateway. */
const OPENAI_REASONING = /(?:^|[/.:_-])(?:o[1-9]|gpt-(?:[5-9]|[1-9]\d))(?![\da-z])/

function geminiMajor(name: string): number | undefined {
  const found = /gemini-(\d{1,2})(?!\d)/.exec(name)
  return found === null ? undefined : Number(found[1])
}

/**
 * What reasoning that comes back is bound to. Without a model, the check of prefixes is not assumed, because older models need reasoning that it
 * would leave out.
 * Names of the same model on other hosts are recognized (`anthropic/claude-fable-5.1`, `us.anthropic.claude-opus-5-5-v1:0`,
 * `claude-sonnet-5-5@20260928`).
 */
export function reasoningBinding(provider: string | undefined, model?: string): ReasoningBinding {
  const subject: Model = {
    name: model?.toLowerCase() ?? '',
    provider: provider === undefined ? undefined : canonicalProvider(provider),
  }
  const row = REASONING_BINDINGS.find(({ matches }) => matches(subject))
  return row === undefined ? NONE : { kind: row.kind, neededInLoop: row.neededInLoop, source: row.source }
}

/** Whether a model checks that its reasoning comes back after what it was made after. An empty name is no model. */
export function bindsReasoning(provider: string, model: string | undefined): boolean {
  return reasoningBinding(provider, model === '' ? undefined : model).kind === 'prefix'
}

/**
 * Replaces a missing signature. Source: the page "Thought signatures" of Google, on calls that come from
 * another model.
 */
export const DUMMY_SIGNATURE = 'skip_thought_signature_validator'
