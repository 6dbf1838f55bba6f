import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { openStore } from '../../src/index.ts'
import { type Bundled, bundle } from '../support/bundled.ts'

const start = promisify(execFile)
let script: Bundled
let file: string
beforeAll(async () => {
  script = await bundle('test/openai-agents/pop-and-add.ts')
  file = join(script.folder, 'a.db')
})
afterAll(() => script.remove())

type Said = { readonly content: string }

async function atOnce(...work: readonly (readonly [work: string, name: string])[]): Promise<Said[][]> {
  const moment = String(Date.now() + 700)
  const ends = work.map(([what, name]) => start(process.execPath, [script.script, file, what, name, moment]))
  return (await Promise.all(ends)).map(({ stdout }) => JSON.parse(stdout) as Said[])
}

it('batches of several processes stay whole, and no two of them pop the same item', async () => {
  await (await openStore(file)).close()
  await atOnce(['add', 'a'], ['add', 'b'], ['add', 'c'])
  const store = await openStore(file)
  const session = new UndertextSession({ store, sessionId: 'shared' })
  const added = (await session.getItems()).map((item) => (item as Said).content)
  await store.close()
  expect(added).toHaveLength(3 * 15 * 3)
  for (let i = 0; i < added.length; i += 3) {
    const batch = added[i]!.slice(0, -2)
    expect(added.slice(i, i + 3)).toEqual([`${batch} 1`, `${batch} 2`, `${batch} 3`])
  }

  const popped = await atOnce(['pop', ''], ['pop', ''], ['pop', ''])
  expect(
    popped
      .flat()
      .map(({ content }) => content)
      .sort(),
  ).toEqual([...added].sort())
  const again = await openStore(file)
  expect((await again.getMessages('shared')).every(({ hidden }) => hidden)).toBe(true)
  expect((await again.sessions.verify('shared')).findings).toEqual([])
  await again.close()
})
