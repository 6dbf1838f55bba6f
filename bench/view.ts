import Database from 'better-sqlite3'
import { openStore } from 'undertext'
import { BareStats, BareView } from './bare.ts'
import type { Folder } from './folder.ts'
import { medianBlocks } from './rounds.ts'

const ROUNDS = 25

/** The effective history of session `s` in a file, ours against the bare select and parse, milliseconds each. */
export async function viewAgainstBare(
  folder: Folder,
  files: readonly string[],
  repeats: number,
): Promise<{ readonly ours: number; readonly bare: number }[]> {
  const opened = await Promise.all(
    files.map(async (name) => {
      const database = new Database(folder.file(name))
      return { name, store: await openStore(folder.file(name)), database, bare: new BareView(database, 's') }
    }),
  )
  const timeOf = await medianBlocks(
    opened.flatMap(({ name, store, bare }) => [
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
    ]),
    ROUNDS,
  )
  for (const { store, database } of opened) {
    await store.close()
    database.close()
  }
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
  const opened = await Promise.all(
    files.map(async (name) => {
      const database = new Database(folder.file(name))
      return { name, store: await openStore(folder.file(name)), database, bare: new BareStats(database) }
    }),
  )
  const timeOf = await medianBlocks(
    opened.flatMap(({ name, store, bare }) => [
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
    ]),
    ROUNDS,
  )
  for (const { store, database } of opened) {
    await store.close()
    database.close()
  }
  return files.map((name) => ({
    stats: timeOf(`stats ${name}`) / repeats,
    needs: timeOf(`needs ${name}`) / repeats,
    bare: timeOf(`bare ${name}`) / repeats,
  }))
}
