import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { AIMessage } from '@langchain/core/messages'
import BetterSqlite3 from 'better-sqlite3'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { chatStore, fromModelMessages, fromUIMessages, undertext } from '../src/adapters/ai-sdk/index.ts'
import { fromAnthropic } from '../src/adapters/anthropic/index.ts'
import { undertextSessionStore } from '../src/adapters/claude-agent-sdk/index.ts'
import { fromGemini } from '../src/adapters/google/index.ts'
import { fromLangChain, UndertextChatMessageHistory } from '../src/adapters/langchain/index.ts'
import { fromOpenAI, fromOpenAIResponses } from '../src/adapters/openai/index.ts'
import { fromAgentItems, UndertextSession } from '../src/adapters/openai-agents/index.ts'
import { openStore, type Store } from '../src/index.ts'
import { STORE_EVENTS } from '../src/store/events.ts'
import { importFile } from '../src/transfer/index.ts'
import { runCli } from './support/cli-run.ts'
import { say } from './support/conversation.ts'
import { CANARY, failureOf } from './support/failures.ts'
import { newFolder } from './support/temporary.ts'

let folder: string
beforeAll(() => {
  folder = newFolder()
})

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

type Act = (faulty: unknown, store: Store) => unknown

const ENTRIES: Readonly<Record<string, Act>> = {
  append: (faulty, store) => store.append('s', [faulty as never]),
  rewind: (faulty, store) => store.rewind('s', { from: 'end', append: [faulty as never] }),
  prepareRequest: (faulty, store) => store.prepareRequest('s', { prompt: [faulty] as never }),
  recordResponse: (faulty, store) => store.recordResponse('s', { messages: [faulty as never] }),
  importSession: (faulty, store) => store.sessions.import({ externalId: 's' } as never, [faulty] as never),
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
    const file = join(folder, 'faulty.jsonl')
    writeFileSync(file, `${JSON.stringify(faulty)}\n{"broken": "${CANARY}`)
    return importFile(store, file)
  },
}

it.each(Object.keys(ENTRIES))('no error of %s contains text of a conversation', async (name) => {
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
  await store.jobs.start('s', { stages, targetTokens: 100 })
  await store.jobs.whenIdle('s', { timeoutMs: 5_000 })
  const recorded = [
    events,
    await store.jobs.list('s'),
    await store.sessions.audit('s'),
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

describe('no command prints content of a malformed file', () => {
  /** Files that are broken in one way or another, the marker in each. */
  async function malformed(): Promise<readonly (readonly [name: string, text: string])[]> {
    const lines: string[] = []
    await using store = await openStore(':memory:')
    await store.append('told', [say('user', CANARY), say('assistant', CANARY)])
    for await (const record of store.sessions.export('told')) lines.push(JSON.stringify(record))
    const history = (change: (line: string, at: number) => string): string => lines.map(change).join('\n')
    const chatGpt = {
      title: CANARY,
      mapping: { a: { id: 'a', message: { author: { role: CANARY } }, parent: CANARY } },
    }
    return [
      ...FAULTY.map(
        (faulty, at) => [`faulty-${at}.jsonl`, `${JSON.stringify(faulty)}\n{"broken": "${CANARY}`] as const,
      ),
      ...FAULTY.map(
        (faulty, at) => [`one-${at}.json`, JSON.stringify([{ role: 'user', content: 'x' }, faulty])] as const,
      ),
      ['text.txt', `${CANARY} `.repeat(50)],
      ['cut.json', `[{"role":"user","content":"${CANARY}`],
      [
        'claude-code.jsonl',
        `{"type":"user","uuid":"u","sessionId":"s","message":{"role":"${CANARY}","content":7}}\n${CANARY}`,
      ],
      [
        'pi.jsonl',
        `{"type":"session","id":"s","version":3,"timestamp":"${CANARY}"}\n{"type":"message","id":"${CANARY}","message":${CANARY}}`,
      ],
      ['chatgpt.json', JSON.stringify([chatGpt, { ...chatGpt, mapping: CANARY }])],
      [
        'claude.json',
        JSON.stringify([{ uuid: 'u', name: CANARY, chat_messages: [{ sender: CANARY, text: { CANARY } }] }]),
      ],
      ['history-cut.jsonl', lines.slice(0, -1).join('\n')],
      ['history-role.jsonl', history((line) => line.replace('"role":"user"', `"role":"${CANARY}"`))],
      [
        'history-key.jsonl',
        history((line, at) => (at === 2 ? line.replace('{', `{"${CANARY}":"${CANARY}",`) : line)),
      ],
      ['history-broken.jsonl', history((line, at) => (at === 2 ? line.slice(0, -3) : line))],
    ]
  }

  it.each([
    ['import', []],
    ['import --json', ['--json']],
  ] as const)('%s', async (_, json) => {
    const db = join(folder, `import-${json.length}.db`)
    let refused = 0
    for (const [name, text] of await malformed()) {
      const file = join(folder, name)
      writeFileSync(file, text)
      for (const [from, piped] of [
        [[file], undefined],
        [[file, '--skip-bad'], undefined],
        [[file, '--from', 'openai'], undefined],
        [['-'], text],
      ] as const) {
        const { exit, out, err } = await runCli(['import', ...from, '--db', db, ...json], {
          ...(piped !== undefined && { piped }),
        })
        if (exit !== 0) refused++
        expect(err, `${name} ${from}`).not.toContain(CANARY)
        expect(out, `${name} ${from}`).not.toContain(CANARY)
      }
    }
    expect(refused).toBeGreaterThan(FAULTY.length)
  })

  it('every command on a file that is no database', async () => {
    const db = join(folder, 'no.db')
    writeFileSync(db, `${CANARY} `.repeat(500))
    for (const command of COMMANDS) await expectSilent(command, db)
  })

  it('every command on a store whose rows cannot be read', async () => {
    const db = join(folder, 'unreadable.db')
    await using store = await openStore(db)
    await store.append(
      's',
      Array.from({ length: 12 }, (_, at) => say(at % 2 ? 'assistant' : 'user', `${CANARY} ${at}`)),
    )
    await store.compactSession('s', { range: { from: 1, to: 4 }, summary: CANARY })
    const database = new BetterSqlite3(db)
    // As a failing disk does, with the guards out of the way.
    const triggers = database.prepare("select name, sql from sqlite_master where type = 'trigger'").all()
    for (const { name } of triggers as { name: string }[]) database.exec(`drop trigger ${name}`)
    database.exec(`update undertext_contents set content = '[{"type":"text","text":"${CANARY}' where key % 2 = 0;
      update undertext_contents set metadata = '{"${CANARY}' where key % 3 = 0;
      update undertext_compactions set coverage = '{"${CANARY}', params = '${CANARY}'`)
    for (const { sql } of triggers as { sql: string }[]) database.exec(sql)
    database.close()
    let failures = 0
    for (const command of COMMANDS) failures += await expectSilent(command, db)
    expect(failures).toBeGreaterThan(5)
  })

  const COMMANDS: readonly (readonly string[])[] = [
    ['sessions'],
    ['show', 's'],
    ['show', 's', '--all'],
    ['stats', 's'],
    ['compact', 's', '--dry-run'],
    ['compact', 's', '--target-tokens', '1'],
    ['log', 's'],
    ['diff', 's', '@'],
    ['undo', 's', '@'],
    ['redo', 's', '@'],
    ['export', 's'],
    ['export', 's', '--format', 'markdown'],
    ['export', 's', '--format', 'openai'],
    ['verify'],
    ['verify', 's', '--repair'],
    ['doctor'],
    ['doctor', '--deep'],
    ['chat', 's', '--echo'],
    ['purge', 's', '--yes'],
  ]

  /** A failure says nothing of it, nor does what is written beside the result. Answers 1 for a failure. */
  async function expectSilent(command: readonly string[], db: string): Promise<number> {
    let failures = 0
    for (const json of [[], ['--json']]) {
      const { exit, out, err } = await runCli([...command, '--db', db, ...json], { piped: '' })
      const what = `${command.join(' ')} ${json} ended with ${exit}`
      expect(err, what).not.toContain(CANARY)
      if (exit === 0) continue
      failures = 1
      if (json.length > 0) expect(out, what).not.toContain(CANARY)
    }
    return failures
  }
})
