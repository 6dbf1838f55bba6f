import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Bundled, bundle } from '../support/bundled.ts'

let program: Bundled
beforeAll(async () => {
  program = await bundle('test/processes/monsters.ts')
})
afterAll(() => program.remove())

it('no text ends a process that appends and searches, nor holds up its other work', async () => {
  const file = join(program.folder, 'chats.db')
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program.script, file])
  expect(stderr).toBe('')
  const { lost, everywhere, appended, messages } = JSON.parse(stdout)
  expect(lost).toEqual([])
  expect(everywhere).toBe(true)
  // Each append was acknowledged, and other work went on between the pieces of the texts: each has hundreds.
  expect(messages).toBe(appended)
  expect(appended).toBeGreaterThan(100)
}, 300_000)
