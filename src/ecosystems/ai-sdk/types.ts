/*
 * Types of the AI SDK as far as they are used, so that one build fits versions 5, 6 and 7 and projects without it.
 */

/** A language model of the AI SDK (any of its specifications from v2), or the id of one of its global provider. */
export type LanguageModelLike =
  | string
  | {
      readonly specificationVersion: string
      readonly provider: string
      readonly modelId: string
      doGenerate(options: never): PromiseLike<unknown>
    }

/** A registry of the AI SDK's `createProviderRegistry`, or anything else that answers models by id. */
export type ModelRegistry = {
  languageModel(id: never): LanguageModelLike
}
