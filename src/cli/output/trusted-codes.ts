/*
 * Escape sequences of our own, told apart from those that stand in stored text. A sequence we mean carries a number nobody can guess;
 * the one place that writes to a stream takes the number out, and shows every other escape instead of sending it.
 */

const SECRET = globalThis.crypto.getRandomValues(new Uint32Array(2)).join('')

/** A colour or weight, or any other sequence (as hexadecimal digits), with the secret in it. */
export const TRUSTED = new RegExp(`\\x1b\\[([\\d;]*);${SECRET}m|\\x1b\\]${SECRET};([\\da-f]*)\\x07`, 'g')

/** Marks the colours and weights of a text in which nothing else is left to escape. */
export function markStyles(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escapes are what it is about
  return text.replace(/\x1b\[([\d;]*)m/g, (_, codes: string) => `\x1b[${codes};${SECRET}m`)
}

/** Any other sequence, such as `\r` or one that clears a line, made fit for a sink. Never give it stored text. */
export function terminalCode(sequence: string): string {
  const digits = [...sequence].map((character) => character.charCodeAt(0).toString(16).padStart(4, '0'))
  return `\x1b]${SECRET};${digits.join('')}\x07`
}

/** Takes the secret out: marked sequences become real ones, or go where colours are off. */
export function unmark(text: string, colours: boolean): string {
  return text.replace(TRUSTED, (_, codes: string | undefined, digits: string | undefined) => {
    if (digits !== undefined)
      return digits.replace(/.{4}/g, (four) => String.fromCharCode(Number.parseInt(four, 16)))
    return colours ? `\x1b[${codes}m` : ''
  })
}
