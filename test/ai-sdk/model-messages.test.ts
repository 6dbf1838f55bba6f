import type { ModelMessage } from 'ai'
import { modelMessageSchema } from 'ai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromModelMessages, toModelMessages } from '../../src/ai-sdk.ts'
import { openStore } from '../../src/index.ts'
import { modelMessage } from './generators.ts'

describe('there and back', () => {
  it.each([6, 7] as const)('gives back whatever a message of ai %i says', (version) => {
    const target = { version: version === 6 ? 'v3' : 'v4' } as const
    fc.assert(
      fc.property(fc.array(modelMessage(version), { maxLength: 4 }), (messages) => {
        expect(toModelMessages(fromModelMessages(messages), target)).toStrictEqual(messages)
      }),
      { numRuns: 1000 },
    )
  })

  it('also by way of the database', async () => {
    await using store = await openStore(':memory:')
    let sessions = 0
    await fc.assert(
      fc.asyncProperty(fc.array(modelMessage(7), { minLength: 1, maxLength: 4 }), async (messages) => {
        const session = `s${sessions++}`
        await store.append(session, fromModelMessages(messages), { previewToolOutputs: false })
        const rows = await store.getMessages(session)
        expect(toModelMessages(rows, { version: 'v4' })).toStrictEqual(messages)
      }),
      { numRuns: 100 },
    )
  })

  it('makes what the installed version takes', () => {
    fc.assert(
      fc.property(fc.array(modelMessage(6), { maxLength: 3 }), (messages) => {
        const made: ModelMessage[] = toModelMessages(fromModelMessages(messages))
        for (const message of made) {
          const result = modelMessageSchema.safeParse(message)
          // ai 7 has no `media` any more.
          if (!JSON.stringify(message).includes('"type":"media"')) expect(result.success).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})
