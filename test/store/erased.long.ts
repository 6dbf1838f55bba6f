import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { randomFrom } from '../support/random.ts'
import { SEED } from '../support/seed.ts'
import { newFolder } from '../support/temporary.ts'
import { KINDS, readableIn, talk } from './erasing.ts'

let folder = ''

const PEOPLE = ['anna', 'bert', 'cleo', 'dora', 'emil', 'faye', 'gina']

test.each(Array.from({ length: 40 }, (_, at) => SEED + at))(
  'after a purge nothing of the session is readable, seed %i',
  async (seed) => {
    const random = randomFrom(seed)
    const below = (end: number): number => Math.floor(random() * end)
    folder = newFolder()
    const file = join(folder, 'chats.db')
    const isOwn = below(3) > 0
    const database = new BetterSqlite3(isOwn ? ':memory:' : file)
    if (!isOwn) database.pragma(`journal_mode = ${['wal', 'delete', 'persist', 'truncate'][below(4)]}`)
    const store = await openStore(isOwn ? file : database, isOwn ? { durability: 'normal' } : {})
    // Another program's table has copies made instead of a VACUUM.
    if (!isOwn && below(2) === 0) database.exec('create table theirs (a text)')
    const here = PEOPLE.slice(0, 2 + below(6))
    let turns = 0
    while (here.length > 0) {
      const more = 1 + below(8)
      await talk(store, here, more, random, turns)
      turns += more
      const [gone] = here.splice(below(here.length), 1)
      expect(readableIn(folder, gone!)).not.toEqual([])
      expect(await store.sessions.purge(`session-${gone}`)).not.toHaveProperty('filesCleared')
      expect(readableIn(folder, gone!)).toEqual([])
      // No piece of a text either: all that is left is the name in the receipt.
      const bytes = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'))
      expect(bytes.join().match(new RegExp(`(?<!session-)${gone}`, 'g'))).toBeNull()
      for (const who of here) expect(readableIn(folder, who).length).toBeGreaterThan(KINDS.length / 2)
    }
    await store.close()
    database.close()
  },
)
