import { findSecrets } from './find-secrets.ts'
import { placeholder, type RedactedText } from './placeholder.ts'

/** A placeholder may separate what nothing separated before, so that another rule applies. More passes than this are for no real text. */
const MAX_PASSES = 8

/**
 * Replaces the credentials of a text with placeholders, which are the same for all credentials of a kind. `field`: the name of the JSON
 * field that holds the text. A second time nothing is found.
 */
export function redactSecrets(
  text: string,
  { field }: { readonly field?: string | undefined } = {},
): RedactedText {
  const found: { [kind: string]: number } = {}
  let redacted = text
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const secrets = findSecrets(redacted, field)
    if (secrets.length === 0) break
    let made = ''
    let from = 0
    for (const { kind, start, end } of secrets) {
      made += `${redacted.slice(from, start)}${placeholder(kind)}`
      from = end
      found[kind] = (found[kind] ?? 0) + 1
    }
    redacted = made + redacted.slice(from)
  }
  return { text: redacted, found }
}
