import { isDeepStrictEqual } from 'node:util'
import { expect, it } from 'vitest'
import { TRUNCATION_MARKER, truncateWithSlidingWindow } from '../../src/compat/arrays/index.ts'
import type { ChatMessage } from '../../src/index.ts'
import { expectSessionAccepted } from '../support/requests.ts'
import { type RooMessage, rooCases } from './roo-data.ts'
import { RooStore } from './roo-store.ts'
import { Tallies } from './tallies.ts'

/* A share of the messages to hide: by the plain function over arrays, and by the truncate stage over the store. */

const FUNCTION = 'truncateConversation'
const PLAIN = 'truncateConversation, plain arrays'

type Input = { readonly messages: RooMessage[]; readonly fracToRemove: number }
type Expected = { readonly messages: RooMessage[]; readonly messagesRemoved: number }

const cases = rooCases<Input, Expected>('roo-truncate', FUNCTION)
const tallies = new Tallies('roo-truncate')

/**
 * What we hide of each case, in order. Roo Code keeps one message and counts the rest; the seed keeps the first
 * pair, counts what follows it, and leaves four messages or fewer alone. Rows need no tag twice: what a
 * condensation hides gets no second parent.
 */
const HIDDEN: readonly { readonly hidden: number[]; readonly removed: number }[] = [
  { hidden: [], removed: 0 },
  // 5 messages: of the 3 behind the pair half is 1, even 0. Roo Code: of 4 half is 2.
  { hidden: [], removed: 0 },
  { hidden: [], removed: 0 },
  { hidden: [], removed: 0 },
  // 4 messages.
  { hidden: [], removed: 0 },
  // Four in both; the pair stays, so it is the four behind it.
  { hidden: [2, 3, 4, 5], removed: 4 },
  { hidden: [2, 3, 4, 5], removed: 4 },
  // Four are visible, and the condensed ones keep their one parent.
  { hidden: [], removed: 0 },
  // Four in both, behind the visible pair 0 and 6, and the earlier marker with them.
  { hidden: [5, 7, 8, 9, 10], removed: 4 },
  { hidden: [], removed: 0 },
  { hidden: [], removed: 0 },
  // 3 messages.
  { hidden: [], removed: 0 },
]

/** The messages Roo Code tagged anew, as indexes of its input. */
function taggedByRoo({ messages }: Input, { messages: after }: Expected): number[] {
  const known = new Set(messages.flatMap(({ truncationId }) => truncationId ?? []))
  const isNew = (id: string | undefined): boolean => id !== undefined && !known.has(id)
  const own = after.filter(({ truncationId }) => !isNew(truncationId))
  return own.flatMap(({ truncationParent }, index) => (isNew(truncationParent) ? [index] : []))
}

it.skipIf(cases.length === 0)(
  'the plain function hides by the seed’s count, an even number too [S3-131]',
  () => {
    expect(cases).toHaveLength(HIDDEN.length)
    for (const [at, { name, input, expected }] of cases.entries()) {
      const messages = input.messages as ChatMessage[]
      const { tagged, messagesRemoved } = truncateWithSlidingWindow(messages, {
        fraction: input.fracToRemove,
      })
      const own = tagged.filter(({ content }) => content !== TRUNCATION_MARKER)
      const isNew = (message: ChatMessage, index: number): boolean =>
        message.truncationParent !== messages[index]!.truncationParent
      const hidden = own.flatMap((message, index) => (isNew(message, index) ? [index] : []))
      expect({ hidden, removed: messagesRemoved }, name).toEqual(HIDDEN[at])
      expect(messagesRemoved, `${name}: never more than Roo Code`).toBeLessThanOrEqual(
        expected.messagesRemoved,
      )
      if (messagesRemoved === 0) expect(tagged, name).toEqual(messages)
      tallies.count(PLAIN, isSame(hidden, input, expected) ? 'equal' : 'different')
    }
  },
)

it.skipIf(cases.length === 0)('the truncate stage hides the same rows in the store', async () => {
  const roo = await RooStore.open()
  roo.free(TRUNCATION_MARKER)
  for (const [at, { name, input, expected }] of cases.entries()) {
    const session = await roo.import(input.messages)
    const before = await session.shown()
    const result = await roo.store.compactSession(session.sessionId, {
      enablePrune: false,
      enableDeduplicate: false,
      enableSummarize: false,
      emergencyCut: false,
      targetTokens: 0,
      truncationFraction: input.fracToRemove,
    })
    await expectSessionAccepted(roo.store, session.sessionId, name)
    const ids = result!.messages.map(({ id }) => id)
    const hidden = before.filter((index) => !ids.includes(session.rowIds[index]!))
    expect(hidden, name).toEqual(HIDDEN[at]!.hidden)
    expect(result!.messages, `${name}: one marker`).toHaveLength(
      before.length - hidden.length + (hidden.length === 0 ? 0 : 1),
    )
    tallies.count(FUNCTION, isSame(hidden, input, expected) ? 'equal' : 'different')
  }
  await roo.close()
})

/** The same messages are hidden; where none are, Roo Code has changed nothing else either. */
function isSame(hidden: readonly number[], input: Input, expected: Expected): boolean {
  if (hidden.length === 0) return isDeepStrictEqual(expected.messages, input.messages)
  return hidden.join() === taggedByRoo(input, expected).join()
}

it.skipIf(cases.length === 0)('is published as counted', () => {
  tallies.expectPublished(FUNCTION, PLAIN)
})
