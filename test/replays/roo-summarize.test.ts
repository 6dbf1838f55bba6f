import { expect, it } from 'vitest'
import { isUndertextError, type Summarizer } from '../../src/index.ts'
import { expectSessionAccepted } from '../support/requests.ts'
import { type RooMessage, rooCases } from './roo-data.ts'
import { isInserted, textOf } from './roo-owners.ts'
import { NotImportable, RooStore } from './roo-store.ts'
import { Tallies } from './tallies.ts'

/*
 * Roo Code condenses all it has. Ours does so with a range from the first message to the last and a summarizer
 * that answers what Roo Code's mock answered; a run of the pipeline stands for the cases that end in an error.
 */

const FUNCTION = 'summarizeConversation'
const COMMANDS = 'extractCommandBlocks'

/** What Roo Code writes above a summary; ours does so when rendering, with a blank line more. */
const HEADER = '## Conversation Summary'

type Input = { readonly messages: readonly RooMessage[] }
type Expected = {
  readonly messages: readonly RooMessage[]
  readonly summary: string
  readonly cost: number
  readonly error?: string
}

const cases = rooCases<Input, Expected>('roo-summarize', FUNCTION)
const commandCases = rooCases('roo-summarize', COMMANDS)
const tallies = new Tallies('roo-summarize')

/**
 * What is different on purpose, by the end of the case's name: Roo Code adds blocks to the summary that it takes
 * from the first message or from files it reads again. Ours is the summarizer's text alone.
 */
const DIFFERENT = [
  'should preserve command blocks from first message in summary',
  'should preserve <command> blocks in the summary',
  'should include folded file context with each file as a separate content block',
]

const answering = (text: string, cost: number, asked?: unknown[]): Summarizer => ({
  name: 'recorded',
  usesModel: true,
  summarize: (request) => {
    asked?.push(request)
    return { text, cost }
  },
})

it.skipIf(cases.length === 0)('condenses what Roo Code condensed, by shape', async () => {
  const roo = await RooStore.open()
  for (const { name, input, expected } of cases) {
    if (expected.error !== undefined) continue
    const { sessionId, shown } = await roo.import(input.messages)
    roo.free(expected.summary)
    const result = await roo.store.compactSession(sessionId, {
      range: { from: 1, to: input.messages.length },
      summarizer: answering(expected.summary, expected.cost),
    })
    const [made] = await roo.store.listCompactions(sessionId)
    expect(made, name).toMatchObject({ kind: 'condense', status: 'active', cost: expected.cost })

    // The same messages carry the tag, and one summary alone is shown, of the role and under the header.
    const rows = await roo.store.getMessages(sessionId)
    const tagged = rows.map(({ condenseParent }) => condenseParent !== undefined)
    expect(tagged, name).toEqual(expected.messages.map(({ condenseParent }) => condenseParent !== undefined))
    expect(
      result!.messages.map(({ kind, content }) => ({ kind, content })),
      name,
    ).toEqual([{ kind: 'summary', content: expected.summary }])
    await expectSessionAccepted(roo.store, sessionId, name)
    const rendering = { provider: 'anthropic', summaryRole: 'user', summaryHeader: HEADER } as const
    const { messages } = await roo.store.renderHistory(sessionId, rendering)
    expect(messages, name).toEqual([{ role: 'user', content: `${HEADER}\n\n${expected.summary}` }])
    const byRoo = expected.messages
      .filter(isInserted)
      .map((summary) => ({ role: summary.role, content: textOf(summary) }))
    const alone = [{ role: 'user', content: `${HEADER}\n${expected.summary}` }]
    const different = DIFFERENT.some((end) => name.endsWith(end))
    if (different) expect(byRoo, `${name} is no difference`).not.toEqual(alone)
    else expect(byRoo, name).toEqual(alone)

    // And undone, everything is as it was.
    await roo.store.undoCompaction(sessionId, result!.runId)
    expect(await shown(), name).toEqual(input.messages.map((_, index) => index))
    tallies.count(FUNCTION, different ? 'different' : 'equal')
  }
  await roo.close()
})

it.skipIf(cases.length === 0)('changes nothing where Roo Code ends in an error', async () => {
  const roo = await RooStore.open()
  for (const { name, input, expected } of cases) {
    if (expected.error === undefined) continue
    const imported = await roo.import(input.messages).catch((error) => error as unknown)
    if (imported instanceof NotImportable) {
      tallies.count(FUNCTION, 'notApplicable')
      continue
    }
    const session = imported as Awaited<ReturnType<typeof roo.import>>
    await expectNothingDone(roo, session.sessionId, expected, name)
    expect(
      (await session.shown()).map((index) => input.messages[index]),
      name,
    ).toEqual(expected.messages)
    expect(await session.tags(), name).toEqual(input.messages.map(() => ({})))
    tallies.count(FUNCTION, 'equal')
  }
  await roo.close()
})

/** The reason of each error, and what our verbs answer to it. */
async function expectNothingDone(
  { store }: RooStore,
  sessionId: string,
  { error, cost }: Expected,
  name: string,
): Promise<void> {
  const all = { range: { from: 1, to: 100 } }
  switch (error) {
    case 'common:errors.condense_not_enough_messages': {
      const asked: unknown[] = []
      const summarizer = answering('A summary.', cost, asked)
      const result = await store.compactSession(sessionId, {
        targetTokens: 0,
        enableTruncate: false,
        summarizer,
      })
      expect(result, name).toMatchObject({ compacted: false, reason: 'NO_PROGRESS' })
      expect(asked, `${name}: no model is paid`).toEqual([])
      return
    }
    case 'common:errors.condense_failed': {
      const result = await store.compactSession(sessionId, { ...all, summarizer: answering('', cost) })
      expect(result, name).toMatchObject({ compacted: false, reason: 'SUMMARY_FAILED' })
      // What the empty answer cost is known all the same.
      const [attempt] = await store.listCompactions(sessionId)
      expect(attempt, name).toMatchObject({ status: 'failed', error: 'EMPTY_SUMMARY', cost })
      return
    }
    case 'common:errors.condense_handler_invalid': {
      const summarizer = {} as Summarizer
      const refused = await store.compactSession(sessionId, { ...all, summarizer }).catch((thrown) => thrown)
      expect(isUndertextError(refused, 'INVALID_INPUT'), name).toBe(true)
      return
    }
    default:
      throw new Error(`${name}: an error of another kind, ${error}`)
  }
}

it.skipIf(cases.length === 0)('what is no part of a store', () => {
  for (const { fn } of commandCases) tallies.count(fn, 'notApplicable')
})

it.skipIf(cases.length === 0)('is published as counted', () => {
  tallies.expectPublished(FUNCTION, COMMANDS)
})
