import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { OTHERS_WAIT_MS, PREPARE_WAIT_MS, TURN_WAIT_MS } from '../../src/store/compaction/waiting.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'turns.md'), 'utf8')

it('has a route that answers one request at a time', async () => {
  const model = `async function* callYourModel(_: unknown) {
    yield 'It is '
    await new Promise((resolve) => setTimeout(resolve, 100))
    yield 'sunny.'
  }`
  const requests = `
    await store.sessions.create({ id: 'chat-1' })
    const post = async (text: string) => {
      const body = JSON.stringify({ id: 'chat-1', text })
      const response = await POST(new Request('http://localhost', { method: 'POST', body }))
      return [response.status, await response.text()].join(' ')
    }
    console.log((await Promise.all([post('How is it?'), post('And now?')])).join(', '))
    console.log((await store.getMessages('chat-1')).map(({ role }) => role).join())
    await store.close()`
  const printed = await runAsUser(`${model}\n${examplesOf(PAGE)[0]}\n${requests}`)
  expect(printed.trim().split('\n')).toEqual([
    '200 It is sunny., 200 It is sunny.',
    'user,assistant,user,assistant',
  ])
})

it('names the waits as the code has them', () => {
  const seconds = [TURN_WAIT_MS, PREPARE_WAIT_MS, OTHERS_WAIT_MS].map((ms) => `${ms / 1_000} s`)
  const rows = PAGE.slice(PAGE.indexOf('## What each call waits for'))
    .split('\n')
    .filter((line) => / \d+ s /.test(line))
  expect(rows.slice(0, 3).map((row) => row.split('|')[3]!.trim())).toEqual(seconds)
  expect(PAGE).toContain(`| \`waitMs\` | ${TURN_WAIT_MS.toLocaleString('en-US')} |`)
})
