import { createHash } from 'node:crypto'

/**
 * A mark that stands in none of the texts it is to hold apart from the words around them. It is a hash of the
 * texts themselves: the same texts give the same prompt, and nobody can write a text that holds its own mark.
 */
export function fenceFor(texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text.length}\0`).update(text, 'utf8')
  return `data-${hash.digest('hex').slice(0, 24)}`
}
