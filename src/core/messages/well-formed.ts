import { mapList, mapStrings } from './map-strings.ts'
import type { Message } from './message.ts'

/*
 * Lone surrogates: half an emoji, left by a cut or a stream. The log returns it unchanged, but to most servers a request that contains it
 * is not valid JSON ("no low surrogate in string"), so U+FFFD replaces it in every text that is sent.
 */

/** Returns the same value with U+FFFD in place of each lone surrogate, in keys too; the value itself if there is none. */
export function wellFormed<T>(value: T): T {
  return mapStrings(value, wellFormedText, wellFormedText)
}

function wellFormedText(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed()
}

/**
 * Returns messages with well-formed texts; `changed` receives the index of each message that differs. Returns the same list if none
 * differs.
 */
export function wellFormedMessages<M extends Message>(
  messages: readonly M[],
  changed: (index: number) => void = () => undefined,
): readonly M[] {
  return mapList(messages, (message, index) => {
    const sent = wellFormed(message)
    if (sent !== message) changed(index)
    return sent
  })
}
