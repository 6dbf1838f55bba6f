import type { Json, JsonObject } from '../../messages/json.ts'
import type { ProviderOptions } from '../../messages/message.ts'
import { isEmpty, isObject, keptFor, keptUnder } from '../wire.ts'

/*
 * Contents in the form of Gemini's API, in and out. One content becomes one message, and what was read comes out again
 * as it was. Sources: `Content`, `Part` and the types they name, of `@google/genai`.
 *
 * What the neutral form has no place for is kept under the name `google`, under which the AI SDK keeps its own, too:
 * fields of a content in `metadata`, fields of a part in `providerOptions`, whole parts as provider parts. Reserved there:
 *
 * - an empty object marks a part, a message or the first call of a message as Gemini's own, to be sent as it stands;
 * - fields of what a part holds stand under its name: `functionCall`, `functionResponse`, `inlineData`, `fileData`;
 *   within them null says that a field every other part has was absent (`id`, `name`, `args`, `response`, `mimeType`);
 * - `response` of a result says in which shape its output was given;
 * - in `metadata`, `role` and `parts` of null were absent; `form` says what a system instruction was.
 */

/** The name under which this form keeps its own things. */
export const GOOGLE = 'google'

type Field = Json | undefined

/** Bytes, base64. */
export type GeminiBlob = { data: string; mimeType: string; [field: string]: Field }

/** The address of a file. */
export type GeminiFileData = { fileUri: string; mimeType?: string; [field: string]: Field }

/** A call of a function, made by the model. */
export type GeminiFunctionCall = { id?: string; name?: string; args?: JsonObject; [field: string]: Field }

/** An image or a file within the answer of a function. */
export type GeminiResponsePart = {
  inlineData?: GeminiBlob
  fileData?: GeminiFileData
  [field: string]: Field
}

/** What a function answered. */
export type GeminiFunctionResponse = {
  id?: string
  name?: string
  response?: JsonObject
  parts?: GeminiResponsePart[]
  [field: string]: Field
}

/** A part of a content: one of these, with fields that tell about it. */
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

/** A content: what a user (`user`, or no role) or the model (`model`) says. */
export type GeminiContent = { role?: string; parts?: GeminiPart[]; [field: string]: Field }

/** The system instruction, in one of the shapes the SDK takes. */
export type GeminiInstruction = string | GeminiPart | GeminiContent | (string | GeminiPart)[]

/** The part of a request that is conversation. The SDK takes `systemInstruction` within `config`. */
export type GeminiConversation = { systemInstruction?: GeminiInstruction; contents: GeminiContent[] }

/** Who speaks where a part stands. */
export type GeminiPlace = 'system' | 'user' | 'model'

/** Names under which the AI SDK keeps what Gemini wants again: the same model, reached another way. */
const NAMES = [GOOGLE, 'googleVertex', 'vertex'] as const

/** What is kept of a part under this format's name. */
type PartOptions = {
  /** Fields of the part. */
  readonly fields: JsonObject
  /** A call Gemini ran itself, as the AI SDK keeps it. */
  readonly serverTool: { readonly id: string; readonly toolType: string } | undefined
}

/** Reads what is kept of a part; `undefined` where the part was never Gemini's. */
export function partOptions(kept: ProviderOptions | undefined): PartOptions | undefined {
  const given = NAMES.map((name) => keptFor(name, kept)).find((fields) => fields !== undefined)
  if (given === undefined) return undefined
  const { serverToolCallId: id, serverToolType: toolType, ...fields } = given
  const isServerTool = typeof id === 'string' && typeof toolType === 'string'
  return { fields, serverTool: isServerTool ? { id, toolType } : undefined }
}

/** What a part keeps of the object it holds, and the fields beside it. */
export function ownOf(fields: JsonObject, name: string): { own: JsonObject; rest: JsonObject } {
  const { [name]: own, ...rest } = fields
  return { own: isObject(own) ? own : {}, rest }
}

/** Fields as options of a part; nothing for no fields, unless the part must be known as Gemini's own. */
export function kept(fields: JsonObject, mark = false): { providerOptions?: ProviderOptions } {
  return keptUnder(GOOGLE, fields, mark)
}

/** A field with what a part holds, where there is anything to say of it. */
export function under(name: string, fields: JsonObject): JsonObject {
  return isEmpty(fields) ? {} : { [name]: fields }
}

/** A field that is there only where it is told. */
export function told<K extends string>(name: K, value: Json | undefined): { [field: string]: Json } {
  return value === undefined ? {} : { [name]: value }
}
