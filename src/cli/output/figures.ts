import type { Sink } from '../command.ts'

/** `1,234,567`. */
export function count(value: number): string {
  // Most figures are small, and making a form of numbers takes longer than all else in a row of a table.
  if (Number.isInteger(value) && value > 0 && value < 1_000) return String(value)
  form ??= new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
  return form.format(value)
}

let form: Intl.NumberFormat | undefined

/** `1 message`, `2 messages`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
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

/** A time: on a terminal to the minute and where it is, elsewhere as ISO 8601 in UTC. A number that is no time is shown as one. */
export function time(ms: number, sink: Pick<Sink, 'isTerminal'>): string {
  const date = new Date(ms)
  if (Number.isNaN(date.getTime())) return String(ms)
  if (!sink.isTerminal) return date.toISOString()
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}
