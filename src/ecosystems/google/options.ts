import type { Json, JsonObject } from '../../messages/json.ts'
import type { ProviderOptions } from '../../messages/message.ts'
import { isEmpty, isObject, keptFor, keptUnder } from '../wire.ts'
import { GOOGLE } from './types.ts'

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
