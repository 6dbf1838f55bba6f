/*
 * Text on its way to a terminal: how wide it is, how it is cut and padded, how figures are written. Text of a
 * conversation passes through `glimpse` first, so that nothing in it can steer the terminal.
 */

/* biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with the escape character */
const STYLE = /\u001b\[[0-9;]*m/g
const UNPRINTABLE = /[\s\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]+/gu
const WIDE =
  /^(?:\p{Emoji_Presentation}|.*\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}])/u
const ELLIPSIS = '…'
/** Between a figure and its unit, so that they stay on one line. */
export const UNBREAKABLE = '\u00a0'

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Columns a text takes; colours take none. */
export function widthOf(text: string): number {
  const plain = text.replaceAll(STYLE, '')
  if (/^[\x20-\x7e]*$/.test(plain)) return plain.length
  let width = 0
  for (const { segment } of graphemes.segment(plain)) width += cellsOf(segment)
  return width
}

function cellsOf(grapheme: string): number {
  if (/^[\p{Mn}\p{Me}\p{Cf}]+$/u.test(grapheme)) return 0
  return WIDE.test(grapheme) ? 2 : 1
}

/** The text, or as much of it as fits, with an ellipsis; colours are kept and ended. */
export function clip(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  if (width < 1) return ''
  let shown = ''
  let used = 0
  let at = 0
  for (const style of [...text.matchAll(STYLE), undefined]) {
    for (const { segment } of graphemes.segment(text.slice(at, style?.index))) {
      const cells = cellsOf(segment)
      if (used + cells >= width) return `${shown}${ELLIPSIS}${shown.includes('\u001b') ? '\u001b[0m' : ''}`
      shown += segment
      used += cells
    }
    if (style === undefined) break
    shown += style[0]
    at = style.index + style[0].length
  }
  return shown
}

/** The text in exactly so many columns: cut or filled up. */
export function cell(text: string, width: number, side: 'left' | 'right' = 'left'): string {
  const shown = clip(text, width)
  const space = ' '.repeat(Math.max(0, width - widthOf(shown)))
  return side === 'left' ? shown + space : space + shown
}

/** Lines of at most `width` columns, broken between words. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && widthOf(longer) > width) {
      lines.push(line)
      line = word
    } else {
      line = longer
    }
  }
  return [...lines, line]
}

/** Text of a conversation as one harmless line. */
export function glimpse(text: string): string {
  return text.slice(0, 2_000).replaceAll(UNPRINTABLE, ' ').trim()
}

/** 1234567 as 1,234,567. */
export function figure(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** One message, two messages. */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return united(figure(count), count === 1 ? noun : nouns)
}

/** A share as a percentage. Small ones keep a digit, so that they are not nothing; none reaches 100 by rounding. */
export function percent(share: number): string {
  const value = share * 100
  const digits = value === 0 || value >= 10 ? 0 : 1
  return united(share < 1 && value >= 99.5 ? '99' : value.toFixed(digits), '%')
}

export function bytes(count: number): string {
  if (count < 1_000) return counted(count, 'byte')
  return count < 1_000_000
    ? united((count / 1_000).toFixed(0), 'kB')
    : united((count / 1_000_000).toFixed(1), 'MB')
}

export function milliseconds(value: number): string {
  if (value >= 1_000) return united((value / 1_000).toFixed(1), 's')
  return united(value.toFixed(value < 10 ? 2 : 0), 'ms')
}

function united(figure: string, unit: string): string {
  return `${figure}${UNBREAKABLE}${unit}`
}

/** The last letters of an id: ours begin with the time, which is the same for all of a run. */
export function shortId(id: string): string {
  return `${ELLIPSIS}${id.slice(-6)}`
}
