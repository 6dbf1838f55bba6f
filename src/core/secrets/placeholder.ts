/** A text after redaction, and how many of its places were replaced, by kind. */
export type RedactedText = { readonly text: string; readonly found: { readonly [kind: string]: number } }

/** The text in place of a redacted one: the same for all of a kind, so that nothing can be linked or guessed from it. */
export function placeholder(kind: string): string {
  return `[redacted: ${kind}]`
}
