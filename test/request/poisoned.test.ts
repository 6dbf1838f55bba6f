import { describe, expect, it } from 'vitest'
import { answerPoisoned, OWN_HISTORIES } from '../support/poisoned-histories.ts'

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
