import { expect, it } from 'vitest'
import { fillDisk } from './trials.ts'
import { VERBS } from './verbs.ts'

it('a full disk refuses a verb with nothing done, and lets it work when there is room again', async () => {
  const refused = new Map<string, number>()
  let rolledBack = 0
  for (const verb of VERBS) {
    const one = await fillDisk(verb)
    refused.set(verb.name, one.refused)
    rolledBack += one.rolledBack
  }
  // These need pages of their own, whatever is free in others.
  for (const name of ['append a batch', 'append by keys', 'append to a new session'])
    expect(refused.get(name), name).toBeGreaterThan(0)
  // So do some others; and some of the refusals came with the transaction taken back by SQLite itself.
  expect([...refused.values()].filter((count) => count > 0).length).toBeGreaterThan(4)
  expect(rolledBack).toBeGreaterThan(0)
})
