import type { JsonObject } from '../../messages/json.ts'
import type { Row } from './connection.ts'
import { damaged, parseStoredObject, storedNumber, storedText } from './content-codec.ts'

/* Rows of the database as records of a history. */

/** The columns of a row by their index. Each throws `STORE_CORRUPT`, naming the row. */
export function columnsOf(row: Row, name: string) {
  const text = (at: number): string | undefined => storedText(row[at], name)
  return {
    text,
    required: (at: number): string => {
      const value = text(at)
      if (value === undefined) throw damaged('record', name)
      return value
    },
    number: (at: number): number => storedNumber(row[at], name),
    optional: (at: number): number | undefined =>
      row[at] === null ? undefined : storedNumber(row[at], name),
    json: (at: number): JsonObject | undefined =>
      row[at] === null ? undefined : parseStoredObject(row[at], 'record', name),
  }
}

/** Fields without those that are `undefined`. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
