import { vi } from 'vitest'
import { late } from './late.ts'
import { randomFrom } from './random.ts'
import { SEED } from './seed.ts'

/*
 * Setup of the project "late" (vitest.config.ts): every storage a test opens returns 0 to 6 ms late, up to 3 ms before its work and
 * up to 3 ms after it.
 */

const random = randomFrom(SEED)
/** The regular suite waits in one of ten cases only, so that it stays quick; in the others a turn of the event loop. */
const isLong = process.env.LONG === '1'
const delay = (): number => (isLong || random() < 0.1 ? random() * 3 : 0)

vi.mock('../../src/storage/sqlite/storage.ts', async (original) => {
  const actual = await original<typeof import('../../src/storage/sqlite/storage.ts')>()
  const sqliteStorage: typeof actual.sqliteStorage = (...given) =>
    late(actual.sqliteStorage(...given), { before: delay, after: delay })
  return { ...actual, sqliteStorage }
})
