import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromUIMessages, toUIMessages } from '../../src/ai-sdk.ts'
import { openStore } from '../../src/index.ts'
import { chatOf } from './generators.ts'

describe('there and back', () => {
  it.each([6, 7] as const)('gives back whatever a message of ai %i says', (version) => {
    fc.assert(
      fc.property(chatOf(version), (messages) => {
        expect(toUIMessages(fromUIMessages(messages))).toStrictEqual(messages)
      }),
      { numRuns: 800 },
    )
  })

  it('also by way of the database', async () => {
    await using store = await openStore(':memory:')
    let sessions = 0
    await fc.assert(
      fc.asyncProperty(chatOf(7, 3), async (messages) => {
        fc.pre(messages.length > 0)
        const session = `s${sessions++}`
        await store.append(session, fromUIMessages(messages), { previewToolOutputs: false })
        expect(toUIMessages(await store.getMessages(session))).toStrictEqual(messages)
      }),
      { numRuns: 100 },
    )
  })
})
