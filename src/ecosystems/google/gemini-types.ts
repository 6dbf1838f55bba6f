import type { Json, JsonObject } from '../../messages/json.ts'
import type { ProviderOptions } from '../../messages/message.ts'
import { isEmpty, isObject, keptFor, keptUnder } from '../wire.ts'

/*
 * Contents of the Gemini API, in and out. One content becomes one message, and a content that was read is
 * written again as it was. Sources: `Content`, `Part` and the types they name, of `@google/genai`.
 *
 * What the neutral form has no place for is kept under the name `google`, which the AI SDK uses too: fields of
 * a content in `metadata`, fields of a part in `providerOptions`, whole parts as provider parts. Reserved
 * there:
 *
 * - an empty object marks a part, a message or the first call of a message as Gemini's own, to be sent
 *   unchanged;
 * - fields of the content of a part are kept under its name: `functionCall`, `functionResponse`, `inlineData`,
 *   `fileData`; null there marks an absent field that every other part has (`id`, `name`, `args`, `response`,
 *   `mimeType`);
 * - `response` of a result is the shape in which its output was given;
 * - in `metadata`, `role` and `parts` of null were absent; `form` is the form of a system instruction.
 */

/** The name under which this format keeps its fields. */
export const GOOGLE = 'google'

type Field = Json | undefined

/** Bytes, base64. */
export type GeminiBlob = { data: string; mimeType: string; [field: string]: Field }

/** The address of a file. */
export type GeminiFileData = { fileUri: string; mimeType?: string; [field: string]: Field }

/** A call of a function, made by the model. */
export type GeminiFunctionCall = { id?: string; name?: string; args?: JsonObject; [field: string]: Field }

/** An image or a file within the response of a function. */
export type GeminiResponsePart = {
  inlineData?: GeminiBlob
  fileData?: GeminiFileData
  [field: string]: Field
}

/** The response of a function. */
export type GeminiFunctionResponse = {
  id?: string
  name?: string
  response?: JsonObject
  parts?: GeminiResponsePart[]
  [field: string]: Field
}

/** A part of a content: one of these fields, with fields that describe it. */
export type GeminiPart = {
  text?: string
  thought?: boolean
  thoughtSignature?: string
  inlineData?: GeminiBlob
  fileData?: GeminiFileData
  functionCall?: GeminiFunctionCall
  functionResponse?: GeminiFunctionResponse
  [field: string]: Field
}

/** A content of a user (`user`, or no role) or of the model (`model`). */
export type GeminiContent = { role?: string; parts?: GeminiPart[]; [field: string]: Field }

/** The system instruction, in one of the forms that the SDK accepts. */
export type GeminiInstruction = string | GeminiPart | GeminiContent | (string | GeminiPart)[]

/** The part of a request that is conversation. The SDK takes `systemInstruction` within `config`. */
export type GeminiConversation = { systemInstruction?: GeminiInstruction; contents: GeminiContent[] }

/** The side of a part. */
export type GeminiPlace = 'system' | 'user' | 'model'

/** Names under which the AI SDK keeps fields of Gemini: the same model, reached in several ways. */
const NAMES = [GOOGLE, 'googleVertex', 'vertex'] as const

/** The fields kept with a part under this format's names. */
type PartOptions = {
  /** Fields of the part. */
  readonly fields: JsonObject
  /** A call that Gemini ran itself, as the AI SDK keeps it. */
  readonly serverTool: { readonly id: string; readonly toolType: string } | undefined
}

/** Reads the fields kept with a part; `undefined` if the part was never Gemini's. */
export function partOptions(kept: ProviderOptions | undefined): PartOptions | undefined {
  const given = NAMES.map((name) => keptFor(name, kept)).find((fields) => fields !== undefined)
  if (given === undefined) return undefined
  const { serverToolCallId: id, serverToolType: toolType, ...fields } = given
  const isServerTool = typeof id === 'string' && typeof toolType === 'string'
  return { fields, serverTool: isServerTool ? { id, toolType } : undefined }
}

/** The kept fields of the content of a part, and the fields beside it. */
export function ownOf(fields: JsonObject, name: string): { own: JsonObject; rest: JsonObject } {
  const { [name]: own, ...rest } = fields
  return { own: isObject(own) ? own : {}, rest }
}

/** Fields as options of a part; no options for no fields, unless `mark` identifies the part as Gemini's own. */
export function kept(fields: JsonObject, mark = false): { providerOptions?: ProviderOptions } {
  return keptUnder(GOOGLE, fields, mark)
}

/** A field with these fields; nothing for no fields. */
export function under(name: string, fields: JsonObject): JsonObject {
  return isEmpty(fields) ? {} : { [name]: fields }
}

/** A field with this value; nothing for undefined. */
export function field<K extends string>(name: K, value: Json | undefined): { [field: string]: Json } {
  return value === undefined ? {} : { [name]: value }
}
