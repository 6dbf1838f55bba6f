import { createAnthropic } from '@ai-sdk/anthropic'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  type ToolCall,
  ToolMessage,
} from '@langchain/core/messages'
import type { ChatResult } from '@langchain/core/outputs'
import { jsonSchema, stepCountIs, streamText, tool, type UIMessage, wrapLanguageModel } from 'ai'
import { chatStore, undertext } from '../../src/adapters/ai-sdk/index.ts'
import { fromAnthropic, toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { recoveringModel, UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { beforeTurn } from '../../src/compat/index.ts'
import type { NewMessage, PrepareRequestOptions, Store } from '../../src/index.ts'
import type { Answer, Block, MessagesBody, PrefixServer } from './prefix-server.ts'

/*
 * The ways in which an application calls Claude with this package, each a function that says something in a session and runs the tools
 * until the model has answered. They send what the package gives them, unchanged, to a `PrefixServer`.
 */

export const MODEL = 'claude-opus-5-5'

/** Models with the check, as their hosts name them. Microsoft Foundry has Anthropic's API and Anthropic's names. */
export const HOSTED_MODELS = [
  ['anthropic', 'claude-opus-5-5'],
  ['anthropic', 'claude-sonnet-5-5'],
  ['anthropic', 'claude-haiku-5-5'],
  ['anthropic', 'claude-fable-5-1'],
  ['anthropic', 'claude-mythos-5-1'],
  ['bedrock', 'us.anthropic.claude-opus-5-5-20260928-v1:0'],
  ['bedrock', 'anthropic.claude-fable-5-1-v1:0'],
  ['vertex', 'claude-sonnet-5-5@20260928'],
  ['vertex', 'claude-mythos-5-1@20261001'],
] as const
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

/** What a turn has besides its text. */
export type TurnExtras = {
  readonly provider?: string
  readonly model?: string
  readonly system?: string
  /** Options of `prepareRequest`: what it adds to the request. */
  readonly adds?: Pick<
    PrepareRequestOptions,
    'injector' | 'turnNumber' | 'persistentContext' | 'notes' | 'files'
  >
}

export type Path = (
  store: Store,
  server: PrefixServer,
  sessionId: string,
  text: string,
  extras?: TurnExtras,
) => Promise<void>

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
export const recorded: Path = async (store, server, sessionId, text, extras = {}) => {
  const { provider = 'anthropic', model = MODEL, system: instructions = SYSTEM, adds } = extras
  const { files, ...others } = adds ?? {}
  let prompt: string | NewMessage[] = text
  for (let step = 1; ; step++) {
    const options = {
      provider,
      model,
      maxOutputTokens: MOST_TOKENS,
      system: instructions,
      tools: TOOLS,
      ...others,
      ...(files !== undefined && step === 1 && { files }),
    }
    const { request, answer } = await store.withOverflowRecovery(
      sessionId,
      async (request) => {
        const system = { role: 'system' as const, content: request.system! }
        const body = toAnthropic([system, ...request.messages], { forRequest: true })
        return { request, answer: await post(server, { ...body, model, tools: request.tools }) }
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
export const unrecorded: Path = async (store, server, sessionId, text, extras = {}) => {
  const { provider = 'anthropic', adds = {} } = extras
  await store.append(sessionId, [{ role: 'user', content: text }])
  const { files: _, notes: _notes, ...hooks } = adds
  for (;;) {
    if (await store.needsCompaction(sessionId)) await store.compactSession(sessionId)
    const { added } = await beforeTurn(store, sessionId, { ...hooks, auto: false })
    if (added !== undefined) await store.append(sessionId, [added])
    const { messages } = await store.renderHistory(sessionId, { provider })
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
const sdkModel = (server: PrefixServer, model = MODEL) =>
  createAnthropic({ baseURL: server.anthropicUrl, apiKey: 'none' })(model)

/** The middleware of the AI SDK, which receives the new message alone. */
export const middleware: Path = async (store, server, sessionId, text, extras = {}) => {
  // A call of the AI SDK has its own files.
  const { files: _, ...request } = extras.adds ?? {}
  const wrapped = undertext(store, sessionId, { request })
  const model = wrapLanguageModel({ model: sdkModel(server, extras.model), middleware: wrapped })
  const errors: unknown[] = []
  const result = streamText({
    model,
    tools: sdkTools,
    stopWhen: stepCountIs(8),
    system: extras.system ?? SYSTEM,
    prompt: text,
    maxOutputTokens: MOST_TOKENS,
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error),
  })
  await result.consumeStream()
  if (errors.length > 0) throw errors[0]
}

/** The chats of `useChat`. */
export const chat: Path = async (store, server, sessionId, text, extras = {}) => {
  const model = sdkModel(server, extras.model)
  const chats = chatStore<UIMessage>(store)
  const message: UIMessage = { id: text, role: 'user', parts: [{ type: 'text', text }] }
  const { system = SYSTEM, adds: request } = extras
  const given = {
    ...{ model, tools: sdkTools, system, maxOutputTokens: MOST_TOKENS },
    ...(request !== undefined && { request }),
  }
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
  readonly #model: string

  constructor(server: PrefixServer, model: string) {
    super({})
    this.#server = server
    this.#model = model
  }

  override _llmType(): string {
    return 'served'
  }

  override getLsParams() {
    return { ls_provider: 'anthropic', ls_model_name: this.#model, ls_model_type: 'chat' as const }
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const body = { ...wireOf(messages), model: this.#model, tools: TOOLS }
    const { content, wire } = await post(this.#server, body)
    const { usage } = wire as { usage?: { input_tokens: number; output_tokens: number } }
    const tool_calls = content.flatMap((block): ToolCall[] =>
      block.type === 'tool_use'
        ? [{ type: 'tool_call', id: String(block.id), name: String(block.name), args: block.input as object }]
        : [],
    )
    const usage_metadata: unknown = usage && {
      ...usage,
      total_tokens: usage.input_tokens + usage.output_tokens,
    }
    const message = new AIMessage({
      content: content as never,
      tool_calls,
      ...(usage_metadata !== undefined && { usage_metadata: usage_metadata as never }),
    })
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
export const langchain: Path = async (store, server, sessionId, text, extras = {}) => {
  const { provider = 'anthropic', model: name = MODEL, system = SYSTEM } = extras
  const history = new UndertextChatMessageHistory({ store, sessionId, provider, model: name })
  const model = recoveringModel(new ServedModel(server, name), history)
  let fresh: BaseMessage[] = [new HumanMessage(text)]
  for (;;) {
    const sent = [new SystemMessage(system), ...(await history.getMessages()), ...fresh]
    const answer = await model.invoke(sent)
    await history.addMessages([...fresh, answer])
    const calls = (answer as AIMessage).tool_calls ?? []
    if (calls.length === 0) return
    fresh = calls.map(
      ({ id, args }) => new ToolMessage({ tool_call_id: id!, content: outputOf(String(args.query)) }),
    )
  }
}

export const PATHS: { readonly [name: string]: Path } = { recorded, unrecorded, middleware, chat, langchain }
