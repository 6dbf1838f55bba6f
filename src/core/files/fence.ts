import { createHash } from 'node:crypto'

/**
 * A mark that stands in none of the texts it is to hold apart from the words around them. It is made from the
 * texts themselves: the same texts give the same prompt, and no text can hold its own mark.
 */
export function fenceFor(texts: readonly string[]): string {
  for (let round = 0; ; round++) {
    const hash = createHash('sha256').update(`${round}`)
    for (const text of texts) hash.update(`\0${text.length}\0`).update(text, 'utf8')
    const fence = `data-${hash.digest('hex').slice(0, 24)}`
    if (!texts.some((text) => text.includes(fence))) return fence
  }
}
