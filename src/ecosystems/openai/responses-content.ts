import { isDeepStrictEqual } from 'node:util'
import { defined } from '../../messages/defined.ts'
import type { Json, JsonObject } from '../../messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  outputText,
  type TextPart,
  type ToolResultContent,
  type ToolResultOutput,
} from '../../messages/message.ts'
import { addressAt, type Conversion, fileDataAt, whyNotSent } from '../conversion.ts'
import { isEmpty, isObject, mediaOf, stringAt, textBlocks } from '../wire.ts'
import { dataUrlOf, defaultFilename, kindOf, OPENAI, sdkDetailOf } from './chat-types.ts'
import { keptAs, type Own, ownOf, type Speaker } from './responses-types.ts'

/** A part of content; `undefined` for a part without a place there, which is reported. */
export function toContentPart(
  part: ToolResultContent,
  speaker: Speaker,
  place: string,
  conversion: Conversion,
): JsonObject | undefined {
  const refuse = (why: string): undefined => conversion.leaveOut(place, why)
  switch (part.type) {
    case 'text':
      return textPart(part, speaker)
    case 'image':
    case 'file': {
      if (speaker !== 'user' && speaker !== 'tool')
        return refuse(`only a user or a tool sends ${part.type === 'image' ? 'images' : 'files'}`)
      const sent = part.type === 'image' ? imagePart(part) : filePart(part)
      return sent ?? refuse('the Responses API accepts no audio')
    }
    case 'provider':
      return keptPartOf(part.provider, part.data) ?? refuse(whyNotSent(part.provider, OPENAI))
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

/** An image. */
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
  const named = part.filename === undefined ? {} : { filename: part.filename }
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

function fromText({ type, text: given, ...extra }: JsonObject, speaker: Speaker, path: string): TextPart {
  const text = stringAt(given, `${path}.text`)
  const isUsual = (type === 'output_text') === (speaker === 'assistant')
  const fields = isUsual ? extra : { ...extra, type }
  const counts = [extra.annotations, extra.logprobs].some((list) => Array.isArray(list) && list.length > 0)
  const length = counts ? { length: text.length } : {}
  // A text of the model is always marked as read here: others get the list of annotations that the API
  // requires.
  return {
    type: 'text',
    text,
    ...(isEmpty(fields) && speaker !== 'assistant' ? {} : keptAs({ part: fields, ...length })),
  }
}

function checkMedia({ type, image_url, file_data, file_url }: JsonObject, path: string): void {
  if (type === 'input_image' && isGiven(image_url)) addressAt(image_url, `${path}.image_url`)
  if (type !== 'input_file') return
  if (isGiven(file_data)) fileDataAt(file_data, `${path}.file_data`)
  if (isGiven(file_url)) addressAt(file_url, `${path}.file_url`)
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
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
  const own = isEmpty(fields) ? {} : keptAs({ part: fields })
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
