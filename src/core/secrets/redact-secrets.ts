import { findSecrets } from './find-secrets.ts'

/** A text without its credentials, and how many of each kind were replaced. */
export type RedactedText = { readonly text: string; readonly found: { readonly [kind: string]: number } }

/**
 * Replaces the credentials of a text with placeholders, which are the same for all credentials of a kind. `field`: the name of the JSON
 * field that holds the text. A second time nothing is found.
 */
export function redactSecrets(
  text: string,
  { field }: { readonly field?: string | undefined } = {},
): RedactedText {
  const secrets = findSecrets(text, field)
  const found: { [kind: string]: number } = {}
  let redacted = ''
  let from = 0
  for (const { kind, start, end } of secrets) {
    redacted += `${text.slice(from, start)}${placeholder(kind)}`
    from = end
    found[kind] = (found[kind] ?? 0) + 1
  }
  return { text: secrets.length === 0 ? text : redacted + text.slice(from), found }
}

/** The text in place of a redacted one. */
export function placeholder(kind: string): string {
  return `[redacted: ${kind}]`
}
