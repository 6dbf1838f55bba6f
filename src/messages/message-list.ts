import { invalid } from '../errors.ts'
import { isObject } from './json.ts'

/**
 * The least a list of messages must be for the pure functions to look at it: objects with a role, whose content
 * is a text or a list of typed parts. Throws `INVALID_INPUT`, naming the place and not what stands there.
 */
export function checkMessageList(messages: unknown, what: string): void {
  if (!Array.isArray(messages)) throw invalid(`${what}: messages must be an array`)
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as unknown
    if (!isObject(message) || typeof message.role !== 'string') {
      throw invalid(`${what}: messages[${index}] must be an object with a role`)
    }
    const { content } = message
    if (typeof content === 'string') continue
    if (
      !Array.isArray(content) ||
      !content.every((part) => isObject(part) && typeof part.type === 'string')
    ) {
      throw invalid(`${what}: messages[${index}].content must be a text or a list of parts`)
    }
  }
}

/** A name of a provider, where one may be given. Throws `INVALID_INPUT`. */
export function checkProviderName(provider: unknown, what: string): void {
  if (provider !== undefined && typeof provider !== 'string')
    throw invalid(`${what}: provider must be a text`)
}
