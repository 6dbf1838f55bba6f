import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { expect } from 'vitest'
import { isUndertextError, openStore, type RetentionOptions, type Store } from '../../src/index.ts'
import { newFolder } from '../support/temporary.ts'
import { outcomeOf, PREVIEWING, SESSION, type Step, sequence } from './differential.ts'
import { send } from './reading.ts'

/*
 * Random sequences, forks and rules. A copy of the file, from which nothing was removed, shows what was there: the views are the same unless
 * a rule names what is visible, and every undo and redo either gives the same or reports that something was removed and changes nothing.
 */

type Rules = Exclude<NonNullable<RetentionOptions['rules']>, false>

const DAY_MS = 86_400_000

const partRule = fc.record(
  {
    olderThanDays: fc.constantFrom(0, 0.5),
    largerThanBytes: fc.constantFrom(0, 60, 400, 4_000),
    visible: fc.constantFrom(false, false, true),
    pinned: fc.boolean(),
    required: fc.boolean(),
  },
  { requiredKeys: ['olderThanDays'] },
)
const rules: fc.Arbitrary<Rules> = fc.record(
  {
    toolOutputs: partRule,
    reasoning: partRule,
    media: partRule,
    hidden: partRule.map(({ visible: _, ...rule }) => rule),
    requests: fc.record({ olderThanDays: fc.constant(0), visible: fc.boolean() }),
    audit: fc.constant({ olderThanDays: 0 }),
  },
  { requiredKeys: [] },
)

export type Story = {
  readonly steps: readonly Step[]
  /** After which step the session is forked. */
  readonly forkAfter: number
  readonly rules: Rules
}

export const story: fc.Arbitrary<Story> = fc.record({
  steps: sequence,
  forkAfter: fc.nat({ max: 16 }),
  rules,
})

export type Tally = { parts: number; exact: number; retired: number }

/** Checks one story, and counts what it found. */
export async function checkRetention({ steps, forkAfter, rules }: Story, tally: Tally): Promise<void> {
  const file = join(newFolder(), 'chats.db')
  const config = steps.length % 2 === 0 ? PREVIEWING : {}
  const options = { durability: 'normal', estimator: 'neurolink', config } as const
  const store = await openStore(file, options)
  try {
    for (const [at, step] of steps.entries()) {
      await outcomeOf(store, step)
      if (at === forkAfter) await fork(store)
    }
    const sessions = (await store.sessions.list()).map(({ id }) => id)
    for (const [at, id] of sessions.entries()) await send(store, id, at)
    await store.search('offset')
    const other = await copyOf(file, options)
    try {
      const now = Date.now() + DAY_MS
      const dry = await store.privacy.applyRetention({ rules, now, dryRun: true })
      const report = await store.privacy.applyRetention({ rules, now })
      // Contents that both classes name are counted once in either.
      const parts = Object.values(report.content).reduce((sum, one) => sum + one.parts, 0)
      expect(report.content).toEqual(dry.content)
      tally.parts += parts
      const again = await store.privacy.applyRetention({ rules, now })
      expect(Object.values(again.content).map((one) => one.parts)).toEqual([0, 0, 0, 0])
      expect(again.requests).toEqual({ sessions: 0, requests: 0 })
      const isVisible = Object.values(rules).some(
        (rule) => typeof rule === 'object' && 'visible' in rule && rule.visible === true,
      )
      for (const id of sessions) await checkSession(store, other, id, isVisible, tally)
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
    await store.append('fork', [{ role: 'user', content: 'only in the fork' }])
  } catch (error) {
    if (!isUndertextError(error, 'SESSION_NOT_FOUND')) throw error
  }
}

async function copyOf(file: string, options: Parameters<typeof openStore>[1]): Promise<Store> {
  const database = new Database(file)
  database.pragma('wal_checkpoint(truncate)')
  database.close()
  const copy = join(newFolder(), 'copy.db')
  copyFileSync(file, copy)
  return await openStore(copy, options)
}

async function checkSession(
  store: Store,
  other: Store,
  id: string,
  isVisible: boolean,
  tally: Tally,
): Promise<void> {
  const view = (of: Store): Promise<unknown> => of.getEffectiveHistory(id, { provenance: true })
  const checkSame = async (when: string): Promise<void> => {
    if (!isVisible) expect(await view(store), `${id} ${when}`).toEqual(await view(other))
    expect((await store.sessions.verify(id)).findings, `${id} ${when}`).toEqual([])
  }
  await checkSame('after the removal')
  for (const { id: compaction, status } of await store.listCompactions(id)) {
    if (status !== 'active' && status !== 'undone') continue
    for (const verb of status === 'active' ? (['undo', 'redo'] as const) : (['redo', 'undo'] as const)) {
      const before = await view(store)
      const outcome = await turn(store, id, verb, compaction)
      if (outcome === 'CONTENT_RETIRED') {
        tally.retired += 1
        expect(await view(store), `${verb} of ${compaction} changed something`).toEqual(before)
        await checkSame(`after the rejected ${verb} of ${compaction}`)
        // What stayed can be shown, and hidden again.
        await turn(store, id, verb, compaction, true)
        await turn(store, id, verb === 'undo' ? 'redo' : 'undo', compaction, true)
        expect((await store.sessions.verify(id)).findings).toEqual([])
        // From here on the two stores may have turned different compactions.
        return
      }
      if (!isVisible)
        expect(outcome, `${verb} of ${compaction}`).toEqual(await turn(other, id, verb, compaction))
      if (typeof outcome === 'object') tally.exact += 1
      await checkSame(`after the ${verb} of ${compaction}`)
    }
  }
}

async function turn(
  store: Store,
  id: string,
  verb: 'undo' | 'redo',
  compaction: string,
  showRetired = false,
): Promise<unknown> {
  try {
    const how = { cascade: true, showRetired }
    const { rows, parts } =
      verb === 'undo'
        ? await store.undoCompaction(id, compaction, { ...how, both: true })
        : await store.redoCompaction(id, compaction, how)
    return { rows, parts }
  } catch (error) {
    if (isUndertextError(error)) return error.code
    throw error
  }
}
