/*
 * What concerns the AI SDK (`ai`, an optional peer): the entry `undertext/ai-sdk`.
 */

export { type AiSdkSummarizerOptions, aiSdkSummarizer } from './ai-sdk/summarizer.ts'
export type { LanguageModelLike, ModelRegistry } from './ai-sdk/types.ts'
