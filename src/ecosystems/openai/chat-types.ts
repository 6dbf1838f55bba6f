import type { Json, JsonObject } from '../../messages/json.ts'
import type { ProviderOptions } from '../../messages/message.ts'
import { keptFor, keptUnder } from '../wire.ts'

/*
 * Messages in the form of OpenAI's Chat Completions, in and out. One message becomes one message, and what was
 * read comes out again as it was, the arguments of calls to the byte.
 *
 * What the neutral form has no place for is kept under the name `openai`: fields of a message in `metadata`
 * (of a tool's message in the `providerOptions` of its result), fields of a part or call in `providerOptions`,
 * whole parts as provider parts. Reserved there:
 *
 * - `role` is the role shown instead: `developer` for system, `function` for tool;
 * - `content` is what the content was when that cannot be told from the parts: null, `absent` or `parts`, and
 *   for a tool result that was a list of texts, their layout;
 * - `type` says which field or kind of part a text, reasoning or call was;
 * - `function.arguments` is the text of arguments that `JSON.stringify` would write otherwise.
 *
 * The neutral part goes first: an output or input changed since is what is sent.
 *
 * The AI SDK keeps options of its own under the same name: see `fieldsOf`.
 */

/** The name under which this form keeps its own things. */
export const OPENAI = 'openai'

/** A part of content on its way in or out: its type, and whatever fields that type has. */
export type WirePart = { type: string; [field: string]: Json | undefined }

/** A message on its way out. What was read comes out as it was, so its fields are only known to be JSON. */
export type WireMessage = {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function'
  content?: string | WirePart[] | null
  [field: string]: Json | undefined
}

/** Text of whoever speaks. */
export type OpenAITextPart = { type: 'text'; text: string }

/** What an assistant says in place of an answer. */
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

/** What the Responses API leaves of what it compacted: an item of its own, to be sent back as it is. */
export type OpenAICompaction = { type: 'compaction'; role?: never; [field: string]: Json | undefined }

/**
 * A message of Chat Completions, as its SDK takes it. Further fields that were read come out again without being
 * named here.
 */
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

/** The fields of a part that this form keeps in `providerOptions`. */
export function kept(fields: JsonObject): { providerOptions?: ProviderOptions } {
  return keptUnder(OPENAI, fields)
}

/**
 * Options of the AI SDK's that no field of this form is called. One of them says that what stands beside it is the SDK's
 * as well. Source: `providerOptions.openai` of parts in `@ai-sdk/openai`, its chat and its Responses model.
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
 * The fields this form keeps with a part. Options of the AI SDK's are none: the API refuses fields it does not know. Only
 * the detail of an image has a place here.
 */
export function fieldsOf(options: ProviderOptions | undefined): JsonObject {
  const given = keptFor(OPENAI, options) ?? {}
  if (!SDK_OPTIONS.some((name) => Object.hasOwn(given, name))) return given
  const detail = sdkDetailOf(options)
  return detail === undefined ? {} : { image_url: { detail } }
}

/** The detail in which the AI SDK wants an image read. */
export function sdkDetailOf(options: ProviderOptions | undefined): string | undefined {
  const detail = keptFor(OPENAI, options)?.imageDetail
  return typeof detail === 'string' ? detail : undefined
}

/** What a part read from this form says of its kind. */
export function kindOf(options: Parameters<typeof keptFor>[1]): Json | undefined {
  return keptFor(OPENAI, options)?.type
}

/*
 * How OpenAI names bytes, in its APIs and in what is built on them: data URLs, and sounds by a format of their own.
 */

/** Bytes as a data URL. One that was given stays as it is, parameters and all. */
export function dataUrlOf(data: string | Uint8Array, mediaType: string, base64: string): string {
  return typeof data === 'string' && /^data:/i.test(data) ? data : `data:${mediaType};base64,${base64}`
}

/** The format of a sound: `mp3` for `audio/mpeg`, else the subtype. */
export function audioFormatOf(mediaType: string): string {
  return mediaType === 'audio/mpeg' ? 'mp3' : mediaType.slice('audio/'.length)
}

/** The media type of a format of sound: `audioFormatOf` the other way round. */
export function audioTypeOf(format: string): string {
  return format === 'mp3' ? 'audio/mpeg' : `audio/${format}`
}

/** OpenAI's APIs want a name with every file. */
export function defaultName(mediaType: string): string {
  return mediaType === 'application/pdf' ? 'file.pdf' : 'file'
}
