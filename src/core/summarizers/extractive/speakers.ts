import { isObject, type JsonObject } from '../../messages/json.ts'
import type { Message } from '../../messages/message.ts'
import type { Utterance } from './exchanges.ts'

/** The least number of people in a group talk. */
const GROUP = 3

/** The name of a message's speaker, which adapters keep in the metadata. */
export function speakerOf({ metadata = {} }: Pick<Message, 'metadata'>): string | undefined {
  const { name, openai, flat } = metadata
  const names = [name, isObject(openai) ? openai.name : undefined, isObject(flat) ? flat.name : undefined]
  return names.find((one): one is string => typeof one === 'string' && one.trim() !== '')?.slice(0, 60)
}

/** The metadata of a message for a summarizer: the name of its speaker. */
export function namedBy(metadata: JsonObject | undefined): Pick<Message, 'metadata'> {
  const name = metadata && speakerOf({ metadata })
  return name === undefined ? {} : { metadata: { name } }
}

/** The names of people: none, when a user without a name speaks. `texts`: by the role of their message. */
function peopleIn(texts: readonly Utterance[]): Set<string> {
  const names = new Set<string>()
  for (const { by, speaker } of texts) {
    if (by !== 'user') continue
    if (speaker === undefined) return new Set()
    names.add(speaker)
  }
  return names
}

/** Whether people talk with each other, and no tool is called. */
export function isGroupTalk(texts: readonly Utterance[], hasCalls: boolean): boolean {
  return !hasCalls && peopleIn(texts).size >= GROUP
}

/**
 * The texts with their speakers. The user has no name, or is the one who speaks first; any other name in a message of the user is that of
 * an agent, a console or another person. In a group talk nobody is the user. A name that all messages of the assistant have says nothing.
 */
export function withSpeakers(texts: readonly Utterance[], isGroup: boolean): readonly Utterance[] {
  const agents = new Set(texts.flatMap(({ by, speaker = '' }) => (by === 'assistant' ? [speaker] : [])))
  const [user] = peopleIn(texts)
  return texts.map((text): Utterance => {
    const { by, speaker } = text
    if (speaker === undefined) return text
    const isNamed = by === 'assistant' ? isGroup || agents.size > 1 : isGroup || speaker !== user
    if (isNamed) return by === 'assistant' ? text : { ...text, by: 'assistant' }
    return { ...text, speaker: undefined }
  })
}
