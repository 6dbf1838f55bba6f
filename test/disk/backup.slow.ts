import { expect, it } from 'vitest'
import { SEED } from '../support/seed.ts'
import { backUpUnderLoad } from './backups.ts'

it('fifty backups under load, with kills, are each a sound store as of one moment', async () => {
  const { whole, killed, partial, writersKilled } = await backUpUnderLoad(50, SEED)
  expect(whole).toBe(50)
  expect(killed).toBeGreaterThan(5)
  expect(partial).toBeGreaterThan(0)
  expect(writersKilled).toBeGreaterThan(50)
}, 900_000)
