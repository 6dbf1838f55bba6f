import { expect } from 'vitest'
import { type ErrorCode, isUndertextError } from '../../src/index.ts'
import type { Database } from '../../src/storage/sqlite/driver.ts'

/** Stands in every content of a test about failures, and must never be in an error. */
export const CANARY = 'C4N4RY-what-somebody-said'

/** What a call threw, at once or as a promise; fails when it did not. */
export async function failureOf(act: () => unknown): Promise<unknown> {
  let answer: unknown
  try {
    answer = await act()
  } catch (error) {
    return error
  }
  throw new Error(`expected an error, and it answered ${JSON.stringify(answer)?.slice(0, 200)}`)
}

/** Whether a call is refused at the door. */
export function refuses(act: () => unknown): boolean {
  try {
    act()
    return false
  } catch (error) {
    return isUndertextError(error, 'INVALID_INPUT')
  }
}

/** One of our errors with this code, which says nothing of a conversation, its causes included. */
export function expectFailure(error: unknown, code: ErrorCode | readonly ErrorCode[], what = ''): void {
  const shown = error instanceof Error ? `${error.name}: ${error.message.slice(0, 200)}` : String(error)
  expect(isUndertextError(error), `${what} threw ${shown}`).toBe(true)
  if (!isUndertextError(error)) return
  expect([code].flat(), `${what} threw ${shown}`).toContain(error.code)
  expect(error.message, what).not.toContain(CANARY)
  expect(JSON.stringify(error.facts) ?? '', what).not.toContain(CANARY)
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    expect(cause.message, `the cause of ${what}`).not.toContain(CANARY)
    expect(cause.stack ?? '', `the cause of ${what}`).not.toContain(CANARY)
  }
}

/** Everything in a database, our tables and others, as text, in the order of row ids where a table has them. */
export function dumpOf(database: Database): string {
  const tables = database
    .prepare(
      "select name, wr from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite_%' order by name",
    )
    .all() as { readonly name: string; readonly wr: number | bigint }[]
  return JSON.stringify(
    tables.map(({ name, wr }) => {
      const [columns, order] = Number(wr) === 1 ? ['*', '1, 2, 3'] : ['rowid, *', 'rowid']
      // The mark that removed rows are to be cleared from the files says nothing of a session.
      const where = name === 'undertext_meta' ? "where key <> 'residue'" : ''
      return [
        name,
        database.prepare(`select ${columns} from "${name}" ${where} order by ${order}`).raw().all(),
      ]
    }),
    (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value),
  )
}

/** The problems of the `INVALID_INPUT` that a function throws. */
export function problemOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (isUndertextError(error, 'INVALID_INPUT')) return error.facts.problems
    throw error
  }
  return 'nothing was thrown'
}

/** Freezes a value deeply, so that a function that changes its input throws. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}
