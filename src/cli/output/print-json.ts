import { safeJson } from './safe-text.ts'

/** A value as JSON of several lines: bytes as base64, what is undefined left out, nothing in it that a terminal obeys. */
export function printable(value: unknown): string {
  return safeJson(JSON.stringify(value, plain, 2) ?? 'null')
}

function plain(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
