import type { Json, JsonObject } from '../../messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  isFailed,
  outputText,
  type ToolResultContent,
  type ToolResultOutput,
  type ToolResultPart,
} from '../../messages/message.ts'
import { isObject, keptFor } from '../wire.ts'
import { AGENTS } from './item-types.ts'
import { RESULTS } from './paired-items.ts'
import { formOf, toInputMedia, toKeptContent, toText } from './to-contents.ts'
import type { Item, Writing } from './writing.ts'

/** One grey point, for a screenshot that is shown as a text: the item has room for a picture only. */
const NO_SCREENSHOT = 'data:image/gif;base64,R0lGODlhAQABAIAAAICAgAAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=='

/** A result of a tool as an item. */
export function toResult(part: ToolResultPart, writing: Writing): Item {
  const own = keptFor(AGENTS, part.providerOptions)
  const { type, output: form, ...fields } = own ?? { status: 'completed' }
  const callId = part.toolCallId
  if (RESULTS.has(type)) return toKnownResult(part, { ...fields, type }, form, writing)
  if (own === undefined && isFailed(part.output))
    writing.conversion.note('changed', writing.place, 'a result does not say that its call failed')
  const name = part.toolName ?? writing.names.get(callId)
  if (name === undefined)
    writing.conversion.note('changed', writing.place, 'a result must name its tool, and nobody does')
  const output = toOutput(part.output, form, writing)
  return { type: 'function_call_result', callId, name: name ?? 'tool', ...fields, output }
}

function toOutput(output: ToolResultOutput, form: Json | undefined, writing: Writing): unknown {
  if (output.type !== 'content') {
    const text = outputText(output)
    return isObject(form) ? { ...form, type: 'text', text } : text
  }
  const [first] = output.value
  if (form === 'one' && first !== undefined && output.value.length === 1) {
    const lone = toLoneOutput(first, writing)
    return lone ?? ''
  }
  const { place } = writing
  const contents = output.value.flatMap((entry, i) => {
    writing.place = `${place}.output.value[${i}]`
    return toListed(entry, writing)
  })
  writing.place = place
  return contents.length === 0 && output.value.length > 0 ? '' : contents
}

function toListed(entry: ToolResultContent, writing: Writing): readonly Item[] {
  if (entry.type === 'text') return [toText(entry, 'input_text')]
  if (entry.type === 'provider') return toKeptContent(entry, writing)
  return [toInputMedia(entry, false)]
}

/** A picture or file that stood alone, in the form it was given. */
function toLoneOutput(entry: ToolResultContent, writing: Writing): unknown {
  if (entry.type === 'text') return { type: 'text', text: entry.text }
  if (entry.type === 'provider') return toKeptContent(entry, writing)[0]
  const { type: _, [entry.type]: form, ...fields } = keptFor(AGENTS, entry.providerOptions) ?? {}
  return { ...fields, type: entry.type, [entry.type]: sourceOf(entry, form) }
}

function sourceOf(entry: ImagePart | FilePart, form: Json | undefined): unknown {
  const data = entry.type === 'image' ? entry.image : entry.data
  const [kind, further] = formOf(form) ?? []
  const filename = entry.type === 'file' && entry.filename !== undefined ? { filename: entry.filename } : {}
  if (kind === 'url') return { ...further, url: data, ...filename }
  if (kind !== 'data') return data
  const mediaType = entry.mediaType === undefined ? {} : { mediaType: entry.mediaType }
  return { ...further, data, ...mediaType, ...filename }
}

function toKnownResult(
  { toolCallId: callId, output }: ToolResultPart,
  fields: JsonObject,
  form: Json | undefined,
  { conversion, place }: Writing,
): Item {
  const item = { callId, ...fields }
  if (fields.type === 'shell_call_output') return { ...item, output: shellOutput(output) }
  if (fields.type !== 'computer_call_result') {
    const text = outputText(output)
    return form === null && text === '' ? item : { ...item, output: text }
  }
  const [first] = output.type === 'content' ? output.value : []
  if (first?.type === 'image' && typeof first.image === 'string') {
    const own = keptFor(AGENTS, first.providerOptions)
    return { ...item, output: { ...own, type: 'computer_screenshot', data: first.image } }
  }
  conversion.note('changed', place, 'a screenshot that is shown as a text is sent as an empty picture')
  return { ...item, output: { type: 'computer_screenshot', data: NO_SCREENSHOT } }
}

/** What a shell printed; a text shown in its place is printed by a command of which no more is known. */
function shellOutput(output: ToolResultOutput): unknown {
  if (output.type === 'json' && Array.isArray(output.value)) return output.value
  return [{ stdout: outputText(output), stderr: '', outcome: { type: 'exit', exitCode: null } }]
}
