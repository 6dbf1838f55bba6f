import { isObject } from '../../messages/json.ts'

/** Fields in which transcripts keep when something was said. */
const FIELDS = ['createdAt', 'created_at', 'timestamp', 'create_time', 'created', 'ts'] as const

/** From here on a number is milliseconds, below it seconds: the year 1973 as the one, 5138 as the other. */
const MILLISECONDS_FROM = 1e11

/** When something was made, in milliseconds since 1970, where one of its fields says so. */
export function momentOf(value: unknown): number | undefined {
  if (!isObject(value)) return undefined
  for (const name of FIELDS) {
    const found = moment(value[name])
    if (found !== undefined) return found
  }
  return undefined
}

/** A time as files have it: seconds or milliseconds since 1970, or a date in ISO 8601. */
export function moment(value: unknown): number | undefined {
  if (typeof value === 'number' && value > 0) {
    const time = Math.round(value < MILLISECONDS_FROM ? value * 1000 : value)
    return time < 8.64e15 ? time : undefined
  }
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d/.test(value)) return undefined
  const time = Date.parse(value)
  return Number.isNaN(time) ? undefined : time
}
