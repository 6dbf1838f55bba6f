import { expect, it } from 'vitest'
import { toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { validateHistory } from '../../src/index.ts'
import { expectSessionAccepted } from '../support/requests.ts'
import { type RooMessage, rooCases } from './roo-data.ts'
import { RooStore } from './roo-store.ts'
import { Tallies } from './tallies.ts'

/*
 * Calls and their results made valid. Roo Code mends what it stores; ours mends the rendering and leaves the rows
 * as they are. Compared by shape: roles, order, ids of pairs, and every text that is not made up.
 */

type Input = {
  readonly messages?: readonly RooMessage[]
  readonly apiConversationHistory?: readonly RooMessage[]
  readonly userMessage?: RooMessage
}
const INJECT = 'injectSyntheticToolResults'
const FIX = 'validateAndFixToolResultIds'
const MERGE = 'mergeConsecutiveApiMessages'
/** Putting calls and results into words for whoever summarizes: here that is the summarizer's own business. */
const WORDS = [
  'toolUseToText',
  'toolResultToText',
  'convertToolBlocksToText',
  'transformMessagesForCondensing',
]

const cases = rooCases<Input, readonly RooMessage[] | RooMessage>('roo-tool-pairs')
const tallies = new Tallies('roo-tool-pairs')

/** Results that were made up, by Roo Code and by ours. */
const MADE_UP = new Set([
  'Context condensation triggered. Tool execution deferred.',
  'Tool execution was interrupted before completion.',
  '[No result was recorded for this tool call]',
])

type Block = { type: string; text?: string; id?: string; tool_use_id?: string; content?: unknown }

/** A message in a line: `user: text A, result c1 B`; what is made up as `…`. */
function shapeOf({ role, content }: Pick<RooMessage, 'role' | 'content'>): string {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Block[])
  const words = blocks.map(({ type, text, id, tool_use_id, content: result }: Block) => {
    if (type === 'tool_use') return `call ${id}`
    if (type === 'text') return `text ${text}`
    return `result ${tool_use_id} ${MADE_UP.has(String(result)) ? '…' : result}`
  })
  return `${role}: ${words.join(', ')}`
}

/**
 * What is different on purpose, by the end of the case's name: our shape of the last message, where it
 * differs. An id is never rewritten: a result nobody asked for becomes text, behind the results of the calls,
 * which stand in the order of the calls. Turns of one side are merged.
 */
const DIFFERENT: { readonly [name: string]: string } = {
  // Roo Code leaves two user turns in a row.
  'should only inject for orphan tool_calls, not matched ones':
    'user: result matched-tool file contents, result orphan-tool …',
  'should handle tool_results spread across multiple user messages':
    'user: result tool-1 contents a, result tool-2 contents b',
  'does not merge a summary into a preceding message': 'user: text Before, text Summary',
  // Nobody asked.
  'when there is no previous assistant message > should return the user message unchanged':
    'user: text [Result of tool unknown] Result',
  'when assistant message content is a string > should return the user message unchanged':
    'user: text [Result of tool unknown] Result',
  // Nobody answered.
  'when user message content is a string > should return the message unchanged':
    'user: result tool-123 …, text Just a plain text message',
  // The order of the calls.
  'should add only the missing tool_results when some exist':
    'user: result tool-1 Content for tool 1, result tool-2 …',
  // The id is of no call.
  'should fix single mismatched tool_use_id by position':
    'user: result correct-id-123 …, text [Result of tool unknown] File content',
  'should fix multiple mismatched tool_use_ids by position':
    'user: result correct-1 …, result correct-2 …, text [Result of tool unknown] Content A, text [Result of tool unknown] Content B',
  "should partially fix when some IDs match and some don't":
    'user: result id-1 Content A, result id-2 …, text [Result of tool unknown] Content B',
  'should preserve text blocks alongside tool_result blocks':
    'user: result tool-123 …, text [Result of tool unknown] File content, text Additional context',
  'should only consider tool_use blocks for matching':
    'user: result tool-123 …, text [Result of tool unknown] File content',
  'should filter out orphaned tool_results with invalid IDs':
    'user: result tool-1 …, text [Result of tool unknown] Content 1, text [Result of tool unknown] Content 2',
  'should filter out duplicate tool_results when one already has a valid ID':
    'user: result call_55577629 Content from second result, text [Result of tool unknown] Content from first result',
  'should preserve text blocks while filtering orphaned tool_results':
    'user: result tool-1 …, text [Result of tool unknown] Content 1, text Some additional context, text [Result of tool unknown] Content 2',
  'should fix the available tool_results and add missing ones':
    'user: result tool-1 …, result tool-2 …, text [Result of tool unknown] Content 1',
  'should call captureException for both missing and mismatch when there is a mismatch':
    'user: result correct-id …, text [Result of tool unknown] Content',
  'should call captureException twice when both mismatch and missing occur':
    'user: result tool-1 …, result tool-2 …, text [Result of tool unknown] Content',
}

/** The input is a view: where it begins with a summary, that stands for this message. */
const EARLIER: RooMessage = { role: 'user', content: 'What was before.' }

async function rendered(roo: RooStore, view: readonly RooMessage[]): Promise<string[]> {
  const messages = view.flatMap((message) =>
    message.condenseId === undefined
      ? [message]
      : [{ ...EARLIER, condenseParent: message.condenseId }, message],
  )
  const { sessionId } = await roo.import(messages)
  const rows = await roo.store.getMessages(sessionId)
  const rendering = { provider: 'anthropic', summaryRole: 'user', summaryHeader: '' } as const
  const result = await roo.store.renderHistory(sessionId, rendering)
  expect(validateHistory(result.messages, 'anthropic')).toEqual([])
  await expectSessionAccepted(roo.store, sessionId)
  expect(await roo.store.getMessages(sessionId), 'no row is changed').toEqual(rows)
  return (toAnthropic(result.messages).messages as unknown as RooMessage[]).map(shapeOf)
}

it.skipIf(cases.length === 0)(
  'the rendering has the shape of what Roo Code mends, save in the cases listed',
  async () => {
    const roo = await RooStore.open()
    const unused = new Set(Object.keys(DIFFERENT))
    for (const { fn, name, input, expected } of cases) {
      if (WORDS.includes(fn)) {
        tallies.count(fn, 'notApplicable')
        continue
      }
      const before = input.apiConversationHistory ?? []
      const view = input.messages ?? [...before, input.userMessage!]
      const byRoo = [...before, ...[expected].flat()].map(shapeOf)
      // A strict provider wants the user to speak first; these histories begin with the assistant.
      const opening = view[0]?.role === 'assistant' ? ['user: text [Conversation continues]'] : []
      const end = Object.keys(DIFFERENT).find((one) => name.endsWith(one))
      const ours = end === undefined ? byRoo : [...beginning(byRoo, fn), DIFFERENT[end]!]
      if (end !== undefined) {
        unused.delete(end)
        expect(ours, `${name} is no difference`).not.toEqual(byRoo)
      }
      expect(await rendered(roo, view), name).toEqual([...opening, ...ours])
      tallies.count(fn, end === undefined ? 'equal' : 'different')
    }
    expect([...unused]).toEqual([])
    await roo.close()
  },
)

/** What Roo Code has before the place where ours differs: its last two turns of the user, or the last alone. */
function beginning(byRoo: readonly string[], fn: string): readonly string[] {
  return byRoo.slice(0, fn === FIX ? -1 : -2)
}

it.skipIf(cases.length === 0)('is published as counted', () => {
  tallies.expectPublished(INJECT, FIX, MERGE, ...WORDS)
})
