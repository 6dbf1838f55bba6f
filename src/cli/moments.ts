import type { Moment } from '../core/model/moment.ts'
import type { Store } from '../store/store.ts'
import type { Context } from './command.ts'
import { CliError } from './errors.ts'
import { shownTyped } from './location.ts'

/* Moments on the command line: `kind:value`, or `now`. */

type Reader = (value: string, compaction: (given: string) => Promise<string>) => Moment | Promise<Moment>

const READERS: { readonly [kind: string]: Reader } = {
  message: (id) => ({ afterMessage: id }),
  before: (id) => ({ beforeMessage: id }),
  position: (text) => ({ afterMessage: numberOf(text) }),
  'before-position': (text) => ({ beforeMessage: numberOf(text) }),
  audit: (text) => ({ audit: numberOf(text) }),
  time: (text) => ({ time: timeOf(text) }),
  compaction: async (given, compaction) => ({ afterCompaction: await compaction(given) }),
  'before-compaction': async (given, compaction) => ({ beforeCompaction: await compaction(given) }),
  request: (id) => ({ request: id }),
}

const FORMS =
  'message:ID, before:ID, position:12, before-position:12, audit:7, time:2026-01-31T10:00:00Z, compaction:ID, before-compaction:ID, request:ID, now'

/** Whether a text is written like a moment. */
export function isMoment(text: string): boolean {
  return text === 'now' || kindOf(text) in READERS
}

/** Reads a moment; `now` is `undefined`. Throws `WRONG_USE`, `COMPACTION_NOT_FOUND`. */
export async function momentOf(
  context: Context,
  store: Store,
  sessionId: string,
  text: string,
): Promise<Moment | undefined> {
  if (text === 'now') return undefined
  const read = isMoment(text) ? READERS[kindOf(text)] : undefined
  const value = text.slice(text.indexOf(':') + 1)
  if (read === undefined || value === '') throw wrong(text)
  return read(value, (given) => context.compaction(store, sessionId, given))
}

function kindOf(text: string): string {
  const colon = text.indexOf(':')
  return colon === -1 ? '' : text.slice(0, colon)
}

function numberOf(text: string): number {
  const value = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(value)) throw wrong(text)
  return value
}

/** A time as ISO 8601, or milliseconds since 1970. */
function timeOf(text: string): number {
  const value = /^\d{12,}$/.test(text) ? Number(text) : Date.parse(text)
  if (!Number.isSafeInteger(value)) throw wrong(text)
  return value
}

function wrong(text: string): CliError {
  return new CliError('WRONG_USE', `${JSON.stringify(shownTyped(text))} is not a moment.`, {
    hint: `A moment is one of ${FORMS}.`,
  })
}
