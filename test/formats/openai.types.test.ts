import type { ChatCompletionMessage, ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type {
  Response,
  ResponseInputItem,
  ResponseItem,
  ResponseOutputItem,
} from 'openai/resources/responses/responses'
import { expect, it } from 'vitest'
import {
  fromOpenAI,
  fromOpenAIResponses,
  type OpenAIMessage,
  type ResponsesItem,
  toOpenAI,
  toOpenAIResponses,
} from '../../src/adapters/openai/index.ts'

/** What the SDK takes and gives, without a cast; that this file compiles is most of the claim. */
it('takes and gives the types of the SDK', () => {
  const asked: ChatCompletionMessageParam[] = [
    { role: 'developer', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look.' },
        { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'low' } },
        { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: 'a dot' },
  ]
  const answered: ChatCompletionMessage = { role: 'assistant', content: 'A dot.', refusal: null }
  const chat: ChatCompletionMessageParam[] = toOpenAI(fromOpenAI([...asked, answered]))
  expect(chat).toEqual([...asked, answered])
  const own: OpenAIMessage[] = toOpenAI([])
  const params: ChatCompletionMessageParam[] = own
  expect(params).toEqual([])

  const input: ResponseInputItem[] = [
    { role: 'user', content: [{ type: 'input_text', text: 'Look.' }] },
    { type: 'function_call_output', call_id: 'a', output: 'a dot' },
    { type: 'item_reference', id: 'msg_0' },
  ]
  const output: ResponseOutputItem[] = [
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'A dot.', annotations: [] }],
    },
  ]
  const listed: ResponseItem[] = []
  const items: ResponseInputItem[] = toOpenAIResponses(fromOpenAIResponses([...input, ...output, ...listed]))
  expect(items).toEqual([...input, ...output])
  const made: ResponsesItem[] = []
  const sent: ResponseInputItem[] = made
  expect(sent).toEqual([])

  const response: Pick<Response, 'output' | 'instructions'> = { output, instructions: 'Be brief.' }
  expect(
    fromOpenAIResponses({ input: response.output, instructions: response.instructions }).map(
      ({ role }) => role,
    ),
  ).toEqual(['system', 'assistant', 'assistant'])
})
