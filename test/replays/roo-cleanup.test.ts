import { expect, it } from 'vitest'
import { removeDanglingTags } from '../../src/compat/arrays/index.ts'
import type { ChatMessage } from '../../src/index.ts'
import { type RooMessage, rooCases } from './roo-data.ts'
import { RooStore } from './roo-store.ts'
import { Tallies } from './tallies.ts'

/*
 * Roo Code undoes by deleting a summary or a marker and clearing the tags that named it. In the store the
 * compaction is undone, and its summary or marker stays stored.
 */

const FUNCTION = 'cleanupAfterTruncation'
const PLAIN = 'cleanupAfterTruncation, plain arrays'

const cases = rooCases<{ messages: RooMessage[] }, RooMessage[]>('roo-cleanup', FUNCTION)
const tallies = new Tallies('roo-cleanup')

it.skipIf(cases.length === 0)('the plain function clears the same dangling tags [S3-U11]', () => {
  for (const { name, input, expected } of cases) {
    expect(removeDanglingTags(input.messages as ChatMessage[]), name).toEqual(expected)
    tallies.count(PLAIN, 'equal')
  }
})

it.skipIf(cases.length === 0)(
  'undoing what Roo Code deleted leaves the same tags on the same messages',
  async () => {
    const roo = await RooStore.open()
    for (const { name, input, expected } of cases) {
      const tags = await (await roo.import(input.messages)).tags()
      const ours = input.messages.map((message, index) => {
        const { condenseParent: _, truncationParent: __, ...rest } = message
        return { ...rest, ...tags[index] }
      })
      expect(ours, name).toEqual(expected)
      tallies.count(FUNCTION, 'equal')
    }
    await roo.close()
  },
)

it.skipIf(cases.length === 0)('is published as counted', () => {
  tallies.expectPublished(FUNCTION, PLAIN)
})
