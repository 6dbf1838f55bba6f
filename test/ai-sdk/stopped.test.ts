import { expect, it } from 'vitest'
import { fromUIMessages } from '../../src/adapters/ai-sdk/from-ui-messages.ts'
import { toSdkPrompt } from '../../src/adapters/ai-sdk/prompt.ts'
import { toUIMessages } from '../../src/adapters/ai-sdk/to-ui-messages.ts'
import type { UIMessageLike } from '../../src/adapters/ai-sdk/types.ts'
import type { ViewMessage } from '../../src/core/messages/message.ts'
import { renderView } from '../../src/core/rendering/render.ts'

const user = (id: string, text: string): UIMessageLike =>
  ({ id, role: 'user', parts: [{ type: 'text', text }] }) as unknown as UIMessageLike

function sent(messages: readonly UIMessageLike[], provider: string): unknown[] {
  const view = fromUIMessages(messages).map(
    (row, index): ViewMessage => ({
      ...row,
      id: `r${index}`,
      kind: 'message',
      createdAt: 0,
      position: index + 1,
    }),
  )
  return toSdkPrompt(renderView(view, { provider }).messages, { version: 'v3', provider })
}

it('reasoning that a stop cut is shown to people and not sent', () => {
  const stopped = {
    id: 'a1',
    role: 'assistant',
    parts: [
      { type: 'step-start' },
      {
        type: 'reasoning',
        text: 'partial thou',
        state: 'streaming',
        providerMetadata: { anthropic: { signature: 'sigPartial' } },
      },
      { type: 'text', text: 'I will', state: 'streaming' },
    ],
  } as unknown as UIMessageLike
  const messages = [user('u1', 'q'), stopped, user('u2', 'again')]
  expect(sent(messages, 'anthropic')).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'q' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'I will' }] },
    { role: 'user', content: [{ type: 'text', text: 'again' }] },
  ])
  expect(toUIMessages(fromUIMessages(messages))).toEqual(messages)
})

it('nor is the id of an item of OpenAI that came with it', () => {
  const stopped = {
    id: 'a1',
    role: 'assistant',
    parts: [
      {
        type: 'reasoning',
        text: 'par',
        state: 'streaming',
        providerMetadata: { openai: { itemId: 'rs_1' } },
      },
      { type: 'text', text: 'I', state: 'streaming', providerMetadata: { openai: { itemId: 'msg_1' } } },
    ],
  } as unknown as UIMessageLike
  const messages = [user('u1', 'q'), stopped, user('u2', 'again')]
  expect(JSON.stringify(sent(messages, 'openai'))).not.toMatch(/rs_1|msg_1/)
  expect(toUIMessages(fromUIMessages(messages))).toEqual(messages)
})

it('a file with a relative address is a text that names it, and is shown as it was', () => {
  const message = {
    id: 'u1',
    role: 'user',
    parts: [
      { type: 'text', text: 'look' },
      { type: 'file', url: '/uploads/a.png', mediaType: 'image/png', filename: 'a.png' },
    ],
  } as unknown as UIMessageLike
  expect(sent([message], 'openai')).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        {
          type: 'text',
          text: '[image a.png is not shown: its address is relative, so the provider cannot load it]',
        },
      ],
    },
  ])
  expect(toUIMessages(fromUIMessages([message]))).toEqual([message])
})
