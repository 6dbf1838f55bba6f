/*
 * Every message of the load says which it is: "#2.17.3" is the third message of turn 17 of process 2. Its idempotency key is
 * the same.
 */

export function labelOf(process: number, turn: number, nth: number): string {
  return `#${process}.${turn}.${nth}`
}

/** The labels in a text, each once, in the order in which they come first. */
export function labelsIn(text: string): string[] {
  return [...new Set(text.match(/#\d+\.\d+\.\d+/g) ?? [])]
}
