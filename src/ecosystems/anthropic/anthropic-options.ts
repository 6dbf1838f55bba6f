import type { Json, JsonObject } from '../../messages/json.ts'
import type { ProviderOptions } from '../../messages/message.ts'
import { isObject, keptFor } from '../wire.ts'
import { ANTHROPIC } from './anthropic-types.ts'

/*
 * What stands under `anthropic` of a part comes from this format, as fields of a block, or from the AI SDK, which keeps
 * options of its own there. Names of the API have no capitals, those of the AI SDK may have: that tells them apart.
 * Source: `convert-to-anthropic-messages-prompt.ts` and the types of options of `@ai-sdk/anthropic`.
 */

/** Options of the AI SDK that are fields of a block by another name. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['cacheControl', 'cache_control'],
  ['toolsetName', 'toolset_name'],
])

/** What is kept of a part under this format's name. */
type BlockOptions = {
  /** Fields of the block, by the names of the API. */
  readonly fields: JsonObject
  /** Whether this format put them there, so that the block was Anthropic's as it stands. */
  readonly isOwn: boolean
  /** The data of redacted thinking, as the AI SDK keeps it. */
  readonly redactedData: string | undefined
  /** The kind of block that the AI SDK made the part of. */
  readonly madeOf: Json | undefined
}

const NOTHING: BlockOptions = { fields: {}, isOwn: false, redactedData: undefined, madeOf: undefined }

/** Reads what is kept of a part. `type` and names with capitals are never sent as they stand. */
export function blockOptions(kept: ProviderOptions | undefined): BlockOptions {
  const given = keptFor(ANTHROPIC, kept)
  if (given === undefined) return NOTHING
  const { redactedData } = given
  const entries = Object.entries(given).flatMap(([name, value]): [string, Json | undefined][] => {
    const sent = RENAMED.get(name) ?? name
    if (isForeignName(sent) || (sent !== name && sent in given)) return []
    return [[sent, name === 'caller' ? callerOf(value) : value]]
  })
  return {
    fields: Object.fromEntries(entries.filter(([, value]) => value !== undefined)),
    isOwn: kept?.['ai-sdk'] === undefined && !Object.keys(given).some(isForeignName),
    redactedData: typeof redactedData === 'string' ? redactedData : undefined,
    madeOf: given.type,
  }
}

function isForeignName(name: string): boolean {
  return name === 'type' || /[A-Z]/.test(name)
}

/** Who made a call: the AI SDK names the tool `toolId`. */
function callerOf(caller: Json | undefined): Json | undefined {
  if (!isObject(caller) || typeof caller.toolId !== 'string') return caller
  const { toolId, ...rest } = caller
  return { ...rest, tool_id: toolId }
}
