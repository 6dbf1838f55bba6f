import { z } from 'zod'
import { AI_SDK } from '../ecosystems/ai-sdk/fields.ts'
import { toModelMessages } from '../ecosystems/ai-sdk/model-messages.ts'
import { toUIMessages } from '../ecosystems/ai-sdk/to-ui-messages.ts'
import { toAnthropic } from '../ecosystems/anthropic/to-anthropic.ts'
import type { ConversionNote, ConversionOptions } from '../ecosystems/conversion.ts'
import { toChatMessages } from '../ecosystems/flat/to-chat-messages.ts'
import { toGemini } from '../ecosystems/google/to-gemini.ts'
import { toLangChainStored } from '../ecosystems/langchain/to-langchain.ts'
import { LANGCHAIN } from '../ecosystems/langchain/types.ts'
import { RESPONSES } from '../ecosystems/openai/responses-types.ts'
import { toOpenAI } from '../ecosystems/openai/to-openai.ts'
import { toOpenAIResponses } from '../ecosystems/openai/to-responses.ts'
import { AGENTS } from '../ecosystems/openai-agents/item-shapes.ts'
import { toAgentItems } from '../ecosystems/openai-agents/to-items.ts'
import { check, nameSchema, taken } from '../messages/check.ts'
import { stringifyJson } from '../messages/json.ts'
import type { Message, StoredMessage, ViewMessage } from '../messages/message.ts'
import type { Mend } from '../rendering/render.ts'
import type { Store } from '../store/store.ts'
import { sessionRows } from './session-rows.ts'
import { VIEW_FORMATS, type ViewFormat } from './view-formats.ts'

/** Messages in a form: a list, and what stands beside it. */
type WrittenView = {
  /** The list's name within its document; `undefined` where the document is the list. */
  readonly list?: string
  /** What stands beside the list (a system prompt). */
  readonly beside?: object
  /** The same as a line of its own, for a file with a message a line. */
  readonly line?: object
  readonly messages: readonly unknown[]
}

/** A message of the view or of the log, or what was rendered. */
type Writable = Message & Partial<Pick<ViewMessage, 'id' | 'createdAt' | 'kind'>>

type FormatWriter = {
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

/** What the export of a view needs of a store. */
export type ViewStore = Pick<Store, 'getSession' | 'getEffectiveHistory' | 'getMessages' | 'renderHistory'>

const functionSchema = <F>(): z.ZodType<F, F> =>
  z.custom<F>((value) => typeof value === 'function', 'must be a function')

export const viewSchema = z
  .strictObject({
    /** The form of the messages. Default: `neutral`, that of this package. */
    format: z.enum(VIEW_FORMATS).default('neutral'),
    /** One JSON document, or a JSON value a line. Default: a document. */
    lines: z.boolean().default(false),
    /**
     * The view made valid for a provider: for one that is named, or with `true` for that of the format (of forms that several providers
     * are spoken to in, the session's own). Default: the view as it is.
     */
    rendered: z.union([z.boolean(), nameSchema]).default(false),
    /** All messages of the log, hidden ones included, as they were said; not together with `rendered`. */
    full: z.boolean().default(false),
    /** Hears of what the form has no place for, changes or keeps apart. Names places, never what somebody said. */
    onNote: functionSchema<(note: ConversionNote) => void>().optional(),
    /** Hears of what a rendering changed. */
    onMend: functionSchema<(mend: Mend) => void>().optional(),
  })
  .refine(({ rendered, full }) => rendered === false || !full, 'rendered and full exclude each other')

export type ExportViewOptions = z.input<typeof viewSchema>

/**
 * What a model would be sent now, in any form this package writes, as JSON in pieces to be written one behind the other. A document is
 * the list of messages, or the object its API takes (`{ system, messages }`, `{ systemInstruction, contents }`); with `lines` each
 * message is a line, and a system prompt that stands beside the list the first one. Bytes are base64.
 *
 * With `full` it is the whole log: `neutral` has every row with its tags, `flat` and `ui` every row with what they have a place for, the
 * other forms the messages alone, without summaries and markers. The view itself, or the log, is held in memory, but for the full
 * log in the neutral form, which is read a page at a time.
 *
 * Throws `SESSION_NOT_FOUND`, and `INVALID_INPUT` for options that are none, with the first piece.
 */
export function exportView(
  store: ViewStore,
  sessionId: string,
  options: ExportViewOptions = {},
): AsyncGenerator<string> {
  return piecesOf(store, sessionId, taken(options))
}

async function* piecesOf(
  store: ViewStore,
  sessionId: string,
  options: ExportViewOptions,
): AsyncGenerator<string> {
  const { format, lines, rendered, full, onNote, onMend } = check(viewSchema, options, 'exportView')
  const writer = WRITERS[format]
  if (full && format === 'neutral') {
    yield* linesOf(sessionRows(store, await store.getSession(sessionId)), lines)
    return
  }
  const messages = full
    ? await logOf(store, sessionId, writer)
    : rendered === false
      ? await store.getEffectiveHistory(sessionId)
      : await renderingOf(store, sessionId, writer, rendered, onMend)
  const conversion: ConversionOptions = onNote === undefined ? {} : { onNote }
  yield* documentOf(writer.write(messages, conversion), lines)
}

async function renderingOf(
  store: ViewStore,
  sessionId: string,
  { provider: own, alsoReads }: FormatWriter,
  rendered: true | string,
  onMend: ((mend: Mend) => void) | undefined,
): Promise<readonly Writable[]> {
  const provider = rendered === true ? own : rendered
  const options = { alsoReads, ...(provider !== undefined && { provider }) }
  const { messages, mends } = await store.renderHistory(sessionId, options)
  for (const mend of mends) onMend?.(mend)
  return messages
}

async function logOf(
  store: ViewStore,
  sessionId: string,
  { full }: FormatWriter,
): Promise<readonly Writable[]> {
  const rows = await store.getMessages(sessionId)
  return full === 'rows' ? rows : rows.filter(({ kind }) => kind === 'message')
}

async function* documentOf(
  { list, beside, line, messages }: WrittenView,
  lines: boolean,
): AsyncGenerator<string> {
  if (lines && line !== undefined) yield `${jsonOf(line)}\n`
  if (lines || list === undefined) {
    yield* linesOf(messages, lines)
    return
  }
  const fields = Object.entries(beside ?? {}).map(([name, value]) => `${jsonOf(name)}: ${jsonOf(value)},\n`)
  yield `{\n${fields.join('')}${jsonOf(list)}: `
  yield* linesOf(messages, false, '\n}\n')
}

/** A value a line: alone, or as the elements of a list. */
async function* linesOf(
  values: Iterable<unknown> | AsyncIterable<unknown>,
  lines: boolean,
  end = '\n',
): AsyncGenerator<string> {
  let isFirst = true
  for await (const value of values) {
    yield lines ? `${jsonOf(value)}\n` : `${isFirst ? '[\n' : ',\n'}${jsonOf(value)}`
    isFirst = false
  }
  if (!lines) yield `${isFirst ? '[]' : '\n]'}${end}`
}

function jsonOf(value: unknown): string {
  return stringifyJson(withoutBytes(value))
}

/** A value with its bytes as base64, which every form takes in their place; what holds none is itself. */
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
