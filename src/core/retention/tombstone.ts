import { isObject } from '../messages/json.ts'
import {
  isReasoning,
  isUnsentPart,
  type Part,
  type ProviderOptions,
  type ToolResultContent,
  withOutputText,
} from '../messages/message.ts'

/*
 * What stays of content that retention removed. A part keeps its kind as far as its pairing and the rendering of its message depend on it,
 * and carries a tombstone in `providerOptions.undertext.retired`, or in `data` if it is a part that is never sent. So every copy, export and
 * restore of the message has it, and no provider reads it.
 */

/** The classes of rules that remove parts of messages. */
export const CONTENT_CLASSES = ['toolOutputs', 'reasoning', 'media', 'hidden'] as const
/** The class of the rule that removed a part. */
export type ContentClass = (typeof CONTENT_CLASSES)[number]

/** What is known of a removed part. */
export type Tombstone = {
  /** The class of the rule that removed it. */
  readonly rule: ContentClass
  /** The size of the removed part as it was stored. */
  readonly bytes: number
  /** The estimated tokens of the removed part. */
  readonly tokens: number
  /** The SHA-256 of the removed content (`payloadOf`) in hexadecimal; absent for a short one, which could be found by trying. */
  readonly sha256?: string
  /** The time of the removal, in milliseconds since 1970. */
  readonly at: number
}

/** The text of a removed tool output. */
export const RETIRED_OUTPUT = '[Tool output removed]'
/** The text of a removed text. */
export const RETIRED_TEXT = '[Text removed]'

/** Returns the tombstone of a part, or of an item of a tool result; `undefined` if it has its content. */
export function tombstoneOf(part: Part | ToolResultContent): Tombstone | undefined {
  const holder = part.type === 'provider' ? part.data : part.providerOptions
  const own = isObject(holder) ? holder.undertext : undefined
  const found = isObject(own) ? own.retired : undefined
  return isObject(found) && typeof found.bytes === 'number' ? (found as Tombstone) : undefined
}

/** Returns the tombstones of a part and of the items of its output. */
export function tombstonesIn(part: Part): readonly Tombstone[] {
  const isList = part.type === 'tool-result' && part.output.type === 'content'
  const own = tombstoneOf(part)
  // Every part of every append is asked, and most have none.
  if (!isList) return own === undefined ? NONE : [own]
  return [part, ...part.output.value].flatMap((one) => tombstoneOf(one) ?? [])
}

const NONE: readonly Tombstone[] = []

/**
 * Returns what stays of a part. `keepsOptions`: whether providers' fields on a tool result stay, because the view shows them beside a
 * replacement of its text.
 */
export function retiredPart(part: Part, tombstone: Tombstone, keepsOptions: boolean): Part {
  const providerOptions = optionsWith(undefined, tombstone)
  switch (part.type) {
    case 'text':
      return { type: 'text', text: RETIRED_TEXT, providerOptions }
    case 'reasoning':
      return { type: 'reasoning', text: '', providerOptions }
    case 'image':
    case 'file':
      return retiredMedia(part, tombstone)
    case 'tool-call': {
      const { type, toolCallId, toolName, providerExecuted } = part
      const executed = providerExecuted === undefined ? {} : { providerExecuted }
      return { type, toolCallId, toolName, input: {}, ...executed, providerOptions }
    }
    case 'tool-result': {
      const { providerOptions: given, output, ...rest } = part
      const kept = optionsWith(keepsOptions ? given : undefined, tombstone)
      return { ...rest, output: withOutputText(output, RETIRED_OUTPUT), providerOptions: kept }
    }
    case 'provider': {
      if (isUnsentPart(part)) return { ...part, data: { undertext: { retired: tombstone } } }
      return { type: isReasoning(part) ? 'reasoning' : 'text', text: '', providerOptions }
    }
  }
}

/** Returns the text that stays of an image or a file, as a part or as an item of a tool result. */
export function retiredMedia(
  { type }: Extract<ToolResultContent, { type: 'image' | 'file' }>,
  tombstone: Tombstone,
): Extract<Part, { type: 'text' }> {
  const text = type === 'image' ? '[Image removed]' : '[File removed]'
  return { type: 'text', text, providerOptions: optionsWith(undefined, tombstone) }
}

function optionsWith(given: ProviderOptions | undefined, retired: Tombstone): ProviderOptions {
  return { ...given, undertext: { ...given?.undertext, retired } }
}

/** Returns a part without its tombstone: a part that shows another text is what it was before its original was removed. */
export function withoutTombstone<P extends Exclude<Part, { type: 'provider' }>>(part: P): P {
  if (part.providerOptions?.undertext === undefined || tombstoneOf(part) === undefined) return part
  const { undertext, ...others } = part.providerOptions
  const { retired: _, ...own } = undertext!
  const kept = Object.keys(own).length === 0 ? others : { ...others, undertext: own }
  const { providerOptions: _options, ...rest } = part
  return (Object.keys(kept).length === 0 ? rest : { ...rest, providerOptions: kept }) as P
}
