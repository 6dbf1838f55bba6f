import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ContextBudgetExceededError } from '../../src/core/errors.ts'
import { estimateMessagesTokens, estimatorNamed } from '../../src/core/tokens/index.ts'
import { tokensOfText } from '../../src/core/tokens/measure.ts'
import { type NewMessage, openStore, validateHistory } from '../../src/index.ts'
import { call, result, say } from '../support/conversation.ts'
import { expectAccepted } from '../support/requests.ts'

const RUNS = process.env.LONG === '1' ? 1_500 : 50

const text = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.integer({ min: 0, max: 1_500 }).map((length) => 'lorem ipsum '.repeat(length / 12)),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 200 }) },
)
let nextId = 0
const message: fc.Arbitrary<readonly NewMessage[]> = fc.oneof(
  text.map((words) => [say('user', words)]),
  text.map((words) => [say('assistant', words)]),
  text.map((words) => [say('system', words)]),
  fc.tuple(text, fc.boolean()).map(([words, isAnswered]) => {
    nextId += 1
    return isAnswered
      ? [call(`c${nextId}`, 'read', { path: 'a.ts' }), result(`c${nextId}`, words)]
      : [call(`c${nextId}`, 'run')]
  }),
  text.map((words) => [result('nobody', words)]),
  fc.constant([{ role: 'user', content: [{ type: 'image', image: 'aGVsbG8=' }] } as NewMessage]),
)

const given = fc.record({
  history: fc.array(message, { maxLength: 60 }).map((turns) => turns.flat()),
  prompt: fc.oneof(
    text,
    fc.array(message, { minLength: 1, maxLength: 3 }).map((turns) => turns.flat()),
  ),
  system: fc.option(text, { nil: undefined }),
  window: fc.integer({ min: 100, max: 12_000 }),
  maxOutputTokens: fc.option(fc.integer({ min: 0, max: 2_000 }), { nil: undefined }),
  provider: fc.constantFrom('openai', 'anthropic', 'mistral', 'google-ai', 'huggingface'),
  estimator: fc.constantFrom('neurolink', 'calibrated', 'nca'),
  preset: fc.constantFrom('neurolink', 'neuron', 'nca', 'promptfleet', 'tags' as const),
  auto: fc.boolean(),
  pins: fc.array(fc.nat({ max: 60 }), { maxLength: 3 }),
  files: fc.array(text, { maxLength: 3 }),
})

/** Whether the user says nothing in a prompt; an empty text is no prompt. */
function isSilent(prompt: string | readonly NewMessage[]): boolean {
  if (typeof prompt === 'string') return prompt !== '' && prompt.trim() === ''
  const isBlank = ({ content }: NewMessage): boolean => typeof content === 'string' && content.trim() === ''
  return prompt.some(({ role }) => role === 'user') && prompt.every(isBlank)
}

describe('a prepared request [S2-003]', () => {
  it('counted anew over what is rendered, is within the available tokens, or it is refused', async () => {
    let prepared = 0
    let refused = 0
    let compacted = 0
    await fc.assert(
      fc.asyncProperty(given, async ({ history, prompt, system, window, pins, files, ...options }) => {
        const { provider, estimator, maxOutputTokens, preset, auto } = options
        const contextWindows = { [provider]: window }
        const store = await openStore(':memory:', { estimator, contextWindows, env: false })
        try {
          if (files.length === 0 && isSilent(prompt)) {
            const asked = store.prepareRequest('s', { provider, prompt })
            await expect(asked).rejects.toMatchObject({ code: 'INVALID_INPUT' })
            return
          }
          if (history.length > 0) await store.append('s', history)
          const ids = (await store.getMessages('s').catch(() => [])).map(({ id }) => id)
          const pinned = [...new Set(pins)].flatMap((at) => ids[at] ?? [])
          if (pinned.length > 0) await store.messages.pin('s', pinned)
          const log = JSON.stringify(await store.getMessages('s').catch(() => []))
          const asked = { provider, system, maxOutputTokens, preset, prompt, auto }
          const request = await store
            .prepareRequest('s', {
              ...asked,
              ...(files.length > 0 && { files: files.map((content) => ({ content })) }),
            })
            .catch((error: unknown) => {
              if (!(error instanceof ContextBudgetExceededError)) throw error
              return error
            })
          // What is stored is never changed by it, and nothing is added.
          const after = await store.getMessages('s').catch(() => [])
          if (!auto) expect(JSON.stringify(after)).toBe(log)
          expect(after.filter(({ kind }) => kind === 'message')).toHaveLength(history.length)
          if (request instanceof ContextBudgetExceededError) {
            refused += 1
            expect(request.estimatedTokens).toBeGreaterThan(request.availableTokens)
            return
          }
          prepared += 1
          if (request.compacted) compacted += 1
          const counting = estimatorNamed(estimator)!
          const tokens =
            estimateMessagesTokens(request.messages, provider, counting) +
            (system ? tokensOfText(system, counting, provider) + counting.tokensPerMessage : 0)
          expect(tokens).toBeLessThanOrEqual(request.stats.availableInputTokens)
          expect(tokens).toBeLessThanOrEqual(request.stats.estimatedInputTokens)
          expect(request.stats.availableInputTokens).toBeLessThanOrEqual(window)
          expect(validateHistory(request.messages, provider)).toEqual([])
          expectAccepted(request.messages, provider)
          expect(request.position).toBe(history.length)
        } finally {
          await store.close()
        }
      }),
      { numRuns: RUNS },
    )
    // Far below the usual counts: each kind of outcome was there. Few cases are no more than luck.
    if (RUNS < 300) return
    expect(prepared).toBeGreaterThan(RUNS / 20)
    expect(refused).toBeGreaterThan(RUNS / 60)
    expect(compacted).toBeGreaterThan(RUNS / 60)
  })
})
