import type { Json, JsonObject } from '../../messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  outputText,
  type TextPart,
  type ToolResultContent,
  type ToolResultOutput,
} from '../../messages/message.ts'
import { type Conversion, whyNotSent } from '../conversion.ts'
import { isObject, mediaOf, textBlocks } from '../wire.ts'
import { dataUrlOf, defaultName } from './openai-media.ts'
import { kindOf, OPENAI, sdkDetailOf } from './openai-types.ts'
import { ownOf, type Speaker } from './types.ts'

/** A part of content; `undefined`, with a note, for what has no place there. */
export function toContentPart(
  part: ToolResultContent,
  speaker: Speaker,
  place: string,
  conversion: Conversion,
): JsonObject | undefined {
  const refuse = (why: string): undefined => {
    conversion.note('not-sent', place, why)
  }
  switch (part.type) {
    case 'text':
      return textPart(part, speaker)
    case 'image':
    case 'file': {
      if (speaker !== 'user' && speaker !== 'tool')
        return refuse(`only a user or a tool sends ${part.type === 'image' ? 'images' : 'files'}`)
      const sent = part.type === 'image' ? imagePart(part) : filePart(part)
      return sent ?? refuse('the Responses API takes no sound')
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
  // Another text is shown: what counts the characters of the first is not true of it.
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

/** A file, or an image that came as a file; `undefined` for a sound. */
export function filePart(part: FilePart): JsonObject | undefined {
  if (part.mediaType.startsWith('image/')) return imagePart(part)
  if (part.mediaType.startsWith('audio/')) return undefined
  const media = mediaOf(part.data, part.mediaType)
  const own = ownOf(part.providerOptions)?.part
  const fields = isObject(own) ? own : {}
  const named = part.filename === undefined ? {} : { filename: part.filename }
  if ('url' in media) return { type: 'input_file', file_url: media.url, ...named, ...fields }
  const mediaType = media.mediaType ?? part.mediaType
  const file_data = dataUrlOf(part.data, mediaType, media.base64)
  return { type: 'input_file', file_data, filename: defaultName(mediaType), ...named, ...fields }
}

/** The answer of a tool as a text or a list. */
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
