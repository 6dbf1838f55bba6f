import { describe, expect, it } from 'vitest'
import { fromUIMessages } from '../../src/adapters/ai-sdk/from-ui-messages.ts'
import { fromModelMessages, toModelMessages } from '../../src/adapters/ai-sdk/model-messages.ts'
import { toUIMessages } from '../../src/adapters/ai-sdk/to-ui-messages.ts'
import { fromAnthropic, toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { fromChatMessages } from '../../src/adapters/flat/from-chat-messages.ts'
import { toChatMessages } from '../../src/adapters/flat/to-chat-messages.ts'
import { fromGemini, toGemini } from '../../src/adapters/google/index.ts'
import { fromLangChain } from '../../src/adapters/langchain/from-langchain.ts'
import { toLangChainStored } from '../../src/adapters/langchain/to-langchain.ts'
import {
  fromOpenAI,
  fromOpenAIResponses,
  toOpenAI,
  toOpenAIResponses,
} from '../../src/adapters/openai/index.ts'
import { fromAgentItems } from '../../src/adapters/openai-agents/from-items.ts'
import { toAgentItems } from '../../src/adapters/openai-agents/to-items.ts'
import { type Message, openStore, validateHistory } from '../../src/index.ts'
import { exportView } from '../../src/transfer/export-view.ts'
import { VIEW_FORMATS, type ViewFormat } from '../../src/transfer/view-formats.ts'
import { BEGIN, EVERY_PART, PNG, storeWith, whole } from './sessions.ts'

type Reader = (document: never) => readonly Message[]

/** What reads each form, and what writes it again. */
const THERE_AND_BACK: {
  readonly [F in ViewFormat]?: readonly [Reader, (messages: readonly Message[]) => unknown]
} = {
  flat: [fromChatMessages as Reader, toChatMessages],
  openai: [fromOpenAI as Reader, toOpenAI],
  'openai-responses': [fromOpenAIResponses as Reader, toOpenAIResponses],
  anthropic: [fromAnthropic as Reader, toAnthropic],
  gemini: [fromGemini as Reader, toGemini],
  'ai-sdk': [fromModelMessages as Reader, toModelMessages],
  ui: [fromUIMessages as Reader, toUIMessages],
  langchain: [fromLangChain as Reader, toLangChainStored],
  'openai-agents': [fromAgentItems as Reader, toAgentItems],
}

/** What every form can say. */
const SAYABLE = EVERY_PART.map((message): Message => {
  if (typeof message.content === 'string') return message
  return {
    ...message,
    content: message.content.filter((part) => part.type === 'text' || part.type.startsWith('tool-')),
  }
})

describe.each(Object.entries(THERE_AND_BACK))('%s', (format, [read, write]) => {
  const view = format as ViewFormat

  it('is read by the reader of its form, and written again the same', async () => {
    const store = await storeWith(EVERY_PART)
    const document = JSON.parse(await whole(exportView(store, 's', { format: view })))
    expect(JSON.parse(JSON.stringify(write(read(document as never))))).toEqual(document)
    await store.close()
  })

  it('has the messages', async () => {
    const store = await storeWith(SAYABLE)
    const document = JSON.parse(await whole(exportView(store, 's', { format: view })))
    const words = (messages: readonly Message[]): string[] =>
      messages.flatMap(({ content }) =>
        typeof content === 'string'
          ? [content]
          : content.flatMap((part) =>
              part.type === 'text'
                ? [part.text]
                : part.type === 'tool-call'
                  ? [`${part.toolName} ${JSON.stringify(part.input)}`]
                  : [],
            ),
      )
    expect(words(read(document as never))).toEqual(words(SAYABLE))
    await store.close()
  })

  it('has the same messages a line each', async () => {
    const store = await storeWith(EVERY_PART)
    const document = JSON.parse(await whole(exportView(store, 's', { format: view })))
    const text = await whole(exportView(store, 's', { format: view, lines: true }))
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
    const messages = (
      Array.isArray(document) ? document : (document.messages ?? document.contents)
    ) as unknown[]
    const first =
      format === 'anthropic'
        ? [{ role: 'system', content: document.system }]
        : format === 'gemini'
          ? [{ systemInstruction: document.systemInstruction }]
          : []
    expect(lines).toEqual([...first, ...messages])
    await store.close()
  })

  it('is an empty list for a session without messages', async () => {
    const store = await openStore(':memory:')
    await store.sessions.create({ id: 's' })
    const document = JSON.parse(await whole(exportView(store, 's', { format: view })))
    expect(document.messages ?? document.contents ?? document).toEqual([])
    expect(await whole(exportView(store, 's', { format: view, lines: true }))).toBe('')
    await store.close()
  })
})

it('has a test for every form', () => {
  expect(Object.keys(THERE_AND_BACK).sort()).toEqual(VIEW_FORMATS.filter((name) => name !== 'neutral').sort())
})

describe('neutral', () => {
  it('is what append takes, with ids, times and bytes as base64', async () => {
    const store = await storeWith(EVERY_PART)
    const document = JSON.parse(await whole(exportView(store, 's')))
    expect(document).toHaveLength(6)
    expect(document[5]).toEqual({
      id: (await store.getMessages('s')).at(-1)!.id,
      role: 'user',
      content: 'Thanks.',
      createdAt: BEGIN + 5_000,
    })
    expect(document[3].content[1].output.value[1].image).toBe(PNG.toString('base64'))
    await store.append('copy', document)
    expect(await whole(exportView(store, 'copy'))).toBe(await whole(exportView(store, 's')))
    await store.close()
  })

  it('is every row with its tags when it is full', async () => {
    const store = await storeWith(EVERY_PART)
    await store.compactSession('s', { range: { from: 2, to: 4 }, summary: 'Looked.' })
    const [made] = await store.listCompactions('s')
    const rows = (await whole(exportView(store, 's', { full: true, lines: true })))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(
      rows.map(({ kind, position, hidden, condenseParent }) => [kind, position, hidden, condenseParent]),
    ).toEqual([
      ['message', 1, false, undefined],
      ['message', 2, true, made!.id],
      ['message', 3, true, made!.id],
      ['message', 4, true, made!.id],
      ['summary', undefined, false, undefined],
      ['message', 5, false, undefined],
      ['message', 6, false, undefined],
    ])
    await store.close()
  })
})

describe('what is exported', () => {
  it('is the view, its full log, or a rendering', async () => {
    const store = await storeWith(SAYABLE)
    await store.compactSession('s', { range: { from: 2, to: 4 }, summary: 'Looked.' })
    const roles = async (options: object): Promise<unknown> =>
      (
        JSON.parse(await whole(exportView(store, 's', { format: 'openai', ...options }))) as {
          role: string
        }[]
      ).map(({ role }) => role)
    expect(await roles({ full: true })).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
      'user',
    ])
    expect((await roles({})) as string[]).toHaveLength(4)
    const rendered = JSON.parse(await whole(exportView(store, 's', { format: 'anthropic', rendered: true })))
    expect(validateHistory(fromAnthropic(rendered), 'anthropic')).toEqual([])
    const flat = JSON.parse(await whole(exportView(store, 's', { format: 'flat', full: true })))
    expect(
      flat.filter((row: { condenseParent?: string }) => row.condenseParent !== undefined).length,
    ).toBeGreaterThan(0)
    await store.close()
  })

  it('keeps the rules of the provider that is named, and tells what was mended', async () => {
    const store = await storeWith([
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'ls', input: {} }] },
      { role: 'user', content: 'Never mind.' },
    ])
    const mends: string[] = []
    const document = JSON.parse(
      await whole(
        exportView(store, 's', {
          format: 'openai',
          rendered: 'mistral',
          onMend: ({ kind }) => mends.push(kind),
        }),
      ),
    )
    expect(validateHistory(fromOpenAI(document), 'mistral')).toEqual([])
    const { mends: known } = await store.renderHistory('s', { provider: 'mistral' })
    expect(mends).toEqual(known.map(({ kind }) => kind))
    expect(mends.length).toBeGreaterThan(0)
    await store.close()
  })

  it('tells what is not in the file, by place', async () => {
    const store = await storeWith(EVERY_PART)
    const notes: string[] = []
    await whole(
      exportView(store, 's', {
        format: 'openai',
        onNote: ({ kind, place }) => notes.push(`${kind} ${place}`),
      }),
    )
    expect(notes).toContain('not-sent [2].content[0]')
    await store.close()
  })

  it('refuses what cannot be', async () => {
    const store = await openStore(':memory:')
    for (const options of [{ format: 'xml' }, { full: true, rendered: true }, { onNote: 1 }, { colour: 1 }])
      await expect(whole(exportView(store, 's', options as never))).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      })
    for (const format of VIEW_FORMATS)
      for (const how of [{}, { full: true }, { rendered: true }])
        await expect(whole(exportView(store, 'none', { format, ...how }))).rejects.toMatchObject({
          code: 'SESSION_NOT_FOUND',
        })
    await store.close()
  })

  it('keeps −0 and unknown keys as they are', async () => {
    const store = await storeWith([
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'c', toolName: 't', input: JSON.parse('{"__proto__":1,"a":-0}') },
        ],
      },
    ])
    expect(await whole(exportView(store, 's'))).toContain('"input":{"__proto__":1,"a":-0}')
    await store.close()
  })
})
