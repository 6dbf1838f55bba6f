import { beforeAll, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { say } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

/* Two owners with a session of the same id: UNDERTEXT_OWNER says whose is meant. */

let path: string
beforeAll(async () => {
  path = newFile()
  const store = await openStore(path, { env: false })
  for (const owner of ['ann', 'bob'])
    await store.forOwner(owner).append('chat', [say('user', `I am ${owner}`)])
  await store.append('of nobody', [say('user', 'Hello')])
  await store.close()
})

const run = (argv: string[], owner?: string) =>
  runCli([...argv, '--db', path], { env: owner === undefined ? {} : { UNDERTEXT_OWNER: owner } })

it('a session that several owners have is refused, with the way out', async () => {
  const { exit, err } = await run(['log', 'chat'])
  expect(exit).toBe(4)
  expect(err).toContain('Several owners have a session "chat"')
  expect(err).toContain('UNDERTEXT_OWNER')
})

it('the variable selects the owner, and hides all others', async () => {
  expect((await run(['show', 'chat'], 'ann')).out).toContain('I am ann')
  expect((await run(['show', 'chat'], 'bob')).out).toContain('I am bob')
  const { json } = await run(['sessions', '--json'], 'ann')
  expect((json as { sessions: { id: string; owner: string }[] }).sessions).toMatchObject([
    { id: 'chat', owner: 'ann' },
  ])
  expect((await run(['log', 'of nobody'], 'ann')).err).toContain('There is no session')
  expect((await run(['search', 'bob', '--json'], 'ann')).out).not.toContain('I am bob')
})

it('all sessions are listed without the variable', async () => {
  const { json } = await run(['sessions', '--json'])
  expect((json as { sessions: unknown[] }).sessions).toHaveLength(3)
})

it('all sessions are verified and exported, each by its owner', async () => {
  expect((await run(['verify', '--all', '--json'])).json).toMatchObject({ checked: 3, left: 0 })
  const { out } = await run(['export', '--all'])
  for (const text of ['I am ann', 'I am bob', 'Hello']) expect(out).toContain(text)
})
