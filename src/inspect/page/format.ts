/* Numbers, times and money as people read them. Times are local. */

const WHOLE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 })
const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumSignificantDigits: 3 })
const PERCENT = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 })

export const whole = (value: number): string => WHOLE.format(value)
/** 12.3K, 1.2M: for figures that are compared, not added up. */
export const short = (value: number): string => SHORT.format(value)
export const percent = (share: number): string => PERCENT.format(share)

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${whole(count)} ${count === 1 ? one : many}`

/** US dollars with as many digits as matter; an en dash if no price is known. */
export function money(dollars: number | null | undefined): string {
  if (dollars === null || dollars === undefined) return '–'
  if (dollars === 0) return '$0'
  const digits = Math.abs(dollars) >= 1 ? 2 : Math.abs(dollars) >= 0.01 ? 3 : 5
  return `${dollars < 0 ? '−' : ''}$${Math.abs(dollars).toFixed(digits)}`
}

/** Dollars on an axis: all with as many digits as its step needs. */
export function axisMoney(dollars: number, step: number): string {
  return `$${dollars.toFixed(step >= 1 ? 0 : Math.max(2, Math.ceil(-Math.log10(step) - 1e-9)))}`
}

export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`
  if (count < 1_000_000) return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)} kB`
  return `${(count / 1_000_000).toFixed(count < 10_000_000 ? 1 : 0)} MB`
}

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const DAY_AND_YEAR = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** The whole local time, for a tooltip. */
export const fullTime = (at: number): string => FULL.format(at)
export const clock = (at: number): string => CLOCK.format(at)

/** A time as short as it is clear: the clock for today, the day for this year. */
export function time(at: number, now = Date.now()): string {
  const day = new Date(at)
  const today = new Date(now)
  if (day.toDateString() === today.toDateString()) return CLOCK.format(at)
  return day.getFullYear() === today.getFullYear()
    ? `${DAY.format(at)}, ${CLOCK.format(at)}`
    : DAY_AND_YEAR.format(at)
}

export function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`
}

/** An id that a person may have chosen, whole; of a long one, the last part, which tells ids apart. */
export const shortId = (id: string): string => (id.length > 24 ? id.slice(-8) : id)

/** A tokens change with its sign: −12.3K. */
export const change = (difference: number): string =>
  `${difference > 0 ? '+' : difference < 0 ? '−' : '±'}${short(Math.abs(difference))}`
