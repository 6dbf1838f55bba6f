import { generateText, type ModelMessage, Output, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai'
import type { MockLanguageModelV3 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { undertext } from '../../src/adapters/ai-sdk/index.ts'
import { openStore, type Store, type UndertextError } from '../../src/index.ts'
import { newFolder } from '../support/temporary.ts'
import { type Content, call, logOf, scripted, sent, text } from './models.ts'

const look = tool({
  description: 'Looks at something.',
  inputSchema: z.object({ at: z.string().default('all') }),
  execute: async ({ at }) => `saw ${at}`,
})

type Way = 'generateText' | 'streamText'
type Asked = {
  readonly model: MockLanguageModelV3
  readonly messages: ModelMessage[]
  readonly store: Store
  readonly system?: string
  readonly options?: Parameters<typeof undertext>[2]
}

/** Asks one way or the other; answers the text and the messages that came of it. */
async function ask(way: Way, { model, messages, store, system, options }: Asked) {
  const wrapped = wrapLanguageModel({ model, middleware: undertext(store, 's', options) })
  const settings = {
    model: wrapped,
    messages,
    tools: { look },
    stopWhen: stepCountIs(10),
    maxRetries: 0,
    ...(system !== undefined && { system }),
  }
  if (way === 'generateText') {
    const { text: said, response } = await generateText(settings)
    return { text: said, messages: response.messages }
  }
  let failure: unknown
  const stream = streamText({
    ...settings,
    onError: ({ error }) => {
      failure = error
    },
  })
  let said = ''
  for await (const piece of stream.textStream) said += piece
  if (failure !== undefined) throw failure
  return { text: said, messages: (await stream.response).messages }
}

const user = (content: string): ModelMessage => ({ role: 'user', content })

describe.each(['generateText', 'streamText'] as const)('%s', (way) => {
  it('stores the conversation and sends it back, with either side holding the history', async () => {
    const logs: string[][] = []
    for (const style of ['new', 'whole'] as const) {
      await using store = await openStore(':memory:')
      const model = scripted([[text('one')], [text('two')], [text('two')]])
      let history: ModelMessage[] = []
      for (const words of ['first', 'second', 'second']) {
        const messages = [...(style === 'whole' ? history : []), user(words)]
        const answer = await ask(way, { store, model, messages, system: 'Be brief.' })
        history = [...history, user(words), ...answer.messages]
      }
      expect(sent(model.calls[2])).toEqual([
        'system: Be brief.',
        'user: first',
        'assistant: one',
        'user: second',
        'assistant: two',
        'user: second',
      ])
      logs.push(await logOf(store))
    }
    expect(logs[0]).toEqual([
      'user: first',
      'assistant: one',
      'user: second',
      'assistant: two',
      'user: second',
      'assistant: two',
    ])
    expect(logs[1]).toEqual(logs[0])
  })

  it('keeps every step of a loop once, parallel calls too', async () => {
    await using store = await openStore(':memory:')
    const script = [
      [text('Looking.'), call('1', { at: 'a' }), call('2')],
      [call('1', { at: 'b' })],
      [text('Done.')],
      [text('Fine.')],
    ]
    const model = scripted(script)
    await ask(way, { store, model, messages: [user('go')] })
    await ask(way, { store, model, messages: [user('and?')] })
    const loop = [
      'user: go',
      'assistant: Looking. | call 1 | call 2',
      'tool: result 1 saw a | result 2 saw all',
      'assistant: call 1',
      'tool: result 1 saw b',
      'assistant: Done.',
    ]
    expect(await logOf(store)).toEqual([...loop, 'user: and?', 'assistant: Fine.'])
    expect(sent(model.calls[3])).toEqual([...loop, 'user: and?'])
    // The same loop without a store sends the same.
    const bare = scripted(script)
    await generateText({ model: bare, messages: [user('go')], tools: { look }, stopWhen: stepCountIs(10) })
    expect(sent(model.calls[2])).toEqual(sent(bare.calls[2]))
  })

  it('stores nothing of a call that fails, and the retry once', async () => {
    await using store = await openStore(':memory:')
    const fail = () => {
      throw Object.assign(new Error('overloaded'), { statusCode: 500 })
    }
    const model = scripted([[text('one')], fail, [text('two')], fail, [call('1')], fail, [text('three')]])
    const messages = [user('first')]
    const first = await ask(way, { store, model, messages })
    await expect(ask(way, { store, model, messages: [user('second')] })).rejects.toThrow('overloaded')
    expect(await logOf(store)).toEqual(['user: first', 'assistant: one'])
    await ask(way, { store, model, messages: [user('second')] })

    // Kept where that is wanted, and then not doubled by the next try.
    const options = { keepPromptOnFailure: true }
    await expect(ask(way, { store, model, messages: [user('third')], options })).rejects.toThrow('overloaded')
    const known = ['user: first', 'assistant: one', 'user: second', 'assistant: two']
    expect(await logOf(store)).toEqual([...known, 'user: third'])
    // This try fails in its second step.
    await expect(ask(way, { store, model, messages: [user('third')] })).rejects.toThrow('overloaded')
    expect(await logOf(store)).toEqual([...known, 'user: third', 'assistant: call 1'])
    const whole = [
      ...messages,
      ...first.messages,
      user('second'),
      { role: 'assistant', content: 'two' } as const,
    ]
    await ask(way, { store, model, messages: [...whole, user('third')] })
    expect(await logOf(store)).toEqual([...known, 'user: third', 'assistant: call 1', 'assistant: three'])
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })

  it('regenerates: the old answer stays in the log and is not sent', async () => {
    await using store = await openStore(':memory:')
    const model = scripted([[text('one')], [text('bad')], [text('good')], [text('three')]])
    const first = await ask(way, { store, model, messages: [user('first')] })
    const shown = [user('first'), ...first.messages, user('second')]
    await ask(way, { store, model, messages: shown })
    const again = await ask(way, { store, model, messages: shown })
    expect(again.text).toBe('good')
    expect(sent(model.calls[2])).toEqual(['user: first', 'assistant: one', 'user: second'])
    await ask(way, { store, model, messages: [...shown, ...again.messages, user('third')] })
    expect(sent(model.calls[3])).toEqual([
      'user: first',
      'assistant: one',
      'user: second',
      'assistant: good',
      'user: third',
    ])
    expect(await logOf(store)).toEqual([
      'user: first',
      'assistant: one',
      'user: second',
      'assistant: bad',
      'assistant: good',
      'user: third',
      'assistant: three',
    ])
    // And it can be brought back.
    const [aside] = await store.listCompactions('s')
    await store.undoCompaction('s', aside!.id)
    expect((await store.getEffectiveHistory('s')).length).toBe(7)
  })

  it('continues from an edited message, or rejects it', async () => {
    await using store = await openStore(':memory:')
    const model = scripted([[text('one')], [text('two')], [text('left')]])
    const first = await ask(way, { store, model, messages: [user('first')] })
    const shown = [user('first'), ...first.messages]
    await ask(way, { store, model, messages: [...shown, user('right')] })
    const edited = { store, model, messages: [...shown, user('left')] }
    const refused = ask(way, { ...edited, options: { onDivergence: 'error' } })
    await expect(refused).rejects.toMatchObject({
      code: 'HISTORY_DIVERGED',
      facts: { sessionId: 's', position: 2 },
    })
    await ask(way, edited)
    expect((await store.getEffectiveHistory('s')).map(({ content }) => content)).toEqual([
      'first',
      'one',
      'left',
      'left',
    ])
  })

  it('restores what it hid when the call fails', async () => {
    await using store = await openStore(':memory:')
    const fail = () => {
      throw new Error('no')
    }
    const model = scripted([[text('one')], [text('two')], fail])
    const first = await ask(way, { store, model, messages: [user('first')] })
    const shown = [user('first'), ...first.messages, user('second')]
    await ask(way, { store, model, messages: shown })
    const before = await store.getEffectiveHistory('s')
    await expect(ask(way, { store, model, messages: shown })).rejects.toThrow('no')
    expect(await store.getEffectiveHistory('s')).toEqual(before)
  })

  it('makes room in a long conversation, though the application sends all of it', async () => {
    await using store = await openStore(':memory:', {
      contextWindows: { openai: { 'gpt-4o': 2_000 } },
    })
    const long = 'word '.repeat(300)
    const turns = 12
    const model = scripted(Array.from({ length: turns }, () => [text(long)]))
    let history: ModelMessage[] = []
    for (let turn = 1; turn <= turns; turn++) {
      history = [...history, user(`question ${turn}`)]
      const { messages } = await ask(way, { store, model, messages: history })
      history = [...history, ...messages]
    }
    // Twelve answers of some 300 tokens do not fit into 2,000.
    expect((await store.listCompactions('s')).some(({ status }) => status === 'active')).toBe(true)
    const last = model.calls.at(-1)!
    expect(last.prompt.length).toBeLessThan(history.length - 1)
    expect(JSON.stringify(last.prompt).length).toBeLessThan(2_000 * 5)
    expect(sent(last).at(-1)).toBe(`user: question ${turns}`)
    // Nothing is stored twice, and nothing is lost.
    expect(await logOf(store)).toEqual(
      Array.from({ length: turns }, (_, n) => [`user: question ${n + 1}`, `assistant: ${long}`]).flat(),
    )
  })

  it('sends a request that overflowed again, shorter', async () => {
    await using store = await openStore(':memory:')
    const overflow = () => {
      throw Object.assign(
        new Error(
          "This model's maximum context length is 1000 tokens. However, your messages resulted in 3000 tokens.",
        ),
        { statusCode: 400, isRetryable: false, data: { error: { code: 'context_length_exceeded' } } },
      )
    }
    const long = 'word '.repeat(300)
    const model = scripted([
      ...Array.from({ length: 6 }, () => [text(long)]),
      overflow,
      [text('fits')],
      overflow,
    ])
    for (let turn = 1; turn <= 6; turn++)
      await ask(way, { store, model, messages: [user(`question ${turn}`)] })
    const answer = await ask(way, { store, model, messages: [user('last')] })
    expect(answer.text).toBe('fits')
    const [refused, taken] = model.calls.slice(-2).map((one) => JSON.stringify(one.prompt).length)
    expect(taken!).toBeLessThan(refused! * 0.7)
    expect((await logOf(store)).slice(-2)).toEqual(['user: last', 'assistant: fits'])
    // With auto: false nothing is done unasked, and the model's own error comes back.
    const off = ask(way, { store, model, messages: [user('more')], options: { auto: false } })
    await expect(off).rejects.toMatchObject({ statusCode: 400 })
    expect((await logOf(store)).length).toBe(14)
  })

  it('refuses what cannot fit before anything is sent', async () => {
    await using store = await openStore(':memory:', { contextWindows: { openai: { 'gpt-4o': 2_000 } } })
    const model = scripted([[text('never')]])
    const asked = ask(way, { store, model, messages: [user('word '.repeat(5_000))] })
    await expect(asked).rejects.toMatchObject({
      code: 'CONTEXT_BUDGET_EXCEEDED',
    } satisfies Partial<UndertextError>)
    expect(model.calls).toEqual([])
  })

  it('sends reasoning, signatures and ids back as they came', async () => {
    await using store = await openStore(':memory:')
    const content: Content[] = [
      { type: 'reasoning', text: 'hm', providerMetadata: { anthropic: { signature: 'c2ln' } } },
      {
        ...(call('1') as Content & { type: 'tool-call' }),
        providerMetadata: { anthropic: { caller: { type: 'direct' } } },
      },
    ]
    const model = scripted([content, [text('Done.')], [text('Yes.')]], {
      provider: 'anthropic.messages',
      modelId: 'claude-sonnet-4-5',
    })
    await ask(way, { store, model, messages: [user('go')] })
    await ask(way, { store, model, messages: [user('sure?')] })
    expect(model.calls[2]!.prompt[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'c2ln' } } },
        {
          type: 'tool-call',
          toolCallId: '1',
          toolName: 'look',
          input: {},
          providerOptions: { anthropic: { caller: { type: 'direct' } } },
        },
      ],
    })
  })

  it('continues in another process', async () => {
    const model = scripted([[call('1')], [text('Done.')], [text('Yes.')]])
    const { join } = await import('node:path')
    const folder = newFolder()
    const path = join(folder, 'chats.db')
    {
      await using store = await openStore(path)
      await ask(way, { store, model, messages: [user('go')] })
    }
    await using store = await openStore(path)
    await ask(way, {
      store,
      model,
      messages: [user('go'), { role: 'assistant', content: 'Done.' }, user('sure?')],
    })
    expect(await logOf(store)).toEqual([
      'user: go',
      'assistant: call 1',
      'tool: result 1 saw all',
      'assistant: Done.',
      'user: sure?',
      'assistant: Yes.',
    ])
  })

  it('keeps concurrent conversations apart', async () => {
    await using store = await openStore(':memory:')
    const model = scripted([])
    model.doGenerate = async ({ prompt }) => {
      await new Promise((done) => setTimeout(done, 5))
      const words = JSON.stringify(prompt.at(-1)!.content)
      return {
        content: [text(words)],
        finishReason: { unified: 'stop', raw: undefined },
        usage: (await import('./models.ts')).usage(),
        warnings: [],
      }
    }
    const wrapped = wrapLanguageModel({ model, middleware: undertext(store) })
    const say = (sessionId: string, content: string) =>
      generateText({
        model: wrapped,
        messages: [user(content)],
        providerOptions: { undertext: { sessionId } },
      })
    for (const round of [1, 2, 3])
      await Promise.all(['a', 'b'].map((session) => say(session, `${session}${round}`)))
    for (const session of ['a', 'b']) {
      const log = await logOf(store, session)
      expect(log.filter((line) => line.startsWith('user'))).toEqual(
        [1, 2, 3].map((round) => `user: ${session}${round}`),
      )
      expect(log.length).toBe(6)
    }
    await expect(generateText({ model: wrapped, messages: [user('x')] })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
  })

  it('two concurrent answers to one prompt store the prompt once', async () => {
    await using store = await openStore(':memory:')
    const model = scripted([[text('one')], [text('a')], [text('b')]])
    const first = await ask(way, { store, model, messages: [user('first')] })
    const messages = [user('first'), ...first.messages, user('second')]
    await Promise.all([ask(way, { store, model, messages }), ask(way, { store, model, messages })])
    const log = await logOf(store)
    expect(log.slice(0, 3)).toEqual(['user: first', 'assistant: one', 'user: second'])
    expect(log.slice(3).sort()).toEqual(['assistant: a', 'assistant: b'])
  })

  it('sends a call unchanged on request', async () => {
    await using store = await openStore(':memory:')
    const model = scripted([[text('one')], [text('a title')]])
    await ask(way, { store, model, messages: [user('first')] })
    const wrapped = wrapLanguageModel({ model, middleware: undertext(store, 's') })
    await generateText({
      model: wrapped,
      prompt: 'Find a title.',
      providerOptions: { undertext: { skip: true } },
    })
    expect(sent(model.calls[1])).toEqual(['user: Find a title.'])
    expect(await logOf(store)).toEqual(['user: first', 'assistant: one'])
  })

  it('returns an answer that cannot be stored, or the error', async () => {
    await using store = await openStore(':memory:')
    const model = scripted([[text('one')], [text('two')]])
    const broken = new Proxy(store, {
      get: (target, name) => {
        if (name === 'recordResponse') return () => Promise.reject(new Error('disk full'))
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    await expect(ask(way, { store: broken, model, messages: [user('first')] })).rejects.toThrow('disk full')
    const unrecorded: unknown[] = []
    const options = { onRecordError: (_: unknown, what: unknown) => unrecorded.push(what) }
    const answer = await ask(way, { store: broken, model, messages: [user('first')], options })
    expect(answer.text).toBe('two')
    expect(unrecorded).toEqual([
      {
        sessionId: 's',
        prompt: [{ role: 'user', content: 'first' }],
        messages: [{ role: 'assistant', content: 'two' }],
      },
    ])
  })
})

it('objects are asked for and kept alike', async () => {
  await using store = await openStore(':memory:')
  const model = scripted([[text('{"n":1}')]])
  const { output } = await generateText({
    model: wrapLanguageModel({ model, middleware: undertext(store, 's') }),
    output: Output.object({ schema: z.object({ n: z.number() }) }),
    prompt: 'Give me a number.',
  })
  expect(output).toEqual({ n: 1 })
  expect(model.calls[0]!.responseFormat?.type).toBe('json')
  expect(await logOf(store)).toEqual(['user: Give me a number.', 'assistant: {"n":1}'])
})

it('a call that waits for approval is answered in a later request', async () => {
  await using store = await openStore(':memory:')
  const model = scripted([[call('1'), call('2')], [text('Half done.')]])
  const wrapped = wrapLanguageModel({ model, middleware: undertext(store, 's') })
  const tools = { look: tool({ ...look, needsApproval: true }) }
  const asked = await generateText({ model: wrapped, tools, messages: [user('go')] })
  expect(await logOf(store)).toEqual(['user: go', 'assistant: call 1 | call 2'])
  const requests = asked.content.filter((part) => part.type === 'tool-approval-request')
  const approvals: ModelMessage = {
    role: 'tool',
    content: requests.map(({ approvalId }, index) => ({
      type: 'tool-approval-response',
      approvalId,
      approved: index === 0,
      ...(index === 1 && { reason: 'too far' }),
    })),
  }
  await generateText({ model: wrapped, tools, messages: [user('go'), ...asked.response.messages, approvals] })
  expect(await logOf(store)).toEqual([
    'user: go',
    'assistant: call 1 | call 2',
    'tool: result 1 saw all | result 2 too far',
    'assistant: Half done.',
  ])
  expect(model.calls[1]!.prompt.at(-1)!.content).toMatchObject([
    { output: { type: 'text', value: 'saw all' } },
    { output: { type: 'execution-denied', reason: 'too far' } },
  ])
})

it('tools and the system prompt count, and what an injector adds is sent', async () => {
  await using store = await openStore(':memory:')
  const model = scripted([[text('one')]])
  const seen: number[] = []
  const wrapped = wrapLanguageModel({
    model,
    middleware: undertext(store, 's', {
      request: () => ({ turnNumber: 1, injector: { check: () => ['Mind the gap.'] } }),
      onPrepared: ({ stats }) => seen.push(stats.breakdown.systemPrompt, stats.breakdown.toolDefinitions),
    }),
  })
  await generateText({ model: wrapped, system: 'Be brief.', prompt: 'hi', tools: { look } })
  expect(sent(model.calls[0])).toEqual(['system: Be brief.', 'system: Mind the gap.', 'user: hi'])
  expect(seen[0]).toBeGreaterThan(0)
  expect(seen[1]).toBeGreaterThan(0)
})

it('a misspelled option is refused at once', async () => {
  await using store = await openStore(':memory:')
  expect(() => undertext(store, 's', { keepPrompt: true } as never)).toThrow(/keepPrompt/)
  expect(() => undertext(store, 's', { request: { model: 'x' } as never })).toThrow(
    /model is set by the call/,
  )
  expect(() => undertext(store, 's', { request: { treshold: 0.5 } as never })).toThrow(/request: .*treshold/)
  expect(() => undertext(store, '')).toThrow(/sessionId/)
})

it('reports that it needs an open store', () => {
  for (const store of [undefined, null, 's', {}, Promise.resolve()])
    expect(() => undertext(store as never, 's')).toThrow(/must be a store, as `await openStore/)
})
