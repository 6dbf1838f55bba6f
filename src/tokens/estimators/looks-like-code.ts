/** Characters looked at in each of three places: the beginning, the middle, the end. */
const WINDOW = 1_024
/** Share of signs of code from which a text is taken for code. With it 82 to 98 in 100 windows of source files were, and 0 to 9 in 100 of translated manuals and messages. */
const LEAST_SHARE = 0.04

/** Signs that prose hardly uses. */
const signs = new Uint8Array(128)
for (const sign of '{}[]<>=_\\|&*$#+@') signs[sign.charCodeAt(0)] = 1

/**
 * Whether a text is made of the signs that source code, JSON and markup are made of. Looks at 3,072 characters at most,
 * so it costs the same for any length. A guess: prose full of links or tables may pass for code, and poor code for prose.
 */
export function looksLikeCode(text: string): boolean {
  const { length } = text
  const starts = length <= 3 * WINDOW ? [0] : [0, (length - WINDOW) >> 1, length - WINDOW]
  const size = length <= 3 * WINDOW ? length : WINDOW
  let found = 0
  let seen = 0
  for (const start of starts) {
    let before = 0x20
    for (let at = start; at < start + size; at++) {
      const unit = text.charCodeAt(at)
      if (unit > 0x20) {
        seen++
        if (unit < 128 && (signs[unit] === 1 || isCodeSign(text, at, unit, before))) found++
      }
      before = unit
    }
  }
  return seen > 0 && found / seen >= LEAST_SHARE
}

/** Signs that prose has too, in places where it has not: a bracket right behind a word, a semicolon that ends a line, quotes around a key. */
function isCodeSign(text: string, at: number, unit: number, before: number): boolean {
  if (unit === 0x28) return before > 0x20
  if (unit === 0x3b) return !(text.charCodeAt(at + 1) > 0x0d)
  return unit === 0x22 && (before === 0x3a || before === 0x2c || text.charCodeAt(at + 1) === 0x3a)
}
