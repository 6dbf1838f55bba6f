import { indexOfText } from '../../messages/characters.ts'

/** What Claude's page writes where an old reader of a message cannot show a block of it. */
const STAND_IN =
  /```\s*(?:This block is not supported on your current device yet\.[^\S\n]*|Viewing artifacts created via [^\n`]*)(?:\n\s*)?```/g

/**
 * What a message's field `text` says that its blocks do not: an export repeats there what the blocks say, with stand-ins for calls and results.
 * `words` are the texts of the blocks in order. Answers what is left of it, or `undefined` for nothing.
 */
export function unsaidOf(text: string, words: readonly string[]): string | undefined {
  const shown = text.replace(STAND_IN, '')
  let at = 0
  let rest = ''
  for (const each of words) {
    const said = each.trim()
    const found = indexOfText(shown, said, at)
    if (found < 0) continue
    rest += shown.slice(at, found)
    at = found + said.length
  }
  rest += shown.slice(at)
  return rest.trim() === '' ? undefined : rest
}
