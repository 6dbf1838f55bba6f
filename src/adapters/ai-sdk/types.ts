import { readable } from '../../core/messages/check.ts'
import { canonicalProvider, isKnownProvider } from '../../core/tokens/providers.ts'

/** Gateways to other providers, whose model ids begin with the provider. */
const GATEWAYS: ReadonlySet<string> = new Set(['gateway', 'vercel', 'openrouter'])

/**
 * Our names of the provider and model of an AI SDK model: `openai.responses` is openai, `google.generative-ai` google-ai,
 * `google.vertex.chat` and `vertex.anthropic.messages` vertex, and a gateway's `anthropic/claude-…` is anthropic. An unknown name is
 * cut at its first dot.
 */
export function namesOf(model: { readonly provider: string; readonly modelId: string }): {
  readonly provider: string
  readonly model: string
} {
  return readable('namesOf', () => {
    const name = model.provider.trim().toLowerCase()
    const slash = model.modelId.indexOf('/')
    const first = name.split('.', 1)[0]!
    if (GATEWAYS.has(first) && slash > 0) {
      const provider = canonicalProvider(model.modelId.slice(0, slash))
      if (isKnownProvider(provider)) return { provider, model: model.modelId.slice(slash + 1) }
    }
    const provider = canonicalProvider(name)
    return {
      provider: (isKnownProvider(provider) ? provider : first) || 'openai',
      model: model.modelId || 'unknown',
    }
  })
}

/*
 * Types of the AI SDK as far as they are used, so that one build fits versions 5, 6 and 7 and projects without it. Sources: the types of
 * `@ai-sdk/provider` 2, 3 and 4 (`LanguageModelV2` to `V4`), `@ai-sdk/provider-utils` 3, 4 and 5 (`ModelMessage`), and `ai` 6 and 7
 * (`UIMessage`).
 */

/** A language model of the AI SDK (specification v2 or later), or the id of a model of its global provider. */
export type LanguageModelLike =
  | string
  | {
      readonly specificationVersion: string
      readonly provider: string
      readonly modelId: string
      /** Calls the model once. */
      doGenerate(options: never): PromiseLike<unknown>
    }

/** A registry of `createProviderRegistry`, or another object that returns models by id. */
export type ModelRegistry = {
  /** Returns the model of an id such as `openai:gpt-5`. */
  languageModel(id: never): LanguageModelLike
}

/** Fields for providers, by the provider's name. */
export type SdkOptions = { readonly [provider: string]: { readonly [name: string]: unknown } }

/** A part of a message, of an answer or of a stream. */
export type SdkPart = { readonly type: string; readonly [field: string]: unknown }

/** A message of a prompt for a model. Only system messages are texts. */
export type SdkMessage = {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly SdkPart[]
  readonly providerOptions?: SdkOptions | undefined
}

/** A message of a prompt, or of an application (`ModelMessage`), whose parts have no index signature and whose content may be a text. */
export type SdkMessageLike = {
  readonly role: SdkMessage['role']
  readonly content: string | readonly { readonly type: string }[]
  readonly providerOptions?: object | undefined
}

/** The arguments of a model call. */
export type SdkParams = {
  readonly prompt: readonly SdkMessage[]
  readonly maxOutputTokens?: number | undefined
  readonly tools?: readonly unknown[] | undefined
  readonly abortSignal?: AbortSignal | undefined
  readonly providerOptions?: SdkOptions | undefined
}

/** The fields of the result of `doGenerate` that are read here. */
export type SdkAnswer = {
  readonly content: readonly SdkPart[]
  readonly finishReason?: unknown
  readonly usage?: unknown
  readonly providerMetadata?: unknown
  readonly response?: { readonly id?: unknown } | undefined
}

/** The fields of the result of `doStream` that are read here. */
export type SdkStreamAnswer = { readonly stream: ReadableStream<SdkPart> }

/** The version of a model's interface: of ai 5, 6 and 7. */
export type SdkVersion = 'v2' | 'v3' | 'v4'

/** A model, of any of the three versions. */
export type SdkModel = {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  // Methods, so that a model with narrower params fits.
  /** Calls the model once. */
  doGenerate(params: never): PromiseLike<unknown>
  /** Calls the model once and streams its answer. */
  doStream(params: never): PromiseLike<unknown>
}

/**
 * A middleware for `wrapLanguageModel` of ai 5, 6 and 7. Its functions return what the model's functions return; `specificationVersion` has
 * a type that every version accepts.
 */
export type SdkMiddleware = {
  readonly specificationVersion: never
  /** Wraps `doGenerate` of the model. */
  readonly wrapGenerate: <R>(call: {
    readonly doGenerate: () => PromiseLike<R>
    readonly params: object
    readonly model: SdkModel
  }) => Promise<R>
  /** Wraps `doStream` of the model. */
  readonly wrapStream: <R>(call: {
    readonly doStream: () => PromiseLike<R>
    readonly params: object
    readonly model: SdkModel
  }) => Promise<R>
}

/** The version of a model; newer versions count as v4. */
export function versionOf({ specificationVersion }: { readonly specificationVersion: string }): SdkVersion {
  return specificationVersion === 'v2' || specificationVersion === 'v3' ? specificationVersion : 'v4'
}

/** Any JSON value, as in the AI SDK: lists are mutable. */
type SdkJson = null | string | number | boolean | SdkJson[] | SdkJsonObject
type SdkJsonObject = { [key: string]: SdkJson | undefined }

type Options = { providerOptions?: { [provider: string]: SdkJsonObject } }
type Data = string | Uint8Array | URL

type ModelText = Options & { type: 'text'; text: string }
type ModelImage = Options & { type: 'image'; image: Data; mediaType?: string }
type ModelFile = Options & { type: 'file'; data: Data; mediaType: string; filename?: string }
type ModelToolItem = Options &
  (
    | { type: 'text'; text: string }
    | { type: 'image-data'; data: string; mediaType: string }
    | { type: 'image-url'; url: string }
    | { type: 'file-data'; data: string; mediaType: string; filename?: string }
    | { type: 'file-url'; url: string; mediaType?: string }
    | { type: 'custom' }
  )
type ModelToolResult = Options & {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output:
    | (Options & { type: 'text' | 'error-text'; value: string })
    | (Options & { type: 'json' | 'error-json'; value: SdkJson })
    | (Options & { type: 'execution-denied'; reason?: string })
    | { type: 'content'; value: ModelToolItem[] }
}
type ModelAssistantPart =
  | ModelText
  | ModelFile
  | ModelToolResult
  | (Options & { type: 'reasoning'; text: string })
  | (Options & { type: 'tool-call'; providerExecuted?: boolean } & ToolCallFields)
  | ({ type: 'tool-approval-request'; approvalId: string; toolCallId: string } & Signed)
type ToolCallFields = { toolCallId: string; toolName: string; input: unknown }
type Signed = { signature?: string; inputSchemaInput?: unknown }
type Answered<APPROVED> = { approved: APPROVED; reason?: string }
type ModelApprovalResponse = Answered<boolean> & {
  type: 'tool-approval-response'
  approvalId: string
  providerExecuted?: boolean
}

/**
 * A message for `generateText` and `streamText`: a `ModelMessage` of any version. This type lacks parts of a single version (a `custom`
 * part of ai 7, a `media` item of ai 5), which are restored as well.
 */
export type SdkModelMessage =
  | (Options & { role: 'system'; content: string })
  | (Options & { role: 'user'; content: string | (ModelText | ModelImage | ModelFile)[] })
  | (Options & { role: 'assistant'; content: string | ModelAssistantPart[] })
  | (Options & { role: 'tool'; content: (ModelToolResult | ModelApprovalResponse)[] })

/** Any `UIMessage`, with any metadata, data and tools. */
export type UIMessageLike = {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly metadata?: unknown
  readonly parts: readonly { readonly type: string }[]
}

type Metadata = { [provider: string]: SdkJsonObject }
type WithMetadata = { providerMetadata?: Metadata }
type Approval<ANSWER = object> = Signed & { id: string; descriptor?: unknown } & ANSWER
type ToolCall = {
  toolCallId: string
  title?: string
  toolMetadata?: SdkJsonObject
  providerExecuted?: boolean
  callProviderMetadata?: Metadata
}
type Result = { resultProviderMetadata?: Metadata; input: unknown; approval?: Approval<Answered<true>> }
type ToolState =
  | { state: 'input-streaming'; input?: unknown; rawInput?: string; inputEncoding?: 'json' | 'text' }
  | { state: 'input-available'; input: unknown }
  | { state: 'approval-requested'; input: unknown; approval: Approval }
  | { state: 'approval-responded'; input: unknown; approval: Approval<Answered<boolean>> }
  | (Result & { state: 'output-available'; output: unknown; preliminary?: boolean })
  | (Result & { state: 'output-error'; errorText: string })
  | { state: 'output-denied'; input: unknown; approval: Approval<Answered<false>> }

/** A part of a message that `toUIMessages` returns. */
export type SdkUIPart =
  | (WithMetadata & { type: 'text'; text: string; state?: 'streaming' | 'done' })
  | (WithMetadata & { type: 'reasoning'; id?: string; text: string; state?: 'streaming' | 'done' })
  | (WithMetadata & { type: 'file'; mediaType: string; filename?: string; url: string })
  | (WithMetadata & { type: 'source-url'; sourceId: string; url: string; title?: string })
  | (WithMetadata & {
      type: 'source-document'
      sourceId: string
      mediaType: string
      title: string
      filename?: string
    })
  | { type: 'step-start' }
  | { type: `data-${string}`; id?: string; data: unknown }
  | (ToolCall & ToolState & { type: 'dynamic-tool'; toolName: string })
  | (ToolCall & ToolState & { type: `tool-${string}` })

/** A message that `toUIMessages` returns: a `UIMessage` of any version. */
export type SdkUIMessage = {
  id: string
  role: 'system' | 'user' | 'assistant'
  metadata?: unknown
  parts: SdkUIPart[]
}
