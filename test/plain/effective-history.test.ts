import { expect, it } from 'vitest'
import {
  filterEffectiveHistory,
  getEffectiveHistory,
  removeDanglingTags,
} from '../../src/compat/arrays/index.ts'
import { openStore } from '../../src/index.ts'
import { deepFreeze, talk } from './support.ts'

const [m0, m1, m2, m3] = talk(4) as [
  ReturnType<typeof talk>[0],
  ReturnType<typeof talk>[0],
  ReturnType<typeof talk>[0],
  ReturnType<typeof talk>[0],
]
const summary = {
  id: 's',
  role: 'system',
  content: 'sum',
  condenseId: 'c',
  metadata: { isSummary: true },
} as const
const marker = { id: 't', role: 'system', content: '…', truncationId: 't', isTruncationMarker: true } as const

it('leaves out both kinds of parent, and changes nothing it was given [S3-150 S3-152]', () => {
  const messages = deepFreeze([
    { ...m0, condenseParent: 'c' },
    summary,
    { ...m1, truncationParent: 't' },
    marker,
    m2,
    { ...m3, condenseParent: 'c', truncationParent: 't' },
  ])
  const visible = getEffectiveHistory(messages)
  expect(visible).toEqual([summary, marker, m2])
  expect(messages).toHaveLength(6)
  expect(filterEffectiveHistory).toBe(getEffectiveHistory)
})

it('a message without the fields is visible as it is, whatever else it carries [S3-138]', () => {
  const message = { role: 'user', content: 'hi', timestamp: '2026-01-01', events: [{ type: 'x' }] }
  expect(getEffectiveHistory([message])).toEqual([message])
  expect(getEffectiveHistory([message])[0]).toBe(message)
})

it('hides what has a parent whose summary is not there yet [S3-152]', () => {
  expect(getEffectiveHistory([{ ...m0, condenseParent: 'c' }, m1])).toEqual([m1])
})

it('shows a dangling parent when asked to, by Roo Code’s rule [S3-U11]', () => {
  const messages = [
    { ...m0, condenseParent: 'gone' },
    { ...m1, truncationParent: 'gone' },
    { ...m2, condenseParent: 'c' },
    summary,
    { ...m3, truncationParent: 't' },
    marker,
  ]
  expect(getEffectiveHistory(messages, { danglingParents: 'visible' })).toEqual([
    messages[0],
    messages[1],
    summary,
    marker,
  ])
  expect(getEffectiveHistory(messages, { danglingParents: 'hidden' })).toEqual([summary, marker])
})

it('an id alone owns nothing: it takes the mark of a summary or of a marker [S3-U11]', () => {
  const messages = [
    { ...m0, condenseParent: 'c' },
    { role: 'user', content: 'x', condenseId: 'c' },
    { ...m1, truncationParent: 't' },
    { role: 'user', content: 'y', truncationId: 't' },
  ]
  expect(getEffectiveHistory(messages, { danglingParents: 'visible' })).toEqual(messages)
})

it('a hidden summary still owns what it hid [S3-U11]', () => {
  const outer = { ...summary, id: 's2', condenseId: 'c2' }
  const messages = [{ ...m0, condenseParent: 'c' }, { ...summary, condenseParent: 'c2' }, outer]
  expect(getEffectiveHistory(messages, { danglingParents: 'visible' })).toEqual([outer])
})

it('deleting a summary from the list never loses a message, once dangling tags are taken away [S3-U11]', () => {
  const messages = deepFreeze([{ ...m0, condenseParent: 'c' }, { ...m1, truncationParent: 't' }, marker, m2])
  const cleaned = removeDanglingTags(messages)
  expect(cleaned).toEqual([m0, messages[1], marker, m2])
  expect(removeDanglingTags(cleaned.filter((message) => message !== marker))).toEqual([m0, m1, m2])
})

it('leaves out rows of a store that are retired, and takes empty tags for none', () => {
  const retired = [{ ...summary, retiredBy: 'c' }, m0]
  expect(getEffectiveHistory(retired)).toEqual([m0])
  expect(getEffectiveHistory(retired, { danglingParents: 'visible' })).toEqual([m0])
  const empty = { ...m1, condenseParent: '', truncationParent: '' }
  expect(getEffectiveHistory([empty])).toEqual([empty])
})

it('of the rows of a store is that store’s view, before and after undo [S3-152 S3-U11]', async () => {
  const store = await openStore(':memory:', { estimator: 'neurolink' })
  try {
    await store.append(
      's',
      talk(60, 200).map(({ role, content }) => ({ role: role as 'user', content: content as string })),
    )
    const ids = (messages: readonly { readonly id: string }[]): string[] => messages.map(({ id }) => id)
    const viewOf = async (): Promise<string[]> => ids(await store.getEffectiveHistory('s'))
    const { runId } = (await store.compactSession('s', { targetTokens: 1_500, keepRecentTokens: 450 }))!
    await store.compactSession('s', { targetTokens: 600, enableSummarize: false })
    expect(await viewOf()).not.toHaveLength(60)
    expect(ids(getEffectiveHistory(await store.getMessages('s')))).toEqual(await viewOf())
    await store.undoCompaction('s', runId, { cascade: true })
    expect(await viewOf()).toHaveLength(60)
    expect(ids(getEffectiveHistory(await store.getMessages('s')))).toEqual(await viewOf())
  } finally {
    await store.close()
  }
})

it('refuses a misspelled option', () => {
  expect(() => getEffectiveHistory([], { dangling: 'visible' } as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT' }),
  )
})
