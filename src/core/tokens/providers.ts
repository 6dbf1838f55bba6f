import { isUnsent } from '../messages/message.ts'

/*
 * Compaction by providers, which a request enables with `context_management`, as of November 2026. Sources: Anthropic's pages on
 * compaction and context editing (models from Claude 4 edit, from 4.6 compact; also on Bedrock and Vertex), and OpenAI's guide to
 * compaction in the Responses API.
 */

/** Anthropic's edits, by effect: one summarizes, the others clear parts of a request before the model reads it. */
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

/** Returns whether a provider serves Claude models in Anthropic's form. */
export function hostsClaude(provider: string): boolean {
  return CLAUDE_HOSTS.has(canonicalProvider(provider))
}

/** The first versions of Claude that edit and that compact, as major × 100 + minor. */
const EDITS_FROM = 400
const COMPACTS_FROM = 406

/**
 * Returns the types of context management that a server supports for a model; none for most. Without a model: those of the provider's
 * newest models, if it serves a single family.
 */
export function contextManagementTypes(provider: string, model?: string): readonly string[] {
  const name = canonicalProvider(provider)
  if (OPENAI_HOSTS.has(name)) return [OPENAI_COMPACTION]
  if (!CLAUDE_HOSTS.has(name)) return []
  if (model === undefined) return name === 'anthropic' ? [...CLEARING_EDITS, ANTHROPIC_EDITS.compact] : []
  const version = claudeModel(model)?.version
  if (version === undefined || version < EDITS_FROM) return []
  return version < COMPACTS_FROM ? CLEARING_EDITS : [...CLEARING_EDITS, ANTHROPIC_EDITS.compact]
}

/** Returns whether one of these types summarizes. */
export function compactsHistory(types: readonly string[]): boolean {
  return types.some((type) => COMPACTIONS.has(type))
}

/**
 * Returns the family and version of a Claude model, the version as major × 100 + minor; `undefined` for another model, or a name of the
 * old form (`claude-3-5-sonnet`). Prefixes and suffixes of hosts, gateways and snapshots are ignored; a date is not a minor version.
 */
export function claudeModel(
  model: string,
): { readonly family: string; readonly version: number } | undefined {
  const name = model.toLowerCase()
  if (name.includes('claude-mythos-preview')) return { family: 'mythos', version: COMPACTS_FROM }
  const found = /claude-([a-z]{3,12})-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(name)
  return found === null
    ? undefined
    : { family: found[1]!, version: Number(found[2]) * 100 + Number(found[3] ?? 0) }
}

/**
 * A provider's rule for the ids of tool calls. `words`: letters, digits, `_` and `-`, at most 64, unique in a history. `nine`: exactly nine
 * letters and digits, unique. `short`: at most 40 characters, because Chat Completions refuses longer ones (`string_above_max_length`); the
 * Responses API accepts 64. `filled`: not empty, because servers of this format pair results by ids. `any`: no rule.
 */
export type CallIdRule = 'any' | 'words' | 'nine' | 'short' | 'filled'

/** Returns whether a rule requires unique ids. */
export function wantsUniqueIds(rule: CallIdRule): boolean {
  return rule === 'words' || rule === 'nine'
}

/**
 * The images and files that a provider reads. Sources: Anthropic's pages "Vision" and "PDF support"; Amazon's API reference, `ImageBlock`
 * and `DocumentBlock`; OpenAI's guide "File inputs" (Chat Completions reads PDF only; the Responses API reads texts and documents too);
 * Google's "Input file requirements" and googleapis/python-genai#829 (Word); Mistral's "Document AI"; code-yeongyu/oh-my-openagent#4249 and
 * vercel/ai#7399 (the AI SDK throws for other types before it sends anything).
 */
export type MediaRules = {
  /** Media types; `image/*` for all images. */
  readonly types: readonly string[]
  /** Schemes of the addresses that the provider fetches. */
  readonly schemes: readonly string[]
}

/** A provider's rules for roles and kinds of parts. */
export type ProviderProfile = {
  /** Whether user and assistant must alternate. */
  readonly strictAlternation: boolean
  /** Whether a system message may follow other messages. */
  readonly systemInside: boolean
  /** Whether the first message after system messages must be a user's. */
  readonly firstMustBeUser: boolean
  /** Whether user text may follow tool results without an assistant message in between. */
  readonly userAfterResults: boolean
  /** Whether empty and blank texts are accepted. */
  readonly emptyText: boolean
  /** Whether an assistant message may contain images and files. */
  readonly assistantMedia: boolean
  /** Whether the result of a failed tool may contain more than text. */
  readonly failedMedia: boolean
  readonly callIds: CallIdRule
  /** The pattern for names of tools in calls. */
  readonly toolNames: RegExp
  /**
   * Whether a request without tools must not contain calls or results. Sources: vxcontrol/pentagi#196, patriceckhart/zot#18,
   * elastic/kibana#246943 (Converse). Anthropic's own API has had no such rule since 27 February 2025:
   * anthropics/anthropic-sdk-python#849.
   */
  readonly toolUseNeedsTools?: boolean
  /**
   * The most calls in one message; absent if no limit is known. Sources: openai/openai-dotnet#317, pydantic/pydantic-ai#1105 (OpenAI),
   * github/copilot-cli#669.
   */
  readonly maxCalls?: number
  /** The longest text of arguments, in characters; absent if no limit is known. */
  readonly maxArguments?: number
  readonly media: MediaRules
}

/** The pattern of ids under a rule. */
export const CALL_ID_FORMS: { readonly [R in Exclude<CallIdRule, 'any'>]: RegExp } = {
  words: /^[a-zA-Z0-9_-]{1,64}$/,
  nine: /^[a-zA-Z0-9]{9}$/,
  short: /^[\s\S]{1,40}$/,
  filled: /^[\s\S]/,
}

const CLAUDE_IMAGES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const
const PDF = 'application/pdf'
const OFFICE = 'application/vnd.openxmlformats-officedocument'
const WEB = ['https:', 'http:'] as const

/** The media that every server of a shared format can be expected to read. A file of another type would make every later request fail. */
export const COMMON_MEDIA: MediaRules = {
  types: ['image/*', 'audio/*', 'video/*', 'text/*', PDF],
  schemes: [...WEB, 'gs:', 's3:'],
}
const CLAUDE_MEDIA: MediaRules = { types: [...CLAUDE_IMAGES, PDF, 'text/*'], schemes: WEB }
const GEMINI_MEDIA: MediaRules = {
  types: [
    'image/jpeg',
    'image/png',
    'image/webp',
    'image/heic',
    'image/heif',
    'audio/*',
    'video/*',
    'text/*',
    PDF,
  ],
  schemes: [...WEB, 'gs:'],
}
const VERTEX_MEDIA: MediaRules = { ...GEMINI_MEDIA, types: [...GEMINI_MEDIA.types, 'image/gif'] }
const CHAT_MEDIA: MediaRules = {
  types: [...CLAUDE_IMAGES, PDF, 'audio/wav', 'audio/x-wav', 'audio/mpeg', 'audio/mp3'],
  schemes: WEB,
}
/** The media of the Responses API, which also reads texts and documents. */
export const RESPONSES_MEDIA: MediaRules = {
  types: [
    ...CLAUDE_IMAGES,
    PDF,
    'text/*',
    'application/json',
    'application/xml',
    'application/rtf',
    'application/csv',
    'application/javascript',
    'application/typescript',
    'application/x-sh',
    'application/msword',
    'application/vnd.ms-excel',
    'application/vnd.ms-powerpoint',
    `${OFFICE}.wordprocessingml.document`,
    `${OFFICE}.spreadsheetml.sheet`,
    `${OFFICE}.presentationml.presentation`,
    'application/vnd.oasis.opendocument.text',
  ],
  schemes: WEB,
}
const CONVERSE_MEDIA: MediaRules = {
  types: [
    ...CLAUDE_IMAGES,
    'video/*',
    PDF,
    'text/csv',
    'text/html',
    'text/plain',
    'text/markdown',
    'application/msword',
    'application/vnd.ms-excel',
    `${OFFICE}.wordprocessingml.document`,
    `${OFFICE}.spreadsheetml.sheet`,
  ],
  schemes: ['s3:'],
}
const MISTRAL_MEDIA: MediaRules = { types: ['image/*', PDF, 'audio/*'], schemes: WEB }

/**
 * The patterns for tool names. Sources: anthropics/claude-code#2673 (200 characters in a history), Amazon's `ToolUseBlock`, OpenAI's
 * "string does not match pattern", Mistral's "must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64".
 */
const TOOL_NAMES = {
  long: /^[a-zA-Z0-9_-]{1,200}$/,
  short: /^[a-zA-Z0-9_-]{1,64}$/,
  gemini: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/,
} as const
/**
 * OpenAI's limit for the arguments of a call in a request, in characters; its answers have no limit. Source:
 * UKGovernmentBEIS/inspect_ai#4682.
 */
const OPENAI_ARGUMENTS = 1_048_576

const LENIENT: ProviderProfile = {
  strictAlternation: false,
  systemInside: true,
  firstMustBeUser: false,
  userAfterResults: true,
  emptyText: true,
  assistantMedia: true,
  failedMedia: true,
  callIds: 'filled',
  toolNames: TOOL_NAMES.long,
  maxCalls: 128,
  media: COMMON_MEDIA,
}

const STRICT: ProviderProfile = {
  strictAlternation: true,
  systemInside: false,
  firstMustBeUser: true,
  userAfterResults: true,
  emptyText: false,
  assistantMedia: false,
  failedMedia: true,
  callIds: 'any',
  toolNames: TOOL_NAMES.long,
  media: COMMON_MEDIA,
}

const CLAUDE: ProviderProfile = {
  ...STRICT,
  failedMedia: false,
  callIds: 'words',
  media: CLAUDE_MEDIA,
}
const OPENAI: ProviderProfile = {
  ...LENIENT,
  assistantMedia: false,
  callIds: 'short',
  toolNames: TOOL_NAMES.short,
  maxArguments: OPENAI_ARGUMENTS,
  media: CHAT_MEDIA,
}

const PROFILES: ReadonlyMap<string, ProviderProfile> = new Map([
  ['anthropic', CLAUDE],
  ['bedrock', { ...CLAUDE, toolNames: TOOL_NAMES.short, toolUseNeedsTools: true, media: CONVERSE_MEDIA }],
  // Vertex serves Claude as well as Gemini; Gemini reads no ids and makes images.
  ['vertex', { ...CLAUDE, assistantMedia: true, media: VERTEX_MEDIA }],
  ['google-ai', { ...STRICT, assistantMedia: true, toolNames: TOOL_NAMES.gemini, media: GEMINI_MEDIA }],
  [
    'mistral',
    {
      ...STRICT,
      userAfterResults: false,
      callIds: 'nine',
      toolNames: TOOL_NAMES.short,
      media: MISTRAL_MEDIA,
    },
  ],
  ['openai', OPENAI],
  ['azure', OPENAI],
  ['ollama', LENIENT],
  ['litellm', LENIENT],
  ['huggingface', { ...LENIENT, systemInside: false }],
  ['sagemaker', { ...LENIENT, systemInside: false }],
])

/** Other names of the same providers. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['amazon-bedrock', 'bedrock'],
  ['azure-openai', 'azure'],
  ['gemini', 'google-ai'],
  ['google', 'google-ai'],
  ['google-vertex', 'vertex'],
  ['vertex-ai', 'vertex'],
  ['aws-bedrock', 'bedrock'],
  ['azureopenai', 'azure'],
  ['bedrock-converse', 'bedrock'],
  ['google-ai-studio', 'google-ai'],
  ['google-genai', 'google-ai'],
  ['googlevertex', 'vertex'],
  ['mistral-ai', 'mistral'],
  ['google-generative-ai', 'google-ai'],
  ['google-vertex-ai', 'vertex'],
  ['googleai', 'google-ai'],
  ['hugging-face', 'huggingface'],
  ['mistralai', 'mistral'],
  ['open-ai', 'openai'],
  ['vertexai', 'vertex'],
])

/** The AI SDK's names for Vertex: `google.vertex.chat`, `vertex.anthropic.messages`. */
const SDK_VERTEX = /^(?:google[.-]?vertex|vertex)\b/

/**
 * Returns the canonical name of a provider. Case and surrounding white space are ignored. Aliases are recognized, including those with
 * `_` or spaces for `-` (LiteLLM: `vertex_ai`) and those of the AI SDK (`openai.responses`). Otherwise an unknown name keeps its
 * characters.
 */
export function canonicalProvider(provider: string): string {
  if (PROFILES.has(provider)) return provider
  const name = provider.trim().toLowerCase()
  const hyphened = name.replace(/[_ ]/g, '-')
  const known = knownAs(hyphened)
  if (known !== undefined) return known
  if (SDK_VERTEX.test(hyphened)) return 'vertex'
  return knownAs(hyphened.split('.', 1)[0]!) ?? name
}

function knownAs(name: string): string | undefined {
  return ALIASES.get(name) ?? (PROFILES.has(name) ? name : undefined)
}

/** Returns whether the rules of a provider are known. */
export function isKnownProvider(provider: string): boolean {
  return PROFILES.has(canonicalProvider(provider))
}

/** Returns the rules of a provider. Case is ignored; an unknown provider, or none, has the most permissive rules. */
export function providerProfile(provider?: string): ProviderProfile {
  return provider === undefined ? LENIENT : (PROFILES.get(canonicalProvider(provider)) ?? LENIENT)
}

/**
 * Further providers whose parts a provider reads: Claude on Bedrock and Vertex reads Anthropic's blocks, Gemini on Vertex Google's parts.
 */
const READ_BESIDES: ReadonlyMap<string, readonly string[]> = new Map([
  ['azure', ['openai']],
  ['openai', ['azure']],
  ['bedrock', ['anthropic']],
  ['vertex', ['anthropic', 'google-ai']],
])

/** Returns whether a provider reads the parts of another provider. */
export function readsPartsOf(provider: string, owner: string): boolean {
  if (isUnsent(owner)) return false
  const reader = canonicalProvider(provider)
  const name = canonicalProvider(owner)
  return reader === name || READ_BESIDES.get(reader)?.includes(name) === true
}
