import { expect, it } from 'vitest'
import { getEffectiveHistory, removeDanglingTags } from '../../src/compat/arrays/index.ts'
import { type ChatMessage, isUndertextError } from '../../src/index.ts'
import { type RooMessage, rooCases } from './roo-data.ts'
import { isInserted, isOwner } from './roo-owners.ts'
import { NotImportable, RooStore } from './roo-store.ts'
import { Tallies } from './tallies.ts'

/* Tags in, the messages a model is sent out: by the plain function over arrays, and by the store. */

const FUNCTION = 'getEffectiveApiHistory'
const PLAIN = 'getEffectiveApiHistory, plain arrays'
const SINCE = 'getMessagesSinceLastSummary'

const cases = rooCases<{ messages: RooMessage[] }, RooMessage[]>('roo-effective-history')
const views = cases.filter(({ fn }) => fn === FUNCTION)
const sinceSummary = cases.filter(({ fn }) => fn === SINCE)
const tallies = new Tallies('roo-effective-history')

type Ours = {
  /** The messages the plain function shows. */
  readonly plain: readonly number[]
  /** The messages the store shows, or the code of its refusal to hide what the tags hide. */
  readonly store: readonly number[] | 'ILLEGAL_BOUNDARY'
}

/**
 * What is different on purpose, by the end of the case's name. Roo Code shows nothing before the last summary and
 * drops half pairs while it filters. We hide by tags alone; the store does not let a summary part a call from its
 * result, and a truncation hides only what was visible.
 */
const DIFFERENT: { readonly [name: string]: Ours } = {
  'should filter out orphan tool_result blocks after fresh start condensation': {
    plain: [2, 3],
    store: 'ILLEGAL_BOUNDARY',
  },
  'should filter orphan tool_results but keep other content in mixed user message': {
    plain: [2, 3, 4],
    store: 'ILLEGAL_BOUNDARY',
  },
  'should handle multiple orphan tool_results in a single message': {
    plain: [1, 2],
    store: 'ILLEGAL_BOUNDARY',
  },
  'should preserve non-tool_result content in user messages': { plain: [1, 2], store: 'ILLEGAL_BOUNDARY' },
  'Issue #8295 > getEffectiveApiHistory > should return summary and messages after summary (fresh start model)':
    { plain: [3], store: [3] },
  'should hide condensed messages when their summary still exists (fresh start)': {
    plain: [0, 3, 4],
    store: [0, 3, 4],
  },
  'getEffectiveApiHistory() > should handle both condenseParent and truncationParent filtering': {
    plain: [0, 3, 4, 5, 6],
    store: [0, 4, 5, 6],
  },
}

const differenceOf = (name: string): Ours | undefined =>
  Object.entries(DIFFERENT).find(([end]) => name.endsWith(end))?.[1]

it.skipIf(cases.length === 0)(
  'the plain function shows what Roo Code shows, save in the cases listed [S3-U11]',
  () => {
    for (const { name, input, expected } of views) {
      const difference = differenceOf(name)
      const shown = difference?.plain.map((index) => input.messages[index]) ?? expected
      const messages = input.messages as ChatMessage[]
      expect(getEffectiveHistory(messages, { danglingParents: 'visible' }), name).toEqual(shown)
      if (difference !== undefined) expect(shown, `${name} is no difference`).not.toEqual(expected)
      tallies.count(PLAIN, difference === undefined ? 'equal' : 'different')
    }
  },
)

it.skipIf(cases.length === 0)('by default it differs from that only where a parent dangles [S3-152]', () => {
  for (const { name, input } of views) {
    const messages = input.messages as ChatMessage[]
    const cleaned = removeDanglingTags(messages)
    const byTags = getEffectiveHistory(cleaned).map((message) => cleaned.indexOf(message))
    const shown = getEffectiveHistory(messages, { danglingParents: 'visible' })
    expect(
      shown.map((message) => messages.indexOf(message)),
      name,
    ).toEqual(byTags)
  }
})

it.skipIf(cases.length === 0)('the store shows what Roo Code shows, save in the cases listed', async () => {
  const roo = await RooStore.open()
  for (const { name, input, expected } of views) {
    const { messages } = input
    const difference = differenceOf(name)
    const ours = await storeShows(roo, messages)
    if (difference === undefined) {
      expect(ours, name).not.toBeTypeOf('string')
      expect(
        (ours as number[]).map((index) => messages[index]),
        name,
      ).toEqual(expected)
    } else {
      expect(ours, name).toEqual(difference.store)
    }
    tallies.count(FUNCTION, difference === undefined ? 'equal' : 'different')
  }
  await roo.close()
})

/** What the store shows of these tags, as far as the laws let it hide what a truncation hides; or a refusal. */
async function storeShows(roo: RooStore, messages: readonly RooMessage[]): Promise<number[] | string> {
  try {
    return await (await roo.import(messages)).shown()
  } catch (error) {
    if (error instanceof NotImportable) return (await roo.import(messages, { laws: 'yield' })).shown()
    if (isUndertextError(error)) return error.code
    throw error
  }
}

/** Roo Code's input is sometimes a view already: then its summary stands for this message. */
const EARLIER: RooMessage = { role: 'user', content: 'What was before.' }

it.skipIf(cases.length === 0)(
  'the view begins with the last summary, where one replaces the messages before',
  async () => {
    const roo = await RooStore.open()
    for (const { name, input, expected } of sinceSummary) {
      // Some summaries have no id, so nothing is tagged as theirs.
      if (input.messages.some((message) => isInserted(message) && !isOwner(message))) {
        tallies.count(SINCE, 'notApplicable')
        continue
      }
      const first = input.messages[0]
      const messages =
        first?.condenseId === undefined
          ? input.messages
          : [{ ...EARLIER, condenseParent: first.condenseId }, ...input.messages]
      const shown = (await (await roo.import(messages)).shown()).map((index) => messages[index])
      expect(shown, name).toEqual(expected)
      tallies.count(SINCE, 'equal')
    }
    await roo.close()
  },
)

it.skipIf(cases.length === 0)('is published as counted', () => {
  tallies.expectPublished(FUNCTION, PLAIN, SINCE)
})
