import { z } from 'zod'
import { AI_SDK } from '../adapters/ai-sdk/fields.ts'
import { toModelMessages } from '../adapters/ai-sdk/model-messages.ts'
import { toUIMessages } from '../adapters/ai-sdk/to-ui-messages.ts'
import { toAnthropic } from '../adapters/anthropic/to-anthropic.ts'
import type { ConversionNote, ConversionOptions } from '../adapters/conversion.ts'
import { toChatMessages } from '../adapters/flat/to-chat-messages.ts'
import { toGemini } from '../adapters/google/to-gemini.ts'
import { toLangChainStored } from '../adapters/langchain/to-langchain.ts'
import { LANGCHAIN } from '../adapters/langchain/types.ts'
import { RESPONSES } from '../adapters/openai/responses-content.ts'
import { toOpenAI } from '../adapters/openai/to-openai.ts'
import { toOpenAIResponses } from '../adapters/openai/to-responses.ts'
import { AGENTS } from '../adapters/openai-agents/item-shapes.ts'
import { toAgentItems } from '../adapters/openai-agents/to-items.ts'
import { check, nameSchema, taken } from '../core/messages/check.ts'
import { stringifyJson } from '../core/messages/json.ts'
import type { Message, StoredMessage, ViewMessage } from '../core/messages/message.ts'
import type { Moment } from '../core/model/moment.ts'
import type { Mend } from '../core/rendering/render.ts'
import { momentSchema } from '../store/config/store-options.ts'
import type { Store } from '../store/store.ts'
import { sessionRows } from './session-rows.ts'
import { VIEW_FORMATS, type ViewFormat } from './view-formats.ts'

/** Messages in a format: a list, and the fields beside it. */
type WrittenView = {
  /** The field of the list in its document; `undefined` if the document is the list. */
  readonly list?: string
  /** The fields beside the list, such as a system prompt. */
  readonly beside?: object
  /** The fields beside the list as a separate line, for a file with one message per line. */
  readonly line?: object
  readonly messages: readonly unknown[]
}

type Writable = Message & Partial<Pick<ViewMessage, 'id' | 'createdAt' | 'kind'>>

type FormatWriter = {
  /** The default provider of a rendering in this format; `undefined`: the session's. */
  readonly provider: string | undefined
  /** Other providers whose parts a rendering keeps, because this format can hold them. */
  readonly alsoReads: readonly string[]
  /** The rows of the full history in this format: all rows with their tags, or only messages. */
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

const WRITERS: { readonly [F in ViewFormat]: FormatWriter } = {
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

/** Returns an argument of `append`: a message with its id and time. */
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

/** The methods of a store that the export needs. */
export type ViewStore = Pick<Store, 'sessions' | 'getEffectiveHistory' | 'getMessages' | 'renderHistory'>

const functionSchema = <F>(): z.ZodType<F, F> =>
  z.custom<F>((value) => typeof value === 'function', 'must be a function')

export const viewSchema = z
  .strictObject({
    /** The form of the messages. Default: `neutral`, the form of this package. */
    format: z.enum(VIEW_FORMATS).default('neutral'),
    /** Whether each JSON value is written on its own line. Default: false, one document. */
    lines: z.boolean().default(false),
    /**
     * Renders the view for a provider: the given one or, with `true`, the format's (the session's, if the format supports several
     * providers). Default: the raw view.
     */
    rendered: z.union([z.boolean(), nameSchema]).default(false),
    /** All messages of the log, including hidden ones, with their original content. Can't be combined with `rendered`. */
    full: z.boolean().default(false),
    /** The moment of the view or the log (docs/moments.md). Default: now. */
    at: momentSchema.optional(),
    /** Receives what the format can't hold, changes or stores separately, as places, never content. */
    onNote: functionSchema<(note: ConversionNote) => void>().optional(),
    /** Receives the changes made by a rendering. */
    onMend: functionSchema<(mend: Mend) => void>().optional(),
  })
  .refine(({ rendered, full }) => rendered === false || !full, 'rendered and full cannot be combined')

/** Options of `exportView`. */
export type ExportViewOptions = z.input<typeof viewSchema>

/**
 * Yields the messages that a model would receive now, in any format of this package, as JSON in pieces to write in sequence. A document is
 * the list of messages, or the object of its API (`{ system, messages }`, `{ systemInstruction, contents }`). With `lines`, each message is
 * a line, and a system prompt beside the list is the first line. Bytes are base64.
 *
 * With `full`, the whole log is written: `neutral` has every row with its tags, `flat` and `ui` have every row as far as they can represent
 * it, and the other formats have only the messages, without summaries and markers. The view or the log is held in memory, except that the
 * full log in the neutral format is read in pages.
 *
 * The first piece throws `SESSION_NOT_FOUND`, and `INVALID_INPUT` for invalid options.
 */
export function exportView(
  store: ViewStore,
  sessionId: string,
  options: ExportViewOptions = {},
): AsyncGenerator<string> {
  return writtenView(store, sessionId, taken(options))
}

async function* writtenView(
  store: ViewStore,
  sessionId: string,
  options: ExportViewOptions,
): AsyncGenerator<string> {
  const { format, lines, rendered, full, at, onNote, onMend } = check(viewSchema, options, 'exportView')
  const writer = WRITERS[format]
  if (full && format === 'neutral') {
    yield* jsonLines(sessionRows(store, await store.sessions.get(sessionId), { at }), lines)
    return
  }
  const messages = full
    ? await logOf(store, sessionId, writer, at)
    : rendered === false
      ? await store.getEffectiveHistory(sessionId, { at })
      : await renderingOf(store, sessionId, writer, { rendered, at, onMend })
  const conversion: ConversionOptions = onNote === undefined ? {} : { onNote }
  yield* documentOf(writer.write(messages, conversion), lines)
}

async function renderingOf(
  store: ViewStore,
  sessionId: string,
  { provider: own, alsoReads }: FormatWriter,
  {
    rendered,
    at,
    onMend,
  }: {
    readonly rendered: true | string
    readonly at: Moment | undefined
    readonly onMend: ((mend: Mend) => void) | undefined
  },
): Promise<readonly Writable[]> {
  const provider = rendered === true ? own : rendered
  const options = { alsoReads, at, ...(provider !== undefined && { provider }) }
  const { messages, mends } = await store.renderHistory(sessionId, options)
  for (const mend of mends) onMend?.(mend)
  return messages
}

async function logOf(
  store: ViewStore,
  sessionId: string,
  { full }: FormatWriter,
  at: Moment | undefined,
): Promise<readonly Writable[]> {
  const rows = await store.getMessages(sessionId, { at })
  return full === 'rows' ? rows : rows.filter(({ kind }) => kind === 'message')
}

async function* documentOf(
  { list, beside, line, messages }: WrittenView,
  lines: boolean,
): AsyncGenerator<string> {
  if (lines && line !== undefined) yield `${bareJson(line)}\n`
  if (lines || list === undefined) {
    yield* jsonLines(messages, lines)
    return
  }
  const fields = Object.entries(beside ?? {}).map(
    ([name, value]) => `${bareJson(name)}: ${bareJson(value)},\n`,
  )
  yield `{\n${fields.join('')}${bareJson(list)}: `
  yield* jsonLines(messages, false, '\n}\n')
}

/** Yields one value per line: a single value, or the elements of a list. */
async function* jsonLines(
  values: Iterable<unknown> | AsyncIterable<unknown>,
  lines: boolean,
  end = '\n',
): AsyncGenerator<string> {
  let isFirst = true
  for await (const value of values) {
    yield lines ? `${bareJson(value)}\n` : `${isFirst ? '[\n' : ',\n'}${bareJson(value)}`
    isFirst = false
  }
  if (!lines) yield `${isFirst ? '[]' : '\n]'}${end}`
}

function bareJson(value: unknown): string {
  return stringifyJson(withoutBytes(value))
}

/** Returns a value with base64 in place of bytes, which every format accepts; a value without bytes is returned unchanged. */
function withoutBytes(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
  if (Array.isArray(value)) {
    const items = value.map(withoutBytes)
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  const entries = Object.entries(value).map(([key, inner]) => [key, withoutBytes(inner)] as const)
  const isSame = entries.every(([key, inner]) => inner === (value as Record<string, unknown>)[key])
  return isSame ? value : Object.fromEntries(entries)
}
