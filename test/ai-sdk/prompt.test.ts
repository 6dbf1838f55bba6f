import type { LanguageModelV2Prompt, LanguageModelV3Message, LanguageModelV3Prompt } from '@ai-sdk/provider'
import type { ModelMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { messageOfAnswer, stopReasonIn, usageIn } from '../../src/adapters/ai-sdk/answers.ts'
import { fromSdkPrompt, type SdkMessage, type SdkPart, toSdkPrompt } from '../../src/adapters/ai-sdk/index.ts'
import { storedMessage } from '../../src/adapters/ai-sdk/prompt.ts'
import { namesOf } from '../../src/adapters/ai-sdk/types.ts'
import { openStore, type Part } from '../../src/index.ts'

/** Through the store, as JSON goes. */
async function stored(prompt: readonly SdkMessage[], provider: string) {
  await using store = await openStore(':memory:')
  await store.append('s', fromSdkPrompt(prompt, provider))
  return store.getEffectiveHistory('s')
}

async function thereAndBack(prompt: readonly SdkMessage[], version: 'v2' | 'v3' | 'v4', provider = 'openai') {
  return toSdkPrompt(await stored(prompt, provider), { version, provider })
}

const user = (...content: SdkPart[]): SdkMessage => ({ role: 'user', content })
const assistant = (...content: SdkPart[]): SdkMessage => ({ role: 'assistant', content })
const asked = (toolCallId: string): SdkPart => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'look',
  input: { at: ['x', 1, null] },
})
const answered = (output: object, more: object = {}): SdkMessage => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: '1', toolName: 'look', output, ...more }],
})

const OPTIONS = { anthropic: { signature: 'c2ln' }, openai: { itemId: 'msg_1', n: [1, { a: null }] } }

/** Prompts every version has. */
const SHARED: Readonly<Record<string, readonly SdkMessage[]>> = {
  'a system message with options': [{ role: 'system', content: 'Be brief.', providerOptions: OPTIONS }],
  'texts with options, on message and part': [
    { ...user({ type: 'text', text: 'hi', providerOptions: OPTIONS }), providerOptions: OPTIONS },
    assistant({ type: 'text', text: 'a' }, { type: 'text', text: 'b', providerOptions: OPTIONS }),
  ],
  'reasoning with its signature': [
    user({ type: 'text', text: 'hi' }),
    assistant({ type: 'reasoning', text: 'hm', providerOptions: OPTIONS }, { type: 'text', text: 'a' }),
  ],
  'reasoning without a text, which its provider keeps': [
    user({ type: 'text', text: 'hi' }),
    assistant(
      {
        type: 'reasoning',
        text: '',
        providerOptions: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'e' } },
      },
      { type: 'text', text: 'a', providerOptions: { openai: { itemId: 'msg_1' } } },
    ),
  ],
  'calls and results of every kind': [
    user({ type: 'text', text: 'hi' }),
    assistant(asked('1')),
    answered({ type: 'text', value: 'seen' }, { providerOptions: OPTIONS }),
    assistant(asked('1')),
    answered({ type: 'json', value: { a: [null, -0.5, 'x'] } }),
    assistant(asked('1')),
    answered({ type: 'error-text', value: 'no' }),
    assistant(asked('1')),
    answered({ type: 'error-json', value: ['no'] }),
  ],
  'a tool its provider ran': [
    user({ type: 'text', text: 'hi' }),
    assistant(
      { ...asked('1'), providerExecuted: true },
      { type: 'tool-result', toolCallId: '1', toolName: 'look', output: { type: 'json', value: [1] } },
      { type: 'text', text: 'a' },
    ),
  ],
}

const V2: LanguageModelV2Prompt = [
  {
    role: 'user',
    content: [{ type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2]), filename: 'a.png' }],
  },
  {
    role: 'user',
    content: [{ type: 'file', mediaType: 'image/*', data: new URL('https://example.com/a.png') }],
  },
  { role: 'user', content: [{ type: 'file', mediaType: 'application/pdf', data: 'JVBERg==' }] },
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId: '1', toolName: 'look', input: {} }] },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: '1',
        toolName: 'look',
        output: {
          type: 'content',
          value: [
            { type: 'text', text: 'see' },
            { type: 'media', data: 'AQID', mediaType: 'image/png' },
            { type: 'media', data: 'JVBERg==', mediaType: 'application/pdf' },
          ],
        },
      },
    ],
  },
]

type V3Output = Extract<
  Extract<LanguageModelV3Message, { role: 'tool' }>['content'][number],
  { type: 'tool-result' }
>['output']

// Versions of the AI SDK differ in which of these have a media type.
const V3_OUTPUT = {
  type: 'content' as const,
  value: [
    { type: 'text', text: 'see', providerOptions: OPTIONS },
    { type: 'image-data', data: 'AQID', mediaType: 'image/png' },
    { type: 'image-url', url: 'https://example.com/a.png' },
    { type: 'file-data', data: 'JVBERg==', mediaType: 'application/pdf', filename: 'a.pdf' },
    { type: 'file-data', data: 'AQID', mediaType: 'image/png' },
    { type: 'file-url', url: 'https://example.com/a.pdf' },
    { type: 'file-url', url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
    { type: 'file-id', fileId: { openai: 'file-1' } },
    { type: 'image-file-id', fileId: 'file-2' },
    { type: 'custom', providerOptions: OPTIONS },
  ],
} as V3Output

const V3: LanguageModelV3Prompt = [
  ...(V2.slice(0, 4) as LanguageModelV3Prompt),
  { role: 'tool', content: [{ type: 'tool-result', toolCallId: '1', toolName: 'look', output: V3_OUTPUT }] },
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId: '2', toolName: 'look', input: {} }] },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: '2',
        toolName: 'look',
        output: { type: 'execution-denied', reason: 'not today', providerOptions: OPTIONS },
      },
      { type: 'tool-approval-response', approvalId: 'apr_1', approved: false, reason: 'no' },
    ],
  },
]

const V4: readonly SdkMessage[] = [
  user(
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2]) } },
    { type: 'file', mediaType: 'image', data: { type: 'url', url: new URL('https://example.com/a.png') } },
    {
      type: 'file',
      mediaType: 'application/pdf',
      data: { type: 'reference', reference: { openai: 'file-1' } },
    },
    { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'words' }, filename: 'a.txt' },
  ),
  assistant(
    { type: 'custom', kind: 'openai.compaction', providerOptions: OPTIONS },
    { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
    asked('1'),
  ),
  answered({
    type: 'content',
    value: [
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
      { type: 'file', mediaType: 'image', data: { type: 'url', url: new URL('https://example.com/a.png') } },
      { type: 'custom', providerOptions: OPTIONS },
    ],
  }),
]

describe('a prompt through the store is the same again', () => {
  for (const [name, prompt] of Object.entries(SHARED)) {
    for (const version of ['v2', 'v3', 'v4'] as const)
      it(`${name} (${version})`, async () => expect(await thereAndBack(prompt, version)).toEqual(prompt))
  }
  it('all kinds of files and outputs of V2', async () =>
    expect(await thereAndBack(V2 as readonly SdkMessage[], 'v2')).toEqual(V2))
  it('all kinds of files and outputs of V3', async () =>
    expect(await thereAndBack(V3 as readonly SdkMessage[], 'v3')).toEqual(V3))
  it('all kinds of files and outputs of V4', async () => expect(await thereAndBack(V4, 'v4')).toEqual(V4))
})

describe('what an older or newer version sends', () => {
  it('V3 makes of media what it has for them', async () => {
    const [, , , , answer] = await thereAndBack(V2 as readonly SdkMessage[], 'v3')
    expect((answer!.content[0] as SdkPart).output).toEqual({
      type: 'content',
      value: [
        { type: 'text', text: 'see' },
        { type: 'image-data', data: 'AQID', mediaType: 'image/png' },
        { type: 'file-data', data: 'JVBERg==', mediaType: 'application/pdf' },
      ],
    })
  })

  it('V2 encodes a denial as an error', async () => {
    const prompt = await thereAndBack(V3 as readonly SdkMessage[], 'v2')
    expect((prompt.at(-1)!.content[0] as SdkPart).output).toEqual({ type: 'error-text', value: 'not today' })
  })

  it('V4 tags files of V3', async () => {
    const [first] = await thereAndBack(V3 as readonly SdkMessage[], 'v4')
    expect((first!.content[0] as SdkPart).data).toEqual({ type: 'data', data: new Uint8Array([1, 2]) })
  })
})

describe('what a provider keeps for itself', () => {
  const reasoned = [
    user({ type: 'text', text: 'hi' }),
    assistant(
      { type: 'reasoning', text: 'hm', providerOptions: { openai: { itemId: 'rs_1' } } },
      { type: 'text', text: 'answer', providerOptions: { openai: { itemId: 'msg_1' } } },
      { ...asked('1'), providerOptions: { openai: { itemId: 'fc_1' } } },
    ),
    answered({ type: 'text', value: 'seen' }),
  ]
  const target = { version: 'v3', provider: 'openai' } as const

  it('goes out by its content when its reasoning is not shown', async () => {
    const [, answer] = await stored(reasoned, 'openai')
    const without = (answer!.content as readonly Part[]).filter(({ type }) => type !== 'reasoning')
    const [sent] = toSdkPrompt([{ role: 'assistant', content: without }], target)
    expect(sent!.content).toEqual([
      { type: 'text', text: 'answer', providerOptions: { openai: {} } },
      { ...asked('1'), providerOptions: { openai: {} } },
    ])
  })

  it('goes out by its content when another text is shown in its place', async () => {
    const [, answer] = await stored(reasoned, 'openai')
    const shorter = (answer!.content as readonly Part[]).map((part) =>
      part.type === 'text' ? { ...part, text: 'ans…' } : part,
    )
    const [sent] = toSdkPrompt([{ role: 'assistant', content: shorter }], target)
    expect((sent!.content as readonly SdkPart[])[1]).toEqual({
      type: 'text',
      text: 'ans…',
      providerOptions: { openai: {} },
    })
  })

  it("is not sent to another: Anthropic's blocks, kept as our own blocks", async () => {
    const blocks = [
      assistant(
        { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'x' } } },
        { type: 'text', text: 'earlier: …', providerOptions: { anthropic: { type: 'compaction' } } },
        { type: 'text', text: 'a' },
      ),
    ]
    const messages = fromSdkPrompt(blocks, 'anthropic')
    expect(messages[0]!.content).toEqual([
      { type: 'provider', provider: 'anthropic', data: { type: 'redacted_thinking', data: 'x' } },
      { type: 'provider', provider: 'anthropic', data: { type: 'compaction', content: 'earlier: …' } },
      { type: 'text', text: 'a' },
    ])
    expect(toSdkPrompt(messages, { version: 'v3', provider: 'anthropic' })).toEqual(blocks)
    expect(toSdkPrompt(messages, target)).toEqual([assistant({ type: 'text', text: 'a' })])
  })

  it('marks of caching are sent and not stored', () => {
    const cache = { anthropic: { cacheControl: { type: 'ephemeral' } } }
    const [message] = fromSdkPrompt(
      [{ ...user({ type: 'text', text: 'hi', providerOptions: cache }), providerOptions: cache }],
      'anthropic',
    )
    expect(toSdkPrompt([message!], target)[0]).toMatchObject({ providerOptions: cache })
    expect(storedMessage(message!)).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'hi' }],
      metadata: { 'ai-sdk': {} },
    })
  })
})

describe('responses', () => {
  const answer = (content: readonly SdkPart[]) => ({
    content,
    finishReason: 'stop',
    usage: undefined,
    providerMetadata: undefined,
  })

  it('become one message, with what is not sent again beside it', () => {
    const source = { type: 'source', sourceType: 'url', id: '1', url: 'https://example.com' }
    const message = messageOfAnswer(
      answer([
        { type: 'reasoning', text: 'hm', providerMetadata: { anthropic: { signature: 's' } } },
        source,
        { type: 'text', text: 'a' },
        {
          type: 'tool-call',
          toolCallId: '1',
          toolName: 'search',
          input: '{"q":"x"}',
          providerExecuted: true,
        },
        { type: 'tool-result', toolCallId: '1', toolName: 'search', result: [1], preliminary: true },
        { type: 'tool-result', toolCallId: '1', toolName: 'search', result: [1, 2] },
        { type: 'tool-call', toolCallId: '2', toolName: 'look', input: '' },
        { type: 'tool-approval-request', approvalId: 'p', toolCallId: '2' },
      ]),
      'anthropic',
    )
    expect(message).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 's' } } },
        { type: 'text', text: 'a' },
        { type: 'tool-call', toolCallId: '1', toolName: 'search', input: { q: 'x' }, providerExecuted: true },
        { type: 'tool-result', toolCallId: '1', toolName: 'search', output: { type: 'json', value: [1, 2] } },
        { type: 'tool-call', toolCallId: '2', toolName: 'look', input: {} },
      ],
      metadata: {
        'ai-sdk': {
          sources: [source],
          approvals: [{ type: 'tool-approval-request', approvalId: 'p', toolCallId: '2' }],
        },
      },
    })
  })

  it('arguments that are no JSON are kept as they came and sent within an object', () => {
    const message = messageOfAnswer(
      answer([{ type: 'tool-call', toolCallId: '1', toolName: 'look', input: '{"a":' }]),
      'openai',
    )!
    expect((message.content[0] as Part & { input: unknown }).input).toBe('{"a":')
    expect(toSdkPrompt([message], { version: 'v3', provider: 'openai' })[0]!.content).toEqual([
      { type: 'tool-call', toolCallId: '1', toolName: 'look', input: { arguments: '{"a":' } },
    ])
  })

  it('without content become no message', () => {
    expect(messageOfAnswer(answer([]), 'openai')).toBeUndefined()
    expect(messageOfAnswer(answer([{ type: 'text', text: '' }]), 'openai')).toBeUndefined()
  })

  it('tell their usage in parts that add up, in both forms', () => {
    const v3 = {
      inputTokens: { total: 100, noCache: 30, cacheRead: 60, cacheWrite: 10 },
      outputTokens: { total: 5 },
    }
    const parts = { inputTokens: 30, cacheReadTokens: 60, cacheCreationTokens: 10, outputTokens: 5 }
    expect(usageIn({ ...answer([]), usage: v3 }, 'anthropic')).toEqual(parts)
    // V2: OpenAI counts what came from its cache within the input, Anthropic apart.
    const v2 = { inputTokens: 100, cachedInputTokens: 60, outputTokens: 5 }
    expect(usageIn({ ...answer([]), usage: v2 }, 'openai')).toEqual({
      inputTokens: 40,
      cacheReadTokens: 60,
      outputTokens: 5,
    })
    const providerMetadata = { anthropic: { cacheCreationInputTokens: 10 } }
    expect(
      usageIn(
        {
          ...answer([]),
          usage: { inputTokens: 30, cachedInputTokens: 60, outputTokens: 5 },
          providerMetadata,
        },
        'anthropic',
      ),
    ).toEqual(parts)
    expect(usageIn({ ...answer([]), usage: { inputTokens: undefined } }, 'openai')).toBeUndefined()
  })

  it('tell why they ended in words the store knows', () => {
    expect(stopReasonIn('tool-calls')).toBe('tool-calls')
    expect(stopReasonIn({ unified: 'stop', raw: 'pause_turn' })).toBe('pause_turn')
    expect(stopReasonIn({ unified: 'stop', raw: 'weird' })).toBe('stop')
    expect(stopReasonIn({ unified: 'tool-calls', raw: undefined })).toBe('tool-calls')
  })
})

it('names of models and providers', () => {
  const names: readonly (readonly [string, string, string, string])[] = [
    ['openai.chat', 'gpt-5', 'openai', 'gpt-5'],
    ['openai.responses', 'gpt-5', 'openai', 'gpt-5'],
    ['anthropic.messages', 'claude-x', 'anthropic', 'claude-x'],
    ['google.generative-ai', 'gemini', 'google-ai', 'gemini'],
    ['google.vertex.chat', 'gemini', 'vertex', 'gemini'],
    ['vertex.anthropic.messages', 'claude-x', 'vertex', 'claude-x'],
    ['amazon-bedrock', 'claude-x', 'bedrock', 'claude-x'],
    ['azure.responses', 'dep', 'azure', 'dep'],
    ['azure-openai.chat', 'dep', 'azure', 'dep'],
    ['mistral.chat', 'm', 'mistral', 'm'],
    ['ollama.chat', 'qwen', 'ollama', 'qwen'],
    ['lmstudio.chat', 'qwen/qwen3', 'lmstudio', 'qwen/qwen3'],
    ['gateway', 'anthropic/claude-x', 'anthropic', 'claude-x'],
    ['openrouter.chat', 'mistralai/m', 'mistral', 'm'],
    ['gateway', 'nobody/claude-x', 'gateway', 'nobody/claude-x'],
  ]
  for (const [provider, modelId, ours, model] of names)
    expect([provider, namesOf({ provider, modelId })]).toEqual([provider, { provider: ours, model }])
})

it('takes the messages of an answer, and those an application writes, as they are typed', () => {
  const messages: ModelMessage[] = [
    { role: 'user', content: [{ type: 'image', image: 'aGk=', mediaType: 'image/png' }] },
    { role: 'assistant', content: 'a picture' },
    { role: 'user', content: [{ type: 'image', image: new URL('https://example.com/a.png') }] },
  ]
  expect(fromSdkPrompt(messages, 'openai')).toEqual([
    { role: 'user', content: [{ type: 'file', data: 'aGk=', mediaType: 'image/png' }] },
    { role: 'assistant', content: 'a picture' },
    { role: 'user', content: [{ type: 'file', data: 'https://example.com/a.png', mediaType: 'image/*' }] },
  ])
})
