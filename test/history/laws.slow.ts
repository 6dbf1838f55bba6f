import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { estimatorNamed } from '../../src/core/tokens/index.ts'
import { isUndertextError, openStore, type Store } from '../../src/index.ts'
import { outcomeOf, PREVIEWING, SESSION, type Step, sequence } from '../random/differential.ts'
import { expectSessionAccepted, providerOfStep } from '../support/requests.ts'
import { SEED } from '../support/seed.ts'
import { newFolder } from '../support/temporary.ts'
import { everythingOf, linesOf, restoreLines } from './support.ts'

/*
 * Whatever was done to a session: exported, written as lines and restored into another store it is the same session, now and after every
 * undo and redo that can be asked for.
 */

const RUNS = process.env.LONG === '1' ? 1_000 : 40
const ESTIMATORS = ['neurolink', 'calibrated', 'nca', 'promptfleet'] as const

const folder = newFolder()

it(`restores what any sequence of verbs has made (${RUNS} sequences, seed ${SEED})`, async () => {
  let files = 0
  const law = fc.asyncProperty(sequence, fc.boolean(), async (steps, onDisk) => {
    await checkRestored(steps, onDisk ? join(folder, `${files++}.db`) : ':memory:')
  })
  const result = await fc.check(law, { numRuns: RUNS })
  if (result.failed) console.error(JSON.stringify(result.counterexample), result.errorInstance)
  expect(result.failed ? fc.defaultReportMessage(result) : undefined).toBeUndefined()
})

async function checkRestored(steps: readonly Step[], location: string): Promise<void> {
  const estimator = estimatorNamed(ESTIMATORS[steps.length % ESTIMATORS.length]!)!
  const config = steps.length % 3 === 0 ? PREVIEWING : {}
  const store = await openStore(':memory:', { estimator, config })
  const other = await openStore(location, { estimator, config })
  try {
    for (const step of steps) await outcomeOf(store, step)
    // A sequence may have appended nothing.
    if ((await store.sessions.list()).length === 0) return
    const lines = await linesOf(store, SESSION)
    // Other sessions' rows and compactions stand there already, so no number of the first store fits.
    await other.append('other', [{ role: 'user', content: 'hello' }])
    await other.rewind('other', { from: 'start' })
    const [restored] = await restoreLines(other, lines)
    expect(restored).toMatchObject({ restored: { sessionId: SESSION, existing: false } })
    expect(await everythingOf(other, SESSION)).toEqual(await everythingOf(store, SESSION))
    // Ratios and limits that reports taught belong to the store, not to the session.
    if (!steps.some(({ verb }) => verb === 'report'))
      expect(await other.getContextStats(SESSION)).toEqual(await store.getContextStats(SESSION))
    expect((await linesOf(other, SESSION)).slice(1, -1)).toEqual(lines.slice(1, -1))
    expect(await restoreLines(other, lines)).toMatchObject([{ restored: { existing: true } }])
    await checkUndos(store, other)
  } finally {
    await store.close()
    await other.close()
  }
}

/** Every compaction undone and redone, by itself and with those that build on it: the same happens to both. */
async function checkUndos(store: Store, other: Store): Promise<void> {
  const compactions = await store.listCompactions(SESSION)
  const ids = [...compactions.map(({ id }) => id), ...new Set(compactions.map(({ runId }) => runId))]
  for (const cascade of [false, true]) {
    for (const verb of ['undoCompaction', 'redoCompaction'] as const) {
      for (const id of verb === 'undoCompaction' ? [...ids].reverse() : ids) {
        const answers = [store, other].map((one) => codeOr(one[verb](SESSION, id, { cascade })))
        expect(await answers[1]).toEqual(await answers[0])
      }
      expect(await other.getEffectiveHistory(SESSION)).toEqual(await store.getEffectiveHistory(SESSION))
      expect((await other.sessions.verify(SESSION)).findings).toEqual([])
      await expectSessionAccepted(other, SESSION, verb, providerOfStep(ids.length))
      const [figures, others] = [await store.sessions.get(SESSION), await other.sessions.get(SESSION)]
      expect({ ...others, updatedAt: 0 }).toEqual({ ...figures, updatedAt: 0 })
    }
  }
}

async function codeOr<T>(answer: Promise<T>): Promise<unknown> {
  return answer.catch((error: unknown) => {
    if (isUndertextError(error)) return [error.code, error.facts]
    throw error
  })
}
