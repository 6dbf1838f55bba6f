import { TOLD_ABOVE } from '../chat/usage-warning.ts'
import type { Style } from '../command.ts'
import { percent } from '../output/figures.ts'
import { shares } from '../output/shares.ts'
import { CATEGORIES, type Category, type RequestFigures } from './request-figures.ts'

/** How each category is drawn: told apart without colours too. */
const LOOKS: { readonly [category in Category]: { readonly glyph: string; readonly colour: keyof Style } } = {
  system: { glyph: '■', colour: 'yellow' },
  text: { glyph: '█', colour: 'green' },
  reasoning: { glyph: '░', colour: 'gray' },
  calls: { glyph: '▓', colour: 'blue' },
  results: { glyph: '▒', colour: 'cyan' },
  media: { glyph: '▚', colour: 'magenta' },
  prompt: { glyph: '▶', colour: 'green' },
  tools: { glyph: '▤', colour: 'yellow' },
  files: { glyph: '▥', colour: 'magenta' },
  unseen: { glyph: '▞', colour: 'gray' },
}
const FREE = '·'
const MARK = '▴'

export function glyphOf(category: Category, style: Style): string {
  const { glyph, colour } = LOOKS[category]
  return style[colour](glyph)
}

/** A bar, the marks beneath it, and what they mark. */
export type UsageBar = { readonly bar: string; readonly marks: string; readonly legend: string }

/** The available input as a bar of `width` columns, and beneath it marks at the target, at 60 % and where compaction is due. */
export function usageBar(
  { stats, breakdown, target }: RequestFigures,
  width: number,
  style: Style,
): UsageBar {
  const { usageRatio, availableInputTokens, threshold } = stats
  const used = usageRatio > 0 ? Math.max(1, Math.round(Math.min(1, usageRatio) * width)) : 0
  const cells = shares(
    used,
    CATEGORIES.map((category) => breakdown[category]),
  )
  const drawn = CATEGORIES.map((category, at) => {
    const { glyph, colour } = LOOKS[category]
    return style[colour](glyph.repeat(cells[at]!))
  }).join('')
  const bar = drawn + style.dim(FREE.repeat(width - used))
  const targetShare = availableInputTokens > 0 ? target / availableInputTokens : 0
  const marks = [
    { share: targetShare, name: 'target' },
    { share: TOLD_ABOVE, name: 'warning' },
    { share: threshold, name: 'compaction due' },
  ].sort((a, b) => a.share - b.share)
  const line = Array.from({ length: width }, (_, at) =>
    marks.some(({ share }) => cellOf(share, width) === at) ? MARK : ' ',
  )
  const names = marks.map(({ share, name }) => `${percent(share)} ${name}`).join(' · ')
  return { bar, marks: line.join('').trimEnd(), legend: `${MARK} ${names}` }
}

function cellOf(share: number, width: number): number {
  return Math.min(width - 1, Math.max(0, Math.round(share * width) - 1))
}
