import { afterEach, beforeEach, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { say } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

/* undertext scan: where credentials are stored, never the credentials. */

const KEY = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'

let path: string
beforeEach(async () => {
  path = newFile()
  await using store = await openStore(path, { env: false })
  await store.append('clean', [say('user', 'hi')])
  await store.sessions.create({ id: 'talk', owner: 'ann' })
  await store.append('talk', [{ ...say('user', `a ${KEY} b ${KEY}`), id: 'm1' }, say('assistant', 'ok')])
  await store.notes.add(`note ${KEY}`, { owner: 'ann' })
})
let shown = ''
afterEach(() => expect(shown).not.toContain(KEY))

const run = async (...argv: string[]) => {
  const result = await runCli(['scan', ...argv, '--db', path])
  shown = result.out + result.err
  return result
}

it('lists the places, and exits with 1', async () => {
  const { exit, lines } = await run()
  expect(exit).toBe(1)
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    ['SESSION', 'PLACE', 'AT', 'FOUND'],
    ['talk', 'message', 'm1, part 0', 'stripe-access-token × 2'],
    ['ann', 'note', expect.stringMatching(/^[\da-f-]{36}$/), 'stripe-access-token'],
    [''],
    ['✗ 3 credentials in 2 places'],
  ])
})

it('exits with 0 where there are none', async () => {
  expect(await run('clean')).toMatchObject({ exit: 0, out: '✓ no credentials found\n' })
  expect(await run('--owner', 'bob')).toMatchObject({ exit: 0 })
})

it('writes JSON', async () => {
  const { exit, out } = await run('talk', '--json')
  expect(exit).toBe(1)
  const kinds = { 'stripe-access-token': 2 }
  expect(JSON.parse(out)).toEqual({
    places: 1,
    found: kinds,
    sessions: [
      {
        session: 'talk',
        found: kinds,
        places: [{ owner: null, place: 'message', id: 'm1', part: 0, found: kinds }],
      },
    ],
  })
})

it('takes a session or an owner, and an existing session', async () => {
  expect(await run('talk', '--owner', 'ann')).toMatchObject({ exit: 2 })
  expect(await run('nothing')).toMatchObject({ exit: 3 })
})
