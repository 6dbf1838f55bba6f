import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { newFile } from '../support/temporary.ts'
import { KEEPS_ALL } from './contract/support.ts'
import { CONTRACT, describeStore, SAMPLE } from './contract.ts'

/* The project "late" (vitest.config.ts) makes every storage return late: what a server over a network does. The whole
 * contract runs on real servers. */

const estimator = 'neurolink'

test('the storage of these tests returns late', async () => {
  const store = await openStore(':memory:', { estimator })
  expect(store.needsCompaction('s')).toBeInstanceOf(Promise)
  await store.close()
})

const parts = process.env.LONG === '1' ? CONTRACT : SAMPLE
describeStore(
  'SQLite that returns late',
  async () => {
    const file = newFile()
    return {
      store: await openStore(file, { durability: 'normal', estimator }),
      reopen: () => openStore(file, { durability: 'normal', estimator }),
    }
  },
  KEEPS_ALL,
  parts,
)
