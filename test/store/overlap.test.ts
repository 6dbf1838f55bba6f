import { beforeEach, expect, it } from 'vitest'
import { type NewMessage, openStore, type Store } from '../../src/index.ts'

/*
 * Two compactions in force that replace the same parts: of rows with one result, and of a row with two of which the
 * later one replaces only what the first left. What shows is the newest in force, whatever the order of undo and redo.
 */

let store: Store
let ids: { a: string; b: string }

const LONG = 'some output of a tool '.repeat(40)

function call(...toolCallIds: string[]): NewMessage[] {
  return [
    {
      role: 'assistant',
      content: toolCallIds.map((toolCallId) => ({
        type: 'tool-call' as const,
        toolCallId,
        toolName: 'bash',
        input: {},
      })),
    },
    {
      role: 'tool',
      content: toolCallIds.map((toolCallId) => ({
        type: 'tool-result' as const,
        toolCallId,
        toolName: 'bash',
        output: { type: 'text' as const, value: `${toolCallId} ${LONG}` },
      })),
    },
  ]
}

async function prune(placeholder: string): Promise<string> {
  const result = await store.compactSession('s', {
    targetTokens: 0,
    pruneProtectTokens: 0,
    pruneMinimumSavings: 0,
    prunePlaceholder: placeholder,
    enableDeduplicate: false,
    enableSummarize: false,
    enableTruncate: false,
  })
  return result!.compactions[0]!.id
}

/** What the results show: a placeholder, or "whole" for the original. */
async function shown(): Promise<string[]> {
  expect((await store.sessions.verify('s')).findings).toEqual([])
  const view = await store.getEffectiveHistory('s')
  return view.flatMap(({ content }) =>
    typeof content === 'string'
      ? []
      : content.flatMap((part) => {
          if (part.type !== 'tool-result' || part.output.type !== 'text') return []
          return part.output.value.includes(LONG) ? 'whole' : part.output.value
        }),
  )
}

beforeEach(async () => {
  store = await openStore(':memory:')
  await store.append('s', [{ role: 'user', content: 'go on' }, ...call('one'), ...call('two', 'three')])
  const a = await prune('A')
  await store.undoCompaction('s', a)
  await store.append('s', call('four'))
  const b = await prune('B')
  await store.redoCompaction('s', a)
  ids = { a, b }
})

it('shows the newest in force', async () => {
  expect(await shown()).toEqual(['B', 'B', 'B', 'B'])
})

it('shows the older one when the newer is undone, and the newer again when it is redone', async () => {
  await store.undoCompaction('s', ids.b)
  expect(await shown()).toEqual(['A', 'A', 'A', 'whole'])
  await store.redoCompaction('s', ids.b)
  expect(await shown()).toEqual(['B', 'B', 'B', 'B'])
})

it('changes nothing when the older one goes and comes', async () => {
  await store.undoCompaction('s', ids.a)
  expect(await shown()).toEqual(['B', 'B', 'B', 'B'])
  await store.redoCompaction('s', ids.a)
  expect(await shown()).toEqual(['B', 'B', 'B', 'B'])
})

it('holds with a third one in force', async () => {
  await store.undoCompaction('s', ids.a)
  await store.undoCompaction('s', ids.b)
  const c = await prune('C')
  await store.redoCompaction('s', ids.b)
  await store.redoCompaction('s', ids.a)
  expect(await shown()).toEqual(['C', 'C', 'C', 'C'])
  await store.undoCompaction('s', c)
  expect(await shown()).toEqual(['B', 'B', 'B', 'B'])
  await store.undoCompaction('s', ids.b)
  expect(await shown()).toEqual(['A', 'A', 'A', 'whole'])
  await store.redoCompaction('s', c)
  expect(await shown()).toEqual(['C', 'C', 'C', 'C'])
  await store.undoCompaction('s', ids.a)
  await store.undoCompaction('s', c)
  expect(await shown()).toEqual(['whole', 'whole', 'whole', 'whole'])
})

it('counts what it shows', async () => {
  const tokens = async (): Promise<number> => (await store.getContextStats('s'))!.estimatedInputTokens
  const both = await tokens()
  await store.undoCompaction('s', ids.b)
  await store.undoCompaction('s', ids.a)
  const whole = await tokens()
  await store.redoCompaction('s', ids.a)
  const onlyA = await tokens()
  expect(both).toBeLessThan(onlyA)
  expect(onlyA).toBeLessThan(whole)
  await store.redoCompaction('s', ids.b)
  expect(await tokens()).toBe(both)
})
