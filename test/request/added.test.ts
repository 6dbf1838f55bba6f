import { createAnthropic } from '@ai-sdk/anthropic'
import { type AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { generateText, type UIMessage, wrapLanguageModel } from 'ai'
import { describe, expect, it } from 'vitest'
import { chatStore, undertext } from '../../src/adapters/ai-sdk/index.ts'
import { fromAnthropic, toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { recoveringModel, UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { beforeTurn, everyNTurns, PersistentContext, SystemInjector } from '../../src/compat/index.ts'
import { openStore, type PreparedRequest, type Store } from '../../src/index.ts'
import { silenceWarnings } from '../ai-sdk/sdk.ts'
import { type MessagesBody, PrefixRule, startPrefixServer } from '../support/prefix-server.ts'
import { newFile } from '../support/temporary.ts'

silenceWarnings()

const MODEL = 'claude-opus-5-5'
const BOUND = { provider: 'anthropic', model: MODEL }

async function withStore(work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(newFile(), { env: false })
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

const modeOf = (content: string): PersistentContext =>
  new PersistentContext().addSection({ label: 'Mode', content, priority: 1 })

/** The texts of the last message. */
function lastTexts({ messages }: PreparedRequest): string[] {
  const { content } = messages.at(-1)!
  return typeof content === 'string'
    ? [content]
    : content.map((part) => ('text' in part ? String(part.text) : ''))
}

function bodyOf(request: PreparedRequest): MessagesBody {
  const system = { role: 'system' as const, content: request.system! }
  return { model: MODEL, ...toAnthropic([system, ...request.messages], { forRequest: true }) } as MessagesBody
}

const plan = '<session_context>\n## Mode\nplan\n</session_context>'

describe('what a request adds for a model that binds its reasoning', () => {
  it('a context is added when it differs from the newest one, and a reminder once in a turn', () =>
    withStore(async (store) => {
      const injector = new SystemInjector().addRule(everyNTurns(1), 'Be brief.')
      const reminder = '<system-reminder>\nBe brief.\n</system-reminder>'
      const asked: string[][] = []
      for (const [at, mode] of ['plan', 'plan', 'code', 'plan'].entries()) {
        const given = { persistentContext: modeOf(mode), injector, turnNumber: at + 1 }
        const request = await store.prepareRequest('s', { ...BOUND, system: 'S', prompt: `Q${at}`, ...given })
        expect(request.system).toBe('S')
        asked.push(lastTexts(request))
        await store.recordResponse('s', { request, messages: [{ role: 'assistant', content: 'A' }] })
        const again = await store.prepareRequest('s', { ...BOUND, system: 'S', ...given })
        expect(again.prompt).toEqual([])
      }
      expect(asked).toEqual([
        ['Q0', plan, reminder],
        ['Q1', reminder],
        ['Q2', plan.replace('plan', 'code'), reminder],
        ['Q3', plan, reminder],
      ])
    }))

  it('beforeTurn returns it as a message, and leaves the system prompt', () =>
    withStore(async (store) => {
      await store.append('s', [{ role: 'user', content: 'Q' }])
      const given = { persistentContext: modeOf('plan'), system: 'S' }
      const { systemPrompt, added } = await beforeTurn(store, 's', { ...BOUND, ...given })
      expect(systemPrompt).toBe('S')
      expect(added).toMatchObject({ role: 'user', content: [{ type: 'text', text: plan }] })
      await store.append('s', [added!])
      expect((await beforeTurn(store, 's', { ...BOUND, ...given })).added).toBeUndefined()
      const older = await beforeTurn(store, 's', {
        provider: 'anthropic',
        model: 'claude-opus-4-8',
        ...given,
      })
      expect(older.systemPrompt).toBe('S\n\n## Mode\nplan')
      expect(older.added).toBeUndefined()
    }))

  it('the middleware stores it, and recognizes a conversation of the application without it', () =>
    withStore(async (store) => {
      const server = await startPrefixServer({ silent: 0 })
      try {
        const model = wrapLanguageModel({
          model: createAnthropic({ baseURL: server.anthropicUrl, apiKey: 'none' })(MODEL),
          middleware: undertext(store, 's', { request: { persistentContext: modeOf('plan') } }),
        })
        const messages: { role: 'user' | 'assistant'; content: string }[] = []
        for (const content of ['One?', 'Two?', 'Three?']) {
          messages.push({ role: 'user', content })
          const { text } = await generateText({ model, system: 'S', messages, maxRetries: 0 })
          messages.push({ role: 'assistant', content: text })
        }
        const roles = (await store.getMessages('s')).map(({ role }) => role)
        expect(roles).toEqual(['user', 'assistant', 'user', 'assistant', 'user', 'assistant'])
        expect(server.rule.requests.map(({ refusal, kept, most }) => [refusal, kept, most])).toEqual([
          [undefined, 0, 0],
          [undefined, 1, 1],
          [undefined, 2, 2],
        ])
      } finally {
        await server.close()
      }
    }))

  it('a chat stores it beside its messages, does not show it, and withdraws it with them', () =>
    withStore(async (store) => {
      const chats = chatStore<UIMessage>(store)
      const message: UIMessage = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Q' }] }
      const request = { persistentContext: modeOf('plan') }
      const model = createAnthropic({ apiKey: 'none' })(MODEL)
      const turn = await chats.resume({ id: 'c', message }, { model, system: 'S', request })
      expect(turn.system).toBe('S')
      expect((await store.getMessages('c')).map(({ content }) => content)).toEqual([
        'Q',
        [{ type: 'text', text: plan }],
      ])
      expect(await chats.load('c')).toEqual([message])
      await chats.withdraw('c')
      expect(await chats.load('c')).toEqual([])
      expect(await store.getEffectiveHistory('c')).toEqual([])
    }))
})

describe('a request whose provider reports no usage', () => {
  it('is recorded by recordUsage without figures', () =>
    withStore(async (store) => {
      await store.append('s', [{ role: 'user', content: 'Q' }])
      const request = await store.prepareRequest('s', { ...BOUND })
      const { recorded, requestId } = await store.requests.recordUsage('s', { request })
      expect({ recorded, requestId }).toEqual({ recorded: false, requestId: expect.any(String) })
      const [found] = await store.requests.list('s')
      expect(found).toMatchObject({ id: requestId, position: 1 })
      expect(found?.usage).toBeUndefined()
      expect((await store.requests.usage('s')).total.requests).toBe(0)
    }))

  it('is recorded by a LangChain model, with its answer', () =>
    withStore(async (store) => {
      const history = new UndertextChatMessageHistory({ store, sessionId: 's', ...BOUND })
      const model = recoveringModel(new FakeListChatModel({ responses: ['A'] }), history)
      const asked: BaseMessage = new HumanMessage('Q')
      const answer = (await model.invoke([...(await history.getMessages()), asked])) as AIMessage
      await history.addMessages([asked, answer])
      expect(await store.requests.list('s')).toMatchObject([{ answerPositions: [2, 2] }])
    }))
})

it('renderHistory for another host of the session’s Claude leaves out the same reasoning', () =>
  withStore(async (store) => {
    await store.sessions.create({ id: 's', ...BOUND })
    const reasoning = {
      type: 'reasoning' as const,
      text: 'Hm.',
      providerOptions: { anthropic: { signature: 'sig' } },
    }
    await store.append('s', [
      { role: 'user', content: 'Q' },
      { role: 'user', content: 'And?' },
    ])
    await store.append('s', [{ role: 'assistant', content: [reasoning, { type: 'text', text: 'A' }] }])
    const [first] = await store.getMessages('s')
    const kept = await store.renderHistory('s', { provider: 'bedrock' })
    expect(kept.mends.map(({ kind }) => kind)).not.toContain('reasoning-invalid')
    await store.compactions.hide('s', [first!.id])
    const { mends } = await store.renderHistory('s', { provider: 'bedrock' })
    expect(mends.map(({ kind }) => kind)).toContain('reasoning-invalid')
  }))

it('a cache mark on a prompt, which is not sent again, leaves the reasoning after it valid', () =>
  withStore(async (store) => {
    const rule = new PrefixRule({ silent: 0 })
    for (const text of ['One?', 'Two?']) {
      const marked = { anthropic: { cacheControl: { type: 'ephemeral' } } }
      const prompt = [
        { role: 'user' as const, content: [{ type: 'text' as const, text, providerOptions: marked }] },
      ]
      const request = await store.prepareRequest('s', { ...BOUND, system: 'S', prompt })
      const { content } = rule.answer(bodyOf(request))
      await store.recordResponse('s', {
        request,
        messages: fromAnthropic([{ role: 'assistant', content }] as never),
      })
    }
    expect(rule.requests.map(({ kept, most }) => [kept, most])).toEqual([
      [0, 0],
      [1, 1],
    ])
  }))
