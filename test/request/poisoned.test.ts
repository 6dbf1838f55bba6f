import { describe, expect, it } from 'vitest'
import { readRefusal } from '../../src/core/overflow/read-refusal.ts'
import { type NewMessage, openStore } from '../../src/index.ts'
import { chat } from '../support/conversation.ts'
import { answerPoisoned, OWN_HISTORIES } from '../support/poisoned-histories.ts'
import { POISONS, PROVIDERS, serve } from '../support/refusing-server.ts'

it('the server refuses each poison wherever the wire form has it, and nothing else', async () => {
  const asked = async (messages: readonly NewMessage[], provider: (typeof PROVIDERS)[number]) => {
    await using store = await openStore(':memory:', { estimator: 'neurolink', env: false })
    await store.append('s', messages)
    // Bedrock refuses calls in a request without tools, so that they would be texts there.
    return await store.prepareRequest('s', { provider: provider.name, prompt: 'Go on.', toolUse: 'parts' })
  }
  for (const provider of PROVIDERS) {
    serve(provider, await asked(chat(6, 20), provider))
    const passed: string[] = []
    for (const { kind, messages } of POISONS) {
      const request = await asked(messages('m'), provider)
      try {
        serve(provider, request)
        passed.push(kind)
      } catch (error) {
        expect(readRefusal(error, { provider: provider.name })).not.toBeNull()
      }
    }
    expect([provider.name, provider.form, passed]).toEqual([
      provider.name,
      provider.form,
      PASSED[provider.form],
    ])
  }
})

/**
 * Poison that a form has no place for: OpenAI's do not take the signatures of others; Chat Completions has no items, and only texts in outputs;
 * Responses has no fields on a text without an item.
 */
const PASSED = {
  anthropic: [],
  gemini: [],
  chat: ['signature', 'output', 'item'],
  responses: ['signature', 'field'],
}

describe('a history with poison at random places', () => {
  it('is answered, what people see is unchanged, and the undo of the repairs restores the view', async () => {
    for (let seed = 0; seed < 36; seed++) {
      const answered = await answerPoisoned(seed, OWN_HISTORIES).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error })
      })
      expect(answered.calls).toBeLessThanOrEqual(3)
    }
  })
})
