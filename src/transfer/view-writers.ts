import { AI_SDK } from '../ecosystems/ai-sdk/options.ts'
import { toModelMessages } from '../ecosystems/ai-sdk/to-model-messages.ts'
import { toUIMessages } from '../ecosystems/ai-sdk/to-ui-messages.ts'
import { toAnthropic } from '../ecosystems/anthropic/to-anthropic.ts'
import type { ConversionOptions } from '../ecosystems/conversion.ts'
import { toChatMessages } from '../ecosystems/flat/to-chat-messages.ts'
import { toGemini } from '../ecosystems/google/to-gemini.ts'
import { toLangChainStored } from '../ecosystems/langchain/to-langchain.ts'
import { LANGCHAIN } from '../ecosystems/langchain/types.ts'
import { toOpenAI } from '../ecosystems/openai/to-openai.ts'
import { toOpenAIResponses } from '../ecosystems/openai/to-responses.ts'
import { RESPONSES } from '../ecosystems/openai/types.ts'
import { AGENTS } from '../ecosystems/openai-agents/item-types.ts'
import { toAgentItems } from '../ecosystems/openai-agents/to-items.ts'
import type { Message, StoredMessage, ViewMessage } from '../messages/message.ts'
import type { ViewFormat } from './view-formats.ts'

/** Messages in a form: a list, and what stands beside it. */
export type WrittenView = {
  /** The list's name within its document; `undefined` where the document is the list. */
  readonly list?: string
  /** What stands beside the list (a system prompt). */
  readonly beside?: object
  /** The same as a line of its own, for a file with a message a line. */
  readonly line?: object
  readonly messages: readonly unknown[]
}

/** A message of the view or of the log, or what was rendered. */
export type Writable = Message & Partial<Pick<ViewMessage, 'id' | 'createdAt' | 'kind'>>

export type FormatWriter = {
  /** Whose rules a rendering in this form keeps when none is named; `undefined`: those of the session's own provider. */
  readonly provider: string | undefined
  /** Names of parts a rendering keeps besides its provider's, because this form writes them. */
  readonly alsoReads: readonly string[]
  /** Which rows of the log make the full history in this form: all with their tags, or the messages alone. */
  readonly full: 'rows' | 'messages'
  write(messages: readonly Writable[], options: ConversionOptions): WrittenView
}

function listOf(
  write: (messages: readonly Writable[], options: ConversionOptions) => readonly unknown[],
  about: Partial<Omit<FormatWriter, 'write'>> = {},
): FormatWriter {
  return {
    provider: undefined,
    alsoReads: [],
    full: 'messages',
    ...about,
    write: (messages, options) => ({ messages: write(messages, options) }),
  }
}

export const WRITERS: { readonly [F in ViewFormat]: FormatWriter } = {
  neutral: listOf((messages) => messages.map(neutralOf), { full: 'rows' }),
  flat: listOf(toChatMessages, { full: 'rows' }),
  openai: listOf(toOpenAI, { provider: 'openai' }),
  'openai-responses': listOf(toOpenAIResponses, { provider: 'openai', alsoReads: [RESPONSES] }),
  anthropic: {
    provider: 'anthropic',
    alsoReads: [],
    full: 'messages',
    write: (given, options) => {
      const { system, messages } = toAnthropic(given, options)
      if (system === undefined) return { list: 'messages', messages }
      return { list: 'messages', beside: { system }, line: { role: 'system', content: system }, messages }
    },
  },
  gemini: {
    provider: 'google-ai',
    alsoReads: [],
    full: 'messages',
    write: (given, options) => {
      const { systemInstruction, contents } = toGemini(given, options)
      if (systemInstruction === undefined) return { list: 'contents', messages: contents }
      return {
        list: 'contents',
        beside: { systemInstruction },
        line: { systemInstruction },
        messages: contents,
      }
    },
  },
  'ai-sdk': listOf(toModelMessages, { alsoReads: [AI_SDK] }),
  ui: listOf((messages, options) => toUIMessages(messages, options), { alsoReads: [AI_SDK], full: 'rows' }),
  langchain: listOf(toLangChainStored, { alsoReads: [LANGCHAIN] }),
  'openai-agents': listOf(toAgentItems, { provider: 'openai', alsoReads: [AGENTS] }),
}

/** What `append` takes: a message with its id and time. */
function neutralOf(message: Writable | StoredMessage): object {
  if ('anchor' in message) return message
  const { id, role, content, metadata, createdAt } = message
  return {
    ...(id !== undefined && { id }),
    role,
    content,
    ...(metadata !== undefined && { metadata }),
    ...(createdAt !== undefined && { createdAt }),
  }
}
