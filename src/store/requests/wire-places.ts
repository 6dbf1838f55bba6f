import { compactionBlock } from '../../core/messages/compaction-block.ts'
import { isReasoning, type Message, type Part, partsOf } from '../../core/messages/message.ts'
import type { WirePath } from '../../core/overflow/read-refusal.ts'
import { canonicalProvider } from '../../core/tokens/providers.ts'

/*
 * Maps the parts of rendered messages to their places in the wire form of a request. Only lists and indexes matter here; the forms
 * themselves belong to the SDK folders, which are higher layers. A test compares the package's converters with this. Converters move
 * results within an assistant message (of tools that a provider ran), so a path may miss them.
 */

/** A part of a rendered message. */
export type Place = { readonly message: number; readonly part: Part }

/** Providers whose list of messages contains no system message, and one block for each part. */
const TURNS: ReadonlySet<string> = new Set(['anthropic', 'bedrock', 'vertex'])

/**
 * Returns the parts at a path of a request: one part if the path identifies it, else those of its message, most probable first.
 * Applications may send the system prompt as a separate first message: `hasSystem` is whether there is one.
 */
export function placesAt(
  messages: readonly Message[],
  path: WirePath,
  provider: string,
  hasSystem: boolean,
): readonly (readonly Place[])[] {
  const isTurns =
    path.root === 'contents' || (path.root === 'messages' && TURNS.has(canonicalProvider(provider)))
  if (isTurns) return [within(turnsOf(messages)[path.index] ?? [], path, true)]
  const list = path.root === 'input' ? itemsOf(messages) : chatOf(messages)
  const before = (hasSystem ? [1, 0] : [0, 1]).map((count) => path.index - count)
  return before.map((index) => within(list[index] ?? [], path, false))
}

/** Returns the parts of one message or item that a path identifies. */
function within(places: readonly Place[], { part, call }: WirePath, isTurns: boolean): readonly Place[] {
  if (call !== undefined)
    return places.filter((place) => place.part.type === 'tool-call').slice(call, call + 1)
  if (part === undefined) return places
  const content = isTurns ? places : places.filter((place) => place.part.type !== 'tool-call')
  return content.slice(part, part + 1)
}

/** Returns the user and assistant messages, with one block for each part that is sent. */
function turnsOf(messages: readonly Message[]): (readonly Place[])[] {
  const turns: Place[][] = []
  const leading = messages.findIndex(({ role }) => role !== 'system')
  for (const [index, message] of messages.entries()) {
    if (leading === -1 || index < leading) continue
    const parts = partsOf(message).filter(isBlock)
    const arranged = message.role === 'tool' ? resultsFirst(parts) : parts
    let run: Place[] | undefined
    let answers = false
    for (const part of arranged) {
      // Results within an assistant message are sent by the user.
      const isAnswer = message.role === 'assistant' && part.type === 'tool-result'
      if (run === undefined || isAnswer !== answers) {
        run = []
        turns.push(run)
        answers = isAnswer
      }
      run.push({ message: index, part })
    }
  }
  return turns
}

/** Whether a part is sent: blank texts aren't, and reasoning only with the fields from its provider. */
function isBlock(part: Part): boolean {
  if (part.type === 'text') return part.text.trim() !== '' || part.providerOptions !== undefined
  return part.type !== 'reasoning' || part.providerOptions !== undefined
}

function resultsFirst(parts: readonly Part[]): readonly Part[] {
  return [
    ...parts.filter(({ type }) => type === 'tool-result'),
    ...parts.filter(({ type }) => type !== 'tool-result'),
  ]
}

/** Returns the messages of Chat Completions: each result is a separate message. */
function chatOf(messages: readonly Message[]): (readonly Place[])[] {
  return messages.flatMap((message, index) => {
    const places = partsOf(message).map((part) => ({ message: index, part }))
    const results = places.filter(({ part }) => part.type === 'tool-result')
    const others = places.filter(
      ({ part }) => part.type !== 'tool-result' && !isReasoning(part) && !isBesideResults(message, part),
    )
    // A compaction by OpenAI is a separate item.
    const blocks = others.filter(({ part }) => compactionBlock(part) !== undefined)
    const spoken = others.filter(({ part }) => compactionBlock(part) === undefined)
    const isEmptied =
      blocks.length > 0 && spoken.every(({ part }) => part.type === 'text' && part.text === '')
    const isSilent = spoken.length === 0 || isEmptied
    const own = [...blocks.map((place) => [place]), ...(isSilent ? [] : [spoken])]
    return message.role === 'assistant'
      ? [...own, ...results.map((place) => [place])]
      : [...results.map((place) => [place]), ...own]
  })
}

/** Whether a part is a provider part next to results, which has no place in OpenAI's forms. */
function isBesideResults({ role }: Message, { type }: Part): boolean {
  return role === 'tool' && type === 'provider'
}

/** Returns the items of the Responses API: each call, result and reasoning is one, and so is each run of texts. */
function itemsOf(messages: readonly Message[]): (readonly Place[])[] {
  const items: Place[][] = []
  for (const [index, message] of messages.entries()) {
    let run: Place[] | undefined
    for (const part of partsOf(message)) {
      const place = { message: index, part }
      const isContent = part.type === 'text' || part.type === 'image' || part.type === 'file'
      if (isContent && run !== undefined) {
        run.push(place)
        continue
      }
      const isForeign = part.type === 'provider' && message.role !== 'assistant'
      if ((isReasoning(part) && !isBlock(part)) || isForeign) continue
      const item = [place]
      items.push(item)
      run = isContent ? item : undefined
    }
  }
  return items
}
