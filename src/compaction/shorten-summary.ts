import { topicsOf } from '../summarizers/extractive/titles.ts'
import { shortenMiddle } from '../summarizers/shorten-middle.ts'

/**
 * A summary as it is, or as much of it as fits: its rules stay whole as long as they fit themselves, and the rest is shortened in
 * the middle. The rules are what stands beneath the heading of the section for them.
 */
export function shortenSummary(
  summary: string,
  sections: readonly string[],
  fits: (text: string) => boolean,
): string {
  if (fits(summary)) return summary
  const { before, rules, behind } = parted(summary, sections[topicsOf(sections).indexOf('rules')])
  if (rules === '' || !fits(rules)) return fitText(summary, fits)
  const rest = `${before}${behind}`
  const most = longest(rest.length, (length) => fits(joined(shortenMiddle(rest, length), rules)))
  return most < 0 ? rules : joined(shortenMiddle(rest, most), rules)
}

/** A text as it is, or as much of its two ends as fits; empty when nothing does. */
export function fitText(text: string, fits: (text: string) => boolean): string {
  if (fits(text)) return text
  const most = longest(text.length - 1, (length) => fits(shortenMiddle(text, length)))
  return most < 0 ? '' : shortenMiddle(text, most)
}

/** The largest number up to `high` that fits, by halving; -1 for none. */
function longest(high: number, fits: (length: number) => boolean): number {
  let low = -1
  let most = high
  while (low < most) {
    const middle = Math.ceil((low + most) / 2)
    if (fits(middle)) low = middle
    else most = middle - 1
  }
  return low
}

function joined(rest: string, rules: string): string {
  return rest === '' ? rules : `${rest.trimEnd()}\n\n${rules}`
}

/** The section with a title, its heading included, and what stands before and behind it. */
function parted(
  summary: string,
  title: string | undefined,
): { readonly before: string; readonly rules: string; readonly behind: string } {
  const whole = { before: summary, rules: '', behind: '' }
  if (title === undefined) return whole
  const wanted = title.trim().toLowerCase()
  let from = -1
  let level = 0
  for (let at = 0; at < summary.length; ) {
    const end = summary.indexOf('\n', at)
    const next = end === -1 ? summary.length : end + 1
    const heading = /^(#{1,6})[ \t]+(\S.{0,999})$/.exec(summary.slice(at, end === -1 ? next : end).trimEnd())
    if (heading !== null) {
      const depth = heading[1]!.length
      if (from >= 0 && depth <= level)
        return {
          before: summary.slice(0, from),
          rules: summary.slice(from, at).trimEnd(),
          behind: summary.slice(at),
        }
      if (from < 0 && heading[2]!.trim().toLowerCase() === wanted) {
        from = at
        level = depth
      }
    }
    at = next
  }
  return from < 0
    ? whole
    : { before: summary.slice(0, from), rules: summary.slice(from).trimEnd(), behind: '' }
}
