import { readFileSync } from 'node:fs'
import {
  fromModelMessages,
  fromUIMessages,
  toModelMessages,
  toUIMessages,
} from '../../src/adapters/ai-sdk/index.ts'
import { fromAnthropic, toAnthropic } from '../../src/adapters/anthropic/index.ts'
import { fromChatMessages } from '../../src/adapters/flat/from-chat-messages.ts'
import { toChatMessages } from '../../src/adapters/flat/to-chat-messages.ts'
import { fromGemini, toGemini } from '../../src/adapters/google/index.ts'
import { fromLangChain, toLangChainStored } from '../../src/adapters/langchain/index.ts'
import {
  fromOpenAI,
  fromOpenAIResponses,
  toOpenAI,
  toOpenAIResponses,
} from '../../src/adapters/openai/index.ts'
import { fromAgentItems, toAgentItems } from '../../src/adapters/openai-agents/index.ts'
import { type Part, partsOf, type Role, type ViewMessage } from '../../src/core/messages/message.ts'
import { providerProfile, readsPartsOf } from '../../src/core/tokens/providers.ts'
import { type ConversionOptions, type Message, type Problem, validateHistory } from '../../src/index.ts'
import { sharedPath } from './shared.ts'

/** A form messages can have elsewhere: one line of the table that the tests of all formats go through. */
export type Format = {
  readonly name: string
  readonly to: (messages: readonly Message[], options?: ConversionOptions) => unknown
  readonly from: (wire: never, options?: ConversionOptions) => readonly Message[]
  /** The provider whose parts it has a place for. */
  readonly owner?: string
  /** Each part of a turn is an item of its own, and is read as a message. */
  readonly isItemwise?: boolean
  /** The providers that are sent this form. */
  readonly providers: readonly string[]
}

/** Providers that are sent OpenAI's form, whatever they accept of it. */
const LIKE_OPENAI = ['openai', 'azure', 'mistral', 'ollama', 'litellm', 'huggingface', 'sagemaker', 'nobody']

export const FORMATS: readonly Format[] = [
  { name: 'openai', to: toOpenAI, from: fromOpenAI, owner: 'openai', providers: LIKE_OPENAI },
  {
    name: 'anthropic',
    to: toAnthropic,
    from: fromAnthropic,
    owner: 'anthropic',
    providers: ['anthropic', 'bedrock', 'vertex'],
  },
  { name: 'gemini', to: toGemini, from: fromGemini, owner: 'google-ai', providers: ['google-ai', 'vertex'] },
  {
    name: 'openai-responses',
    to: toOpenAIResponses,
    from: fromOpenAIResponses,
    isItemwise: true,
    owner: 'openai',
    providers: ['openai', 'azure'],
  },
  // For the other providers the SDK itself joins results and words of the user.
  {
    name: 'ai-sdk',
    to: toModelMessages,
    from: fromModelMessages as Format['from'],
    providers: ['openai', 'mistral'],
  },
  { name: 'ai-sdk-ui', to: toUIMessages, from: fromUIMessages as Format['from'], providers: [] },
  { name: 'langchain', to: toLangChainStored, from: fromLangChain as Format['from'], providers: [] },
  {
    name: 'openai-agents',
    to: toAgentItems,
    from: fromAgentItems as Format['from'],
    isItemwise: true,
    providers: ['openai', 'azure'],
  },
  { name: 'flat', to: toChatMessages, from: fromChatMessages, providers: [] },
]

/** Every provider with every form it is sent, by name. */
export const SENT: readonly (readonly [provider: string, format: string, Format])[] = FORMATS.flatMap(
  (format) => format.providers.map((provider) => [provider, format.name, format] as const),
)

/** Vertex speaks two forms, and is rendered for both: without what only the other of them has a place for. */
export function ofOneForm(view: readonly ViewMessage[], provider: string, { owner }: Format): ViewMessage[] {
  if (provider !== 'vertex') return [...view]
  const isOthers = (part: Part, role: Role): boolean =>
    part.type === 'provider'
      ? part.provider !== owner && readsPartsOf(provider, part.provider)
      : part.type === 'image' && role === 'assistant' && !providerProfile(owner).assistantMedia
  return view.map((row) =>
    typeof row.content === 'string'
      ? row
      : { ...row, content: row.content.filter((part) => !isOthers(part, row.role)) },
  )
}

/** What a form makes of messages, and what is read of that. */
export function sentAndRead(
  { to, from, isItemwise }: Format,
  messages: readonly Message[],
  options?: ConversionOptions,
): readonly Message[] {
  const read = from(to(messages, options) as never, options)
  return isItemwise === true ? withTurnsJoined(read) : read
}

/** Calls of one turn that were read one by one, as one message again. */
function withTurnsJoined(messages: readonly Message[]): readonly Message[] {
  const joined: Message[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    if (last?.role === 'assistant' && message.role === 'assistant')
      joined[joined.length - 1] = { role: 'assistant', content: [...partsOf(last), ...partsOf(message)] }
    else joined.push(message)
  }
  return joined
}

/** A conversation somebody really had, in its own form. */
export type NativeConversation = {
  readonly name: string
  readonly format: Format
  readonly wire: object
}

/**
 * Conversations of the shared corpus, none where that is absent: so many of each file, cut into stretches of so many
 * messages that begin with words of the user's.
 */
export function nativeCorpora(limits: {
  readonly messagesEach: number
  readonly conversationsEach: number
}): NativeConversation[] {
  const { messagesEach, conversationsEach } = limits
  const coding = linesOf('corpus/coding-session.anthropic.jsonl') as readonly {
    role: string
    content: unknown
  }[]
  const airline = linesOf('corpus/airline-support.openai.jsonl') as readonly {
    id: string
    messages: object[]
  }[]
  const [openai, anthropic] = ['openai', 'anthropic'].map(
    (name) => FORMATS.find((format) => format.name === name)!,
  )
  const starts = coding.flatMap(({ role, content }, index) =>
    role === 'user' && !JSON.stringify(content).includes('"tool_result"') ? [index] : [],
  )
  const stretches = starts.filter((start, index) => index === 0 || start % 7 === 0)
  return [
    ...stretches.slice(0, conversationsEach).map((start) => ({
      name: `coding session from ${start}`,
      format: anthropic!,
      wire: { messages: coding.slice(start, start + messagesEach) },
    })),
    ...airline
      .slice(0, conversationsEach)
      .map(({ id, messages }) => ({ name: id, format: openai!, wire: messages.slice(0, messagesEach) })),
  ]
}

function linesOf(relative: string): unknown[] {
  const path = sharedPath(relative)
  if (path === undefined) return []
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

const FREE_IN_ITEMS = new Set(['RESULT_ORDER', 'RESULT_NOT_AFTER_CALL', 'EMPTY_MESSAGE'])

/** What a provider would refuse of what is read of a form. Items are paired by their ids: where results stand is free, an empty text is an item like any other. Who
 * takes empty texts takes one alone. */
export function problemsIn(read: readonly Message[], provider: string, { isItemwise }: Format): Problem[] {
  const found = validateHistory(read, provider)
  return isItemwise === true
    ? found.filter(({ code }) => !FREE_IN_ITEMS.has(code))
    : found.filter(({ code }) => code !== 'EMPTY_MESSAGE' || !providerProfile(provider).emptyText)
}
