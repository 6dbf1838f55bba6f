import { openStore } from '../../src/index.ts'
import { newFile } from '../support/temporary.ts'
import { describeStore } from './contract.ts'

/** The estimator whose figures can be worked out by hand. */
const estimator = 'neurolink'

describeStore('SQLite in memory', async () => ({ store: await openStore(':memory:', { estimator }) }))

describeStore('SQLite in a file', async () => {
  const file = newFile()
  return {
    store: await openStore(file, { durability: 'normal', estimator }),
    reopen: () => openStore(file, { durability: 'normal', estimator }),
  }
})
