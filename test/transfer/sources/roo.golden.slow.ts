import { expect, it } from 'vitest'
import { toAnthropic } from '../../../src/adapters/anthropic/index.ts'
import type { SourceEvent } from '../../../src/transfer/source.ts'
import { roo } from '../../../src/transfer/sources/roo.ts'
import { messagesAfter, type RooMessage, rooCases, rooSequences } from '../../replays/roo-data.ts'
import { eventsOf, type Folded, foldEvents, inputOf, spokenOf } from './support.ts'

/* Roo Code's recorded histories as files: the view must be what Roo sent, and where Roo went wrong must not be. */

const told = (messages: readonly RooMessage[]): Promise<SourceEvent[]> =>
  eventsOf(
    roo,
    inputOf(JSON.stringify(messages), { name: 'api_conversation_history.json', folder: 'task-1' }),
  )

/** Words, calls and results of a message, in a line: what a model reads of it. */
function linesOf(messages: readonly RooMessage[]): string[] {
  return messages.map(({ content }) =>
    typeof content === 'string' ? content : content.map((block) => lineOf(block)).join('\n\n'),
  )
}

function lineOf(block: object): string {
  if ('text' in block) return String(block.text)
  if ('tool_use_id' in block) return `result ${block.tool_use_id}`
  return 'id' in block ? `call ${block.id}` : JSON.stringify(block)
}

function shown(folded: Folded): string[] {
  const view = spokenOf(folded)
  return view.map((row) =>
    'inserted' in row ? row.text : linesOf(toAnthropic([row]).messages as RooMessage[])[0]!,
  )
}

async function viewOf(messages: readonly RooMessage[]): Promise<string[]> {
  return shown(foldEvents(await told(messages))[0]!)
}

const views = rooCases<{ messages: RooMessage[] }, RooMessage[]>('roo-effective-history')

/** What a store cannot show: half a message. Roo drops a result whose call is hidden, and sends the rest of its message. */
const HALVES: { readonly [name: string]: readonly string[] } = {
  'should filter orphan tool_results but keep other content in mixed user message': [
    'Summary content',
    'call tool-orphan',
    'call tool-valid',
    'result tool-orphan\n\nresult tool-valid',
  ],
  'should preserve non-tool_result content in user messages': [
    'call tool-orphan',
    'Summary content',
    'User added some text\n\nresult tool-orphan',
  ],
}

it.skipIf(views.length === 0)('shows what Roo Code sends, save where that is half a message', async () => {
  let halves = 0
  for (const { name, input, expected } of views) {
    const half = Object.entries(HALVES).find(([end]) => name.endsWith(end))?.[1]
    if (half !== undefined) halves += 1
    expect(await viewOf(input.messages), name).toEqual(half ?? linesOf(expected))
  }
  expect([views.length, halves]).toEqual([51, 2])
})

it.skipIf(views.length === 0)(
  'shows what was summarized, truncated and cleaned up as Roo Code stored it',
  async () => {
    type Stored = { messages: RooMessage[]; error?: string }
    const summarized = rooCases<unknown, Stored>('roo-summarize', 'summarizeConversation')
    let refused = 0
    for (const { name, expected } of summarized) {
      // Nothing was changed: among them a summary that stands for what came before it.
      if (expected.error !== undefined) refused += 1
      const last = expected.messages.findLastIndex(({ isSummary }) => isSummary === true)
      expect(await viewOf(expected.messages), name).toEqual(
        linesOf(expected.messages.slice(Math.max(last, 0))),
      )
    }
    expect([summarized.length, refused]).toEqual([24, 6])

    const truncated = rooCases<unknown, Stored>('roo-truncate', 'truncateConversation')
    for (const { name, expected } of truncated)
      expect(await viewOf(expected.messages), name).toEqual(linesOf(effective(expected.messages)))
    expect(truncated).toHaveLength(12)

    const cleaned = rooCases<{ messages: RooMessage[] }, RooMessage[]>('roo-cleanup')
    for (const { name, input, expected } of cleaned) {
      expect(await viewOf(expected), name).toEqual(linesOf(effective(expected)))
      // What Roo cleans is dropped when it is read.
      expect(await viewOf(input.messages), name).toEqual(await viewOf(expected))
    }
    expect(cleaned).toHaveLength(20)
  },
)

/** What Roo Code sends of messages whose tags all have owners and that hold no tools: the semantics of the golden file. */
function effective(messages: readonly RooMessage[]): RooMessage[] {
  const last = messages.findLastIndex(({ isSummary }) => isSummary === true)
  const slice = last === -1 ? messages : messages.slice(last)
  const live = new Set(slice.flatMap(({ truncationId }) => truncationId ?? []))
  const condensed = new Set(messages.flatMap(({ condenseId }) => (last === -1 ? (condenseId ?? []) : [])))
  return slice.filter(
    ({ truncationParent, condenseParent }) =>
      !live.has(truncationParent ?? '') && !condensed.has(condenseParent ?? ''),
  )
}

const sequences = rooSequences()

it.skipIf(sequences.length === 0)(
  'shows what Roo Code sent on every clean step, and never its defects',
  async () => {
    const counts = { clean: 0, others: 0, mended: 0 }
    for (const sequence of sequences) {
      for (const [at, step] of sequence.steps.entries()) {
        const messages = messagesAfter(sequence, at)
        const what = `sequence ${sequence.seed}, step ${at}`
        const byKey = new Map(step.order.map((key, index) => [key, messages[index]!] as const))
        const theirs = linesOf(step.effective.map((key) => byKey.get(key)!))
        const [folded] = foldEvents(await told(messages))
        const ours = shown(folded!)
        if (step.clean) {
          expect(ours, what).toEqual(theirs)
          counts.clean += 1
          continue
        }
        expect(halvesIn(ours), what).toEqual([])
        const live = messages.findLast(({ isSummary }) => isSummary === true)
        // The last summary is never hidden by a truncation.
        if (live !== undefined) expect(ours, what).toContain(linesOf([live])[0])
        expect(ours.filter((line) => line.startsWith('S:')).length, what).toBeLessThan(2)
        // Figures that were wrong and turns of one role leave the same messages; a lost summary, or a parted pair, does not.
        const isVisible = step.defects.some((defect) =>
          /^(live-summary-hidden|tool-result-without-call)/.test(defect),
        )
        if (isVisible) expect(ours, what).not.toEqual(theirs)
        else expect(ours, what).toEqual(theirs)
        counts[isVisible ? 'mended' : 'others'] += 1
      }
    }
    expect(counts).toEqual({ clean: 1262, others: 200, mended: 74 })
  },
)

/** Results whose call is not shown. A call without its result may wait for it. */
function halvesIn(view: readonly string[]): string[] {
  const idsOf = (what: RegExp): string[] => [...view.join('\n\n').matchAll(what)].map(([, id]) => id!)
  const calls = new Set(idsOf(/^call (\w+)$/gm))
  return idsOf(/^result (\w+)$/gm).filter((id) => !calls.has(id))
}
