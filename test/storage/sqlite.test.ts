import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/index.ts'
import { describeStore } from './contract.ts'

/** The estimator whose figures can be worked out by hand. */
const estimator = 'neurolink'

describeStore('SQLite in memory', async () => ({ store: await openStore(':memory:', { estimator }) }))

describeStore('SQLite in a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-contract-'))
  const file = join(folder, 'chats.db')
  return {
    store: await openStore(file, { durability: 'normal', estimator }),
    reopen: () => openStore(file, { durability: 'normal', estimator }),
    cleanup: () => rmSync(folder, { recursive: true, force: true }),
  }
})
