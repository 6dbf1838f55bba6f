import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ImportEvent, openStore, type Store } from '../../src/index.ts'
import { importFile } from '../../src/transfer/index.ts'
import { fileWith, folder } from '../transfer/support/files.ts'

let store: Store
beforeEach(async () => {
  store = await openStore(':memory:')
})
afterEach(() => store.close())

/*
 * A scripted provider: a token for four characters of what it was sent, and the system prompt and tools of the agent, which no file holds.
 */
const FIXED = 18_000
const PROSE =
  'The parser reads each line, keeps what it can use, and reports the place of every line that it has to leave out. '

type Turn = {
  readonly asked: string
  readonly answered: string
  readonly input: number
  readonly output: number
}

function turns(count: number, fixed = FIXED): Turn[] {
  let sent = 0
  return Array.from({ length: count }, (_, nth) => {
    const asked = `Question ${nth}. ${PROSE.repeat(20)}`
    const answered = `Answer ${nth}. ${PROSE.repeat(10)}`
    sent += asked.length
    const input = fixed + Math.round(sent / 4)
    sent += answered.length
    return { asked, answered, input, output: Math.round(answered.length / 4) }
  })
}

/** What the provider would count for all of it. */
const whole = (all: readonly Turn[], fixed = FIXED) =>
  fixed + Math.round(all.reduce((sum, { asked, answered }) => sum + asked.length + answered.length, 0) / 4)

const TIME = Date.parse('2026-01-01T00:00:00.000Z')
const at = (nth: number) => new Date(TIME + nth * 60_000).toISOString()
const MODEL = 'claude-sonnet-4-5'
const anthropicUsage = ({ input, output }: Turn) => ({
  input_tokens: 10,
  cache_read_input_tokens: input - 1_010,
  cache_creation_input_tokens: 1_000,
  output_tokens: output,
})

/** Each answer as two lines of one response, of which the first has the output so far, as Claude Code writes them. */
const claudeCodeLines = (all: readonly Turn[]) =>
  all.flatMap((turn, nth) => {
    const base = { sessionId: 'S', isSidechain: false, cwd: '/work', version: '2.1.0' }
    const message = { id: `msg_${nth}`, type: 'message', role: 'assistant', model: MODEL }
    const usage = anthropicUsage(turn)
    const half = turn.answered.length / 2
    const block = (text: string) => [{ type: 'text', text }]
    return [
      {
        ...{ ...base, type: 'user', uuid: `u${nth}`, parentUuid: nth === 0 ? null : `b${nth - 1}` },
        ...{ timestamp: at(2 * nth), message: { role: 'user', content: turn.asked } },
      },
      {
        ...{ ...base, type: 'assistant', uuid: `a${nth}`, parentUuid: `u${nth}`, timestamp: at(2 * nth + 1) },
        message: {
          ...message,
          content: block(turn.answered.slice(0, half)),
          usage: { ...usage, output_tokens: 1 },
        },
      },
      {
        ...{ ...base, type: 'assistant', uuid: `b${nth}`, parentUuid: `a${nth}`, timestamp: at(2 * nth + 1) },
        message: { ...message, content: block(turn.answered.slice(half)), usage, stop_reason: 'end_turn' },
      },
    ]
  })

const piLines = (all: readonly Turn[]) => [
  { type: 'session', version: 3, id: 'S', timestamp: at(0), cwd: '/work' },
  ...all.flatMap(({ asked, answered, input, output }, nth) => [
    {
      ...{
        type: 'message',
        id: `u${nth}`,
        parentId: nth === 0 ? null : `a${nth - 1}`,
        timestamp: at(2 * nth),
      },
      message: { role: 'user', content: asked, timestamp: TIME },
    },
    {
      ...{ type: 'message', id: `a${nth}`, parentId: `u${nth}`, timestamp: at(2 * nth + 1) },
      message: {
        ...{ role: 'assistant', api: 'anthropic-messages', provider: 'anthropic', model: MODEL },
        content: [{ type: 'text', text: answered }],
        usage: {
          input: 10,
          output,
          cacheRead: input - 1_010,
          cacheWrite: 1_000,
          totalTokens: input + output,
        },
        ...{ stopReason: 'stop', timestamp: TIME },
      },
    },
  ]),
]

/** Responses of the Messages API, as a program logs them. */
const anthropicLines = (all: readonly Turn[]) =>
  all.flatMap((turn, nth) => [
    { role: 'user', content: turn.asked },
    {
      ...{ id: `msg_${nth}`, type: 'message', role: 'assistant', model: MODEL, stop_reason: 'end_turn' },
      content: [{ type: 'text', text: turn.answered }],
      usage: anthropicUsage(turn),
    },
  ])

const neutral = (metadataOf: (turn: Turn, nth: number) => object) => (all: readonly Turn[]) =>
  all.flatMap((turn, nth) => [
    { role: 'user', content: turn.asked },
    { role: 'assistant', content: turn.answered, metadata: metadataOf(turn, nth) },
  ])

const clineElements = (all: readonly Turn[], more: (turn: Turn, nth: number) => object) =>
  all.flatMap((turn, nth) => [
    { role: 'user', content: [{ type: 'text', text: turn.asked }] },
    { role: 'assistant', content: [{ type: 'text', text: turn.answered }], ...more(turn, nth) },
  ])

/** Displayed messages: each request is displayed before its messages are in the history. */
const shown = (all: readonly Turn[], report: (turn: Turn) => object, withModel: boolean) =>
  all.flatMap((turn, nth) => [
    {
      ...{
        ts: TIME + 2 * nth * 60_000,
        type: 'say',
        say: 'api_req_started',
        text: JSON.stringify(report(turn)),
      },
      conversationHistoryIndex: 2 * nth - 1,
      ...(withModel && { modelInfo: { modelId: MODEL, providerId: 'anthropic' } }),
    },
    {
      ts: TIME + (2 * nth * 60_000 + 10),
      type: 'say',
      say: 'text',
      text: 'x',
      conversationHistoryIndex: 2 * nth,
    },
  ])

async function taskWith(files: { readonly [name: string]: object }): Promise<string> {
  const root = await folder()
  const task = join(root, '1735689600000')
  await mkdir(task)
  for (const [name, content] of Object.entries(files))
    await writeFile(join(task, name), JSON.stringify(content))
  return join(task, 'api_conversation_history.json')
}

type Case = {
  readonly source: string
  readonly file: (all: readonly Turn[]) => Promise<string>
  readonly model: { readonly provider: string; readonly model?: string }
  /** Whether cached tokens are reported, and whether writes apart from reads. */
  readonly cached: 'both' | 'together' | 'none'
}

const CLAUDE = { provider: 'anthropic', model: MODEL }

const CASES: readonly Case[] = [
  {
    source: 'claude-code',
    file: (all) => fileWith('S.jsonl', claudeCodeLines(all)),
    model: CLAUDE,
    cached: 'both',
  },
  { source: 'pi', file: (all) => fileWith('S.jsonl', piLines(all)), model: CLAUDE, cached: 'both' },
  {
    source: 'anthropic',
    file: (all) => fileWith('S.jsonl', anthropicLines(all)),
    model: CLAUDE,
    cached: 'both',
  },
  {
    source: 'messages with usage_metadata of LangChain',
    file: (all) =>
      fileWith(
        'S.jsonl',
        neutral(({ input, output }) => ({
          langchain: {
            usage_metadata: {
              ...{ input_tokens: input, output_tokens: output, total_tokens: input + output },
              input_token_details: { cache_read: input - 1_010, cache_creation: 1_000 },
            },
            response_metadata: { model_name: MODEL, model_provider: 'anthropic' },
          },
        }))(all),
      ),
    model: CLAUDE,
    cached: 'both',
  },
  {
    source: 'messages with usage of Chat Completions',
    file: (all) =>
      fileWith(
        'S.jsonl',
        neutral(({ input, output }) => ({
          usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
        }))(all),
      ),
    model: { provider: 'openai' },
    cached: 'none',
  },
  {
    source: 'messages with usage of the AI SDK',
    file: (all) =>
      fileWith(
        'S.jsonl',
        neutral(({ input, output }) => ({
          totalUsage: {
            ...{ inputTokens: input, outputTokens: output, totalTokens: input + output },
            inputTokenDetails: { cacheReadTokens: input - 1_010, cacheWriteTokens: 1_000 },
          },
        }))(all),
      ),
    model: { provider: 'openai' },
    cached: 'both',
  },
  {
    source: 'cline, with displayed messages',
    file: (all) =>
      taskWith({
        'api_conversation_history.json': clineElements(all, () => ({})),
        'ui_messages.json': shown(
          all,
          ({ input, output }) => ({
            ...{ tokensIn: 10, tokensOut: output, cacheReads: input - 1_010, cacheWrites: 1_000, cost: 0.1 },
          }),
          true,
        ),
        'task_metadata.json': { model_usage: [{ model_id: MODEL, model_provider_id: 'anthropic' }] },
      }),
    model: CLAUDE,
    cached: 'both',
  },
  {
    source: 'cline, with metrics',
    file: (all) =>
      taskWith({
        'api_conversation_history.json': clineElements(all, ({ input, output }, nth) => ({
          ts: TIME + nth,
          modelInfo: { modelId: MODEL, providerId: 'anthropic' },
          metrics: { tokens: { prompt: 10, completion: output, cached: input - 10 }, cost: 0.1 },
        })),
      }),
    model: CLAUDE,
    cached: 'together',
  },
  {
    source: 'roo, whose input includes cached tokens',
    file: (all) =>
      taskWith({
        'api_conversation_history.json': clineElements(all, () => ({})).map((one, nth) => ({
          ...one,
          ts: TIME + nth * 60_000 + 20,
        })),
        'ui_messages.json': shown(
          all,
          ({ input, output }) => ({
            ...{
              tokensIn: input,
              tokensOut: output,
              cacheReads: input - 1_010,
              cacheWrites: 1_000,
              cost: 0.1,
            },
          }),
          false,
        ),
      }),
    model: { provider: 'openai' },
    cached: 'both',
  },
]

const sum = (all: readonly number[]) => all.reduce((total, each) => total + each, 0)

describe('the usage in an imported file', () => {
  it.each(CASES)('of $source is the usage of its session', async ({ file, model, cached }) => {
    const all = turns(6)
    const { conversations } = await importFile(store, await file(all))
    expect(conversations).toMatchObject([{ status: 'imported' }])
    const { sessionId } = conversations[0] as { sessionId: string }
    const inputs = sum(all.map(({ input }) => input))
    const apart = {
      both: { inputTokens: 60, cacheReadTokens: inputs - 6 * 1_010, cacheCreationTokens: 6_000 },
      together: { inputTokens: 60, cacheReadTokens: inputs - 60, cacheCreationTokens: 0 },
      none: { inputTokens: inputs, cacheReadTokens: 0, cacheCreationTokens: 0 },
    }[cached]
    const { models, total } = await store.requests.usage(sessionId)
    expect(models).toMatchObject([
      { ...model, ...apart, requests: 6, outputTokens: sum(all.map(({ output }) => output)) },
    ])
    if (model === CLAUDE) expect(total.cost).toBeGreaterThan(0)
  })

  it.each(CASES)('of $source makes its stats right within 5 %', async ({ file }) => {
    const all = turns(6)
    const { conversations } = await importFile(store, await file(all))
    const { sessionId } = conversations[0] as { sessionId: string }
    const stats = (await store.getContextStats(sessionId))!
    expect(stats.source).toBe('measured+estimated')
    expect(stats.measured).toMatchObject({ inputTokens: all.at(-1)!.input, isCurrent: true })
    expect(Math.abs(stats.estimatedInputTokens / whole(all) - 1)).toBeLessThan(0.05)
    // What the agent sends with the messages stays known after a change of the view.
    const first = (await store.getMessages(sessionId, { limit: 4 }))
      .filter(({ role }) => role !== 'tool')
      .slice(0, 2)
    await store.compactions.hide(
      sessionId,
      first.map(({ id }) => id),
    )
    const after = (await store.getContextStats(sessionId))!
    const hidden = first.map(({ content }) =>
      typeof content === 'string'
        ? content
        : content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    )
    const rest = whole(all) - Math.round(sum(hidden.map((text) => text.length)) / 4)
    expect(Math.abs(after.estimatedInputTokens / rest - 1)).toBeLessThan(0.1)
  })

  it('counts once, however often a growing file is imported, also when a response grows', async () => {
    const all = turns(4)
    const lines = claudeCodeLines(all)
    const root = await folder()
    const path = join(root, 'S.jsonl')
    const write = (count: number) =>
      writeFile(
        path,
        lines
          .slice(0, count)
          .map((line) => `${JSON.stringify(line)}\n`)
          .join(''),
      )
    // The last line of the second answer is not there yet.
    await write(5)
    await importFile(store, path)
    await importFile(store, path)
    expect((await store.requests.usage('S')).total).toMatchObject({
      requests: 2,
      outputTokens: all[0]!.output + 1,
    })
    await write(lines.length)
    await importFile(store, path)
    await importFile(store, path)
    expect((await store.requests.usage('S')).total).toMatchObject({
      requests: 4,
      outputTokens: sum(all.map(({ output }) => output)),
    })
    expect((await store.getContextStats('S'))!.measured!.inputTokens).toBe(all[3]!.input)
  })

  it('is that of the last request where it is beside the messages', async () => {
    const messages = [
      { role: 'user', content: 'What is in the file?' },
      { role: 'assistant', content: 'A parser.' },
    ]
    const usage = { prompt_tokens: 900, completion_tokens: 5, total_tokens: 905 }
    await importFile(store, await fileWith('S.json', { messages, model: 'gpt-4o', usage }))
    expect((await store.requests.usage('S')).models).toMatchObject([
      { provider: 'openai', model: 'gpt-4o', requests: 1, inputTokens: 900, outputTokens: 5 },
    ])
    expect((await store.getContextStats('S'))!.measured).toMatchObject({ inputTokens: 900 })
  })

  it('of another branch counts in one session only', async () => {
    const all = turns(3)
    const lines = piLines(all)
    const [other] = turns(1)
    const branch = [
      { ...lines[3], id: 'u9', parentId: 'a0' },
      { ...lines[4], id: 'a9', parentId: 'u9' },
    ]
    const path = await fileWith('S.jsonl', [lines[0]!, ...lines.slice(1, 3), ...branch, ...lines.slice(3)])
    const { conversations } = await importFile(store, path, { branches: true })
    const ids = conversations.map(({ sessionId }) => sessionId!)
    const requests = await Promise.all(ids.map(async (id) => (await store.requests.usage(id)).total.requests))
    expect(other).toBeDefined()
    expect(requests).toEqual([3, 1])
  })

  it('counts for the view of its request: before a compaction, and after it', async () => {
    const all = turns(4)
    const usage = (turn: Turn) => ({ inputTokens: turn.input, outputTokens: turn.output })
    const spoken = (list: readonly Turn[]): ImportEvent[] =>
      list.flatMap((turn): ImportEvent[] => [
        { type: 'message', message: { role: 'user', content: turn.asked } },
        { type: 'message', message: { role: 'assistant', content: turn.answered }, usage: usage(turn) },
      ])
    const events: ImportEvent[] = [
      { type: 'fields', ...CLAUDE },
      ...spoken(all),
      {
        type: 'compaction',
        compaction: { id: 'c', kind: 'condense', covers: [[1, 6]], text: 'They talked about a parser.' },
      },
    ]
    await store.sessions.import(events, { id: 'S', source: 'elsewhere' })
    const stats = (await store.getContextStats('S'))!
    const last = all.at(-1)!
    const rest = FIXED + Math.round((last.asked.length + last.answered.length) / 4)
    expect(stats.measured).toMatchObject({ inputTokens: last.input, isCurrent: false })
    expect(Math.abs(stats.estimatedInputTokens / rest - 1)).toBeLessThan(0.05)
    expect((await store.requests.usage('S')).total).toMatchObject({ requests: 4 })
  })

  it('is refused when it is no usage, and nothing is written', async () => {
    const events = [
      { type: 'message', message: { role: 'assistant', content: 'x' }, usage: { inputTokens: -1 } },
    ] as unknown as ImportEvent[]
    await expect(store.sessions.import(events, { id: 'S', source: 'elsewhere' })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
    expect(await store.sessions.list()).toEqual([])
  })
})
