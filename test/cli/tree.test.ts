import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

let small: SmallStore
beforeAll(async () => {
  small = await smallStore()
  await small.change(async (store) => {
    await store.sessions.fork('talk', { id: 'first', title: 'One', at: { afterMessage: 5 } })
    await store.sessions.fork('talk', { id: 'second', title: 'Two' })
    await store.sessions.fork('first', { id: 'below', title: 'Under', at: { afterMessage: 2 } })
  })
})
afterAll(() => small.remove())

const DRAWN = [
  'talk (The kettle): 8 messages',
  '├ first (One): 5 messages, from message 5',
  '│ └ below (Under): 2 messages, from message 2',
  '└ second (Two): 8 messages, from message 8',
]

it.each([[[]], [['below']]])('tree draws sessions with their forks, and theirs: %j', async (argv) => {
  const { exit, lines } = await runCli(['tree', ...argv, '--db', small.path])
  expect([exit, lines]).toEqual([0, DRAWN])
})

it('fork records who made it in the audit of both sessions', async () => {
  const at = ['--at', 'position:2', '--id', 'third', '--actor', 'eve']
  expect((await runCli(['fork', 'below', ...at, '--db', small.path])).exit).toBe(0)
  for (const id of ['below', 'third']) {
    const entries = await small.change((store) => store.sessions.audit(id))
    expect(entries.at(-1)).toMatchObject({ event: 'forked', actor: 'eve' })
  }
})
