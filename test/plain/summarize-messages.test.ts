import { describe, expect, it } from 'vitest'
import {
  getEffectiveHistory,
  KEEP_RECENT_RATIO,
  removeCondensationTags,
  summarizeMessages,
} from '../../src/compat/arrays/index.ts'
import type { ChatMessage } from '../../src/core/model/message-parts.ts'
import { SUMMARY_SECTIONS } from '../../src/core/summarizers/summarizer.ts'
import { call, deepFreeze, failing, places, result, saying, system, talk, user } from './support.ts'

it.each([
  { n: 5, ratio: undefined, kept: 4 },
  { n: 13, ratio: undefined, kept: 4 },
  { n: 14, ratio: undefined, kept: 5 },
  { n: 20, ratio: undefined, kept: 6 },
  { n: 20, ratio: 0.5, kept: 10 },
  { n: 20, ratio: 0, kept: 4 },
  { n: 20, ratio: 0.95, kept: 19 },
])(
  'of $n messages at ratio $ratio keeps the last $kept after the summary [S3-115 S3-119 S3-122 S3-125]',
  async ({ n, ratio, kept }) => {
    const messages = talk(n, 200)
    const outcome = await summarizeMessages(messages, {
      summarizer: saying('short'),
      ...(ratio !== undefined && { keepRecentRatio: ratio }),
    })
    expect(outcome.summarized).toBe(true)
    expect(outcome.messages[0]!.content).toBe('short')
    expect(outcome.messages.slice(1)).toEqual(messages.slice(n - kept))
    expect(KEEP_RECENT_RATIO).toBe(0.3)
  },
)

it('leaves four messages or fewer unchanged and calls no model [S3-121 S3-124]', async () => {
  const summarizer = saying('short')
  const messages = talk(4, 2_000)
  const outcome = await summarizeMessages(messages, { summarizer })
  expect(outcome).toEqual({ summarized: false, messages, tagged: messages, condenseIds: [] })
  expect(summarizer.asked).toEqual([])
})

it('the summary is a system message with isSummary, and its originals name it [S3-127 S3-141 S3-145 S3-146]', async () => {
  const messages = talk(10)
  const { messages: left, tagged, condenseIds } = await summarizeMessages(messages)
  const [summary] = left
  expect(summary).toMatchObject({ role: 'system', metadata: { isSummary: true } })
  expect(summary!.condenseId).toMatch(/^[0-9a-f-]{36}$/)
  expect(condenseIds).toEqual([summary!.condenseId])
  const originals = tagged.filter(({ condenseParent }) => condenseParent === summary!.condenseId)
  expect(places(originals, messages)).toEqual([0, 1, 2, 3, 4, 5])
  expect(getEffectiveHistory(tagged)).toEqual(left)
})

it('each condensation has an id of its own [S3-140]', async () => {
  const [one, two] = [await summarizeMessages(talk(10)), await summarizeMessages(talk(10))]
  expect(one.condenseIds).not.toEqual(two.condenseIds)
})

it('taking its tags away gives the list that was [S3-151]', async () => {
  const messages = deepFreeze(talk(20))
  const { tagged, condenseIds } = await summarizeMessages(messages)
  expect(removeCondensationTags(tagged, condenseIds[0]!)).toEqual(messages)
})

it('asks for the sections of the setting: nine in the seed’s profile [S3-114 S3-116]', async () => {
  const summarizer = saying('short')
  await summarizeMessages(talk(10), { summarizer, summarySections: SUMMARY_SECTIONS.slice(0, 9) })
  expect(summarizer.asked[0]!.sections).toHaveLength(9)
  await summarizeMessages(talk(10), { summarizer })
  expect(summarizer.asked[1]!.sections).toEqual(SUMMARY_SECTIONS)
})

it('provider and model reach the call [S3-117 S3-118]', async () => {
  const summarizer = saying('short')
  await summarizeMessages(talk(10), { summarizer, provider: 'vertex', model: 'gemini-2.5-flash' })
  expect(summarizer.asked[0]).toMatchObject({ provider: 'vertex', model: 'gemini-2.5-flash' })
})

it('the memory config reaches the call, and supplies provider and model [S3-120]', async () => {
  const summarizer = saying('short')
  const memoryConfig = { summarizationProvider: 'vertex', summarizationModel: 'm', tokenThreshold: 7 }
  await summarizeMessages(talk(10), { summarizer, memoryConfig, model: 'mine' })
  expect(summarizer.asked[0]).toMatchObject({ provider: 'vertex', model: 'mine', memoryConfig })
})

it('summaryText is the summarizer’s text alone; the message also tells what tools did [S3-123]', async () => {
  const messages = [
    user('read it'),
    call('read_file', { path: 'src/a.ts' }),
    result('read_file', 'x'.repeat(4_000)),
  ]
  const outcome = await summarizeMessages([...messages, ...talk(8)], {
    summarizer: saying('They read a file.'),
  })
  expect(outcome.summaryText).toBe('They read a file.')
  expect(outcome.messages[0]!.content).toMatch(/^They read a file\.\n\n[\s\S]*src\/a\.ts/)
})

it('summaryText has no notes and no lines that the log added to the message', async () => {
  const told = [user('Never rename what is public in this package.'), ...talk(12, 200)]
  const summarizer = { ...saying('They talked.'), usesModel: true }
  const { summaryText, messages } = await summarizeMessages(told, { summarizer })
  expect(summaryText).toBe('They talked.')
  expect(messages[0]!.content).toMatch(/^They talked\.\n\n[\s\S]*Never rename what is public/)
})

it('finds an earlier summary and merges it: only one is visible afterwards [S3-126]', async () => {
  const first = await summarizeMessages(talk(10), { summarizer: saying('first summary') })
  const summarizer = saying('second summary')
  const more = talk(12).map((message) => ({ ...message, id: `n${message.id}` }))
  const second = await summarizeMessages([...first.messages, ...more], { summarizer })
  expect(summarizer.asked[0]!.previousSummary).toBe('first summary')
  expect(summarizer.asked[0]!.messages.every(({ kind }) => kind === 'message')).toBe(true)
  expect(second.messages.filter(({ metadata }) => metadata?.isSummary === true)).toHaveLength(1)
  expect(second.messages[0]!.content).toBe('second summary')
})

it('carries on what tools did, round by round [S3-126]', async () => {
  const used = [user('q'), call('read_file', { path: 'src/a.ts' }), result('read_file', 'x'.repeat(4_000))]
  const first = await summarizeMessages([...used, ...talk(8, 400)], { summarizer: saying('one') })
  const second = await summarizeMessages([...first.messages, ...talk(12, 400)], { summarizer: saying('two') })
  expect(second.summaryText).toBe('two')
  expect(second.messages[0]!.content).toContain('src/a.ts')
})

it('runs no other stage [S3-115]', async () => {
  const output = 'x'.repeat(200_000)
  const messages = [
    ...[1, 2].flatMap(() => [call('read_file', { path: 'a.ts' }), result('read_file', output)]),
    ...talk(6),
    ...[1, 2].flatMap(() => [call('read_file', { path: 'a.ts' }), result('read_file', output)]),
  ]
  const summarizer = saying('short')
  const { messages: left } = await summarizeMessages(messages, { summarizer })
  expect(left.slice(1)).toEqual(messages.slice(-5))
  expect(JSON.stringify(summarizer.asked[0]!.messages).length).toBeGreaterThan(2 * output.length)
})

it('over tagged messages it nests: undoing the outer shows the inner summary [S3-126 S3-U11]', async () => {
  const inner = await summarizeMessages(talk(10), { summarizer: saying('inner') })
  const outer = await summarizeMessages([...inner.tagged, ...talk(12)], { summarizer: saying('outer') })
  expect(outer.messages[0]!.content).toBe('outer')
  const undone = removeCondensationTags(outer.tagged, outer.condenseIds[0]!)
  expect(undone).toEqual([...inner.tagged, ...talk(12)])
  expect(getEffectiveHistory(undone)[0]!.content).toBe('inner')
})

describe('nothing is hidden when the summary [S3-121 C-32]', () => {
  const messages = talk(10)
  it.each([
    { why: 'fails', summarizer: failing, failure: 'Error' },
    { why: 'is empty', summarizer: saying('  '), failure: 'EMPTY_SUMMARY' },
    {
      why: 'is larger than what it stands for',
      summarizer: saying('x'.repeat(4_000)),
      failure: 'SUMMARY_NOT_SMALLER',
    },
  ])('$why', async ({ summarizer, failure }) => {
    expect(await summarizeMessages(messages, { summarizer })).toEqual({
      summarized: false,
      messages,
      tagged: messages,
      condenseIds: [],
      failure,
    })
  })

  it('fails, unless the offline one may step in', async () => {
    const outcome = await summarizeMessages(talk(10, 400), { summarizer: failing, offlineFallback: true })
    expect(outcome).toMatchObject({ summarized: true, failure: 'Error' })
  })
})

it('leaves system messages where they are and hides none of them [C-08]', async () => {
  const messages = [system('You help.'), ...talk(9)]
  const { messages: left } = await summarizeMessages(messages, { summarizer: saying('short') })
  expect(left.map(({ content }) => content).slice(0, 2)).toEqual(['You help.', 'short'])
  expect(left.slice(2)).toEqual(messages.slice(6))
})

it('never cuts between a call and its result, and hands the summarizer whole pairs [C-35 S3-U12]', async () => {
  const pair = [call('look'), result('look', 'found')]
  const messages: ChatMessage[] = [...talk(5), ...pair, ...talk(3)]
  const summarizer = saying('short')
  const { messages: left } = await summarizeMessages(messages, { summarizer })
  // Four would be kept; the fourth from the end is the result, so its call stays too.
  expect(left.slice(1)).toEqual(messages.slice(5))
  const asked = [...talk(6), ...pair, ...talk(4)]
  await summarizeMessages(asked, { summarizer })
  const types = summarizer.asked[1]!.messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.map(({ type }) => type),
  )
  expect(types.slice(-2)).toEqual(['tool-call', 'tool-result'])
})

it('changes no input, and refuses a misspelled option', async () => {
  const messages = deepFreeze(talk(10))
  await summarizeMessages(messages)
  await expect(summarizeMessages(messages, { keepRatio: 0.3 } as never)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
})

it('stops on an abort', async () => {
  const signal = AbortSignal.abort()
  await expect(summarizeMessages(talk(10), { signal })).rejects.toMatchObject({ code: 'ABORTED' })
})
