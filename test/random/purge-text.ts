import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { expect } from 'vitest'
import { mapTexts } from '../../src/core/messages/map-texts.ts'
import { isUndertextError, type NewMessage, openStore, type Store } from '../../src/index.ts'
import { newFolder } from '../support/temporary.ts'
import { outcomeOf, PREVIEWING, SESSION, type Step, sequence } from './differential.ts'
import { checkSearch, send } from './reading.ts'

/*
 * Random sequences with a secret in some of their texts, and forks. After its removal the store is the one from before with another text in
 * its place: the same views, also after every undo and redo. A copy of the file, from which nothing was removed, goes through the same.
 */

const SECRET = 'zq9canary7x'
const REMOVED = '[removed]'

export type Removal = {
  readonly steps: readonly Step[]
  /** After which step the session is forked. */
  readonly forkAfter: number
  readonly plant: number
  readonly isExpression: boolean
  readonly scope: 'all' | 'sessions'
}

export const removal: fc.Arbitrary<Removal> = fc.record({
  steps: sequence,
  forkAfter: fc.nat({ max: 16 }),
  plant: fc.integer({ min: 1, max: 4 }),
  isExpression: fc.boolean(),
  scope: fc.constantFrom('all' as const, 'sessions' as const),
})

/** Checks one story, and adds how often the secret was in it. */
export async function checkRemoval(
  { steps, forkAfter, plant, isExpression, scope }: Removal,
  tally: { matches: number; sessions: number },
): Promise<void> {
  const folder = newFolder()
  const file = join(folder, 'chats.db')
  const config = steps.length % 2 === 0 ? PREVIEWING : {}
  const options = { durability: 'normal', estimator: 'neurolink', config } as const
  const store = await openStore(file, options)
  try {
    for (const [at, step] of steps.entries()) {
      await outcomeOf(store, planted(step, plant))
      if (at === forkAfter) await fork(store)
    }
    const sessions = (await store.sessions.list()).map(({ id }) => id)
    for (const [at, id] of sessions.entries()) await send(store, id, at)
    await store.search('offset')
    const other = await copyOf(file, options)
    try {
      const pattern = isExpression ? /zq9[a-z]+7x/ : SECRET
      for (const one of scope === 'all' ? (['all'] as const) : sessions.map((session) => ({ session }))) {
        const removed = await store.privacy.purgeText(one, pattern)
        tally.matches += removed.matches
        tally.sessions += removed.sessions.length
      }
      await checkRemoved(store, other, folder, sessions)
    } finally {
      await other.close()
    }
  } finally {
    await store.close()
  }
}

async function fork(store: Store): Promise<void> {
  try {
    await store.sessions.fork(SESSION, { id: 'fork' })
    await store.append('fork', [{ role: 'user', content: `only in the fork ${SECRET}` }])
  } catch (error) {
    if (!isUndertextError(error, 'SESSION_NOT_FOUND')) throw error
  }
}

/** A step whose messages have the secret in every nth longer text. */
function planted(step: Step, nth: number): Step {
  if (!('messages' in step)) return step
  let count = 0
  const plant = (text: string): string =>
    text.length > 6 && ++count % nth === 0 ? `${text.slice(0, 5)} ${SECRET} ${text.slice(5)}` : text
  const messages = step.messages.map((message): NewMessage => mapTexts(message, plant).message)
  return { ...step, messages }
}

async function copyOf(file: string, options: Parameters<typeof openStore>[1]): Promise<Store> {
  const database = new Database(file)
  database.pragma('wal_checkpoint(truncate)')
  database.close()
  const copy = join(newFolder(), 'copy.db')
  copyFileSync(file, copy)
  return await openStore(copy, options)
}

async function checkRemoved(
  store: Store,
  other: Store,
  folder: string,
  sessions: readonly string[],
): Promise<void> {
  for (const name of readdirSync(folder))
    expect(readFileSync(join(folder, name)).includes(SECRET), `${name} has the text`).toBe(false)
  for (const id of sessions) {
    const checkSame = async (when: string): Promise<void> => {
      expect(await stateOf(store, id), `${id} ${when}`).toEqual(withoutSecret(await stateOf(other, id)))
      expect((await store.sessions.verify(id)).findings, `${id} ${when}`).toEqual([])
    }
    await checkSame('after the removal')
    await checkSearch(store, id)
    for (const { id: compaction, status } of await store.listCompactions(id)) {
      for (const verb of status === 'active' ? (['undo', 'redo'] as const) : (['redo', 'undo'] as const)) {
        const outcomes = [await turn(store, id, verb, compaction), await turn(other, id, verb, compaction)]
        expect(outcomes[0], `${verb} of ${compaction}`).toEqual(outcomes[1])
        await checkSame(`after the ${verb} of ${compaction}`)
      }
    }
    const records: unknown[] = []
    for await (const record of store.sessions.export(id)) records.push(record)
    expect(JSON.stringify(records).includes(SECRET), 'the export has the text').toBe(false)
  }
}

async function turn(store: Store, id: string, verb: 'undo' | 'redo', compaction: string): Promise<unknown> {
  try {
    const { rows, parts } =
      verb === 'undo'
        ? await store.undoCompaction(id, compaction, { cascade: true, both: true })
        : await store.redoCompaction(id, compaction, { cascade: true })
    return { rows, parts }
  } catch (error) {
    if (isUndertextError(error)) return error.code
    throw error
  }
}

/** All that a session shows, without the marks of a removal. */
async function stateOf(store: Store, id: string): Promise<unknown> {
  const view = await store.getEffectiveHistory(id, { provenance: true })
  const rows = await store.getMessages(id, { shown: true })
  const compactions = await store.listCompactions(id)
  return JSON.parse(
    JSON.stringify({ view, rows, statuses: compactions.map((one) => [one.id, one.status]) }),
    (name, value) => {
      if (name === 'textLength') return undefined
      if (name !== 'metadata' || typeof value !== 'object') return value
      const { undertext: _, ...rest } = value as object & { undertext?: unknown }
      return Object.keys(rest).length === 0 ? undefined : rest
    },
  )
}

function withoutSecret(state: unknown): unknown {
  return JSON.parse(JSON.stringify(state).replaceAll(SECRET, REMOVED))
}
