import { headOf, tailOf } from '../messages/characters.ts'

/**
 * A text without its middle, when it is longer than `length` characters (UTF-16 units) and the note of what is left out is
 * worth it: half of `length` of each end is kept. No pair of surrogates is cut.
 */
export function shortenMiddle(text: string, length: number): string {
  if (text.length <= length) return text
  const half = Math.floor(length / 2)
  const head = headOf(text, half)
  const tail = tailOf(text, half)
  const short = `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
  return short.length < text.length ? short : text
}
