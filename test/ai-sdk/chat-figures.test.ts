import { asSchema, streamText, type ToolSet, tool, type UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { z as old } from 'zod/v3'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { openStore } from '../../src/index.ts'
import { type Content, scripted, text } from './models.ts'

const user = (id: string, said: string): UIMessage => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text: said }],
})
/** 30 tools whose descriptions have 400 characters: at least 100 tokens each. */
const tools = Object.fromEntries(
  Array.from({ length: 30 }, (_, at) => [
    `tool_${at}`,
    tool({ description: 'x'.repeat(400), inputSchema: z.object({ at: z.string() }) }),
  ]),
)

async function open(answers: Content[][], options: Parameters<typeof chatStore>[1] = {}) {
  const store = await openStore(':memory:', { contextWindows: { openai: 8_000 } })
  const chats = chatStore<UIMessage>(store, options)
  const model = scripted(answers)
  return { store, chats, model, [Symbol.asyncDispose]: () => store.close() }
}

describe('a turn of a chat', () => {
  it('counts its tools, as the definitions that the model receives', async () => {
    await using chat = await open([[text('Hello.')]])
    const { store, chats, model } = chat
    const turn = await chats.resume(
      { id: 'c', message: user('u1', 'Hi') },
      { model, system: 'Be brief.', tools },
    )
    const { stats } = turn.request
    expect(stats.breakdown.toolDefinitions).toBeGreaterThanOrEqual(3_000)
    expect(stats.fixed).toEqual({
      tokens: stats.breakdown.systemPrompt + stats.breakdown.toolDefinitions,
      source: 'given',
    })
    const result = streamText({
      model: turn.model,
      messages: turn.messages,
      system: turn.system!,
      tools: tools as ToolSet,
    })
    const { originalMessages, generateMessageId, onFinish } = turn
    await result.toUIMessageStreamResponse({ originalMessages, generateMessageId, onFinish }).text()
    const [sent] = model.calls
    const request = await store.requests.get('c', (await store.requests.list('c'))[0]!.id)
    expect(request.tools).toEqual(sent!.tools)
    expect(turn.request.tools).toEqual(JSON.parse(JSON.stringify(sent!.tools)))
    // A meter names nothing: the chat's own model, and the system prompt and tools of its last turn.
    const meter = await chats.stats('c')
    expect(meter).toMatchObject({ provider: 'openai', model: 'gpt-4o', fixed: { source: 'last-request' } })
    expect(meter!.fixed.tokens).toBeGreaterThanOrEqual(3_000)
    expect(await store.getContextStats('c')).toEqual(meter)
  })

  it('compacts before its tools make the request too large', async () => {
    await using chat = await open([[text('Hello.')]], { tools })
    const { store, chats, model } = chat
    const long = 'word '.repeat(400)
    for (let at = 0; at < 12; at++)
      await store.append('c', [
        { role: 'user', content: long },
        { role: 'assistant', content: 'Yes.' },
      ])
    const turn = await chats.resume({ id: 'c', message: user('u1', 'Hi') }, { model })
    expect(turn.request.compacted).toBe(true)
    expect(turn.request.stats.breakdown.toolDefinitions).toBeGreaterThanOrEqual(3_000)
    expect(turn.request.stats.withinBudget).toBe(true)
  })

  it('counts tools whose schema only the AI SDK converts', async () => {
    await using chat = await open([[text('Hello.')]])
    const schema = old.object({ place: old.string().describe('word '.repeat(2_000)) })
    const turn = await chat.chats.resume(
      { id: 'c', message: user('u1', 'Hi') },
      { model: chat.model, tools: { look: { inputSchema: schema } } },
    )
    expect(turn.request.tools).toEqual([
      { type: 'function', name: 'look', inputSchema: await asSchema(schema).jsonSchema },
    ])
    expect(turn.request.stats.breakdown.toolDefinitions).toBeGreaterThan(1_000)
  })
})

describe('the stats of a chat', () => {
  it('are of its owner alone, and null without messages', async () => {
    await using chat = await open([])
    const { chats } = chat
    const id = await chats.create({ owner: 'anna' })
    expect(await chats.stats(id, { owner: 'anna' })).toBeNull()
    await expect(chats.stats(id, { owner: 'ben' })).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(chats.stats('unknown')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  it('count the tools and the model that the call names', async () => {
    await using chat = await open([])
    const { store, chats } = chat
    await store.append('c', [{ role: 'user', content: 'Hi' }])
    const stats = await chats.stats('c', { model: 'claude-sonnet-4-5', provider: 'anthropic', tools })
    expect(stats).toMatchObject({
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
      fixed: { source: 'given' },
    })
    expect(stats!.breakdown.toolDefinitions).toBeGreaterThanOrEqual(3_000)
  })
})
