import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { say } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'
import { removeFolder } from './disks.ts'
import { outcomeOf } from './fill.ts'
import { contentsOf, type Furnished, furnish, READS, WRITES } from './verbs.ts'

/* A file that is no longer where it was opened. SQLite goes on with it as if nothing had happened. */

let root: string
let folder: string
let file: string
let store: Store
let furnished: Furnished
beforeEach(async () => {
  root = newFolder()
  folder = join(root, 'data')
  mkdirSync(folder)
  file = join(folder, 'chats.db')
  store = await openStore(file)
  furnished = await furnish(store)
})
afterEach(async () => {
  await store.close()
  removeFolder(root)
})

const removeStore = (): void => {
  for (const part of ['', '-wal', '-shm']) rmSync(`${file}${part}`, { force: true })
}

const VANISHINGS: Record<string, () => unknown> = {
  'removed with its log': removeStore,
  'removed, its log left behind': () => unlinkSync(file),
  'moved away': () => renameSync(file, join(root, 'elsewhere.db')),
  'gone with its folder': () => rmSync(folder, { recursive: true }),
  'replaced by another store': async () => {
    const other = await openStore(join(root, 'other.db'))
    await other.append('s', [say('user', 'of the other store')])
    await other.close()
    removeStore()
    copyFileSync(join(root, 'other.db'), file)
  },
}

/** A store looks whether its file is still there when its last look is 5 ms ago. */
const momentLater = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10))

describe('a file that vanished while it is open', () => {
  for (const [name, vanish] of Object.entries(VANISHINGS)) {
    test(`${name}: reading continues, and no lost write is acknowledged`, async () => {
      const before = await contentsOf(store)
      await vanish()
      await momentLater()
      for (const [verb, act] of Object.entries(READS))
        expect(await outcomeOf(() => act(store, furnished)), verb).toBe('done')
      for (const [verb, act] of Object.entries(WRITES))
        expect(await outcomeOf(() => act(store, furnished)), verb).toBe('STORE_UNAVAILABLE')
      expect(await contentsOf(store)).toBe(before)
      await store.close()

      if (!existsSync(folder)) return expect(await outcomeOf(() => openStore(file))).toBe('STORE_UNAVAILABLE')
      if (name === 'removed, its log left behind' || name === 'moved away') return
      // The place is free again: whatever stands there now is opened and works, untouched by the store that was.
      store = await openStore(file)
      const others = name === 'replaced by another store' ? ['of the other store'] : []
      await store.append('s', [say('user', 'new')])
      const said = (await store.getMessages('s')).map(({ content }) => content)
      expect(said).toEqual([...others, 'new'])
      expect((await store.sessions.verify('s')).findings).toEqual([])
    })
  }

  test('that is back in its place is written to again', async () => {
    renameSync(file, `${file}.away`)
    await momentLater()
    expect(await outcomeOf(() => store.append('s', [say('user', 'lost?')]))).toBe('STORE_UNAVAILABLE')
    renameSync(`${file}.away`, file)
    const { position } = await store.append('s', [say('user', 'kept')])
    await store.close()
    store = await openStore(file)
    expect((await store.getMessages('s', { after: position - 1 })).map(({ content }) => content)).toEqual([
      'kept',
    ])
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })

  test('of a store opened by a relative path is looked for where it was, wherever the process goes', async () => {
    const home = process.cwd()
    try {
      process.chdir(folder)
      await store.close()
      store = await openStore('chats.db')
      process.chdir(root)
      await store.append('s', [say('user', 'from elsewhere')])
    } finally {
      process.chdir(home)
    }
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })
})
