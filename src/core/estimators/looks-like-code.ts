/** Characters looked at in each of three places: the beginning, the middle, the end. */
const WINDOW = 1_024
/** Share of signs of code from which a text is taken for code: half-way between prose (at most 2 in 100) and source (from 6). */
const LEAST_SHARE = 0.04

const signs = new Uint8Array(128)
for (const sign of '{}[]()<>;=_"\\|&*$#+@') signs[sign.charCodeAt(0)] = 1

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
    for (let at = start; at < start + size; at++) {
      const unit = text.charCodeAt(at)
      if (unit <= 0x20) continue
      seen++
      if (unit < 128) found += signs[unit] as number
    }
  }
  return seen > 0 && found / seen >= LEAST_SHARE
}
