import { anthropicReader } from '../../adapters/anthropic/from-anthropic.ts'
import type { ConversionNote, ConversionOptions } from '../../adapters/conversion.ts'
import { detectFormat } from '../../adapters/detect.ts'
import { readChatMessages } from '../../adapters/flat/from-chat-messages.ts'
import { openAIReader } from '../../adapters/openai/from-openai.ts'
import { responsesReader } from '../../adapters/openai/from-responses.ts'
import { isUndertextError } from '../../core/errors.ts'
import { isObject } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { messageProblem } from '../../core/messages/message-check.ts'
import type { NoteEvent, Place } from '../source.ts'
import { lacksContent } from './transcript-shape.ts'

/** A message of a file. `ordinal` counts the places of the conversation from 1, readable or not. */
export type Given = { readonly at: Place; readonly ordinal: number; readonly value: unknown }

/** The result of reading a message. */
export type ReadMessage = { readonly given: Given; readonly notes: readonly NoteEvent[] } & (
  | { readonly message: NewMessage }
  | { readonly why: string }
)

/** Reads the messages of one conversation in order. It may hold back some of them until the next ones are known. */
export type MessageReader = {
  push(given: Given): readonly ReadMessage[]
  flush(): readonly ReadMessage[]
}

/** The name of a message in problems that include its place. */
const PATH = 'message'

/** Runs conversions, and assigns their notes and problems to the current message. */
class Conversion {
  #notes: NoteEvent[] = []
  #at: Place = {}
  readonly options: ConversionOptions = {
    onNote: ({ kind, place, why }: ConversionNote) => {
      const text = kind === 'kept' || kind === 'unread' ? 'kept' : 'mended'
      this.#notes.push({ type: 'note', at: this.#at, kind: text, why: `${place}: ${why}` })
    },
  }

  convert(given: Given, convert: () => NewMessage): ReadMessage {
    this.#at = given.at
    this.#notes = []
    if (lacksContent(given.value)) return { given, why: `${PATH}.content: must be present`, notes: [] }
    try {
      const message = convert()
      return { given, message, notes: this.#notes }
    } catch (error) {
      if (!isUndertextError(error, 'INVALID_INPUT')) throw error
      return { given, why: error.facts.problems.replace(/^\[\d+\]/, PATH), notes: [] }
    }
  }
}

/** Returns a reader for messages of OpenAI's Chat Completions. */
export function chatCompletionsReader(): MessageReader {
  const conversion = new Conversion()
  const read = openAIReader(conversion.options)
  return atOnce((given) => conversion.convert(given, () => read(given.value, given.ordinal - 1, PATH)))
}

/** Returns a reader for messages of Anthropic's API. A `system` message, which the API doesn't have, is accepted too. */
export function anthropicMessagesReader(): MessageReader {
  const conversion = new Conversion()
  const reader = anthropicReader(conversion.options)
  return atOnce((given) =>
    conversion.convert(given, () => {
      const { value, ordinal } = given
      if (isObject(value) && value.role === 'system') return reader.system(value.content)
      return reader.message(value, ordinal - 1, PATH)
    }),
  )
}

/** Returns a reader for items of OpenAI's Responses. Each item is read when the next one is known. */
export function responsesItemsReader(): MessageReader {
  const conversion = new Conversion()
  const read = responsesReader(conversion.options)
  let held: Given | undefined
  const convert = (given: Given, next: unknown): ReadMessage =>
    conversion.convert(given, () => read(given.value, given.ordinal - 1, PATH, next))
  return {
    push: (given) => {
      const before = held
      held = given
      return before === undefined ? [] : [convert(before, given.value)]
    },
    flush: () => {
      const before = held
      held = undefined
      return before === undefined ? [] : [convert(before, undefined)]
    },
  }
}

/** The maximum number of adjacent flat calls and results that are joined. */
const MAX_RUN = 1_000

/** Returns a reader for plain and neutral messages, flat calls and results, and messages of any other form, each in its own form. */
export function anyMessageReader(): MessageReader {
  const conversion = new Conversion()
  const readers = {
    openai: openAIReader(conversion.options),
    anthropic: anthropicReader(conversion.options).message,
    'openai-responses': responsesReader(conversion.options),
  }
  const convert = ({ value, ordinal }: Given): NewMessage => {
    if (messageProblem(value) === undefined) return value as NewMessage
    const form = detectFormat([value])
    if (form === 'openai' || form === 'anthropic' || form === 'openai-responses')
      return readers[form](value, ordinal - 1, PATH)
    // Neutral or invalid; the store's check decides.
    return value as NewMessage
  }
  let run: Given[] = []
  const flush = (): ReadMessage[] => {
    const flat = run
    run = []
    return flat.length === 0 ? [] : convertRun(flat, conversion)
  }
  return {
    push: (given) => {
      if (!isFlat(given.value)) return [...flush(), conversion.convert(given, () => convert(given))]
      const before = run.length >= MAX_RUN ? flush() : []
      run.push(given)
      return before
    },
    flush,
  }
}

/** Reads flat messages together; if one of them is rejected, reads the others without it. */
function convertRun(run: readonly Given[], conversion: Conversion): ReadMessage[] {
  const refused = run.flatMap((given): ReadMessage[] => {
    const found = conversion.convert(given, () => readChatMessages([given.value], 0, conversion.options)[0]!)
    return 'why' in found ? [found] : []
  })
  const bad = new Set(refused.map(({ given }) => given))
  const good = run.filter((given) => !bad.has(given))
  const values = good.map(({ value }) => value)
  const read = readChatMessages(values, (good[0]?.ordinal ?? 1) - 1)
  const items = good.map((given, i): ReadMessage => ({ given, message: read[i]!, notes: [] }))
  return [...items, ...refused].sort((a, b) => a.given.ordinal - b.given.ordinal)
}

function isFlat(value: unknown): boolean {
  if (!isObject(value)) return false
  const { role, content } = value
  if (role === 'tool_call' || role === 'tool_result') return true
  return role === 'tool' && !Array.isArray(content) && value.tool_call_id === undefined
}

function atOnce(convert: (given: Given) => ReadMessage): MessageReader {
  return { push: (given) => [convert(given)], flush: () => [] }
}
