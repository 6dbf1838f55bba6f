/*
 * An agent: it calls the model, runs the tools that the answer calls, and repeats this until an answer is final. Run it:
 *
 *   npx tsx examples/02-agent-loop.ts
 */
import { openStore, type Prompt } from 'undertext'
import { fromOpenAI, type OpenAIMessage, toOpenAI } from 'undertext/openai'

type AssistantMessage = Extract<OpenAIMessage, { role: 'assistant' }>
type Answer = { readonly message: AssistantMessage; readonly finish_reason: string }

/** Stands for the model: it calls a tool, and then answers with what the tool returned. */
async function callModel(messages: readonly OpenAIMessage[]): Promise<Answer> {
  const last = messages.at(-1)!
  if (last.role === 'tool')
    return { message: { role: 'assistant', content: `It says: ${last.content}` }, finish_reason: 'stop' }
  const call = { name: 'read_file', arguments: '{"path":"notes.txt"}' }
  const tool_calls = [{ id: 'call-1', type: 'function' as const, function: call }]
  return { message: { role: 'assistant', content: null, tool_calls }, finish_reason: 'tool_calls' }
}

const store = await openStore(':memory:')
let prompt: Prompt = 'What is in notes.txt?'
for (let isFinal = false; !isFinal; ) {
  const request = await store.prepareRequest('agent', { provider: 'openai', prompt })
  const { message, finish_reason } = await callModel(toOpenAI(request.messages))
  const response = { request, messages: fromOpenAI([message]), stopReason: finish_reason }
  isFinal = (await store.recordResponse('agent', response)).final
  if (isFinal) console.log(message.content)
  // The results of the tools are the next prompt.
  const calls = message.tool_calls ?? []
  prompt = fromOpenAI(calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'Buy milk.' })))
}

for (const { position, role } of await store.getMessages('agent')) console.log(position, role)
for (const { toolName, status } of await store.messages.toolCalls('agent')) console.log(toolName, status)
await store.close()
