/*
 * What this package knows of the AI SDK's provider interface: the shapes `LanguageModelV2` (ai 5), `V3` (ai 6) and `V4` (ai 7)
 * have in common, written down here, so that one middleware serves all of them and the package needs none to be
 * installed. Source: the types of `@ai-sdk/provider` 2, 3 and 4.
 */

/** A provider's own fields, under the provider's name. */
export type SdkOptions = { readonly [provider: string]: { readonly [name: string]: unknown } }

/** A part of a message, of an answer or of a stream: its type, and the fields that type has. */
export type SdkPart = { readonly type: string; readonly [field: string]: unknown }

/** A message of a prompt as a model gets it. Only system messages are texts. */
export type SdkMessage = {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly SdkPart[]
  readonly providerOptions?: SdkOptions | undefined
}

/**
 * The same, and an application's own messages (`ModelMessage`): those have parts without an index signature, and may have texts for
 * content.
 */
export type SdkMessageLike = {
  readonly role: SdkMessage['role']
  readonly content: string | readonly { readonly type: string }[]
  readonly providerOptions?: object | undefined
}

/** What a model is called with. */
export type SdkParams = {
  readonly prompt: readonly SdkMessage[]
  readonly maxOutputTokens?: number | undefined
  readonly tools?: readonly unknown[] | undefined
  readonly abortSignal?: AbortSignal | undefined
  readonly providerOptions?: SdkOptions | undefined
}

/** What `doGenerate` answers, as far as it is read here. */
export type SdkAnswer = {
  readonly content: readonly SdkPart[]
  readonly finishReason?: unknown
  readonly usage?: unknown
  readonly providerMetadata?: unknown
  readonly response?: { readonly id?: unknown } | undefined
}

/** What `doStream` answers, as far as it is read here. */
export type SdkStreamAnswer = { readonly stream: ReadableStream<SdkPart> }

/** The version of a model's interface: of ai 5, 6 and 7. */
export type SdkVersion = 'v2' | 'v3' | 'v4'

/** A model, of any of the three versions. */
export type SdkModel = {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  // Methods, so that a model with narrower params fits.
  doGenerate(params: never): PromiseLike<unknown>
  doStream(params: never): PromiseLike<unknown>
}

/**
 * A middleware for `wrapLanguageModel` of ai 5, 6 and 7. Its functions answer what the model's own answer, whatever the
 * version; the version is written as a type that each of them takes.
 */
export type SdkMiddleware = {
  readonly specificationVersion: never
  readonly wrapGenerate: <R>(call: {
    readonly doGenerate: () => PromiseLike<R>
    readonly params: object
    readonly model: SdkModel
  }) => Promise<R>
  readonly wrapStream: <R>(call: {
    readonly doStream: () => PromiseLike<R>
    readonly params: object
    readonly model: SdkModel
  }) => Promise<R>
}

/** The version of a model; one that is newer than all known here is taken for the newest known. */
export function versionOf({ specificationVersion }: { readonly specificationVersion: string }): SdkVersion {
  return specificationVersion === 'v2' || specificationVersion === 'v3' ? specificationVersion : 'v4'
}
