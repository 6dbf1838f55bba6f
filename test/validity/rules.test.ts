import { describe, expect, it } from 'vitest'
import { RULES } from '../../src/core/validity/validate-request.ts'
import { validateRequest } from '../../src/index.ts'
import { PNG, pngOf } from './bodies.ts'

/* One body that breaks each rule, and bodies that keep all of them; by hand, from the sources that the rule names. */

type Body = { readonly [field: string]: unknown }
type Case = {
  readonly rule: string
  readonly provider: string
  readonly model?: string
  readonly body: Body
  /** Where the rule is broken. */
  readonly at: string
  /** Rules that the same body cannot but break, too. */
  readonly also?: readonly string[]
}

const said = { role: 'user', content: 'Hello' }
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }

const anthropic = (...messages: unknown[]): Body => ({ messages })
const user = (...content: unknown[]) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const text = (value: string) => ({ type: 'text', text: value })
const use = (id: string, input: unknown = {}, name = 'look') => ({ type: 'tool_use', id, name, input })
const answer = (id: string, content: unknown = 'ok') => ({ type: 'tool_result', tool_use_id: id, content })
const thought = (signature: string) => ({ type: 'thinking', thinking: 'Hm', signature })

const chatCall = (id: string, args: unknown = '{}', name = 'look') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const asks = (...calls: unknown[]) => ({ role: 'assistant', content: null, tool_calls: calls })
const tool = (id: string, content = 'ok') => ({ role: 'tool', tool_call_id: id, content })

const item = (fields: Body) => ({ input: [said, fields] })
const functionCall = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }
const functionOutput = { type: 'function_call_output', call_id: 'c1', output: 'ok' }
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'AAAA' }

const converseFile = (name?: string) => ({ document: { format: 'pdf', name, source: { bytes: 'aGk=' } } })

const geminiCall = (name: string) => ({ role: 'model', parts: [{ functionCall: { name, args: {} } }] })
const geminiAnswer = (name: string) => ({ functionResponse: { name, response: {} } })

const CASES: readonly Case[] = [
  { rule: 'json', provider: 'openai', body: { messages: [said], seed: 1n }, at: '' },
  { rule: 'shape', provider: 'openai', body: { messages: [said, 7] }, at: 'messages.1' },
  {
    rule: 'shape',
    provider: 'anthropic',
    body: anthropic({ role: 'user', content: 7 }),
    at: 'messages.0.content',
    also: ['empty-text'],
  },
  {
    rule: 'surrogate',
    provider: 'openai',
    body: { messages: [{ role: 'user', content: 'a\ud83d' }] },
    at: 'messages.0.content',
  },
  {
    rule: 'surrogate',
    provider: 'anthropic',
    body: anthropic(said, assistant(use('a', { '\ud83d': 1 })), user(answer('a'))),
    at: 'messages.1.content.0.input',
  },
  {
    rule: 'empty-text',
    provider: 'anthropic',
    body: anthropic(user(text(''), text('x'))),
    at: 'messages.0.content.0',
  },
  {
    rule: 'empty-text',
    provider: 'gemini',
    body: { contents: [{ role: 'user', parts: [{ text: '' }] }] },
    at: 'contents.0.parts.0',
  },
  {
    rule: 'empty-text',
    provider: 'bedrock',
    body: anthropic(user({ text: '' })),
    at: 'messages.0.content.0',
  },
  {
    rule: 'blank-text',
    provider: 'anthropic',
    body: anthropic(said, assistant(text('\n\n'), use('a')), user(answer('a'))),
    at: 'messages.1.content.0',
  },
  {
    rule: 'blank-text',
    provider: 'bedrock',
    body: anthropic(user({ text: ' ' })),
    at: 'messages.0.content.0',
  },
  {
    rule: 'trailing-space',
    provider: 'anthropic',
    body: anthropic(said, { role: 'assistant', content: 'Say: ' }),
    at: 'messages.1.content',
  },
  { rule: 'no-messages', provider: 'openai', body: { messages: [] }, at: 'messages' },
  { rule: 'no-messages', provider: 'openai', body: { input: [] }, at: 'input' },
  { rule: 'no-messages', provider: 'gemini', body: { contents: [] }, at: 'contents' },
  { rule: 'no-messages', provider: 'anthropic', body: { system: 'Be brief', messages: [] }, at: 'messages' },
  {
    rule: 'no-messages',
    provider: 'anthropic',
    body: { prompt: [{ role: 'system', content: 'x' }] },
    at: 'prompt',
  },
  {
    rule: 'role',
    provider: 'openai',
    body: { messages: [said, { role: 'model', content: 'x' }] },
    at: 'messages.1',
  },
  {
    rule: 'role',
    provider: 'mistral',
    body: { messages: [{ role: 'developer', content: 'x' }, said] },
    at: 'messages.0',
  },
  {
    rule: 'role',
    provider: 'openai',
    body: { messages: [{ type: 'compaction', encrypted_content: 'AAAA' }, said] },
    at: 'messages.0',
  },
  { rule: 'fields', provider: 'anthropic', body: anthropic({ ...said, id: 'msg_1' }), at: 'messages.0' },
  {
    rule: 'system-inside',
    provider: 'anthropic',
    body: anthropic(said, { role: 'system', content: 'x' }),
    at: 'messages.1',
  },
  {
    rule: 'system-inside',
    provider: 'mistral',
    body: { messages: [said, { role: 'system', content: 'x' }, said] },
    at: 'messages.1',
  },
  {
    rule: 'system-inside',
    provider: 'anthropic',
    body: {
      prompt: [
        { role: 'user', content: [text('x')] },
        { role: 'system', content: 'x' },
      ],
    },
    at: 'prompt.1',
  },
  {
    rule: 'first-user',
    provider: 'anthropic',
    body: anthropic({ role: 'assistant', content: 'Hi' }, said),
    at: 'messages.0',
  },
  {
    rule: 'alternation',
    provider: 'bedrock',
    body: anthropic(user({ text: 'a' }), user({ text: 'b' })),
    at: 'messages.1',
  },
  {
    rule: 'user-after-tool',
    provider: 'mistral',
    body: { messages: [said, asks(chatCall('abcdefgh1')), tool('abcdefgh1'), said] },
    at: 'messages.3',
  },
  {
    rule: 'last-not-assistant',
    provider: 'mistral',
    body: { messages: [said, { role: 'assistant', content: 'x' }] },
    at: 'messages.1',
  },
  {
    rule: 'call-unanswered',
    provider: 'anthropic',
    body: anthropic(said, assistant(use('a')), said),
    at: 'messages.1.content.0',
  },
  {
    rule: 'call-unanswered',
    provider: 'openai',
    body: { messages: [said, asks(chatCall('a'), chatCall('b')), tool('b'), said] },
    at: 'messages.1.tool_calls.0',
  },
  { rule: 'call-unanswered', provider: 'openai', body: item(functionCall), at: 'input.1' },
  {
    rule: 'call-unanswered',
    provider: 'gemini',
    body: {
      contents: [
        { role: 'user', parts: [{ text: 'x' }] },
        geminiCall('f'),
        { role: 'user', parts: [{ text: 'y' }] },
      ],
    },
    at: 'contents.1.parts.0',
  },
  {
    rule: 'call-unanswered',
    provider: 'openai',
    body: {
      prompt: [
        { role: 'user', content: [text('x')] },
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'f', input: {} }] },
        { role: 'user', content: [text('y')] },
      ],
    },
    at: 'prompt.1.content.0',
  },
  {
    rule: 'result-without-call',
    provider: 'anthropic',
    body: anthropic(user(answer('a'))),
    at: 'messages.0.content.0',
  },
  {
    rule: 'result-without-call',
    provider: 'openai',
    body: { messages: [said, tool('a')] },
    at: 'messages.1',
  },
  { rule: 'result-without-call', provider: 'openai', body: item(functionOutput), at: 'input.1' },
  {
    rule: 'result-twice',
    provider: 'anthropic',
    body: anthropic(said, assistant(use('a')), user(answer('a'), answer('a'))),
    at: 'messages.2.content.1',
  },
  {
    rule: 'result-twice',
    provider: 'openai',
    body: { input: [said, functionCall, functionOutput, functionOutput] },
    at: 'input.3',
  },
  {
    rule: 'results-first',
    provider: 'anthropic',
    body: anthropic(said, assistant(use('a')), user(text('x'), answer('a'))),
    at: 'messages.2.content.1',
  },
  {
    rule: 'result-order',
    provider: 'gemini',
    body: {
      contents: [
        { role: 'user', parts: [{ text: 'x' }] },
        { role: 'model', parts: [...geminiCall('f').parts, ...geminiCall('g').parts] },
        { role: 'user', parts: [geminiAnswer('g'), geminiAnswer('f')] },
      ],
    },
    at: 'contents.2.parts.0',
  },
  {
    rule: 'call-id-form',
    provider: 'anthropic',
    body: anthropic(said, assistant(use('a:1')), user(answer('a:1'))),
    at: 'messages.1.content.0',
  },
  {
    rule: 'call-id-form',
    provider: 'openai',
    body: { messages: [said, asks(chatCall('x'.repeat(41))), tool('x'.repeat(41))] },
    at: 'messages.1.tool_calls.0',
  },
  {
    rule: 'call-id-form',
    provider: 'mistral',
    body: { messages: [said, asks(chatCall('call_1')), tool('call_1')] },
    at: 'messages.1.tool_calls.0',
  },
  {
    rule: 'call-id-form',
    provider: 'openai',
    body: {
      input: [
        said,
        { ...functionCall, call_id: 'x'.repeat(65) },
        { ...functionOutput, call_id: 'x'.repeat(65) },
      ],
    },
    at: 'input.1',
  },
  {
    rule: 'call-id-twice',
    provider: 'anthropic',
    body: anthropic(said, assistant(use('a')), user(answer('a')), assistant(use('a')), user(answer('a'))),
    at: 'messages.3.content.0',
  },
  {
    rule: 'call-name',
    provider: 'anthropic',
    body: anthropic(said, assistant(use('a', {}, 'browser.open')), user(answer('a'))),
    at: 'messages.1.content.0',
  },
  {
    rule: 'call-name',
    provider: 'openai',
    body: { messages: [said, asks(chatCall('a', '{}', '')), tool('a')] },
    at: 'messages.1.tool_calls.0',
  },
  ...[null, '', [], '{"a":1}', 3].map((input) => ({
    rule: 'input-object',
    provider: 'anthropic',
    body: anthropic(said, assistant(use('a', input)), user(answer('a'))),
    at: 'messages.1.content.0',
  })),
  {
    rule: 'input-object',
    provider: 'bedrock',
    body: {
      ...anthropic(
        user({ text: 'x' }),
        assistant({ toolUse: { toolUseId: 'a', name: 'f', input: 'x' } }),
        user({ toolResult: { toolUseId: 'a', content: [{ text: 'ok' }] } }),
      ),
      toolConfig: { tools: [{}] },
    },
    at: 'messages.1.content.0',
  },
  ...['{"a": "b', '', 'null', '[]', '"x"'].map((args) => ({
    rule: 'arguments-json',
    provider: 'openai',
    body: { messages: [said, asks(chatCall('a', args)), tool('a')] },
    at: 'messages.1.tool_calls.0',
  })),
  {
    rule: 'arguments-json',
    provider: 'openai',
    body: { input: [said, { ...functionCall, arguments: '{' }, functionOutput] },
    at: 'input.1',
  },
  {
    rule: 'arguments-length',
    provider: 'openai',
    // 1,048,577 characters: one more than the limit, with the eight of the braces, the name and the quotes.
    body: { messages: [said, asks(chatCall('a', `{"s":"${'z'.repeat(1_048_569)}"}`)), tool('a')] },
    at: 'messages.1.tool_calls.0',
  },
  {
    rule: 'own-tools',
    provider: 'anthropic',
    body: anthropic(
      said,
      assistant({ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }, text('x')),
      said,
    ),
    at: 'messages.1.content.0',
  },
  {
    rule: 'own-tools',
    provider: 'anthropic',
    body: anthropic(
      said,
      assistant({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }, text('x')),
      said,
    ),
    at: 'messages.1.content.0',
  },
  {
    rule: 'tools-missing',
    provider: 'bedrock',
    body: anthropic(
      user({ text: 'x' }),
      assistant({ toolUse: { toolUseId: 'a', name: 'f', input: {} } }),
      user({ toolResult: { toolUseId: 'a', content: [{ text: 'ok' }] } }),
    ),
    at: 'messages.1.content.0',
  },
  {
    rule: 'empty-failure',
    provider: 'anthropic',
    body: anthropic(said, assistant(use('a')), user({ ...answer('a', ''), is_error: true })),
    at: 'messages.2.content.0',
  },
  {
    rule: 'thinking-signed',
    provider: 'anthropic',
    body: anthropic(said, assistant(thought('sigPartial'), text('x')), said),
    at: 'messages.1.content.0',
  },
  {
    rule: 'thinking-signed',
    provider: 'anthropic',
    body: anthropic(said, assistant({ type: 'thinking', thinking: 'x' }, text('x')), said),
    at: 'messages.1.content.0',
  },
  {
    rule: 'thinking-last',
    provider: 'anthropic',
    body: anthropic(said, assistant(text('x'), thought('AAAA')), said),
    at: 'messages.1.content.1',
  },
  {
    rule: 'thinking-one-response',
    provider: 'anthropic',
    body: anthropic(
      said,
      assistant(thought('AAAA'), text('one'), thought('BBBB'), use('a')),
      user(answer('a')),
    ),
    at: 'messages.1.content.2',
  },
  {
    rule: 'thinking-one-response',
    provider: 'anthropic',
    body: anthropic(said, assistant(thought('AAAA'), thought('BBBB'), text('x')), said),
    at: 'messages.1.content.1',
  },
  {
    rule: 'thinking-one-response',
    provider: 'anthropic',
    body: anthropic(
      said,
      assistant(thought('AAAA'), text('one')),
      assistant(thought('BBBB'), text('two')),
      said,
    ),
    at: 'messages.2.content.0',
  },
  {
    rule: 'thinking-leads',
    provider: 'anthropic',
    body: anthropic(said, assistant(text('x'), thought('AAAA'), use('a')), user(answer('a'))),
    at: 'messages.1.content.1',
  },
  {
    rule: 'thinking-leads',
    provider: 'anthropic',
    body: {
      thinking: { type: 'enabled', budget_tokens: 1024 },
      ...anthropic(said, assistant(use('a')), user(answer('a'))),
    },
    at: 'messages.1.content.0',
  },
  {
    rule: 'foreign-block',
    provider: 'openai',
    body: { messages: [said, { role: 'assistant', content: [thought('AAAA')] }, said] },
    at: 'messages.1.content.0',
  },
  {
    rule: 'foreign-block',
    provider: 'anthropic',
    body: anthropic(said, assistant({ type: 'reasoning', text: 'x' }, text('x')), said),
    at: 'messages.1.content.0',
  },
  { rule: 'foreign-block', provider: 'openai', body: item({ type: 'thinking' }), at: 'input.1' },
  {
    rule: 'foreign-block',
    provider: 'gemini',
    body: { contents: [{ role: 'user', parts: [{ type: 'text' }] }] },
    at: 'contents.0.parts.0',
  },
  { rule: 'reasoning-followed', provider: 'openai', body: { input: [said, reasoning, said] }, at: 'input.1' },
  { rule: 'reasoning-followed', provider: 'openai', body: { input: [said, reasoning] }, at: 'input.1' },
  {
    rule: 'reasoning-whole',
    provider: 'openai',
    body: { input: [said, { ...reasoning, encrypted_content: 'AA�A' }, functionCall, functionOutput] },
    at: 'input.1',
  },
  {
    rule: 'thought-signature',
    provider: 'gemini',
    body: {
      contents: [
        { role: 'user', parts: [{ text: 'x' }] },
        { role: 'model', parts: [{ text: 'y', thoughtSignature: 'AA=A' }] },
        { role: 'user', parts: [{ text: 'z' }] },
      ],
    },
    at: 'contents.1.parts.0',
  },
  {
    rule: 'thought-signature-missing',
    provider: 'gemini',
    model: 'gemini-3-pro-preview',
    body: {
      contents: [
        { role: 'user', parts: [{ text: 'x' }] },
        geminiCall('f'),
        { role: 'user', parts: [geminiAnswer('f')] },
      ],
    },
    at: 'contents.1.parts.0',
  },
  {
    rule: 'media-role',
    provider: 'openai',
    body: {
      messages: [
        said,
        asks(chatCall('a')),
        {
          role: 'tool',
          tool_call_id: 'a',
          content: [{ type: 'image_url', image_url: { url: 'https://x.test/a.png' } }],
        },
      ],
    },
    at: 'messages.2.content.0',
  },
  {
    rule: 'numbered-once',
    provider: 'openai',
    body: {
      input: [
        said,
        reasoning,
        functionCall,
        functionOutput,
        { ...reasoning, encrypted_content: 'BBBB' },
        { role: 'assistant', content: 'x' },
      ],
    },
    at: 'input.4',
  },
  {
    rule: 'numbered-once',
    provider: 'anthropic',
    body: anthropic(
      said,
      assistant(thought('AAAA'), text('x')),
      said,
      assistant(thought('AAAA'), text('x')),
      said,
    ),
    at: 'messages.3.content.0',
  },
  {
    rule: 'numbered-once',
    provider: 'openai',
    body: {
      prompt: [
        { role: 'user', content: [text('x')] },
        { role: 'assistant', content: [{ ...text('y'), providerOptions: { openai: { itemId: 'msg_1' } } }] },
        { role: 'user', content: [text('x')] },
        { role: 'assistant', content: [{ ...text('y'), providerOptions: { openai: { itemId: 'msg_1' } } }] },
      ],
    },
    at: 'prompt.3.content.0',
  },
  {
    rule: 'item-id',
    provider: 'openai',
    body: item({ type: 'message', role: 'assistant', id: 'item_1', content: 'x' }),
    at: 'input.1',
  },
  {
    rule: 'item-id',
    provider: 'openai',
    body: { input: [said, { ...functionCall, id: `fc_${'x'.repeat(62)}` }, functionOutput] },
    at: 'input.1',
  },
  {
    rule: 'cache-marks',
    provider: 'anthropic',
    body: anthropic(
      user(...[1, 2, 3, 4, 5].map((n) => ({ ...text(`q${n}`), cache_control: { type: 'ephemeral' } }))),
    ),
    at: 'messages.0.content.4',
  },
  {
    rule: 'cache-mark-place',
    provider: 'anthropic',
    body: anthropic(
      said,
      assistant({ ...thought('AAAA'), cache_control: { type: 'ephemeral' } }, text('x')),
      said,
    ),
    at: 'messages.1.content.0',
  },
  {
    rule: 'media-type',
    provider: 'anthropic',
    body: anthropic(
      user({ type: 'image', source: { type: 'base64', media_type: 'image/jpg', data: 'AAAA' } }),
    ),
    at: 'messages.0.content.0',
  },
  {
    rule: 'media-type',
    provider: 'openai',
    body: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'file', file: { filename: 'a.json', file_data: 'data:application/json;base64,e30=' } },
          ],
        },
      ],
    },
    at: 'messages.0.content.0',
  },
  {
    rule: 'media-type',
    provider: 'openai.chat',
    body: {
      prompt: [{ role: 'user', content: [{ type: 'file', mediaType: 'application/json', data: 'e30=' }] }],
    },
    at: 'prompt.0.content.0',
  },
  {
    rule: 'media-data',
    provider: 'anthropic',
    body: anthropic(
      user({
        type: 'image',
        source: { type: 'base64', media_type: 'image/png', data: 'data:image/png;base64,AAAA' },
      }),
    ),
    at: 'messages.0.content.0',
  },
  {
    rule: 'media-match',
    provider: 'anthropic',
    body: anthropic(user({ type: 'image', source: { ...png.source, media_type: 'image/jpeg' } })),
    at: 'messages.0.content.0',
  },
  {
    rule: 'media-url',
    provider: 'anthropic',
    body: anthropic(user({ type: 'image', source: { type: 'url', url: '/uploads/a.png' } })),
    at: 'messages.0.content.0',
  },
  {
    rule: 'media-url',
    provider: 'openai',
    body: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'blob:x' } }] }] },
    at: 'messages.0.content.0',
  },
  {
    rule: 'media-role',
    provider: 'anthropic',
    body: anthropic(said, assistant(png, text('x')), said),
    at: 'messages.1.content.0',
  },
  {
    rule: 'image-count',
    provider: 'anthropic',
    model: 'claude-haiku-4-5',
    body: anthropic(user(...Array.from({ length: 101 }, () => png))),
    at: 'messages.0.content.100',
  },
  {
    rule: 'image-pixels',
    provider: 'anthropic',
    body: anthropic(user({ type: 'image', source: { ...png.source, data: pngOf(8001, 10) } })),
    at: 'messages.0.content.0',
  },
  {
    rule: 'image-pixels',
    provider: 'anthropic',
    body: anthropic(
      user(...Array.from({ length: 20 }, () => png), {
        type: 'image',
        source: { ...png.source, data: pngOf(10, 2001) },
      }),
    ),
    at: 'messages.0.content.20',
  },
  {
    rule: 'media-bytes',
    provider: 'anthropic',
    body: anthropic(
      user({
        type: 'image',
        source: { ...png.source, data: PNG.slice(0, 80) + 'A'.repeat(10 * 1024 * 1024 - 76) },
      }),
    ),
    at: 'messages.0.content.0',
  },
  {
    rule: 'request-bytes',
    provider: 'anthropic',
    body: anthropic({ role: 'user', content: 'x'.repeat(32 * 1024 * 1024) }),
    at: '',
  },
  {
    rule: 'text-length',
    provider: 'openai',
    body: { messages: [said, { role: 'assistant', content: 'x' }, user(text('x'.repeat(10_485_761)))] },
    at: 'messages.2.content.0',
  },
  {
    rule: 'last-not-assistant',
    provider: 'bedrock',
    model: 'us.anthropic.claude-opus-4-6-v1',
    body: anthropic(user({ text: 'x' }), { role: 'assistant', content: [{ text: 'y' }] }),
    at: 'messages.1',
  },
  {
    rule: 'answer-empty',
    provider: 'openai',
    body: { messages: [said, { role: 'assistant' }, said] },
    at: 'messages.1',
  },
  {
    rule: 'message-count',
    provider: 'azure',
    body: { messages: Array.from({ length: 2049 }, () => said) },
    at: 'messages',
  },
  {
    rule: 'failure-text',
    provider: 'anthropic',
    body: anthropic(said, assistant(use('a')), user({ ...answer('a', [text('no'), png]), is_error: true })),
    at: 'messages.2.content.0',
  },
  {
    rule: 'result-name',
    provider: 'gemini',
    body: {
      contents: [
        { role: 'user', parts: [{ text: 'x' }] },
        { role: 'model', parts: [{ functionCall: { id: 'a', name: 'f', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { id: 'a', response: {} } }] },
      ],
    },
    at: 'contents.2.parts.0',
  },
  {
    rule: 'call-count',
    provider: 'openai',
    body: {
      messages: [
        said,
        asks(...Array.from({ length: 129 }, (_, n) => chatCall(`c${n}`))),
        ...Array.from({ length: 129 }, (_, n) => tool(`c${n}`)),
      ],
    },
    at: 'messages.1',
  },
  {
    rule: 'item-not-stored',
    provider: 'openai',
    body: {
      store: false,
      input: [said, { type: 'reasoning', id: 'rs_1', summary: [] }, functionCall, functionOutput],
    },
    at: 'input.1',
  },
  {
    rule: 'item-not-stored',
    provider: 'openai',
    body: { store: false, input: [{ type: 'item_reference', id: 'msg_1' }, said] },
    at: 'input.0',
  },
  {
    rule: 'reasoning-missing',
    provider: 'deepseek',
    body: { thinking: { type: 'enabled' }, messages: [said, asks(chatCall('a')), tool('a')] },
    at: 'messages.1',
  },
  ...['a.pdf', 'x'.repeat(201), undefined].map((name) => ({
    rule: 'document-name',
    provider: 'bedrock',
    body: anthropic(user({ text: 'x' }, converseFile(name))),
    at: 'messages.0.content.1',
  })),
  {
    rule: 'document-name-twice',
    provider: 'bedrock',
    body: anthropic(user({ text: 'x' }, converseFile('a'), converseFile('a'))),
    at: 'messages.0.content.2',
  },
  {
    rule: 'document-alone',
    provider: 'bedrock',
    body: anthropic(user(converseFile('a'))),
    at: 'messages.0.content.0',
  },
  {
    rule: 'image-count',
    provider: 'bedrock',
    body: anthropic(user({ text: 'x' }, ...['a', 'b', 'c', 'd', 'e', 'f'].map(converseFile))),
    at: 'messages.0.content.6',
  },
]

describe('a body that breaks a rule', () => {
  it.each(CASES.map((one) => [one.rule, one.provider, one.at, one] as const))(
    '%s, sent to %s, has the finding at "%s" and no other',
    (rule, provider, at, { body, model, also = [] }) => {
      const found = validateRequest(body, provider, model === undefined ? {} : { model })
      expect(found.filter((finding) => finding.rule === rule).map(({ path }) => path)).toEqual([at])
      expect(found.filter((finding) => finding.rule !== rule && !also.includes(finding.rule))).toEqual([])
    },
  )

  it('is there for every rule', () => {
    expect(new Set(CASES.map(({ rule }) => rule))).toEqual(new Set(RULES.map(({ id }) => id)))
  })
})

describe('a body that keeps all rules, at their edges', () => {
  it.each<readonly [string, string, string | undefined, Body]>([
    [
      'an answer that Claude paused is sent back last',
      'anthropic',
      'claude-opus-5',
      anthropic(
        said,
        assistant({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
      ),
    ],
    [
      'Claude before 4.6 goes on with an answer',
      'anthropic',
      'claude-haiku-4-5-20251001',
      anthropic(said, assistant(text('It is'))),
    ],
    [
      '128 calls',
      'openai',
      undefined,
      {
        messages: [
          said,
          asks(...Array.from({ length: 128 }, (_, n) => chatCall(`c${n}`))),
          ...Array.from({ length: 128 }, (_, n) => tool(`c${n}`)),
        ],
      },
    ],
    ['2,048 messages', 'openai', undefined, { messages: Array.from({ length: 2048 }, () => said) }],
    [
      'a refusal alone',
      'openai',
      undefined,
      {
        messages: [said, { role: 'assistant', content: null, refusal: 'No.' }, said],
      },
    ],
    [
      'a failure of text',
      'anthropic',
      undefined,
      anthropic(said, assistant(use('a')), user({ ...answer('a', [text('no')]), is_error: true })),
    ],
    [
      'reasoning of another turn',
      'deepseek',
      'deepseek-reasoner',
      { messages: [said, asks(chatCall('a')), tool('a'), { role: 'assistant', content: 'x' }, said] },
    ],
    [
      'a request of texts',
      'groq',
      undefined,
      { messages: [{ role: 'user', content: 'x'.repeat(4 * 1024 * 1024) }] },
    ],
    [
      'a file of a bucket',
      'gemini',
      undefined,
      {
        contents: [
          { role: 'user', parts: [{ fileData: { mimeType: 'image/png', fileUri: 'gs://b/a.png' } }] },
        ],
      },
    ],
    [
      'a picture of a bucket',
      'bedrock',
      undefined,
      anthropic(user({ image: { format: 'png', source: { s3Location: { uri: 's3://b/a.png' } } } })),
    ],
    [
      '21 pictures',
      'bedrock',
      undefined,
      anthropic(
        user(...Array.from({ length: 21 }, () => ({ image: { format: 'png', source: { bytes: PNG } } }))),
      ),
    ],
    [
      'a cachePoint after a PDF',
      'bedrock',
      undefined,
      anthropic(user({ text: 'x' }, converseFile('a'), { cachePoint: { type: 'default' } })),
    ],
  ])('%s', (_, provider, model, body) => {
    expect(validateRequest(body, provider, model === undefined ? {} : { model })).toEqual([])
  })
})
