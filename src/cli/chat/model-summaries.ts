import { modelSummarizer } from '../../summarizers/model/model-summarizer.ts'
import type { Summarizer } from '../../summarizers/summarizer.ts'
import type { Backend } from './backends/backend.ts'

/** A summarizer that asks a backend. What a model costs beside its tokens nobody here knows, so no money is noted. */
export function summarizerBy(backend: Backend): Summarizer {
  const { provider, model, kind } = backend
  return modelSummarizer({
    name: kind,
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    async generate({ system, prompt, maxOutputTokens, temperature, signal }) {
      const reply = await backend.ask({
        system,
        messages: [{ role: 'user', content: prompt }],
        maxOutputTokens,
        temperature,
        signal,
        onText: () => {},
      })
      const { text, stopReason, usage, model } = reply
      return {
        text,
        finishReason: stopReason,
        model,
        ...(usage !== undefined && { usage: summed(usage) }),
      }
    },
  })
}

/** The port counts what came from a cache among the input. */
function summed({
  inputTokens,
  cacheReadTokens = 0,
  cacheCreationTokens = 0,
  outputTokens,
}: {
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
  readonly outputTokens?: number
}) {
  return {
    inputTokens: inputTokens + cacheReadTokens + cacheCreationTokens,
    ...(cacheReadTokens > 0 && { cacheReadTokens }),
    ...(cacheCreationTokens > 0 && { cacheCreationTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
  }
}
