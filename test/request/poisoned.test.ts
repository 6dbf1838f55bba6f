import { describe, expect, it } from 'vitest'
import { type NewMessage, openStore } from '../../src/index.ts'
import { readRefusal } from '../../src/overflow/refusal.ts'
import { answerPoisoned, OWN_HISTORIES } from '../support/poisoned-histories.ts'
import { POISONS, PROVIDERS, serve } from '../support/refusing-server.ts'

it('the server refuses each poison wherever the wire form has it, and nothing else', async () => {
  const asked = async (messages: readonly NewMessage[], provider: (typeof PROVIDERS)[number]) => {
    await using store = await openStore(':memory:', { estimator: 'neurolink', env: false })
    await store.append('s', messages)
    return store.prepareRequest('s', { provider: provider.name, prompt: 'Go on.' })
  }
  for (const provider of PROVIDERS) {
    for (const history of OWN_HISTORIES) serve(provider, await asked(history, provider))
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
 * Poison that a form has no place for: OpenAI's two APIs do not take the signatures of others, and Chat Completions has no ids of items and no
 * other fields on texts.
 */
const PASSED = {
  anthropic: [],
  gemini: [],
  chat: ['signature', 'field', 'item'],
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
