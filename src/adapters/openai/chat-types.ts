import { defined, type Json, type JsonObject } from '../../core/messages/json.ts'
import type { ProviderOptions } from '../../core/messages/message.ts'
import { given, keptFor, keptUnder } from '../wire.ts'

/*
 * Messages in the form of OpenAI Chat Completions, in and out. One message becomes one message, and a message
 * that was read is written again as it was, the arguments of calls byte for byte.
 *
 * Everything without a place in the neutral form is kept under the name `openai`: fields of a message in `metadata` (of a tool message in
 * the `providerOptions` of its result), fields of a part or call in `providerOptions`, whole parts as provider parts. Reserved there:
 *
 * - `role` is the role that is written instead: `developer` for system, `function` for tool;
 * - `content` is the original content if the parts don't show it: null, `absent` or `parts`, or the layout of a tool result that was a list
 *   of texts;
 * - `type` names the field or kind of part that a text, reasoning or call was;
 * - `function.arguments` is the text of arguments that `JSON.stringify` would write otherwise.
 *
 * The neutral part takes precedence: if an output or an input has changed since, the new one is sent.
 *
 * The AI SDK keeps options of its own under the same name: see `chatFields`.
 */

/** The name under which this format keeps its fields. */
export const OPENAI = 'openai'

/** A part of content: its type, and whatever fields that type has. */
export type WirePart = { type: string; [field: string]: Json | undefined }

/** A message to be sent. A message that was read is written as it was, so its fields are only known to be JSON. */
export type WireMessage = {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function'
  content?: string | WirePart[] | null
  [field: string]: Json | undefined
}

/** A text, in any role. */
export type OpenAITextPart = { type: 'text'; text: string }

/** A refusal of the assistant. */
export type OpenAIRefusalPart = { type: 'refusal'; refusal: string }

/** An image by its address or as a data URL. */
export type OpenAIImagePart = {
  type: 'image_url'
  image_url: { url: string; detail?: 'auto' | 'low' | 'high' }
}

/** A sound, as base64. */
export type OpenAIAudioPart = { type: 'input_audio'; input_audio: { data: string; format: 'wav' | 'mp3' } }

/** A file: a data URL with a name, or the id of one that OpenAI holds. */
export type OpenAIFilePart = {
  type: 'file'
  file: { file_data?: string; file_id?: string; filename?: string }
}

/** A content part of Chat Completions. */
export type OpenAIPart =
  | OpenAITextPart
  | OpenAIRefusalPart
  | OpenAIImagePart
  | OpenAIAudioPart
  | OpenAIFilePart

/** A call of a tool, with arguments as text, or of a custom tool, with any text. */
export type OpenAIToolCall =
  | { id: string; type: 'function'; function: { name: string; arguments: string } }
  | { id: string; type: 'custom'; custom: { name: string; input: string } }

/** A message of Chat Completions, as its SDK accepts it. Further fields that were read are written again without being named here. */
export type OpenAIMessage =
  | { role: 'system'; content: string | OpenAITextPart[]; name?: string }
  | { role: 'developer'; content: string | OpenAITextPart[]; name?: string }
  | { role: 'user'; content: string | Exclude<OpenAIPart, OpenAIRefusalPart>[]; name?: string }
  | {
      role: 'assistant'
      content?: string | (OpenAITextPart | OpenAIRefusalPart)[] | null
      name?: string
      refusal?: string | null
      tool_calls?: OpenAIToolCall[]
      function_call?: { name: string; arguments: string } | null
    }
  | { role: 'tool'; content: string | OpenAITextPart[]; tool_call_id: string }
  | { role: 'function'; content: string | null; name: string }

export const kept = (fields: JsonObject) => keptUnder(OPENAI, fields)

/**
 * Options of the AI SDK that aren't field names of this format. If one of them is present, the fields beside it are the SDK's too. Source:
 * `providerOptions.openai` of parts in `@ai-sdk/openai`, its chat and its Responses model.
 */
const SDK_OPTIONS = [
  'itemId',
  'reasoningEncryptedContent',
  'imageDetail',
  'promptCacheBreakpoint',
  'parallelToolCall',
  'approvalRequestId',
  'approvalId',
] as const

/**
 * The fields this format keeps with a part. Options of the AI SDK are not among them, because the API rejects unknown fields. Only the
 * detail of an image has a place here.
 */
export function chatFields(options: ProviderOptions | undefined): JsonObject {
  const own = keptFor(OPENAI, options) ?? {}
  if (!SDK_OPTIONS.some((name) => Object.hasOwn(own, name))) return own
  return given('image_url', defined({ detail: sdkDetailOf(options) }))
}

/** The image detail that the AI SDK requests. */
export function sdkDetailOf(options: ProviderOptions | undefined): string | undefined {
  const detail = keptFor(OPENAI, options)?.imageDetail
  return typeof detail === 'string' ? detail : undefined
}

/** The original kind of a part that was read from this format. */
export function kindOf(options: Parameters<typeof keptFor>[1]): Json | undefined {
  return keptFor(OPENAI, options)?.type
}

/* How OpenAI writes bytes, in its APIs and in libraries built on them: data URLs, and audio with a format name. */

/** Bytes as a data URL. A given data URL is returned unchanged, parameters included. */
export function dataUrlOf(data: string | Uint8Array, mediaType: string, base64: string): string {
  return typeof data === 'string' && /^data:/i.test(data) ? data : `data:${mediaType};base64,${base64}`
}

/** The format name of audio: `mp3` for `audio/mpeg`, else the subtype. */
export function audioFormatOf(mediaType: string): string {
  return mediaType === 'audio/mpeg' ? 'mp3' : mediaType.slice('audio/'.length)
}

/** The media type of an audio format; the inverse of `audioFormatOf`. */
export function audioTypeOf(format: string): string {
  return format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
}

/** The name of a file without one. OpenAI requires a name with every file. */
export function defaultFilename(mediaType: string): string {
  return mediaType === 'application/pdf' ? 'file.pdf' : 'file'
}
