import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { describeStore } from './contract.ts'

/* The project "late" (vitest.config.ts) makes every storage return late: what a server over a network does. */

const estimator = 'neurolink'

test('the storage of these tests returns late', async () => {
  const store = await openStore(':memory:', { estimator })
  expect(store.needsCompaction('s')).toBeInstanceOf(Promise)
  await store.close()
})

describeStore('SQLite that returns late', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-late-'))
  const file = join(folder, 'chats.db')
  return {
    store: await openStore(file, { durability: 'normal', estimator }),
    reopen: () => openStore(file, { durability: 'normal', estimator }),
    cleanup: () => rmSync(folder, { recursive: true, force: true }),
  }
})
