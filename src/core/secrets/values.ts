/*
 * Whether a value is a secret, or a word, a variable, an id or a placeholder in its place.
 */

/** Returns the Shannon entropy of a text, in bits a character. */
export function entropyOf(text: string): number {
  const counts = new Map<number, number>()
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    counts.set(code, (counts.get(code) ?? 0) + 1)
  }
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}

/** What stands in place of a secret: a variable of a shell, of a template or of a program, or a remark. */
const PLACEHOLDER =
  /^(?:\$|%[A-Z_]{2,40}%|\{\{|<|\[|…|@|#\{|!?(?:process|import\.meta|os|env|config|secrets|vars|self|this|settings|ctx|ref|data|var|local|module|args|opts|options|req|request|response|res|user|event|params|props|state|session|payload|body|input|form|values|result)[.[])|(.)\1{5}|\*{2}|\.{3}|xxxx|(?:your|my|the|some)[-_ ]|\b(?:example|placeholder|change[-_]?me|redacted|dummy|sample|insert|fixme|todo)\b|_here$|^(?:null|undefined|none|nil|true|false|string|number|boolean|optional|required)$/i

/** Returns whether a value is written out: no variable, no placeholder, no remark. */
export function isWritten(value: string): boolean {
  return !PLACEHOLDER.test(value)
}

/** Sequences that people type in examples. */
const SEQUENCE = /0123456|1234567|abcdefg|qwertyuiop|deadbeef/i

const TIME = /^\d{4}-\d\d-\d\dT\d\d:/

/** Returns whether a value is random: letters and digits, in no order. */
export function isRandom(value: string): boolean {
  if (!isWritten(value) || !/\d/.test(value) || !/[a-z]/i.test(value)) return false
  if (SEQUENCE.test(value) || TIME.test(value)) return false
  const entropy = entropyOf(value)
  return entropy >= (/^[\da-f]+$/i.test(value) ? 2.8 : 3.2) && !isWords(value)
}

/** Words with separators and at most a number at an end: names of files, models, packages, functions. */
function isWords(value: string): boolean {
  const pieces = value.split(/[-_./:=]/).filter((piece) => piece !== '')
  return pieces.every(
    (piece) => /^(?:[A-Za-z]{1,20}?\d{0,4}|\d{1,4}[a-z]{0,2}|v?\d{1,8})$/.test(piece) && piece.length < 21,
  )
}
