import { z } from 'zod'
import { invalid } from '../errors.ts'
import { check, quotedKey, readable } from '../messages/check.ts'
import { isObject } from '../messages/json.ts'
import { packageWindow } from './package-windows.ts'
import { canonicalProvider } from './providers.ts'

/** NeuroLink's table of context windows in tokens, by provider and model; `_default` is the provider's fallback. */
export const MODEL_CONTEXT_WINDOWS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  anthropic: {
    _default: 200_000,
    'claude-opus-4-20250514': 200_000,
    'claude-sonnet-4-20250514': 200_000,
    'claude-3-7-sonnet-20250219': 200_000,
    'claude-3-5-sonnet-20241022': 200_000,
    'claude-3-5-haiku-20241022': 200_000,
    'claude-3-opus-20240229': 200_000,
    'claude-3-sonnet-20240229': 200_000,
    'claude-3-haiku-20240307': 200_000,
  },
  openai: {
    _default: 128_000,
    'gpt-4o': 128_000,
    'gpt-4o-mini': 128_000,
    'gpt-4-turbo': 128_000,
    'gpt-4': 8_192,
    'gpt-3.5-turbo': 16_385,
    o1: 200_000,
    'o1-mini': 128_000,
    'o1-pro': 200_000,
    o3: 200_000,
    'o3-mini': 200_000,
    'o4-mini': 200_000,
    'gpt-4.1': 1_047_576,
    'gpt-4.1-mini': 1_047_576,
    'gpt-4.1-nano': 1_047_576,
    'gpt-5': 1_047_576,
  },
  'google-ai': {
    _default: 1_048_576,
    'gemini-2.5-pro': 1_048_576,
    'gemini-2.5-flash': 1_048_576,
    'gemini-2.0-flash': 1_048_576,
    'gemini-1.5-pro': 2_097_152,
    'gemini-1.5-flash': 1_048_576,
    'gemini-3-flash-preview': 1_048_576,
    'gemini-3-pro-preview': 1_048_576,
  },
  vertex: {
    _default: 1_048_576,
    'gemini-2.5-pro': 1_048_576,
    'gemini-2.5-flash': 1_048_576,
    'gemini-2.0-flash': 1_048_576,
    'gemini-1.5-pro': 2_097_152,
    'gemini-1.5-flash': 1_048_576,
  },
  bedrock: {
    _default: 200_000,
    'anthropic.claude-3-5-sonnet-20241022-v2:0': 200_000,
    'anthropic.claude-3-5-haiku-20241022-v1:0': 200_000,
    'anthropic.claude-3-opus-20240229-v1:0': 200_000,
    'anthropic.claude-3-sonnet-20240229-v1:0': 200_000,
    'anthropic.claude-3-haiku-20240307-v1:0': 200_000,
    'amazon.nova-pro-v1:0': 300_000,
    'amazon.nova-lite-v1:0': 300_000,
  },
  azure: {
    _default: 128_000,
    'gpt-4o': 128_000,
    'gpt-4o-mini': 128_000,
    'gpt-4-turbo': 128_000,
    'gpt-4': 8_192,
  },
  mistral: {
    _default: 128_000,
    'mistral-large-latest': 128_000,
    'mistral-medium-latest': 32_000,
    'mistral-small-latest': 128_000,
    'codestral-latest': 256_000,
  },
  ollama: { _default: 128_000 },
  litellm: { _default: 128_000 },
  huggingface: { _default: 32_000 },
  sagemaker: { _default: 128_000 },
}

/**
 * Corrections of the table for current models and confusable names (`gpt-4.5` begins with `gpt-4`), from the providers' pages. Ollama
 * gives every model the same window, whatever the model's own window is: 4,096 tokens below 24 GiB of video memory
 * (docs.ollama.com/context-length), and it cuts a longer prompt without an error. A figure that is too small causes early compactions;
 * one that is too large loses messages.
 */
const CORRECTIONS: typeof MODEL_CONTEXT_WINDOWS = {
  ollama: { _default: 4_096 },
  openai: { 'gpt-5': 400_000, 'gpt-4.5': 128_000 },
  mistral: { 'mistral-medium-latest': 128_000 },
}

/** The table for models that the maintained package doesn't contain. */
const CORRECTED_CONTEXT_WINDOWS: typeof MODEL_CONTEXT_WINDOWS = Object.fromEntries(
  Object.entries(MODEL_CONTEXT_WINDOWS).map(([provider, models]) => [
    provider,
    { ...models, ...CORRECTIONS[provider] },
  ]),
)

/** The window of an unknown model, in tokens, as in NeuroLink. */
export const DEFAULT_CONTEXT_WINDOW = 128_000
/** The default maximum tokens reserved for the answer, as in NeuroLink. */
export const MAX_DEFAULT_OUTPUT_RESERVE = 64_000
/** The default share of the window reserved for the answer, as in NeuroLink. */
export const DEFAULT_OUTPUT_RESERVE_RATIO = 0.35

/**
 * A table of context windows, in tokens: for each provider either one figure for all its models, or one per model, with `_default` for
 * the others. The registry and the tables of a store and of a session have this form.
 */
export type ContextWindows = { readonly [provider: string]: number | { readonly [model: string]: number } }

const windowSchema = z.int().positive()

/** Returns the problem of a table of windows, or `undefined`. Without zod, whose copy of a record drops a `__proto__` key. */
export function windowsProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'must be a table: provider to tokens, or provider to model to tokens'
  for (const [provider, entry] of Object.entries(value)) {
    if (provider === '_default')
      return 'has "_default" in place of a provider; it belongs among the models of one'
    const windows = isObject(entry) ? Object.values(entry) : [entry]
    if (!windows.every((tokens) => windowSchema.safeParse(tokens).success))
      return `of ${quotedKey(provider)} must be tokens: whole numbers above 0`
  }
  return undefined
}

/** Checks a table of windows, and reports the problem in its message. */
export const contextWindowsSchema = z.custom<ContextWindows>().superRefine((value, context) => {
  const problem = windowsProblem(value)
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
})

/**
 * The source of a window's size: an overflow error (`learned`), the session's table, the store's table, the maintained package
 * `@pydantic/genai-prices` (`package`), the founding table (`registry`), or the default.
 */
export type WindowSource = 'learned' | 'session' | 'store' | 'package' | 'registry' | 'default'

/** A model's context window and its source. */
export type ContextWindow = {
  /** The window, in tokens, input and output together. */
  readonly tokens: number
  readonly source: WindowSource
  /** The matching entry of the table: a model's name, or `_default`. */
  readonly entry?: string
}

/** Returns whether no table contains the model, so that the window is the one assumed for every model, of its provider or of all. */
export function isAssumed({ source, entry }: ContextWindow): boolean {
  return source === 'default' || (source === 'registry' && entry === '_default')
}

/**
 * The figures that take precedence over the tables of this package: the caller's tables, and a limit in a provider's error, in tokens.
 */
type WindowTables = {
  readonly session?: ContextWindows | undefined
  readonly store?: ContextWindows | undefined
  readonly learned?: number | undefined
}

/**
 * The tables of this package to read, in order. `maintained`: the package, then the corrected founding table. `printed`: the founding
 * table as printed, then the package. `founding`: only the founding table as printed.
 */
export type WindowRegistry = 'maintained' | 'printed' | 'founding'

/**
 * Returns the context window of a model: the session's table, or else the store's, at most the learned limit; or else the learned limit;
 * or else the tables of this package; or else 128,000. A provider's error proves that a larger figure in a table is wrong. Within a table
 * the model's own entry counts, or else the longest prefix of the model's name (so `o1-mini-2024-09-12` is not mistaken for `o1`), or
 * else the provider's `_default`.
 */
export function resolveContextWindow(
  provider: string,
  model: string | undefined,
  { session, store, learned }: WindowTables = {},
  registry: WindowRegistry = 'maintained',
): ContextWindow {
  const own = windowIn(session, 'session', provider, model) ?? windowIn(store, 'store', provider, model)
  if (learned === undefined) return own ?? knownWindow(registry, provider, model)
  const isTrusted = own === undefined && registry === 'maintained'
  if (isTrusted || learned < (own ?? knownWindow(registry, provider, model)).tokens)
    return { tokens: learned, source: 'learned' }
  return own ?? knownWindow(registry, provider, model)
}

/** Returns the tables of a preset: `neurolink` reads the founding table as printed. */
export function registryOf(preset: string): WindowRegistry {
  return preset === 'neurolink' ? 'printed' : 'maintained'
}

type Lookup = (provider: string, model: string | undefined) => ContextWindow | undefined

const printed: Lookup = (provider, model) => windowIn(MODEL_CONTEXT_WINDOWS, 'registry', provider, model)
const corrected: Lookup = (provider, model) =>
  isOllamaCloud(provider, model)
    ? printed(provider, model)
    : windowIn(CORRECTED_CONTEXT_WINDOWS, 'registry', provider, model)

/** Returns whether a model is one of Ollama's cloud models, such as `qwen3-coder:480b-cloud`, which have their whole window. */
function isOllamaCloud(provider: string, model: string | undefined): boolean {
  return model !== undefined && /[:-]cloud$/.test(model) && canonicalProvider(provider) === 'ollama'
}

const LOOKUPS: { readonly [R in WindowRegistry]: readonly Lookup[] } = {
  maintained: [inPackage, corrected],
  printed: [printed, inPackage],
  founding: [printed],
}

/** A cache of the last windows: a conversation needs the same window before every call. */
const known = new Map<string, ContextWindow>()
const MAX_CACHED = 256

function knownWindow(registry: WindowRegistry, provider: string, model: string | undefined): ContextWindow {
  const key = JSON.stringify([registry, provider, model])
  const last = known.get(key)
  if (last !== undefined) return last
  const found = findWindow(registry, provider, model)
  if (known.size >= MAX_CACHED) known.clear()
  known.set(key, Object.freeze(found))
  return found
}

function findWindow(registry: WindowRegistry, provider: string, model: string | undefined): ContextWindow {
  for (const lookup of LOOKUPS[registry]) {
    const found = lookup(provider, model)
    if (found !== undefined) return found
  }
  return { tokens: DEFAULT_CONTEXT_WINDOW, source: 'default' }
}

/** Returns the package's window of a model, under any of its names. */
function inPackage(provider: string, model: string | undefined): ContextWindow | undefined {
  if (model === undefined) return undefined
  const name = canonicalProvider(provider)
  const names = modelNames(model)
  for (const of of [...names, ...names.map((one) => one.replace(VARIANT, ''))]) {
    const found = packageWindow(name, of)
    if (found !== undefined) return { tokens: found.tokens, source: 'package', entry: found.model }
  }
  return undefined
}

function windowIn(
  table: ContextWindows | undefined,
  source: WindowSource,
  provider: string,
  model: string | undefined,
): ContextWindow | undefined {
  if (table === undefined) return undefined
  const models = entryOf(table, provider)
  if (models === undefined) return undefined
  if (typeof models === 'number') return { tokens: models, source, entry: '_default' }
  const entry = model === undefined ? '_default' : (nameOf(models, model) ?? '_default')
  return Object.hasOwn(models, entry) ? { tokens: models[entry]!, source, entry } : undefined
}

/** Returns a provider's entry, under the given name or another of its names. */
function entryOf(table: ContextWindows, provider: string): ContextWindows[string] | undefined {
  if (Object.hasOwn(table, provider)) return table[provider]
  const name = canonicalProvider(provider)
  if (Object.hasOwn(table, name)) return table[name]
  const other = Object.keys(table).find((key) => canonicalProvider(key) === name)
  return other === undefined ? undefined : table[other]
}

/** Prefixes that are not part of a model's name: a path or an ARN, a mark of a fine-tuned model, Bedrock's regions. */
const MODEL_PREFIX = /^(?:.*\/)?(?:ft:)?(?:(?:us|us-gov|eu|apac|global|jp|au|ca)\.)?/s

/** The variant of a model that a gateway serves (`:free`, `:online`); Bedrock's versions (`:0`) are part of the name. */
const VARIANT = /:[a-z]+$/i

/** Returns the names of a model: as given, without a gateway's prefix (`openrouter/anthropic/…`), and bare. */
export function modelNames(model: string): readonly string[] {
  return [...new Set([model, model.slice(model.indexOf('/') + 1), model.replace(MODEL_PREFIX, '')])]
}

/** Returns the entry of a model: its own, or else the longest prefix. Case only counts if entries differ in nothing else. */
function nameOf(models: { readonly [model: string]: number }, model: string): string | undefined {
  if (Object.hasOwn(models, model)) return model
  const bare = model.replace(MODEL_PREFIX, '')
  const lower = [model.toLowerCase(), bare.toLowerCase()]
  return (
    longestOf(models, (name) => model.startsWith(name) || bare.startsWith(name)) ??
    longestOf(models, (name) => lower.some((begins) => begins.startsWith(name.toLowerCase())))
  )
}

function longestOf(
  models: { readonly [model: string]: number },
  begins: (name: string) => boolean,
): string | undefined {
  let longest: string | undefined
  for (const name of Object.keys(models)) {
    if (name === '_default' || name.length <= (longest?.length ?? 0)) continue
    if (begins(name)) longest = name
  }
  return longest
}

/**
 * Returns the context window of a model, in tokens, from the founding table as printed: the model's own entry, or else the longest
 * registered name with which its name begins, or else the provider's default, or else 128,000. `overrides` take precedence. Throws
 * `INVALID_INPUT` for invalid overrides.
 */
export function getContextWindowSize(provider: string, model?: string, overrides?: ContextWindows): number {
  return readable('getContextWindowSize', () => {
    const store = overrides === undefined ? undefined : check(contextWindowsSchema, overrides, 'overrides')
    return resolveContextWindow(provider, model, { store }, 'founding').tokens
  })
}

/** Returns the tokens reserved for the answer: `maxOutputTokens` if given, otherwise 35 % of the window, rounded up, at most 64,000. */
export function getOutputReserve(contextWindow: number, maxOutputTokens?: number): number {
  return readable('getOutputReserve', () => {
    if (maxOutputTokens !== undefined && typeof maxOutputTokens !== 'number')
      throw invalid('getOutputReserve: maxOutputTokens must be a number')
    return (
      maxOutputTokens ??
      Math.min(MAX_DEFAULT_OUTPUT_RESERVE, Math.ceil(contextWindow * DEFAULT_OUTPUT_RESERVE_RATIO))
    )
  })
}

/** Returns the available input of a window, in tokens: the window minus the output reserve, and at most the provider's input limit. */
export function availableInput(contextWindow: number, maxOutputTokens?: number, inputLimit?: number): number {
  const left = contextWindow - getOutputReserve(contextWindow, maxOutputTokens)
  return inputLimit === undefined ? left : Math.min(left, inputLimit)
}

/** Returns the lower of a learned and a configured limit, in tokens; 0 means no limit. */
export function lowerLimit(learned: number | undefined, set: number | undefined): number | undefined {
  if (set === undefined || set === 0) return learned
  return learned === undefined ? set : Math.min(learned, set)
}

/**
 * Returns the available input of a request, in tokens: the window minus the output reserve. `overrides` as for `getContextWindowSize`.
 */
export function getAvailableInputTokens(
  provider: string,
  model?: string,
  maxOutputTokens?: number,
  overrides?: ContextWindows,
): number {
  return readable('getAvailableInputTokens', () => {
    return availableInput(getContextWindowSize(provider, model, overrides), maxOutputTokens)
  })
}
