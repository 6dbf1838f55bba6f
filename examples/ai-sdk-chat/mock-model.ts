/*
 * Stands in for a model, so that the example runs without a key: calls the tool when asked for the weather, finds the name in what
 * it is sent, and tells stories otherwise.
 */
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'

type Options = Parameters<MockLanguageModelV3['doStream']>[0]

export function mockModel(): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    provider: 'mock',
    modelId: 'mock-1',
    doStream: async (options) => {
      const answer = answerTo(options)
      const isCall = typeof answer !== 'string'
      const said = isCall
        ? [
            {
              type: 'tool-call' as const,
              toolCallId: 'w1',
              toolName: 'weather',
              input: JSON.stringify(answer),
            },
          ]
        : [
            { type: 'text-start' as const, id: '1' },
            ...answer.split(/(?<= )/).map((delta) => ({ type: 'text-delta' as const, id: '1', delta })),
            { type: 'text-end' as const, id: '1' },
          ]
      const finish = {
        type: 'finish' as const,
        finishReason: { unified: isCall ? ('tool-calls' as const) : ('stop' as const), raw: undefined },
        usage: {
          inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
          outputTokens: { total: undefined, text: undefined, reasoning: undefined },
        },
      }
      return { stream: simulateReadableStream({ chunks: [...said, finish], chunkDelayInMs: null }) }
    },
  })
}

function answerTo({ prompt }: Options): string | { city: string } {
  const last = prompt.at(-1)
  const asked = JSON.stringify(last?.content)
  if (last?.role === 'tool') return 'The sun is out.'
  if (asked.includes('weather')) return { city: 'Turin' }
  if (asked.includes('What is my name'))
    return JSON.stringify(prompt).includes('Ada') ? 'You are Ada.' : 'I do not know.'
  if (/story|one/i.test(asked)) return 'Once upon a time there was a light by the sea. '.repeat(35)
  return 'I will.'
}
