import { findSecrets } from './find-secrets.ts'
import { placeholder, type RedactedText } from './placeholder.ts'

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
