import { openStore } from '../../src/index.ts'
import { newFile } from '../support/temporary.ts'
import { KEEPS_ALL } from './contract/support.ts'
import { CONTRACT, describeStore, SAMPLE } from './contract.ts'

/** The estimator whose figures can be worked out by hand. */
const estimator = 'neurolink'

// Only where it is kept differs from the file.
const parts = process.env.LONG === '1' ? CONTRACT : SAMPLE
describeStore(
  'SQLite in memory',
  async () => ({ store: await openStore(':memory:', { estimator }) }),
  KEEPS_ALL,
  parts,
)

describeStore('SQLite in a file', async () => {
  const file = newFile()
  return {
    store: await openStore(file, { durability: 'normal', estimator }),
    reopen: () => openStore(file, { durability: 'normal', estimator }),
  }
})
