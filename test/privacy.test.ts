import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { AIMessage } from '@langchain/core/messages'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { chatStore, fromModelMessages, fromUIMessages, undertext } from '../src/ai-sdk.ts'
import { fromAnthropic } from '../src/anthropic.ts'
import { undertextSessionStore } from '../src/claude-agent-sdk.ts'
import { fromGemini } from '../src/google.ts'
import { openStore, type SqliteStore, STORE_EVENTS } from '../src/index.ts'
import { fromLangChain, UndertextChatMessageHistory } from '../src/langchain.ts'
import { fromOpenAI, fromOpenAIResponses } from '../src/openai.ts'
import { fromAgentItems, UndertextSession } from '../src/openai-agents.ts'
import { importFile } from '../src/transfer.ts'
import { say } from './support/conversation.ts'
import { CANARY, failureOf } from './support/failures.ts'

/** Everything people and loggers can see of an error. */
function shown(error: unknown): string {
  const { message, stack, cause } = error as Error
  const deep = inspect(error, { depth: 20, showHidden: true, maxStringLength: null, maxArrayLength: null })
  return [message, stack, inspect(cause, { depth: 20 }), deep, JSON.stringify(error)].join('\n')
}

/** Faults of many kinds, each with the marker in it. */
const FAULTY: readonly unknown[] = [
  CANARY,
  { [CANARY]: CANARY },
  { role: CANARY, content: CANARY },
  { role: 'user', content: { text: CANARY } },
  { role: 'user', content: [{ type: CANARY, text: CANARY }] },
  { role: 'user', content: [{ type: 'text', text: [CANARY] }] },
  { role: 'assistant', content: CANARY, tool_calls: [{ id: 7, function: { name: 'f', arguments: CANARY } }] },
  { role: 'tool', content: CANARY },
  { role: 'user', parts: [{ type: 'text', [CANARY]: CANARY }] },
  { id: 'm', role: 'user', parts: [{ type: 'text' }, { type: `data-${CANARY}`, text: CANARY }] },
  { id: 'm', role: 'user', metadata: { page: CANARY }, parts: [{ type: 'text', text: CANARY }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: { CANARY } }] },
  { type: 'function_call', name: CANARY, arguments: { CANARY } },
]

type Act = (faulty: unknown, store: SqliteStore) => unknown

const ENTRIES: Readonly<Record<string, Act>> = {
  append: (faulty, store) => store.append('s', [faulty as never]),
  rewind: (faulty, store) => store.rewind('s', { from: 'end', append: [faulty as never] }),
  prepareRequest: (faulty, store) => store.prepareRequest('s', { prompt: [faulty] as never }),
  recordResponse: (faulty, store) => store.recordResponse('s', { messages: [faulty as never] }),
  importSession: (faulty, store) =>
    store.importSession('mine', { externalId: 's' } as never, [faulty] as never),
  fromOpenAI: (faulty) => fromOpenAI([faulty as never]),
  fromOpenAIResponses: (faulty) => fromOpenAIResponses([faulty as never]),
  fromAnthropic: (faulty) => fromAnthropic([faulty as never]),
  fromGemini: (faulty) => fromGemini([faulty as never]),
  fromModelMessages: (faulty) => fromModelMessages([faulty as never]),
  fromUIMessages: (faulty) => fromUIMessages([faulty as never]),
  fromLangChain: (faulty) => fromLangChain([faulty as never]),
  fromAgentItems: (faulty) => fromAgentItems([faulty as never]),
  'chats.resume': (faulty, store) => chatStore(store).resume({ id: 's', message: faulty }),
  'chats.resume with a list': (faulty, store) => chatStore(store).resume({ id: 's', messages: [faulty] }),
  'chats.save and load': async (faulty, store) => {
    const chats = chatStore(store, { metadataSchema: z.object({ page: z.number() }) })
    await chats.save({ chatId: 's', messages: [faulty as never] })
    await chats.load('s')
  },
  'the middleware': (faulty, store) =>
    undertext(store, 's').wrapGenerate!({
      params: { prompt: [faulty] },
      model: { provider: 'openai', modelId: 'gpt-5', specificationVersion: 'v3', doGenerate: () => CANARY },
      doGenerate: () => CANARY,
    } as never),
  'LangChain history': (faulty, store) =>
    new UndertextChatMessageHistory({ store, sessionId: 's' }).addMessage(faulty as never),
  'Agents session': (faulty, store) =>
    new UndertextSession({ store, sessionId: 's' }).addItems([faulty as never]),
  'Claude Agent SDK': (faulty, store) =>
    undertextSessionStore({ store }).append({ projectKey: 'p', sessionId: 's' } as never, [faulty as never]),
  importFile: (faulty, store) => {
    const file = join(mkdtempSync(join(tmpdir(), 'undertext-privacy-')), 'faulty.jsonl')
    writeFileSync(file, `${JSON.stringify(faulty)}\n{"broken": "${CANARY}`)
    return importFile(store, file)
  },
}

it.each(Object.keys(ENTRIES))('no error of %s says what somebody said', async (name) => {
  let failures = 0
  for (const faulty of FAULTY) {
    await using store = await openStore(':memory:')
    try {
      await ENTRIES[name]!(faulty, store)
    } catch (error) {
      failures++
      expect(shown(error), `${name} with ${JSON.stringify(faulty)}`).not.toContain(CANARY)
    }
  }
  expect(failures).toBeGreaterThan(0)
})

/** As the AI SDK's: the message quotes the prompt, and the whole request hangs on it. */
function providerError(message: string): Error {
  const requestBodyValues = { messages: [{ role: 'user', content: CANARY }] }
  return Object.assign(new Error(`${message} ${CANARY}`), {
    statusCode: 400,
    requestBodyValues,
    responseBody: CANARY,
  })
}

it('the end of a recovery does not carry the error of the provider, which holds the request', async () => {
  await using store = await openStore(':memory:')
  const turns = Array.from({ length: 30 }, (_, at) =>
    say(at % 2 ? 'assistant' : 'user', `${CANARY} `.repeat(200)),
  )
  await store.append('s', turns)
  const error = await failureOf(() =>
    store.withOverflowRecovery('s', () => {
      throw providerError('prompt is too long: 300000 tokens > 200000 maximum.')
    }),
  )
  expect(error).toMatchObject({ code: 'CONTEXT_BUDGET_EXCEEDED' })
  expect(shown(error)).not.toContain(CANARY)
})

it('a summarizer whose error quotes the prompt leaves no word of it in events, jobs, audit or attempts', async () => {
  const summarizer = {
    name: 'mine',
    usesModel: true,
    summarize: () => Promise.reject(providerError('the prompt was')),
  }
  await using store = await openStore(':memory:', { summarizer })
  const events: unknown[] = []
  for (const name of STORE_EVENTS) if (name !== 'listenerError') store.on(name, (event) => events.push(event))
  await store.append(
    's',
    Array.from({ length: 30 }, (_, at) => say(at % 2 ? 'assistant' : 'user', `${CANARY} `.repeat(400))),
  )
  const stages = ['summarize'] as const
  for (let at = 0; at < 4; at++)
    await store.compactSession('s', { stages, targetTokens: 100 }).catch(() => {})
  await store.compactInBackground('s', { stages, targetTokens: 100 })
  await store.whenIdle('s', { timeoutMs: 5_000 })
  const recorded = [
    events,
    await store.listJobs('s'),
    await store.getAuditLog('s'),
    (await store.listCompactions('s')).map(({ id, kind, status }) => ({ id, kind, status })),
  ]
  expect(events.length).toBeGreaterThan(0)
  // Summaries made instead may quote what they stand for; nothing else may.
  for (const one of recorded) expect(inspect(one, { depth: 20, maxStringLength: null })).not.toContain(CANARY)
})

it('a message of LangChain that cannot be read is not quoted', async () => {
  const message = new AIMessage({ content: CANARY, tool_calls: [{ name: 'f', args: { CANARY } }] })
  Object.assign(message, { content: { CANARY } })
  expect(shown(await failureOf(() => fromLangChain([message])))).not.toContain(CANARY)
})
