/** Longest run handed over in one piece, UTF-16 units. The merging of a piece takes time by the square of its length. */
const LONGEST_RUN = 256

/**
 * Where to cut a text, from `start` on, so that no piece of the tokenizer gets longer than 256 units: within the
 * first run of letters, of signs or of white space that is longer. `undefined` when there is none. Outside ASCII, what
 * is not known to be a letter or a mark of punctuation may be either, and lengthens both runs. Never between the halves of a
 * surrogate pair.
 */
export function findLongRun(text: string, start: number): number | undefined {
  let letters = 0
  let signs = 0
  let white = 0
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 0x20 || (unit >= 0x09 && unit <= 0x0d)) {
      // Line ends belong to the signs before them.
      signs = unit === 0x0a || unit === 0x0d ? signs + 1 : 0
      white++
      letters = 0
    } else {
      const isLetter = mayBeLetter(unit)
      white = 0
      letters = isLetter ? letters + 1 : 0
      signs = maybeSign(unit) ? signs + 1 : 0
    }
    if (letters < LONGEST_RUN && signs < LONGEST_RUN && white < LONGEST_RUN) continue
    const isHigh = unit >= 0xd800 && unit <= 0xdbff
    return isHigh ? at : at + 1
  }
  return undefined
}

function mayBeLetter(unit: number): boolean {
  if (unit < 0x80) return (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a)
  // Punctuation, general and of Chinese and Japanese; the wide forms of the signs of ASCII.
  return !(
    (unit >= 0x2010 && unit <= 0x2027) ||
    (unit >= 0x3001 && unit <= 0x3003) ||
    (unit >= 0x3008 && unit <= 0x3011) ||
    (unit >= 0xff01 && unit <= 0xff0f) ||
    (unit >= 0xff1a && unit <= 0xff20)
  )
}

function maybeSign(unit: number): boolean {
  if (unit < 0x80) return !mayBeLetter(unit) && !(unit >= 0x30 && unit <= 0x39)
  // Letters for sure: Latin to Cyrillic, kana, Han, Hangul.
  return !(
    (unit >= 0xc0 && unit <= 0x24f && unit !== 0xd7 && unit !== 0xf7) ||
    (unit >= 0x391 && unit <= 0x481) ||
    (unit >= 0x3041 && unit <= 0x3096) ||
    (unit >= 0x30a1 && unit <= 0x30fa) ||
    (unit >= 0x4e00 && unit <= 0x9fff) ||
    (unit >= 0xac00 && unit <= 0xd7a3)
  )
}
