import Database from 'better-sqlite3'
import { openStore, type Store } from 'undertext'
import { BareStats, BareView } from './bare.ts'
import type { Folder } from './folder.ts'
import { type Contestant, medianBlocks } from './rounds.ts'

const ROUNDS = 25

type Opened = { readonly name: string; readonly store: Store; readonly database: Database.Database }

/** Milliseconds of a block by contestant, where contestants read files that are opened by us and by hand. */
async function medianReads(
  folder: Folder,
  files: readonly string[],
  contestantsOf: (opened: Opened) => Contestant[],
): Promise<(name: string) => number> {
  const opened = await Promise.all(
    files.map(async (name) => {
      const file = folder.file(name)
      return { name, store: await openStore(file), database: new Database(file) }
    }),
  )
  const timeOf = await medianBlocks(opened.flatMap(contestantsOf), ROUNDS)
  for (const { store, database } of opened) {
    await store.close()
    database.close()
  }
  return timeOf
}

/** The effective history of session `s` in a file, ours against the bare select and parse, milliseconds each. */
export async function viewAgainstBare(
  folder: Folder,
  files: readonly string[],
  repeats: number,
): Promise<{ readonly ours: number; readonly bare: number }[]> {
  const timeOf = await medianReads(folder, files, ({ name, store, database }) => {
    const bare = new BareView(database, 's')
    return [
      {
        name: `ours ${name}`,
        block: async () => {
          for (let i = 0; i < repeats; i++) await store.getEffectiveHistory('s')
        },
      },
      {
        name: `bare ${name}`,
        block: () => {
          for (let i = 0; i < repeats; i++) bare.read()
        },
      },
    ]
  })
  return files.map((name) => ({
    ours: timeOf(`ours ${name}`) / repeats,
    bare: timeOf(`bare ${name}`) / repeats,
  }))
}

export type StatsFigures = {
  /** Milliseconds: `getContextStats`, `needsCompaction`, one prepared read of one row. */
  readonly stats: number
  readonly needs: number
  readonly bare: number
}

/** What stats cost in each file. */
export async function statsAgainstBare(folder: Folder, files: readonly string[]): Promise<StatsFigures[]> {
  const repeats = 2_000
  const timeOf = await medianReads(folder, files, ({ name, store, database }) => {
    const bare = new BareStats(database)
    return [
      {
        name: `stats ${name}`,
        block: async () => {
          for (let i = 0; i < repeats; i++) await store.getContextStats('s', 'anthropic', 'claude-sonnet-4-5')
        },
      },
      {
        name: `needs ${name}`,
        block: async () => {
          for (let i = 0; i < repeats; i++) await store.needsCompaction('s', 'anthropic', 'claude-sonnet-4-5')
        },
      },
      {
        name: `bare ${name}`,
        block: () => {
          for (let i = 0; i < repeats; i++) bare.read('s')
        },
      },
    ]
  })
  return files.map((name) => ({
    stats: timeOf(`stats ${name}`) / repeats,
    needs: timeOf(`needs ${name}`) / repeats,
    bare: timeOf(`bare ${name}`) / repeats,
  }))
}
