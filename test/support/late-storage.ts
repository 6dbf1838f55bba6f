import { vi } from 'vitest'
import { late } from './late.ts'
import { randomFrom } from './random.ts'
import { SEED } from './seed.ts'

/*
 * Setup of the project "late" (vitest.config.ts): every storage a test opens returns 0 to 6 ms late, up to 3 ms before its work and
 * up to 3 ms after it.
 */

const random = randomFrom(SEED)
const delay = (): number => random() * 3

vi.mock('../../src/storage/sqlite/storage.ts', async (original) => {
  const actual = await original<typeof import('../../src/storage/sqlite/storage.ts')>()
  const sqliteStorage: typeof actual.sqliteStorage = (...given) =>
    late(actual.sqliteStorage(...given), { before: delay, after: delay })
  return { ...actual, sqliteStorage }
})
