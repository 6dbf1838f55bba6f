import { describe, expect, it } from 'vitest'
import { type Message, partsOf } from '../../src/core/messages/message.ts'
import { hierarchicalSummaries } from '../../src/core/stages/hierarchical-summaries.ts'
import { openStore, type Store, type Summarizer, type SummaryRequest } from '../../src/index.ts'
import { chat, say } from '../support/conversation.ts'

const S = 's'
const neurolink = { estimator: 'neurolink' } as const
const stage = (fanOut = 4) => hierarchicalSummaries({ leafTokens: 1, leafMessages: 8, fanOut })

const textOf = (message: Message): string =>
  partsOf(message)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')

/** Copies every line it is given that speaks of a rule. */
class Faithful implements Summarizer {
  readonly name = 'faithful'
  readonly usesModel = true
  readonly asked: SummaryRequest[] = []

  summarize(request: SummaryRequest): { text: string } {
    this.asked.push(request)
    const lines = request.messages.flatMap((message) => textOf(message).split('\n'))
    return {
      text: [...new Set(lines.filter((line) => line.startsWith('RULE'))), `L${request.level ?? 0}`].join(
        '\n',
      ),
    }
  }
}

async function compacted(store: Store, messages = 200): Promise<void> {
  const log = chat(messages / 2, 60)
  log[2] = say('user', 'RULE never touch the schema')
  await store.append(S, log)
  await store.compactSession(S, { stages: [stage()], targetTokens: 1, keepRecentTokens: 0 })
}

describe('hierarchical summaries', () => {
  it('three levels of 200 messages, each position under exactly one row of the view [F1-01 F1-02 F1-05]', async () => {
    const summarizer = new Faithful()
    await using store = await openStore(':memory:', { ...neurolink, summarizer })
    await compacted(store)
    // 198 messages before the newest turn: 24 leaves of 8 and 6 messages too few; 24 / 4 = 6 of level 1; 6 / 4 = 1 of level 2.
    const levels = summarizer.asked.map(({ level = 0 }) => level)
    expect([0, 1, 2, 3].map((level) => levels.filter((one) => one === level).length)).toEqual([24, 6, 1, 0])
    for (const { level = 0, messages } of summarizer.asked) {
      expect(messages).toHaveLength(level === 0 ? 8 : 4)
      expect(
        messages.every(({ kind, content }) =>
          level === 0 ? kind === 'message' : kind === 'summary' && String(content).endsWith(`L${level - 1}`),
        ),
      ).toBe(true)
    }
    const view = await store.getEffectiveHistory(S, { provenance: true })
    expect(
      view.map(({ kind, metadata }) => (kind === 'summary' ? Number(metadata!.level ?? 0) : 'm')),
    ).toEqual([2, 1, 1, ...Array(8).fill('m')])
    const places = view.flatMap(({ position, positions = [] }) =>
      position === undefined
        ? positions.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, at) => from + at))
        : [position],
    )
    expect(places).toEqual(Array.from({ length: 200 }, (_, at) => at + 1))
    expect(await store.sessions.verify(S)).toMatchObject({ findings: [] })
  })

  it('what a faithful summarizer carries over is in the summary at the top [F1-10]', async () => {
    await using store = await openStore(':memory:', { ...neurolink, summarizer: new Faithful() })
    await compacted(store)
    const [top] = await store.getEffectiveHistory(S)
    expect(top!.content).toContain('RULE never touch the schema')
  })

  it('undoing the outer summary shows the inner ones, undoing all the original list [F1-06]', async () => {
    await using store = await openStore(':memory:', { ...neurolink, summarizer: new Faithful() })
    await compacted(store)
    const all = await store.listCompactions(S)
    const outer = all.find(({ params }) => params.level === 2)!
    await store.undoCompaction(S, outer.id)
    const inner = await store.getEffectiveHistory(S)
    expect(inner.slice(0, 6).map(({ metadata }) => metadata!.level)).toEqual([1, 1, 1, 1, 1, 1])
    await store.redoCompaction(S, outer.id)
    await store.undoCompaction(S, outer.runId)
    const stored = await store.getMessages(S)
    const log = stored.filter(({ kind }) => kind === 'message')
    const view = await store.getEffectiveHistory(S)
    expect(view.map(({ id, content }) => [id, content])).toEqual(log.map(({ id, content }) => [id, content]))
  })

  it('continues where an earlier run stopped, and merges no high summary with fresh ones', async () => {
    const summarizer = new Faithful()
    await using store = await openStore(':memory:', { ...neurolink, summarizer })
    for (let round = 0; round < 12; round++) {
      await store.append(S, chat(10, 60))
      await store.compactSession(S, { stages: [stage(3)], targetTokens: 1, keepRecentTokens: 0 })
    }
    for (const { level = 0, messages } of summarizer.asked) {
      const levels = messages.map(({ kind, content }) =>
        kind === 'message' ? -1 : Number(/L(\d)$/.exec(String(content))![1]),
      )
      expect(new Set(levels)).toEqual(new Set([level - 1]))
    }
    // 240 messages, 238 before the newest turn: 29 leaves; 9 of level 1 and 2 left; 3 of level 2; 1 of level 3.
    const view = await store.getEffectiveHistory(S)
    expect(
      view.map(({ kind, metadata }) => (kind === 'summary' ? Number(metadata!.level ?? 0) : 'm')),
    ).toEqual([3, 0, 0, ...Array(8).fill('m')])
  })

  it('leaves pinned messages in place, between two summaries', async () => {
    await using store = await openStore(':memory:', { ...neurolink, summarizer: new Faithful() })
    await store.append(S, chat(20, 60))
    const pinned = (await store.getMessages(S))[16]!
    await store.messages.pin(S, [pinned.id])
    await store.compactSession(S, { stages: [stage()], targetTokens: 1, keepRecentTokens: 0 })
    const view = await store.getEffectiveHistory(S)
    // 16 before it: two leaves; 21 behind it and before the newest turn: two leaves and five messages; the turn.
    expect(view.map(({ kind, id }) => (id === pinned.id ? 'pin' : kind === 'summary' ? 's' : 'm'))).toEqual([
      's',
      's',
      'pin',
      's',
      's',
      ...Array(7).fill('m'),
    ])
  })

  it('a summary longer than what it replaces is rejected, and the run ends [F1-08]', async () => {
    let asked = 0
    const chatty: Summarizer = {
      name: 'chatty',
      usesModel: true,
      summarize: () => ({ text: `${'x'.repeat(90_000)}${asked++}` }),
    }
    await using store = await openStore(':memory:', { ...neurolink, summarizer: chatty })
    await store.append(S, chat(20, 60))
    const run = await store.compactSession(S, { stages: [stage()], targetTokens: 1, keepRecentTokens: 0 })
    expect(run).toMatchObject({ compacted: false, reason: 'SUMMARY_FAILED' })
    expect(asked).toBe(4)
    const offline = await store.compactSession(S, {
      stages: [stage()],
      targetTokens: 1,
      keepRecentTokens: 0,
      offlineFallback: true,
    })
    expect(offline!.compacted).toBe(true)
  })

  it('works with the offline summarizer, from names alone', async () => {
    await using store = await openStore(':memory:', neurolink)
    await store.append(S, chat(40, 60))
    const run = await store.compactSession(S, {
      stages: [{ stage: 'hierarchical_summaries', leafTokens: 1, leafMessages: 8, fanOut: 2 }, 'truncate'],
      targetTokens: 400,
    })
    expect(run!.stagesUsed).toContain('hierarchical_summaries')
    expect(await store.sessions.verify(S)).toMatchObject({ findings: [] })
  })
})
