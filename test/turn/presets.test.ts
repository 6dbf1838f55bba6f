import { expect, it } from 'vitest'
import { openStore, type Summarizer, type SummaryRequest } from '../../src/index.ts'
import { chat, say } from '../support/conversation.ts'

const S = 's'

it('S4-03 S4-23 nca summarizes by itself, after the turn: a summary, then the newest messages', async () => {
  const asked: SummaryRequest[] = []
  const summarizer: Summarizer = {
    name: 'spy',
    usesModel: true,
    summarize(request) {
      asked.push(request)
      return { text: 'They talked at length.' }
    },
  }
  await using store = await openStore(':memory:', { env: false, config: { preset: 'nca' }, summarizer })
  // 1,000 characters are 250 tokens and 10: 90 messages take 23,400 of the target's 32,000, less than 75 %.
  await store.append(S, chat(45, 250))
  expect(await store.afterTurn(S, { stopReason: 'end_turn' })).toMatchObject({
    final: true,
    compacted: false,
  })
  // 94 messages take 24,440: 76 %.
  await store.append(S, chat(2, 250))
  const after = await store.afterTurn(S, { stopReason: 'end_turn' })
  expect(after).toMatchObject({ final: true, compacted: true })
  expect(asked).toHaveLength(1)
  const view = await store.getEffectiveHistory(S)
  expect(view[0]).toMatchObject({ kind: 'summary', content: 'They talked at length.' })
  // The last 50, as seed 004 has it by default.
  expect(view.slice(1).map(({ position }) => position)).toEqual(
    Array.from({ length: 50 }, (_, at) => 45 + at),
  )
  const { messages } = await store.renderHistory(S)
  expect(messages[0]).toMatchObject({
    role: 'system',
    content: '## Conversation Summary (Earlier Context)\n\nThey talked at length.',
  })
})

it('S4-U06 a summarizer that fails leaves the window of the newest, and the event says what stood in', async () => {
  const summarizer: Summarizer = {
    name: 'broken',
    usesModel: true,
    summarize: () => Promise.reject(new Error('no')),
  }
  await using store = await openStore(':memory:', { env: false, config: { preset: 'nca' }, summarizer })
  await store.append(S, [say('system', 'Be brief.'), ...chat(50, 250)])
  const ends: unknown[] = []
  store.on('compaction', (event) => {
    if (event.phase === 'completed' || event.phase === 'failed') ends.push(event)
  })
  const { run } = await store.afterTurn(S)
  expect(run!.failed).toMatchObject([{ status: 'failed', error: 'Error' }])
  const view = await store.getEffectiveHistory(S)
  expect(view.map(({ role }) => role)[0]).toBe('system')
  expect(view.filter(({ kind, role }) => kind === 'message' && role !== 'system')).toHaveLength(50)
  expect(await store.getMessages(S)).toHaveLength(101)
  expect(ends).toMatchObject([{ phase: 'completed', failedSummaries: 1, fallback: 'sliding_window' }])
})
