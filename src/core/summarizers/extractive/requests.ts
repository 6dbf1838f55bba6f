import { headOf } from '../../messages/characters.ts'
import { oneLine, shorten, withoutFences } from '../text.ts'

/** A text on one line without its code: whole when it fits, else its beginning. A text of code alone is shortened as it is. */
export function informative(text: string, max: number): string {
  const start = headOf(text, 4 * max)
  const prose = oneLine(withoutFences(start))
  return shorten(prose === '' ? oneLine(start) : prose, max)
}

const SMALL_TALK =
  /^(?:(?:ok(?:ay)?|yes|yeah|yep|no|sure|thanks?|thank you|great|nice|perfect|hi|hello|alright|good|go on|continue|proceed|do it|go ahead|please)[\s,.!?]*)+$/i
/** A command of a chat client, `/undo`, `/add src/main.ts`, or its notes in brackets: `[Request interrupted]`. */
const COMMAND = /^\s*(?:\/[a-z][\w-]{0,40}(?:[ \t][^\n]{0,200})?|(?:\[[^\]\n]{1,200}\]\s*)+)$/
/** The beginning of what a program printed. */
const PRINTED = /^\s*(?:={3,}|\^C|Traceback \(most|[Ee]rror: |npm ERR!)/

/** Whether a request contains nothing new: "ok", "yes, continue", "thanks", a command of the client, printed output. */
export function isSmallTalk(text: string): boolean {
  if (text.length >= 260) return false
  return (text.length < 60 && SMALL_TALK.test(oneLine(text))) || COMMAND.test(text) || PRINTED.test(text)
}
