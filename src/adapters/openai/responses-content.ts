import { isDeepStrictEqual } from 'node:util'
import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  outputText,
  type ProviderOptions,
  type TextPart,
  type ToolResultContent,
  type ToolResultOutput,
} from '../../core/messages/message.ts'
import { unreadableText } from '../../core/rendering/media.ts'
import { RESPONSES_MEDIA } from '../../core/tokens/providers.ts'
import { addressAt, type Conversion, fileDataAt, omissionReason } from '../conversion.ts'
import { nullish } from '../shapes.ts'
import { given, isEmpty, keptFor, keptUnder, mediaOf, stringAt, textBlocks } from '../wire.ts'
import { dataUrlOf, defaultFilename, kindOf, OPENAI, sdkDetailOf } from './chat-types.ts'

/*
 * Items of the OpenAI Responses API, in and out. One item becomes one message, and an item that was read is written again as it was, the
 * arguments of calls byte for byte.
 *
 * Messages, reasoning, tool calls and their results become neutral parts; other items are kept whole, as provider parts of OpenAI with the
 * data `{ item }`. They have no type at the top level, so that Chat Completions does not mistake them for its own parts. The data of a
 * `compaction` item is the item itself, because Chat Completions reads it too.
 *
 * Everything without a place in the neutral form is kept under the name `openai-responses`: with the part of an item that is one part, with
 * the first part of a message, and in `metadata` of a message that is a text or has no parts. Reserved there:
 *
 * - `item` holds the further fields of an item (its id, its status), `part` those of a part of content;
 * - `type` is the type of a call or a result other than those of functions, `field` the field that held its input;
 * - `arguments` is the text of arguments that `JSON.stringify` would write otherwise;
 * - `summary` and `content` are the layouts of reasoning, `content` also the layout of a result in several texts;
 * - `after` is the id of the reasoning before an item, `leads` marks reasoning that such an item followed;
 * - `length` is the length of a text whose annotations count its characters.
 *
 * The neutral part takes precedence: if a text, an output or an input has changed since, the new one is sent.
 */

/** The name under which this format keeps its fields. */
export const RESPONSES = 'openai-responses'

/** A text, an image or a file that was not written by the model. */
export type ResponsesInputPart =
  | { type: 'input_text'; text: string }
  | {
      type: 'input_image'
      detail: 'low' | 'high' | 'auto' | 'original'
      image_url?: string | null
      file_id?: string | null
    }
  | { type: 'input_file'; file_data?: string; file_id?: string | null; file_url?: string; filename?: string }

/** A text or a refusal of the model. */
export type ResponsesOutputPart =
  | { type: 'output_text'; text: string; annotations: [] }
  | { type: 'refusal'; refusal: string }

/**
 * An item as the Responses API accepts it: the kinds written here. An item that was read is written as it was,
 * with any type and further fields.
 */
export type ResponsesItem =
  | {
      type?: 'message'
      role: 'user' | 'assistant' | 'system' | 'developer'
      content: string | ResponsesInputPart[]
      phase?: 'commentary' | 'final_answer' | null
    }
  | {
      type: 'message'
      role: 'assistant'
      id: string
      status: 'in_progress' | 'completed' | 'incomplete'
      content: ResponsesOutputPart[]
      phase?: 'commentary' | 'final_answer' | null
    }
  | {
      type: 'reasoning'
      id: string
      summary: { type: 'summary_text'; text: string }[]
      content?: { type: 'reasoning_text'; text: string }[]
      encrypted_content?: string | null
    }
  | { type: 'function_call'; call_id: string; name: string; arguments: string; id?: string }
  | { type: 'function_call_output'; call_id: string; output: string | ResponsesInputPart[] }
  | { type: 'custom_tool_call'; call_id: string; name: string; input: string; id?: string }
  | { type: 'custom_tool_call_output'; call_id: string; output: string | ResponsesInputPart[] }
  | { type: 'compaction'; encrypted_content: string; id?: string | null }

/** The conversation of a request: items, or a text or items with the instructions before them. */
export type ResponsesInput =
  | readonly object[]
  | { readonly input: string | readonly object[]; readonly instructions?: unknown }

/** The author of a content. A tool result is input too. */
export type Speaker = 'system' | 'user' | 'assistant' | 'tool'

/** The fields this format keeps with a part or a message. */
export type Own = { readonly [field: string]: Json | undefined }

/** The fields this format kept. */
export function ownOf(kept: JsonObject | ProviderOptions | undefined): Own | undefined {
  return keptFor(RESPONSES, kept)
}

export const keptAs = (fields: JsonObject) => keptUnder(RESPONSES, fields)

/** A kind of call: the type of its result, and for OpenAI tools their name and the fields of the input. */
type CallKind = {
  readonly output: string
  readonly tool?: string
  readonly fields?: readonly string[]
  /** The API requires the item's id. */
  readonly needsId?: true
}

/** Types of calls. Source: `ResponseInputItem` and `ResponseOutputItem` of `openai`. */
export const CALLS: ReadonlyMap<Json | undefined, CallKind> = new Map<Json | undefined, CallKind>([
  ['function_call', { output: 'function_call_output' }],
  ['custom_tool_call', { output: 'custom_tool_call_output' }],
  [
    'computer_call',
    { output: 'computer_call_output', tool: 'computer', fields: ['actions', 'action'], needsId: true },
  ],
  [
    'local_shell_call',
    { output: 'local_shell_call_output', tool: 'local_shell', fields: ['action'], needsId: true },
  ],
  ['shell_call', { output: 'shell_call_output', tool: 'shell', fields: ['action'] }],
  ['apply_patch_call', { output: 'apply_patch_call_output', tool: 'apply_patch', fields: ['operation'] }],
])

export const OUTPUTS: ReadonlySet<Json | undefined> = new Set([...CALLS.values()].map(({ output }) => output))

/** A part of content; `undefined` for a part without a place there, which is reported. */
export function toContentPart(
  part: ToolResultContent,
  speaker: Speaker,
  place: string,
  conversion: Conversion,
): JsonObject | undefined {
  const omit = (why: string): undefined => conversion.omit(place, why)
  switch (part.type) {
    case 'text':
      return textPart(part, speaker)
    case 'image':
    case 'file': {
      if (speaker !== 'user' && speaker !== 'tool')
        return omit(
          `only user messages and tool results can contain ${part.type === 'image' ? 'images' : 'files'}`,
        )
      const sent = part.type === 'image' ? imagePart(part) : filePart(part)
      if (sent !== undefined) return sent
      conversion.note('changed', place, "the Responses API doesn't accept audio, so a text is sent instead")
      return textPart(unreadableText(part, RESPONSES_MEDIA)!, speaker)
    }
    case 'provider':
      return keptPartOf(part.provider, part.data) ?? omit(omissionReason(part.provider, OPENAI))
  }
}

/** A part of content that was kept whole. */
export function keptPartOf(provider: string, data: Json): JsonObject | undefined {
  if (provider !== OPENAI || !isObject(data) || 'type' in data) return undefined
  return isObject(data.part) ? { ...data.part } : undefined
}

function textPart({ text, providerOptions }: TextPart, speaker: Speaker): JsonObject {
  const own = ownOf(providerOptions)
  const kind = kindOf(providerOptions)
  if (own === undefined && (kind === 'refusal' || kind === 'message_refusal') && speaker === 'assistant')
    return { type: 'refusal', refusal: text }
  const type = speaker === 'assistant' ? 'output_text' : 'input_text'
  const fields = isObject(own?.part) ? own.part : undefined
  if (fields?.type === 'refusal') return { ...fields, refusal: text }
  if (fields === undefined) return { type, text, ...(type === 'output_text' ? { annotations: [] } : {}) }
  if (typeof own?.length !== 'number' || own.length === text.length) return { type, text, ...fields }
  // Another text is shown, so annotations and logprobs of the original text do not apply.
  const { logprobs: _, ...others } = fields
  return { type, text, ...others, ...('annotations' in others ? { annotations: [] } : {}) }
}

export function imagePart(part: ImagePart | FilePart): JsonObject {
  const data = part.type === 'image' ? part.image : part.data
  const media = mediaOf(data, part.mediaType)
  const own = ownOf(part.providerOptions)?.part
  const fields = isObject(own) ? own : { detail: sdkDetailOf(part.providerOptions) ?? 'auto' }
  if ('url' in media) return { type: 'input_image', image_url: media.url, ...fields }
  const image_url = dataUrlOf(data, media.mediaType ?? 'image/png', media.base64)
  return { type: 'input_image', image_url, ...fields }
}

/** A file, or an image in a file part; `undefined` for audio. */
function filePart(part: FilePart): JsonObject | undefined {
  if (part.mediaType.startsWith('image/')) return imagePart(part)
  if (part.mediaType.startsWith('audio/')) return undefined
  const media = mediaOf(part.data, part.mediaType)
  const own = ownOf(part.providerOptions)?.part
  const fields = isObject(own) ? own : {}
  const named = defined({ filename: part.filename })
  if ('url' in media) return { type: 'input_file', file_url: media.url, ...named, ...fields }
  const mediaType = media.mediaType ?? part.mediaType
  const file_data = dataUrlOf(part.data, mediaType, media.base64)
  return { type: 'input_file', file_data, filename: defaultFilename(mediaType), ...named, ...fields }
}

/** The output of a tool as a text or a list. */
export function toAnswer(
  output: ToolResultOutput,
  layout: Json | undefined,
  place: string,
  conversion: Conversion,
): Json {
  if (output.type === 'content') {
    const parts = output.value.flatMap((item, i): JsonObject[] => {
      const sent = toContentPart(item, 'tool', `${place}.output.value[${i}]`, conversion)
      return sent === undefined ? [] : [sent]
    })
    return parts.length > 0 ? parts : ''
  }
  const text = outputText(output)
  return textBlocks(text, layout)?.map((block) => ({ ...block, type: 'input_text' })) ?? text
}

/** The parts of a list. `speaker` decides which text is usual and which media have neutral parts. */
export function fromContentList(
  content: unknown,
  speaker: Speaker,
  path: string,
  conversion: Conversion,
): ToolResultContent[] {
  return conversion.parts(content, path, (part, place) => fromContentPart(part, speaker, place, conversion))
}

function fromContentPart(
  part: JsonObject,
  speaker: Speaker,
  path: string,
  conversion: Conversion,
): ToolResultContent {
  const kind = stringAt(part.type, `${path}.type`)
  if (kind === 'input_text' || kind === 'output_text') return fromText(part, speaker, path)
  if (kind === 'refusal') {
    const { refusal, ...fields } = part
    return { type: 'text', text: stringAt(refusal, `${path}.refusal`), ...keptAs({ part: fields }) }
  }
  checkMedia(part, path)
  const media = speaker === 'user' || speaker === 'tool' ? fromMedia(part) : undefined
  return media ?? conversion.keep(OPENAI, { part }, path)
}

function fromText({ type, text: own, ...extra }: JsonObject, speaker: Speaker, path: string): TextPart {
  const text = stringAt(own, `${path}.text`)
  const isUsual = (type === 'output_text') === (speaker === 'assistant')
  const fields = isUsual ? extra : { ...extra, type }
  const counts = [extra.annotations, extra.logprobs].some((list) => Array.isArray(list) && list.length > 0)
  const length = counts ? { length: text.length } : {}
  // A text of the model is always marked as read here, because unmarked texts get the list of annotations that the API requires.
  const isUnmarked = isEmpty(fields) && speaker !== 'assistant'
  return { type: 'text', text, ...(!isUnmarked && keptAs({ part: fields, ...length })) }
}

function checkMedia({ type, image_url, file_data, file_url }: JsonObject, path: string): void {
  if (type === 'input_image') nullish(addressAt)(image_url, `${path}.image_url`)
  if (type !== 'input_file') return
  nullish(fileDataAt)(file_data, `${path}.file_data`)
  nullish(addressAt)(file_url, `${path}.file_url`)
}

/** An image or a file whose bytes or address a neutral part can hold. Others (a file id) are kept whole. */
function fromMedia(part: JsonObject): ImagePart | FilePart | undefined {
  const { type, image_url, ...fields } = part
  if (type === 'input_image' && typeof image_url === 'string') {
    const own: Own = isDeepStrictEqual(fields, { detail: 'auto' }) ? {} : { part: fields }
    const image: ImagePart = { type: 'image', image: image_url, ...keptAs(own) }
    return isDeepStrictEqual(imagePart(image), part) ? image : undefined
  }
  const file = type === 'input_file' ? fromFile(part) : undefined
  return file !== undefined && isDeepStrictEqual(filePart(file), part) ? file : undefined
}

function fromFile({ type: _, file_data, file_url, filename, ...fields }: JsonObject): FilePart | undefined {
  const named = typeof filename === 'string' ? { filename } : {}
  const own = keptAs(given('part', fields))
  if (typeof file_data === 'string') {
    const media = mediaOf(file_data, undefined)
    if ('url' in media || media.mediaType === undefined) return undefined
    return { type: 'file', data: file_data, mediaType: media.mediaType, ...named, ...own }
  }
  if (typeof file_url !== 'string') return undefined
  const mediaType = /\.pdf$/i.test(file_url) ? 'application/pdf' : 'application/octet-stream'
  return { type: 'file', data: file_url, mediaType, ...named, ...own }
}

/** The output of an application tool: a text, or a list of texts, images and files. */
export function fromAnswer(
  output: unknown,
  path: string,
  conversion: Conversion,
): { output: ToolResultOutput; own: Own } {
  const read = (part: JsonObject, place: string): ToolResultContent =>
    fromContentPart(part, 'tool', place, conversion)
  const { output: result, layout } = conversion.result(output, path, read, { textType: 'input_text' })
  return { output: result, own: defined({ content: layout }) }
}
