import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'

/** Stands in for a model, so that the example needs no key. */
export const model = new MockLanguageModelV3({
  provider: 'mock',
  modelId: 'mock-1',
  doStream: async ({ prompt }) => ({
    stream: simulateReadableStream({
      chunks: [
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: `I was sent ${prompt.length} messages.` },
        { type: 'text-end', id: '1' },
        {
          type: 'finish',
          finishReason: { unified: 'stop', raw: undefined },
          usage: {
            inputTokens: {
              total: undefined,
              noCache: undefined,
              cacheRead: undefined,
              cacheWrite: undefined,
            },
            outputTokens: { total: undefined, text: undefined, reasoning: undefined },
          },
        },
      ],
    }),
  }),
})
