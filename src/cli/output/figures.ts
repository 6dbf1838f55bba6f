import type { MediaChange, ReasoningSize } from '../../store/events.ts'
import type { Sink } from '../command.ts'

let thousands: Intl.NumberFormat | undefined

/** `1,234,567`. */
export function count(value: number): string {
  // Most figures are small, and creating a number format is slow.
  if (Number.isInteger(value) && value > 0 && value < 1_000) return String(value)
  thousands ??= new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
  return thousands.format(value)
}

/** `1 message`, `2 messages`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/** The phrases that apply, separated by commas. */
export function listing(...phrases: readonly (string | false | undefined)[]): string {
  return phrases.filter((phrase) => phrase).join(', ')
}

/** `1,234 → 567 tokens`. */
export function fromTo(before: number, after: number): string {
  return `${count(before)} → ${count(after)} tokens`
}

/** `invalidates 2 blocks (29 tokens) of reasoning, restores 1 block (15 tokens) of reasoning`; empty for neither. */
export function reasoningText({
  invalidatedReasoning: lost,
  restoredReasoning: again,
}: {
  readonly invalidatedReasoning?: ReasoningSize | undefined
  readonly restoredReasoning?: ReasoningSize | undefined
}): string {
  const size = ({ blocks, tokens }: ReasoningSize): string =>
    `${counted(blocks, 'block')} (${counted(tokens, 'token')}) of reasoning`
  return listing(
    lost !== undefined && lost.blocks > 0 && `invalidates ${size(lost)}`,
    again !== undefined && again.blocks > 0 && `restores ${size(again)}`,
  )
}

/** The fields of a result or a preview about images and files. */
export function mediaOf({
  imagesBefore,
  imagesAfter,
  mediaBytesBefore,
  mediaBytesAfter,
}: MediaChange): MediaChange {
  return { imagesBefore, imagesAfter, mediaBytesBefore, mediaBytesAfter }
}

/** `, 7 → 3 images (2.1 MB → 900 KB)`; nothing where images and files stay as they are. */
export function mediaText({
  imagesBefore,
  imagesAfter,
  mediaBytesBefore,
  mediaBytesAfter,
}: MediaChange): string {
  if (imagesBefore === imagesAfter && mediaBytesBefore === mediaBytesAfter) return ''
  return `, ${count(imagesBefore)} → ${count(imagesAfter)} images (${bytes(mediaBytesBefore)} → ${bytes(mediaBytesAfter)})`
}

/** A share as percent: `81.2 %`; below a tenth of one, `<0.1 %`. */
export function percent(share: number): string {
  if (share > 0 && share < 0.001) return '<0.1 %'
  return `${(share * 100).toFixed(share >= 1 || share === 0 ? 0 : 1)} %`
}

/** `640 B`, `12.3 KB`, `4.0 MB`. */
export function bytes(size: number): string {
  if (size < 1_000) return `${count(size)} B`
  const units = ['KB', 'MB', 'GB', 'TB']
  let value = size
  let unit = -1
  do {
    value /= 1_000
    unit += 1
  } while (value >= 999.95 && unit < units.length - 1)
  return `${value.toFixed(1)} ${units[unit]}`
}

/** US dollars: `$0.0123`. */
export function money(dollars: number): string {
  return `$${dollars.toFixed(dollars !== 0 && Math.abs(dollars) < 1 ? 4 : 2)}`
}

/** A time: local to the minute on a terminal, elsewhere ISO 8601 in UTC. A number out of range is printed as it is. */
export function time(ms: number, sink: Pick<Sink, 'isTerminal'>): string {
  const date = new Date(ms)
  if (Number.isNaN(date.getTime())) return String(ms)
  if (!sink.isTerminal) return date.toISOString()
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/**
 * Whole numbers that add up to `whole`, in proportion to weights; the largest remainders are rounded up. All are 0 if nothing has weight.
 */
export function shares(whole: number, weights: readonly number[]): number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0)
  if (sum <= 0) return weights.map(() => 0)
  const exact = weights.map((weight) => (whole * weight) / sum)
  const parts = exact.map(Math.floor)
  const order = exact
    .map((value, at) => ({ at, rest: value - Math.floor(value) }))
    .sort((a, b) => b.rest - a.rest || a.at - b.at)
  const missing = whole - parts.reduce((total, part) => total + part, 0)
  for (const { at } of order.slice(0, missing)) parts[at]! += 1
  return parts
}
