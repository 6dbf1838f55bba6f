/*
 * Stands in for a model, so that the example runs without a key: asks two tools at once for the weather, one that needs approval to
 * forget something, and finds the name in what it is sent.
 */
import type { AgentInputItem, Model, ModelRequest, ModelResponse, StreamEvent } from '@openai/agents'
import { Usage } from '@openai/agents'

/** What a model may say: of the items of a history those that are not a user's. */
type Output = Extract<StreamEvent, { type: 'response_done' }>['response']['output']

export class MockModel implements Model {
  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const usage = new Usage({ requests: 1, inputTokens: 100, outputTokens: 20, totalTokens: 120 })
    return { usage, output: answerTo(request.input), responseId: 'resp_1' }
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const output = answerTo(request.input)
    yield { type: 'response_started' }
    for (const item of output)
      if (item.type === 'message') yield { type: 'output_text_delta', delta: textOf([item]) }
    const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 120 }
    yield { type: 'response_done', response: { id: 'resp_1', usage, output } }
  }
}

function answerTo(input: string | AgentInputItem[]): Output {
  if (typeof input === 'string') return [message('I will.')]
  const last = input.at(-1)!
  const asked = textOf([last])
  if (last.type === 'function_call_result') return [message(`Done: ${resultsOf(input).join(' ')}`)]
  if (asked.includes('weather'))
    return [
      reasoning('Two cities, two calls.'),
      call(input, 1, 'weather', { city: 'Turin' }),
      call(input, 2, 'weather', { city: 'Oslo' }),
    ]
  if (asked.includes('Forget')) return [call(input, 1, 'forget', { what: 'the weather' })]
  if (asked.includes('What is my name'))
    return [message(textOf(input).includes('Ada') ? 'You are Ada.' : 'I do not know.')]
  return [
    message(
      asked.includes('story') ? 'Once upon a time there was a light by the sea. '.repeat(35) : 'I will.',
    ),
  ]
}

function message(text: string): Output[number] {
  return { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }
}

function reasoning(text: string): Output[number] {
  const providerData = { encrypted_content: 'gAAAA' }
  return { type: 'reasoning', id: 'rs_1', content: [{ type: 'input_text', text }], providerData }
}

function call(input: readonly unknown[], no: number, name: string, args: object): Output[number] {
  const callId = `call_${input.length}_${no}`
  return { type: 'function_call', callId, name, arguments: JSON.stringify(args), status: 'completed' }
}

/** What the tools said last. */
function resultsOf(input: readonly AgentInputItem[]): string[] {
  const from = input.findLastIndex(({ type }) => type !== 'function_call_result') + 1
  return input.slice(from).map((item) => JSON.stringify(item).match(/"text":"([^"]*)"/)?.[1] ?? '')
}

function textOf(items: readonly AgentInputItem[]): string {
  return items.map((item) => ('content' in item ? JSON.stringify(item.content) : '')).join(' ')
}
