import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../messages/json.ts'
import type {
  FilePart,
  ImagePart,
  ProviderPart,
  TextPart,
  ToolResultContent,
  ToolResultOutput,
} from '../../messages/message.ts'
import { addressAt, type Conversion, fileDataAt } from '../conversion.ts'
import { isEmpty, isTextBlock, joinBlocks, listAt, mediaOf, objectAt, stringAt } from '../wire.ts'
import { OPENAI } from './openai-types.ts'
import { filePart, imagePart } from './to-content.ts'
import { keptAs, type Own, type Speaker } from './types.ts'

/** The parts of a list. `speaker` says whose text and which media have neutral parts. */
export function fromContentList(
  content: unknown,
  speaker: Speaker,
  path: string,
  conversion: Conversion,
): ToolResultContent[] {
  return listAt(content, path).map((part, i) => {
    const place = `${path}[${i}]`
    return conversion.reading(part, place, () =>
      fromContentPart(objectAt(part, place), speaker, place, conversion),
    )
  })
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
  return media ?? keptPart(part, path, conversion)
}

function fromText({ type, text: said, ...extra }: JsonObject, speaker: Speaker, path: string): TextPart {
  const text = stringAt(said, `${path}.text`)
  const isUsual = (type === 'output_text') === (speaker === 'assistant')
  const fields = isUsual ? extra : { ...extra, type }
  const counts = [extra.annotations, extra.logprobs].some((list) => Array.isArray(list) && list.length > 0)
  const length = counts ? { length: text.length } : {}
  // A text of the model's says that it was read here: others get the list of annotations they must have.
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

/** An image or a file whose bytes or address we can hold. Others (a file id) stay parts. */
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

function keptPart(part: JsonObject, path: string, conversion: Conversion): ProviderPart {
  conversion.note('kept', path, 'the neutral form has no part for it')
  return { type: 'provider', provider: OPENAI, data: { part } }
}

/** What a tool of the application answered: a text, or a list of texts, images and files. */
export function fromAnswer(
  output: unknown,
  path: string,
  conversion: Conversion,
): { output: ToolResultOutput; own: Own } {
  if (typeof output === 'string') return { output: { type: 'text', value: output }, own: {} }
  const blocks = listAt(output, path)
  if (blocks.every((block) => isTextBlock(block, 'input_text'))) {
    const { text, layout } = joinBlocks(blocks, path)
    return { output: { type: 'text', value: text }, own: { content: layout } }
  }
  return { output: { type: 'content', value: fromContentList(blocks, 'tool', path, conversion) }, own: {} }
}
