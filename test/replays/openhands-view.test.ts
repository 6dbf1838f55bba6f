import { describe, expect, it } from 'vitest'
import { partsOf } from '../../src/core/messages/message.ts'
import {
  isUndertextError,
  type NewMessage,
  openStore,
  type Store,
  type ToolCallPart,
  validateHistory,
} from '../../src/index.ts'
import { failureOf } from '../support/failures.ts'
import { expectAccepted } from '../support/requests.ts'
import { type GoldenCase, Replay } from './counting.ts'
import { shapeOf } from './messages.ts'
import { cutsBetween, type Event, messagesOf, ReplayedLog } from './openhands-log.ts'

/*
 * OpenHands keeps a log of events and reads a view out of it: condensations name what is forgotten, and what would
 * be half of a pair, a batch or a loop is dropped while reading. We refuse such a half when it is written.
 */

const replay = new Replay('openhands-view')
const SESSION = 's'

type Recorded = { readonly view: string[]; readonly safe_cut_indices: number[] }
type ViewCase = GoldenCase<readonly Event[], Recorded>

/**
 * Their condensations with a summary that stands elsewhere than what it forgets, or that leaves something between.
 * Ours stands where the last message it covers stood, and covers what lies between.
 */
const SUMMARY_ELSEWHERE: { readonly [test: string]: readonly string[] } = {
  'test_view_multi_summary.py::test_summary_offset_is_absolute_in_final_view': [
    'cond-1-summary',
    'e3',
    'e4',
    'e5',
  ],
  'test_view_multi_summary.py::test_summary_offset_remains_valid_after_forgetting_events': [
    'cond-1-summary',
    'e3',
    'e4',
    'e5',
  ],
  'test_view_multi_summary.py::test_forget_events_and_summary_together': ['cond-2-summary', 'e4'],
}

describe('openhands-view', () => {
  it.skipIf(replay.isAbsent)('shows the same views, save where halves are forgotten', async () => {
    for (const one of replay.casesOf<readonly Event[], Recorded>('view')) {
      await using store = await openStore(':memory:')
      const log = new ReplayedLog(store, one.input)
      const refused = await replayEvents(store, log, one)
      const elsewhere = SUMMARY_ELSEWHERE[one.name]
      expect(await log.labels(), one.name).toEqual(elsewhere ?? one.expected.view)
      expect(elsewhere, `${one.name} is no difference`).not.toEqual(one.expected.view)

      const asked = one.input.some(({ kind }) => kind === 'CondensationRequest')
      const differs = refused || log.standIns > 0 || elsewhere !== undefined
      replay.settle(one, asked ? 'notApplicable' : differs ? 'different' : 'equal')
      await compareCuts(store, log, one)
    }
  })

  it.skipIf(replay.isAbsent)('never cuts where OpenHands would not, whatever the roles', () => {
    const functions = [
      'BatchAtomicityProperty.manipulation_indices',
      'ObservationUniquenessProperty.manipulation_indices',
      'ToolCallMatchingProperty.manipulation_indices',
      'ToolLoopAtomicityProperty.manipulation_indices',
    ]
    for (const fn of functions) {
      for (const one of replay.casesOf<{ readonly view_events: readonly Event[] }, number[]>(fn)) {
        const cuts = cutsBetween(one.input.view_events, 'user')
        expect(one.expected, one.name).toEqual(expect.arrayContaining(cuts))
        expect(cutsBetween(one.input.view_events, 'assistant'), one.name).toEqual(cuts)
        replay.settle(one, cuts.length === one.expected.length ? 'equal' : 'different')
      }
    }
    let cases = 0
    for (const { name, input, expected } of replay.casesOf<readonly Event[], Recorded>('view')) {
      if (input.some(({ kind }) => kind === 'Condensation')) continue
      // Some hosts append each call of a batch as a message of its own.
      const apart = input.map(({ batch: _, ...event }) => event)
      for (const cuts of [cutsBetween(input, 'assistant'), cutsBetween(apart, 'user')])
        expect(expected.safe_cut_indices, name).toEqual(cuts)
      cases += 1
    }
    expect(cases).toBeGreaterThan(20)
  })

  it.skipIf(replay.isAbsent)('cuts less often than a single property would', () => {
    // Their property looks at batches and loops alone, or at nothing but a second result; a pair is parted nowhere.
    const fewer = (fn: string): unknown[] =>
      replay
        .casesOf<{ readonly view_events: readonly Event[] }, number[]>(fn)
        .flatMap(({ input, expected }) => {
          const cuts = cutsBetween(input.view_events, 'user')
          return cuts.length < expected.length ? [[expected, cuts]] : []
        })
    expect(fewer('ObservationUniquenessProperty.manipulation_indices')).toEqual([
      [
        [0, 1, 2],
        [0, 2],
      ],
    ])
    expect(fewer('ToolLoopAtomicityProperty.manipulation_indices')).toEqual([
      [
        [0, 1, 2, 3, 4],
        [0, 2, 4],
      ],
    ])
    expect(fewer('BatchAtomicityProperty.manipulation_indices')).toEqual([])
    expect(fewer('ToolCallMatchingProperty.manipulation_indices')).toEqual([])
  })
})

/** Replays the events in order. Answers whether a condensation was refused because it would leave halves. */
async function replayEvents(store: Store, log: ReplayedLog, { name, input, expected }: ViewCase) {
  let refused = false
  for (const event of input) {
    const { kind, forgotten = [], summary } = event
    if (kind === 'CondensationRequest') continue
    if (kind !== 'Condensation') await log.appendThrough(event.id)
    else if (summary !== undefined) await log.condense(event)
    else {
      const shown = await log.labels()
      for (const label of forgotten.filter((one) => log.isSummary(one))) {
        // A summary goes with the originals back in its place, never by itself.
        const row = (await log.view()).find((one) => log.labelsOf(one).includes(label))!
        const failure = await failureOf(() => store.compactions.hide(SESSION, [row.id]))
        expect(isUndertextError(failure, 'ILLEGAL_BOUNDARY'), name).toBe(true)
        await log.undo(label)
      }
      const own = forgotten.filter((one) => !log.isSummary(one) && shown.includes(one))
      for (const unknown of forgotten.filter((one) => !shown.includes(one))) {
        const failure = await failureOf(() => store.compactions.hide(SESSION, [unknown]))
        expect(isUndertextError(failure, 'MESSAGE_NOT_FOUND'), name).toBe(true)
      }
      if (own.length === 0) continue
      const dropped = shown.filter((one) => !forgotten.includes(one) && !expected.view.includes(one))
      refused = (await hide(store, log, own, dropped, name)) || refused
    }
  }
  return refused
}

/**
 * Hides what is forgotten. Where OpenHands drops more when it reads, we refuse and name exactly that; hidden
 * together with it, the view is theirs.
 */
async function hide(
  store: Store,
  log: ReplayedLog,
  forgotten: readonly string[],
  dropped: readonly string[],
  name: string,
): Promise<boolean> {
  const idsOf = (events: readonly string[]): string[] => [
    ...new Set(events.map((event) => log.messageOf(event).message.id)),
  ]
  const asked = idsOf(forgotten)
  const besides = idsOf(dropped).filter((id) => !asked.includes(id))
  if (besides.length > 0) {
    const failure = await failureOf(() => store.compactions.hide(SESSION, asked))
    expect(failure, name).toMatchObject({ code: 'ILLEGAL_BOUNDARY', facts: { messageIds: besides } })
  }
  await store.compactions.hide(SESSION, [...asked, ...besides])
  return besides.length > 0
}

/** Our legal cuts are among their safe ones; and the laws refuse exactly the others. */
async function compareCuts(store: Store, log: ReplayedLog, one: ViewCase): Promise<void> {
  const cuts = await log.cuts()
  const { view, safe_cut_indices: safe } = one.expected
  const rows = await log.view()
  if ((await log.labels()).join() === view.join()) {
    expect(safe, one.name).toEqual(expect.arrayContaining(cuts))
    replay.settle(one, cuts.length === safe.length ? 'equal' : 'different', 'view (safe_cut_indices)')
  } else {
    // Another view, another list of cuts: nothing to compare but that text may be parted anywhere.
    expect(cuts, one.name).toEqual([...rows.keys(), rows.length])
    replay.settle(one, 'different', 'view (safe_cut_indices)')
  }
  if (rows.some(({ kind }) => kind === 'summary')) return
  let events = 0
  for (let at = 1; at < rows.length; at++) {
    events += log.labelsOf(rows[at - 1]!).length
    const before = rows.slice(0, at).map(({ id }) => id)
    const what = `${one.name} at ${events}`
    if (cuts.includes(events)) {
      const { id } = await store.compactions.hide(SESSION, before)
      await store.undoCompaction(SESSION, id)
    } else {
      const failure = await failureOf(() => store.compactions.hide(SESSION, before))
      expect(isUndertextError(failure, 'ILLEGAL_BOUNDARY'), what).toBe(true)
    }
  }
}

type Enforcement = { readonly view_events: readonly Event[]; readonly all_events: readonly Event[] }

/** What is sent where OpenHands drops an event that stands alone: we answer the call, and show the result as text. */
const SENT_INSTEAD: { readonly [test: string]: readonly string[] } = {
  test_unmatched_action: [
    'user: e1',
    'assistant: call call_1',
    'tool: result call_1',
    'assistant: call call_2',
    'tool: failed result call_2',
  ],
  test_unmatched_observation: [
    'user: e1',
    'assistant: call call_1',
    'tool: result call_1',
    'user: [Result of tool unknown]',
  ],
  test_mixed_scenario: [
    'user: e1',
    'assistant: call call_1',
    'tool: result call_1',
    'assistant: call call_2',
    'tool: failed result call_2',
    'user: [Result of tool unknown]',
    'user: e2',
    'assistant: call call_4',
    'tool: result call_4',
  ],
}

describe('openhands-view, enforcement', () => {
  it.skipIf(replay.isAbsent)('sends what OpenHands keeps when nothing was forgotten', async () => {
    for (const one of enforcements()) {
      const { view_events: kept, all_events: all } = one.input
      if (kept.length !== all.length) continue
      await using store = await openStore(':memory:')
      await store.sessions.create({ id: SESSION })
      if (all.length > 0)
        await store.append(
          SESSION,
          messagesOf(all).map(({ message }) => message),
        )
      const { messages } = await store.renderHistory(SESSION, { pendingCalls: 'answer' })
      expect(validateHistory(messages, 'openai'), one.name).toEqual([])
      expectAccepted(messages, 'openai')

      const instead = SENT_INSTEAD[one.name.split('::').at(-1)!]
      const stays = messagesOf(all.filter(({ id }) => !one.expected.includes(id)))
      // Batches without a result are shown as they are; a rendering would answer their calls.
      const unanswered = all.length > 0 && !hasResults(all)
      if (instead !== undefined) expect(shortened(shapeOf(messages)), one.name).toEqual(instead)
      else {
        const sent = unanswered ? await store.getEffectiveHistory(SESSION) : messages
        expect(shapeOf(sent), one.name).toEqual(shapeOf(stays.map(({ message }) => message)))
      }
      replay.settle(one, instead === undefined ? 'equal' : 'different')
    }
  })

  it.skipIf(replay.isAbsent)('refuses to forget halves, and to forget calls that wait', async () => {
    for (const one of enforcements()) {
      const { view_events: kept, all_events: all } = one.input
      if (kept.length === all.length) continue
      const forgotten = all.filter(({ id }) => !kept.some((other) => other.id === id))
      await using store = await openStore(':memory:')
      const made = messagesOf(all)
      await store.append(
        SESSION,
        made.map(({ message }) => message),
      )
      const idsOf = (events: readonly string[]): string[] =>
        made.filter((message) => message.events.some((id) => events.includes(id))).map((m) => m.message.id)
      const asked = idsOf(forgotten.map(({ id }) => id))
      const besides = idsOf(one.expected).filter((id) => !asked.includes(id))
      const labels = async (): Promise<string[]> =>
        (await store.getEffectiveHistory(SESSION)).flatMap(
          ({ id }) => made.find(({ message }) => message.id === id)!.events,
        )

      const waits = !hasResults(all)
      if (waits) {
        const failure = await failureOf(() => store.compactions.hide(SESSION, asked))
        expect(failure, one.name).toMatchObject({ code: 'PENDING_TOOL_CALLS', facts: { messageIds: asked } })
        // With their results they wait no longer, and the batch is hidden as one.
        const calls = made
          .filter(({ message }) => asked.includes(message.id))
          .flatMap(({ message }) => partsOf(message).filter(({ type }) => type === 'tool-call'))
        await store.append(SESSION, [
          {
            ...{ id: 'results', role: 'tool' },
            content: calls.map((part) => ({
              ...{ type: 'tool-result', toolCallId: (part as ToolCallPart).toolCallId },
              output: { type: 'error-text', value: 'aborted' },
            })),
          } as NewMessage,
        ])
        asked.push('results')
        made.push({ message: { id: 'results', role: 'tool', content: '' }, events: [] })
      } else if (besides.length > 0) {
        const failure = await failureOf(() => store.compactions.hide(SESSION, asked))
        expect(failure, one.name).toMatchObject({ code: 'ILLEGAL_BOUNDARY', facts: { messageIds: besides } })
      }
      await store.compactions.hide(SESSION, [...asked, ...besides])
      const theirs = kept.map(({ id }) => id).filter((id) => !one.expected.includes(id))
      expect(await labels(), one.name).toEqual(theirs)
      replay.settle(one, waits || besides.length > 0 ? 'different' : 'equal')
    }
  })
})

function enforcements(): readonly GoldenCase<Enforcement, string[]>[] {
  return [
    'BatchAtomicityProperty.enforce',
    'ObservationUniquenessProperty.enforce',
    'ToolCallMatchingProperty.enforce',
    'ToolLoopAtomicityProperty.enforce',
  ].flatMap((fn) => replay.casesOf<Enforcement, string[]>(fn))
}

function hasResults(events: readonly Event[]): boolean {
  return events.some(({ kind }) => kind !== 'ActionEvent' && kind !== 'MessageEvent')
}

/** Only the first words of a text. */
function shortened(shape: readonly string[]): string[] {
  return shape.map((line) => line.replace(/text "(.*?) (?:words )+"/, '$1'))
}

replay.holdToPage('view (safe_cut_indices)')
