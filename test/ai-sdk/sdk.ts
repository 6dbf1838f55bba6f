import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import * as mocks from 'ai/test'
import type { LanguageModelLike } from '../../src/adapters/ai-sdk/index.ts'
import type { ModelServer } from '../support/model-server.ts'

/*
 * Models of the AI SDK in the version that is installed. 5, 6 and 7 name their mock after the specification it fulfils, and their results
 * have two forms.
 */

type MockModel = LanguageModelLike & { readonly doGenerateCalls: readonly MockCall[] }
export type MockCall = {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[]
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly providerOptions?: unknown
}
type MockResult = {
  readonly content?: readonly { readonly type: 'text' | 'reasoning'; readonly text: string }[]
  readonly finish?: string
  readonly inputTokens?: number
  readonly outputTokens?: number
}

const exported = mocks as unknown as Record<string, new (options: object) => MockModel>
const SPECIFICATION = [4, 3, 2].find((version) => exported[`MockLanguageModelV${version}`] !== undefined)!

/** A model that answers as told, once for each entry and the last from then on; an error is thrown. */
export function mockModel(answers: readonly (string | MockResult | Error)[]): MockModel {
  let count = 0
  return new exported[`MockLanguageModelV${SPECIFICATION}`]!({
    provider: 'openai.chat',
    modelId: 'gpt-4o',
    doGenerate: async () => {
      const answer = answers[Math.min(count++, answers.length - 1)]!
      if (answer instanceof Error) throw answer
      return resultOf(typeof answer === 'string' ? { content: [{ type: 'text', text: answer }] } : answer)
    },
  })
}

function resultOf({
  content = [],
  finish = 'stop',
  inputTokens = 100,
  outputTokens = 20,
}: MockResult): object {
  const isOld = SPECIFICATION === 2
  return {
    content,
    warnings: [],
    response: { modelId: 'gpt-4o-2024' },
    finishReason: isOld ? finish : { unified: finish, raw: finish },
    usage: isOld
      ? { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
      : {
          inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
        },
  }
}

/** The same server by the three interfaces of real providers. */
export function modelsOf(server: ModelServer): readonly (readonly [string, LanguageModelLike])[] {
  const openai = createOpenAI({ baseURL: server.openaiUrl, apiKey: 'sk-secret' })
  const anthropic = createAnthropic({ baseURL: server.anthropicUrl, apiKey: 'sk-secret' })
  return [
    ['chat', openai.chat('any')],
    ['responses', openai('any')],
    ['messages', anthropic('any')],
  ]
}

/** The AI SDK prints warnings of models nobody knows. */
export function silenceWarnings(): void {
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
}
