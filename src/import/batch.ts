import type { NewMessage, Part } from '../core/message.ts'

/** Most messages written in one transaction. */
const MOST_MESSAGES = 500
/** About as many characters as are written in one transaction: it takes some tens of milliseconds. */
const MOST_CHARACTERS = 4_000_000

/** Messages that are written together. */
export class Batch {
  #messages: NewMessage[] = []
  #characters = 0

  get isFull(): boolean {
    return this.#messages.length >= MOST_MESSAGES || this.#characters >= MOST_CHARACTERS
  }

  add(message: NewMessage): void {
    this.#messages.push(message)
    this.#characters += charactersIn(message)
  }

  /** What was added since the last time. */
  take(): readonly NewMessage[] {
    const messages = this.#messages
    this.#messages = []
    this.#characters = 0
    return messages
  }
}

/** About how long a message is: what is long in one stands in texts, inputs and data. */
function charactersIn({ content, metadata }: NewMessage): number {
  const parts: readonly Part[] | string = content
  return lengthOf(parts) + lengthOf(metadata)
}

/** About how many characters a value has in JSON. */
export function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  if (value instanceof Uint8Array) return value.length
  let sum = 0
  for (const inner of Object.values(value)) sum += lengthOf(inner)
  return sum
}
