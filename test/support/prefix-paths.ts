import { createAnthropic } from '@ai-sdk/anthropic'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  type ToolCall,
  ToolMessage,
} from '@langchain/core/messages'
import type { ChatResult } from '@langchain/core/outputs'
import { jsonSchema, stepCountIs, streamText, tool, type UIMessage, wrapLanguageModel } from 'ai'
import { chatStore, undertext } from '../../src/ai-sdk.ts'
import { fromAnthropic, toAnthropic } from '../../src/anthropic.ts'
import type { NewMessage, Store } from '../../src/index.ts'
import { recoveringModel, UndertextChatMessageHistory } from '../../src/langchain.ts'
import type { Answer, Block, MessagesBody, PrefixServer } from './prefix-server.ts'

/*
 * The ways in which an application calls Claude with this package, each a function that says something in a session and runs the tools
 * until the model has answered. They send what the package gives them, unchanged, to a `PrefixServer`.
 */

export const MODEL = 'claude-opus-5-5'
const SYSTEM = 'You are the clerk of a library.'
const NAMES = ['find', 'read'] as const
const SCHEMA = { type: 'object', properties: { query: { type: 'string' } } } as const
const TOOLS = NAMES.map((name) => ({ name, description: `Use it to ${name}.`, input_schema: SCHEMA }))
const MOST_TOKENS = 300

/** Output of a tool: some are long, some repeat. */
function outputOf(query: string): string {
  const number = Number(query.split('.')[0])
  const lines = number % 4 === 0 ? 40 : 3
  return Array.from(
    { length: lines },
    (_, line) => `${line}: shelf ${number % 5} holds ${line * 7} books`,
  ).join('\n')
}

export type Path = (store: Store, server: PrefixServer, sessionId: string, text: string) => Promise<void>

async function post(server: PrefixServer, body: object): Promise<Answer & { readonly wire: object }> {
  const response = await fetch(`${server.anthropicUrl}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, max_tokens: MOST_TOKENS, ...body }),
  })
  const text = await response.text()
  if (!response.ok) throw Object.assign(new Error(text), { status: response.status })
  const { content, stop_reason: stopReason, ...wire } = JSON.parse(text)
  return { content, stopReason, wire: { ...wire, content, stop_reason: stopReason } }
}

function resultsOf(content: readonly Block[]): Block[] {
  return content
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, input }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: outputOf((input as { query: string }).query),
    }))
}

/** One call before the model and one after. */
export const recorded: Path = async (store, server, sessionId, text) => {
  let prompt: string | NewMessage[] = text
  for (;;) {
    const options = {
      provider: 'anthropic',
      model: MODEL,
      maxOutputTokens: MOST_TOKENS,
      system: SYSTEM,
      tools: TOOLS,
    }
    const { request, answer } = await store.withOverflowRecovery(
      sessionId,
      async (request) => {
        const system = { role: 'system' as const, content: request.system! }
        const body = toAnthropic([system, ...request.messages], { forRequest: true })
        return { request, answer: await post(server, { ...body, tools: request.tools }) }
      },
      { ...options, prompt },
    )
    await store.recordResponse(sessionId, {
      request,
      messages: fromAnthropic([answer.wire]),
      stopReason: answer.stopReason,
    })
    const results = resultsOf(answer.content)
    if (results.length === 0) return
    prompt = fromAnthropic([{ role: 'user', content: results }])
  }
}

/** The view rendered, sent, and the answer appended: the store does not know what was sent. */
export const unrecorded: Path = async (store, server, sessionId, text) => {
  await store.append(sessionId, [{ role: 'user', content: text }])
  for (;;) {
    if (await store.needsCompaction(sessionId, 'anthropic', MODEL)) await store.compactSession(sessionId)
    const { messages } = await store.renderHistory(sessionId, { provider: 'anthropic' })
    const body = toAnthropic([{ role: 'system', content: SYSTEM }, ...messages], { forRequest: true })
    const answer = await post(server, { ...body, tools: TOOLS })
    const results = resultsOf(answer.content)
    await store.append(sessionId, fromAnthropic([answer.wire]))
    if (results.length === 0) return
    await store.append(sessionId, fromAnthropic([{ role: 'user', content: results }]))
  }
}

const sdkTools = Object.fromEntries(
  NAMES.map((name) => [
    name,
    tool({
      description: `Use it to ${name}.`,
      inputSchema: jsonSchema<{ query: string }>(SCHEMA as never),
      execute: async ({ query }: { query: string }) => outputOf(query),
    }),
  ]),
)
const sdkModel = (server: PrefixServer) =>
  createAnthropic({ baseURL: server.anthropicUrl, apiKey: 'none' })(MODEL)

/** The middleware of the AI SDK, which receives the new message alone. */
export const middleware: Path = async (store, server, sessionId, text) => {
  const model = wrapLanguageModel({ model: sdkModel(server), middleware: undertext(store, sessionId) })
  const errors: unknown[] = []
  const result = streamText({
    model,
    tools: sdkTools,
    stopWhen: stepCountIs(8),
    system: SYSTEM,
    prompt: text,
    maxOutputTokens: MOST_TOKENS,
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error),
  })
  await result.consumeStream()
  if (errors.length > 0) throw errors[0]
}

/** The chats of `useChat`. */
export const chat: Path = async (store, server, sessionId, text) => {
  const model = sdkModel(server)
  const chats = chatStore<UIMessage>(store)
  const message: UIMessage = { id: text, role: 'user', parts: [{ type: 'text', text }] }
  const given = { model, tools: sdkTools, system: SYSTEM, maxOutputTokens: MOST_TOKENS }
  const turn = await chats.resume({ id: sessionId, message, trigger: 'submit-message' }, given)
  const errors: unknown[] = []
  const result = streamText({
    model: turn.model,
    messages: turn.messages,
    ...(turn.system !== undefined && { system: turn.system }),
    tools: sdkTools,
    stopWhen: stepCountIs(8),
    maxOutputTokens: MOST_TOKENS,
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error),
  })
  const response = result.toUIMessageStreamResponse({
    originalMessages: turn.originalMessages,
    generateMessageId: turn.generateMessageId,
    onFinish: turn.onFinish,
  })
  await response.text()
  if (errors.length > 0) throw errors[0]
}

/** Calls the server as LangChain's integration of Anthropic does. */
class ServedModel extends BaseChatModel {
  readonly #server: PrefixServer

  constructor(server: PrefixServer) {
    super({})
    this.#server = server
  }

  override _llmType(): string {
    return 'served'
  }

  override getLsParams() {
    return { ls_provider: 'anthropic', ls_model_name: MODEL, ls_model_type: 'chat' as const }
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const { content, wire } = await post(this.#server, { ...wireOf(messages), tools: TOOLS })
    const { input_tokens, output_tokens } = (
      wire as { usage: { input_tokens: number; output_tokens: number } }
    ).usage
    const tool_calls = content.flatMap((block): ToolCall[] =>
      block.type === 'tool_use'
        ? [{ type: 'tool_call', id: String(block.id), name: String(block.name), args: block.input as object }]
        : [],
    )
    const usage_metadata = {
      input_tokens,
      output_tokens,
      total_tokens: input_tokens + output_tokens,
    } as never
    const message = new AIMessage({ content: content as never, tool_calls, usage_metadata })
    return { generations: [{ text: message.text, message }] }
  }
}

function wireOf(messages: readonly BaseMessage[]): Pick<MessagesBody, 'system' | 'messages'> {
  const sent: { role: string; content: Block[] }[] = []
  let system: unknown
  for (const message of messages) {
    const blocks: Block[] =
      typeof message.content === 'string'
        ? [{ type: 'text', text: message.content }]
        : (message.content as unknown as Block[])
    if (message.type === 'system') system = blocks
    else if (message instanceof ToolMessage) {
      const result = { type: 'tool_result', tool_use_id: message.tool_call_id, content: message.content }
      const last = sent.at(-1)
      if (last?.role === 'user' && last.content[0]?.type === 'tool_result') last.content.push(result)
      else sent.push({ role: 'user', content: [result] })
    } else if (message instanceof AIMessage) {
      const known = new Set(blocks.map(({ id }) => id))
      const calls = (message.tool_calls ?? []).filter(({ id }) => !known.has(id))
      const uses = calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }))
      const said = blocks.filter(({ type, text }) => type !== 'text' || text !== '')
      sent.push({ role: 'assistant', content: [...said, ...uses] })
    } else sent.push({ role: 'user', content: blocks })
  }
  return { system, messages: sent }
}

/** LangChain's history, with the model that recovers. */
export const langchain: Path = async (store, server, sessionId, text) => {
  const history = new UndertextChatMessageHistory({ store, sessionId, provider: 'anthropic', model: MODEL })
  const model = recoveringModel(new ServedModel(server), history)
  let fresh: BaseMessage[] = [new HumanMessage(text)]
  for (;;) {
    const answer = await model.invoke([...(await history.getMessages()), ...fresh])
    await history.addMessages([...fresh, answer])
    const calls = (answer as AIMessage).tool_calls ?? []
    if (calls.length === 0) return
    fresh = calls.map(
      ({ id, args }) => new ToolMessage({ tool_call_id: id!, content: outputOf(String(args.query)) }),
    )
  }
}

export const PATHS: { readonly [name: string]: Path } = { recorded, unrecorded, middleware, chat, langchain }
