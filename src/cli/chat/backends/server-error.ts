import { isObject } from '../../../messages/json.ts'

/** Most characters of a server's words that are shown. */
export const MOST_WORDS = 500

/**
 * What a server said instead of an answer. `status` and `message` are what `isContextOverflowError` reads. The words are for the person
 * at the terminal and go nowhere else.
 */
export class ServerError extends Error {
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.name = 'ServerError'
    this.status = status
  }
}

/** The refusal of a server: the words in its body, without the key, which some servers quote. */
export function refusalOf(status: number | undefined, body: string, apiKey?: string): ServerError {
  const words = wordsIn(body).trim().slice(0, MOST_WORDS) || 'no reason given'
  return new ServerError(withoutKey(words, apiKey), status)
}

/** The key, and what begins like one: servers quote the ends of a wrong key. */
export function withoutKey(words: string, apiKey?: string): string {
  const hidden = apiKey ? words.replaceAll(apiKey, '[key]') : words
  return hidden.replace(/\b(?:sk|pk|key|gsk|xai)-[\w*.-]{8,}/g, '[key]')
}

function wordsIn(body: string): string {
  let read: unknown
  try {
    read = JSON.parse(body)
  } catch {
    return body
  }
  for (const value of isObject(read) ? [read.error, read] : []) {
    if (typeof value === 'string') return value
    if (isObject(value) && typeof value.message === 'string') return value.message
  }
  return body
}
