import { describe, expect, it } from 'vitest'
import { scoreMessages } from '../../src/compat/arrays/index.ts'
import type { Part } from '../../src/core/messages/message.ts'
import { indexMessage } from '../../src/core/model/message-parts.ts'
import { View } from '../../src/core/model/view.ts'
import type { ViewRow } from '../../src/core/model/view-row.ts'
import { DEFAULT_WEIGHTS } from '../../src/core/stages/importance/weights.ts'
import { priorityStage } from '../../src/core/stages/priority.ts'
import type { StageContext } from '../../src/core/stages/stage.ts'
import type { Estimator } from '../../src/core/tokens/estimators/estimator-schema.ts'
import { promptfleetEstimator } from '../../src/core/tokens/estimators/promptfleet.ts'
import { readGolden } from '../support/golden.ts'

/* Seed 001's scores and choices, as its published code gives them. */

type Wire = {
  readonly role: string
  readonly content: string | null
  readonly tool_call_id?: string
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
}
type Input = { readonly availableForHistory: number; readonly messages: readonly Wire[] }
type Case = {
  readonly id: string
  readonly name: string
  readonly input: Input
  readonly expected: {
    readonly kept: readonly number[]
    readonly perMessageTokens: readonly number[]
    readonly scores: readonly (number | 'max')[]
    readonly totalTokens: number
  }
}
type Quirk = { readonly input?: Input; readonly upstreamKept?: number[]; readonly pairedKept?: number[] }

const golden = readGolden<{ cases: Case[]; quirks: Quirk[] }>('promptfleet-priority')

/** Counts each message's role word exactly, as the founding crate does and no store can: rows bring it as text. */
const exact: Estimator = { ...promptfleetEstimator, tokensPerMessage: 4 }

function partsOf(message: Wire): Part[] {
  const { content, tool_calls: calls = [], tool_call_id: answered } = message
  if (answered !== undefined)
    return [{ type: 'tool-result', toolCallId: answered, output: { type: 'text', value: content ?? '' } }]
  return [
    ...(content === null ? [] : [{ type: 'text' as const, text: content }]),
    ...calls.map(({ id, function: { name, arguments: input } }) => ({
      type: 'tool-call' as const,
      toolCallId: id,
      toolName: name,
      input: JSON.parse(input) as never,
    })),
  ]
}

function viewOf(messages: readonly Wire[]): { view: View; parts: readonly Part[][] } {
  const parts = messages.map(partsOf)
  const rows = messages.map(({ role }, index): ViewRow => {
    const indexed = indexMessage({ content: parts[index]! }, exact)
    return {
      ...indexed,
      sizes: { ...indexed.sizes, text: indexed.sizes.text + exact.measureText(role) },
      key: index + 1,
      id: `m${index}`,
      kind: 'message',
      role: role as ViewRow['role'],
      position: index + 1,
      anchor: index + 1,
      ordinal: 0,
      pinned: false,
      shown: [],
    }
  })
  return { view: new View(rows, exact, ''), parts }
}

/** With a preset's manner: of the newest turn only the request is sure to stay. */
function keptOf(
  { messages, availableForHistory }: Input,
  weights?: Parameters<typeof priorityStage>[0],
): number[] {
  const { view, parts } = viewOf(messages)
  const plan = priorityStage({ keepNewest: 'request', ...weights }).plan(view, {
    targetTokens: availableForHistory,
    limitTokens: availableForHistory,
    settings: {} as StageContext['settings'],
    contentOf: (row) => parts[row.key - 1]!,
    metadataOf: () => undefined,
  })
  const hidden = new Set(plan?.hide.map(({ key }) => key - 1))
  return messages.map((_, index) => index).filter((index) => !hidden.has(index))
}

const NO_SIGNALS = {
  signals: Object.fromEntries(Object.keys(DEFAULT_WEIGHTS.signals).map((name) => [name, 0])),
}

describe('promptfleet-priority', () => {
  it.each(golden.cases)('$id $name: sizes', ({ input: { messages }, expected }) => {
    const { view } = viewOf(messages)
    expect(view.rows.map((row) => view.tokensOfRow(row))).toEqual(expected.perMessageTokens)
    // The crate counts an empty list as 3; a view without rows takes nothing.
    expect(view.tokens).toBe(messages.length === 0 ? 0 : expected.totalTokens)
  })

  it.each(golden.cases)('$id $name: scores by role and recency', ({ input: { messages }, expected }) => {
    const { groups } = scoreMessages(
      messages.map((message) => ({ role: message.role, content: partsOf(message) })),
      { weights: NO_SIGNALS },
    )
    const wanted = expected.scores.map((score) => (score === 'max' ? Number.POSITIVE_INFINITY : score))
    for (const { indexes, rank } of groups) {
      // A result goes with its call and counts as that (checklist C-17); alone it would be ranked by itself.
      if (rank === Number.POSITIVE_INFINITY) expect(wanted[indexes[0]!]).toBe(rank)
      else expect(rank).toBeCloseTo(wanted[indexes[0]!]!, 6)
    }
    expect(groups.flatMap(({ indexes }) => indexes)).toEqual(messages.map((_, index) => index))
  })

  it.each(golden.cases)(
    '$id $name: what is kept, and the order by default weights',
    ({ input, expected }) => {
      expect(keptOf(input)).toEqual(expected.kept)
      expect(keptOf(input, { weights: NO_SIGNALS })).toEqual(expected.kept)

      const { groups } = scoreMessages(
        input.messages.map((message) => ({ role: message.role, content: partsOf(message) })),
      )
      const first = (score: number | 'max'): number => (score === 'max' ? Number.POSITIVE_INFINITY : score)
      const wanted = [...groups].sort(
        (a, b) => first(expected.scores[b.indexes[0]!]!) - first(expected.scores[a.indexes[0]!]!),
      )
      const ours = [...groups].sort((a, b) => (a.rank === b.rank ? 0 : b.rank - a.rank))
      expect(ours.map(({ indexes }) => indexes[0])).toEqual(wanted.map(({ indexes }) => indexes[0]))
    },
  )

  it.each(golden.quirks.filter(({ input }) => input !== undefined))(
    'not copied: a call without its result ($input.availableForHistory tokens)',
    ({ input, pairedKept, upstreamKept }) => {
      expect(keptOf(input!)).toEqual(pairedKept)
      expect(pairedKept).not.toEqual(upstreamKept)
    },
  )
})
