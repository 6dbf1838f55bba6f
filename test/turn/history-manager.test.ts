import { describe, expect, it } from 'vitest'
import { evictedOf } from '../../src/compat/history-manager.ts'
import { HistoryManager, type HistorySummarizer } from '../../src/compat/index.ts'
import type { Message, Summarizer } from '../../src/index.ts'
import { say } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'

/** Keeps system messages and the newest `budget` others. */
const newest = {
  name: 'newest',
  apply(messages: readonly Message[], budget: number): readonly Message[] {
    const others = messages.filter(({ role }) => role !== 'system')
    const kept = new Set(others.slice(-budget))
    return messages.filter((message) => message.role === 'system' || kept.has(message))
  },
}

const history = [say('user', 'One?'), say('assistant', 'One.'), say('user', 'Two?'), say('assistant', 'Two.')]
const currentTurn = [say('user', 'Three?')]

describe('HistoryManager', () => {
  it('prepares a request, and takes what was left out', async () => {
    const asked: (readonly Message[])[] = []
    const manager = new HistoryManager({
      strategy: newest,
      summarizer: (messages) => {
        asked.push(messages)
        return 'They counted.'
      },
    })
    const first = await manager.prepareMessages({
      history,
      currentTurn,
      systemMessage: 'Be brief.',
      budget: 3,
    })
    expect(first.messages).toEqual([say('system', 'Be brief.'), ...history.slice(2), ...currentTurn])
    expect(first.evicted).toEqual(history.slice(0, 2))

    expect(await manager.onTurnComplete(first.evicted)).toEqual({ summary: 'They counted.' })
    expect(asked).toEqual([history.slice(0, 2)])
    const second = await manager.prepareMessages({
      history: history.slice(2),
      currentTurn,
      systemMessage: 'Be brief.',
      budget: 3,
    })
    expect(second.systemMessage).toBe('Be brief.\n\nPreviously in this conversation:\nThey counted.')
    expect(second.evicted).toEqual([])
    const resumed = new HistoryManager({ strategy: newest, summaries: [...manager.summaries] })
    expect(await resumed.prepareMessages({ history, budget: 1 })).toMatchObject({
      systemMessage: 'Previously in this conversation:\nThey counted.',
    })
  })

  const failing: HistorySummarizer = () => Promise.reject(new TypeError('secret'))
  it.each<[string, HistorySummarizer | undefined, object, object]>([
    ['nothing evicted', () => 'x', { none: true }, { summary: null }],
    ['a failing summarizer', failing, {}, { summary: null, failed: 'TypeError' }],
    ['an empty summary', () => '  ', {}, { summary: null }],
    ['summarizing switched off', () => 'x', { enableSummarization: false }, { summary: null }],
    ['no summarizer', undefined, {}, { summary: null }],
  ])('changes nothing: %s', async (_, summarizer, { none, ...options }: { none?: boolean }, expected) => {
    const given = summarizer === undefined ? {} : { summarizer }
    const manager = new HistoryManager({ strategy: newest, summaries: ['before'], ...given, ...options })
    expect(await manager.onTurnComplete(none ? [] : history)).toEqual(expected)
    expect(manager.summaries).toEqual(['before'])
  })

  it('asks a summarizer of the package as a store does', async () => {
    let request: Parameters<Summarizer['summarize']>[0] | undefined
    const summarizer: Summarizer = {
      name: 'spy',
      usesModel: true,
      summarize(asked) {
        request = asked
        return { text: 'Short.' }
      },
    }
    const manager = new HistoryManager({ strategy: newest, summarizer, memoryTokenBudget: 100 })
    await manager.onTurnComplete(history, { sessionId: 's' })
    expect(request).toMatchObject({ sessionId: 's', maxTokens: 50, files: { read: [], modified: [] } })
    expect(request!.messages).toEqual(history.map((message) => ({ ...message, kind: 'message' })))
  })

  it('recalls memories, and remembers summaries', async () => {
    const stored: unknown[] = []
    const queries: unknown[] = []
    const memory = {
      recall: (query: string, topK: number, filters: unknown) => {
        queries.push([query, topK, filters])
        return [{ type: 'fact', content: 'Likes dark mode' }]
      },
      store: (entry: unknown) => stored.push(entry),
    }
    const manager = new HistoryManager({
      strategy: newest,
      summarizer: () => 'Short.',
      memory,
      enableLongTermMemory: true,
    })
    const { systemMessage } = await manager.prepareMessages({ history, currentTurn, budget: 9, filters: 'f' })
    expect(systemMessage).toBe('Relevant context from memory:\n- [fact] Likes dark mode\n')
    expect(queries).toEqual([['Three?', 5, 'f']])
    await manager.onTurnComplete(history, { sessionId: 's' })
    expect(stored).toEqual([{ type: 'summary', content: 'Short.', sessionId: 's' }])
  })

  it('continues without a memory that fails', async () => {
    const fails = (): never => {
      throw new RangeError('down')
    }
    const manager = new HistoryManager({
      strategy: newest,
      summarizer: () => 'Short.',
      memory: { recall: fails, store: fails },
      enableLongTermMemory: true,
    })
    expect((await manager.prepareMessages({ history, currentTurn, budget: 9 })).systemMessage).toBeNull()
    expect(await manager.onTurnComplete(history)).toEqual({ summary: 'Short.', failed: 'RangeError' })
    expect(manager.summaries).toEqual(['Short.'])
  })

  it('passes on the error of a strategy', async () => {
    const error = new Error('no')
    const manager = new HistoryManager({ strategy: { apply: () => Promise.reject(error) } })
    await expect(manager.prepareMessages({ history, budget: 0 })).rejects.toBe(error)
  })

  it.each<[string, () => unknown]>([
    ['no strategy', () => new HistoryManager({} as never)],
    ['a misspelled option', () => new HistoryManager({ strategy: newest, recallTopk: 1 } as never)],
    ['a summarizer that is none', () => new HistoryManager({ strategy: newest, summarizer: {} as never })],
    ['a memory that is none', () => new HistoryManager({ strategy: newest, memory: {} as never })],
    [
      'a history that is none',
      () => new HistoryManager({ strategy: newest }).prepareMessages({ history: 5 as never, budget: 1 }),
    ],
    [
      'a strategy that answers no list',
      () =>
        new HistoryManager({ strategy: { apply: () => 5 as never } }).prepareMessages({ history, budget: 1 }),
    ],
    [
      'evicted messages that are none',
      () => new HistoryManager({ strategy: newest }).onTurnComplete(5 as never),
    ],
  ])('refuses %s', async (what, act) => {
    expectFailure(await failureOf(act), 'INVALID_INPUT', what)
  })
})

describe('what a strategy left out', () => {
  const [a, b] = [say('user', 'same'), say('user', 'same')]

  it('tells equal texts apart', () => {
    expect(evictedOf([a, b], [b])).toEqual([a])
    expect(evictedOf([a, b], [b])[0]).toBe(a)
  })

  it('knows copies by their id', () => {
    const [first, second] = [
      { ...a, id: '1' },
      { ...b, id: '2' },
    ]
    expect(evictedOf([first, second], [{ ...first, content: 'shorter' }])).toEqual([second])
  })

  it('recognizes copies without an id by their content, the newest first', () => {
    const kept = evictedOf([a, b, say('user', 'other')], [structuredClone(b)])
    expect(kept).toEqual([a, say('user', 'other')])
    expect(kept[0]).toBe(a)
  })
})
