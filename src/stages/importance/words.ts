import { headOf, tailOf } from '../../messages/characters.ts'

/*
 * What words say of a message. English, word by word, in linear time, over the beginning and the end of a text: what
 * stands in the middle of a long one was most likely pasted.
 */

const HEAD_UNITS = 4_000
const TAIL_UNITS = 1_000

/** The beginning and the end of a text, the whole of a short one. Characters, as everywhere, are UTF-16 units. */
export function excerpt(text: string): string {
  if (text.length <= HEAD_UNITS + TAIL_UNITS) return text
  return `${headOf(text, HEAD_UNITS)}\n${tailOf(text, TAIL_UNITS)}`
}

/** Words of rules. Source: seed checklist F2; "I don't know" and its like are no rule, so `don't` must open a sentence or follow no pronoun. */
const CONSTRAINT =
  /\b(?:must|mustn['’]t|never|always|shall not|should not|shouldn['’]t|make sure|under no circumstances|at all costs|forbidden|not allowed|required to)\b|(?<!\b(?:i|we|you|they|he|she|it|that|this|these|those|who|which|why|tests|people)\s)\b(?:do not|don['’]t)\b/i

/** Whether a person states a rule. */
export function statesConstraint(text: string): boolean {
  return CONSTRAINT.test(excerpt(text))
}

const DECISION =
  /\b(?:decided|decision|agreed|approved|settled on|(?:going|go|went) with|opted for|chose|chosen|we['’]ll (?:use|keep|take)|we will (?:use|keep|take)|let['’]s (?:use|keep|stay with|do)|the plan is)\b/i

/** Whether something is decided. */
export function statesDecision(text: string): boolean {
  return DECISION.test(excerpt(text))
}

/** Whether a text asks: a question mark at the end of a word or of the text. */
export function asksQuestion(text: string): boolean {
  return /[^\s?]\?(?=["'”’)*_]{0,3}(?:\s|$))/.test(excerpt(text))
}

/** Whether a tool's text ends in the status of a process that failed. */
export function endsInFailure(text: string): boolean {
  return /\bexit(?:ed)?(?: with)? (?:code|status):? {0,2}[1-9]\d{0,2}\b/i.test(tailOf(text, 120))
}
