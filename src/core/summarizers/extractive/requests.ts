import { headOf } from '../../messages/characters.ts'
import { oneLine, sentencesOf, shorten, withoutFences } from '../text.ts'

/** A text on one line without its code: whole when it fits, else its beginning. A text of code alone is shortened as it is. */
export function informative(text: string, max: number): string {
  const start = headOf(text, 4 * max)
  const prose = oneLine(withoutFences(start))
  return shorten(prose === '' ? oneLine(start) : prose, max)
}

/** The number of replies that are searched for a statement. */
const MOST_REPLIES = 8

/** The first sentence in a few replies, in the given order, that states something. */
export function gist(replies: readonly { readonly text: string }[], max: number): string {
  for (const { text } of replies.slice(0, MOST_REPLIES)) {
    const sentences = sentencesOf(withoutFences(headOf(text, 1_500)))
    const found = sentences.find((sentence) => sentence.length >= 20 && isStatement(sentence))
    if (found !== undefined) return shorten(found, max)
  }
  return ''
}

/** What the newest of a few replies states, oldest first: the last one that states something, without what it announces at its end. */
export function lastStated(replies: readonly { readonly text: string }[]): string {
  for (const { text } of replies.slice(-MOST_REPLIES).reverse()) {
    let stated = withoutFences(text)
    for (const sentence of sentencesOf(stated).reverse()) {
      if (isStatement(sentence)) return oneLine(stated)
      stated = stated.slice(0, Math.max(0, stated.lastIndexOf(sentence)))
    }
  }
  return ''
}

const ANNOUNCES =
  /^(?:(?:ok(?:ay)?|good|great|perfect|now|first|next|then|so)\b[,.!:;—–-]* ?){0,3}(?:let me|let['’]s|i['’]ll|i will|i['’]m going to)\b/i

/** Whether a sentence neither announces a step nor introduces what follows it. */
export function isStatement(sentence: string): boolean {
  return !/[:：]$/.test(sentence) && !ANNOUNCES.test(sentence)
}

const SMALL_TALK =
  /^(?:(?:ok(?:ay)?|yes|yeah|yep|no|sure|thanks?|thank you|great|cool|nice|perfect|hi|hello|hey|alright|good|lgtm|go on|continue|proceed|do it|go ahead|please|so much|very much)[\s,.!?]*)+$/i
/** A command of a chat client, `/undo`, `/add src/main.ts`, or its notes in brackets: `[Request interrupted]`. */
const COMMAND = /^\s*(?:\/[a-z][\w-]{0,40}(?:[ \t][^\n]{0,200})?|(?:\[[^\]\n]{1,200}\]\s*)+)$/
/** The beginning of what a program printed. */
const PRINTED =
  /^\s*(?:={3,}|\^C|Traceback \(most|(?:Unexpected )?[Ee]rror: |\$ |npm ERR!|>>> |Command failed)/

/** Whether a request contains nothing new: "ok", "yes, continue", "thanks", a command of the client, printed output. */
export function isSmallTalk(text: string): boolean {
  if (text.length >= 260) return false
  return (text.length < 60 && SMALL_TALK.test(oneLine(text))) || COMMAND.test(text) || PRINTED.test(text)
}
