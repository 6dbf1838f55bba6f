import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { say } from '../support/conversation.ts'

const TURNS = 200
const ROUNDS = 5

/** Milliseconds of processor time for some undos and redos of one compaction, beside `others` that were undone; the least of several rounds. */
async function timeBeside(others: number): Promise<number> {
  const store = await openStore(':memory:', { env: false })
  await store.sessions.create({ id: 's' })
  await store.append(
    's',
    Array.from({ length: 100 }, (_, i) => say('user', `message ${i}`)),
  )
  const ids = (await store.getMessages('s')).map(({ id }) => id)
  for (let i = 0; i < others; i++) {
    const { id } = await store.compactions.hide('s', [ids[50]!])
    await store.undoCompaction('s', id)
  }
  const { id } = await store.compactions.hide('s', [ids[10]!])
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    for (let turn = 0; turn < TURNS; turn++) {
      await store.undoCompaction('s', id)
      await store.redoCompaction('s', id)
    }
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  await store.close()
  return least
}

it('undo and redo take as long beside 8,000 compactions that were undone as beside 500', async () => {
  const few = await timeBeside(500)
  const many = await timeBeside(8_000)
  console.log(
    `undo and redo, ${TURNS} times: ${few.toFixed(0)} ms beside 500, ${many.toFixed(0)} ms beside 8,000`,
  )
  expect(many).toBeLessThanOrEqual(1.5 * few)
})
