import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'
import { call, result, say } from '../support/conversation.ts'
import { asRecord } from '../support/record.ts'

let small: SmallStore
let ids: string[]
beforeAll(async () => {
  small = await smallStore()
  ids = await small.change(async (store) => {
    const found: string[] = []
    const turns = [
      [{ prompt: 'Is it hot?', system: 'Be brief.', tools: [{ name: 'look' }] }, [call('c2', 'look', {})]],
      [{ prompt: [result('c2', 'steam', 'look')] }, [say('assistant', 'Very hot.')]],
    ] as const
    for (const [options, messages] of turns) {
      const request = await store.prepareRequest('talk', options as never)
      const usage = { inputTokens: 1_200, cacheReadTokens: 34, outputTokens: 5 }
      found.push((await store.recordResponse('talk', { request, messages, usage })).requestId!)
    }
    // What is compacted afterwards is shown as it was sent.
    await store.compactSession('talk', { range: { from: 8, to: 11 }, summary: 'It is hot.' })
    return found
  })
})
afterAll(() => small.remove())

const requests = async (...argv: string[]) => runCli(['requests', ...argv, '--db', small.path])

it('lists when, to which model, how much of the history, where the answer is, and what was billed', async () => {
  const { lines, exit } = await requests('talk')
  expect(exit).toBe(0)
  expect(lines.map((line) => line.replace(/\d{4}-\d\d-\d\dT\S+/, 'TIME').split(/\s+/))).toEqual([
    ['ID', 'SENT', 'MODEL', 'HISTORY', 'ANSWER', 'INPUT', 'CACHED', 'OUTPUT'],
    ['r1', 'TIME', 'openai/gpt-4o', '1–8', '10', '1,234', '34', '5'],
    ['r2', 'TIME', 'openai/gpt-4o', '1–10', '12', '1,234', '34', '5'],
  ])
  expect((await requests('talk', '--limit', '1')).lines).toHaveLength(2)
  expect((await requests('talk', '--after', 'r1', '--json')).json).toMatchObject({
    requests: [{ id: ids[1] }],
    more: false,
  })
  expect((await requests('older')).lines).toEqual(['No requests are recorded.'])
})

it('shows what a model was sent, by number, by id, and by a message that it produced', async () => {
  const { lines, exit } = await requests('talk', '1')
  expect(exit).toBe(0)
  expect(lines[0]).toMatch(/^r1 to openai\/gpt-4o, .*, 1,234 tokens in, 5 out, \$0\.0031, answer at 10$/)
  expect(lines.slice(1)).toEqual([
    'These are the bytes that were sent.',
    '',
    'system',
    '  Be brief.',
    '',
    'tools',
    '  look',
    '',
    'user',
    ...asRecord('The plug was out.')
      .split('\n')
      .map((line) => `  ${line}`),
    '',
    'user',
    '  Put it in.',
    '',
    'assistant',
    '  Done.',
    '',
    'user',
    '  Thank you',
    '',
    'assistant',
    '  It boils.',
    '',
    'user',
    '  Is it hot?',
  ])
  const same = [['r1'], [ids[0]!], ['--answer', '10']]
  for (const words of same) expect((await requests('talk', ...words)).lines).toEqual(lines)
  const { json } = await requests('talk', '@', '--json')
  expect(json).toMatchObject({ session: 'talk', request: { id: ids[1], matches: true, reason: null } })
})

it('says that a request, or the request of a message, is not recorded', async () => {
  for (const words of [['r9'], ['nothing'], ['--answer', '2']]) {
    const { exit, err } = await requests('talk', ...words)
    expect(exit).toBe(3)
    expect(err).toContain('has no recorded request')
  }
  expect((await requests('older', '@')).err).toContain('has no recorded request.')
})

it('names what changed before reasoning that its model checks', async () => {
  const model = { provider: 'anthropic', model: 'claude-opus-5-5' }
  await small.change(async (store) => {
    for (const system of ['Be brief.', 'Be brief.', 'Be long.']) {
      const request = await store.prepareRequest('thinks', {
        ...model,
        system,
        prompt: 'Is it so?',
        auto: false,
      })
      const signed = {
        type: 'reasoning',
        text: 'Hm.',
        providerOptions: { anthropic: { signature: 's' } },
      } as const
      const messages = [{ role: 'assistant', content: [signed, { type: 'text', text: 'Yes.' }] }] as const
      await store.recordResponse('thinks', { request, messages, auto: false })
    }
  })
  const { lines } = await requests('thinks')
  expect(lines.map((line) => line.endsWith('  system'))).toEqual([false, false, false, true])
  expect(lines[0]).toMatch(/CHANGED$/)
  const [first, , third] = ((await requests('thinks', '--json')).json as { requests: { changed: object }[] })
    .requests
  expect(first!.changed).toBeNull()
  expect(third!.changed).toMatchObject({ system: true, tools: false, invalidatedReasoning: { blocks: 1 } })
  expect((await requests('thinks', 'r3')).lines[2]).toMatch(
    /^Changed since the previous request: system, invalidates 1 block \(\d+ tokens?\) of reasoning\.$/,
  )
})

it('says what was lost of the prompt cache since the request before, and why', async () => {
  const model = { provider: 'anthropic', model: 'claude-sonnet-4-5' }
  const [first] = await small.change(async (store) => {
    const found: string[] = []
    for (const [system, cacheCreationTokens] of [
      ['Be brief.', 6_000],
      ['Be long.', 6_100],
    ] as const) {
      const request = await store.prepareRequest('cached', { ...model, system, prompt: 'Is it so?' })
      const usage = { inputTokens: 10, cacheReadTokens: 0, cacheCreationTokens, outputTokens: 5 }
      const recorded = await store.recordResponse('cached', {
        request,
        messages: [say('assistant', 'Yes.')],
        usage,
      })
      found.push(recorded.requestId!)
    }
    return found
  })
  // 6,000 tokens written again at 3.75 dollars per million instead of read at 0.30.
  const { lines } = await requests('cached', '@')
  expect(lines[2]).toBe('Prompt cache lost since r1: 6,000 tokens, $0.0207 (another system prompt).')
  // 10 tokens at 3 dollars per million, 6,100 at 3.75, 5 at 15.
  expect(lines[0]).toContain('6,110 tokens in, 5 out, $0.0230')
  expect((await requests('cached', '@', '--json')).json).toMatchObject({
    request: {
      cost: expect.closeTo(0.02298, 9),
      cache: {
        before: first,
        causes: ['system'],
        compactionIds: [],
        lost: { tokens: 6_000, cost: expect.closeTo(0.0207, 9) },
      },
    },
  })
  expect((await requests('cached', 'r1')).lines[2]).toBe('')
  expect((await requests('cached', 'r1', '--json')).json).toMatchObject({
    request: { cache: { before: null, causes: ['first'], compactionIds: [], lost: null } },
  })
})
