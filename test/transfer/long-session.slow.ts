import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { newFolder } from '../support/temporary.ts'

/** 7,500 characters. */
const WORDS = 'It rounds too early, and the test does so as well. '.repeat(150).slice(0, 7_500)

it('exports 20,000 messages of 150 MB in a heap of 96 MB', async () => {
  const folder = newFolder()
  const path = join(folder, 'long.db')
  await makeLong(path)
  const script = join(import.meta.dirname, 'long-session.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--max-old-space-size=96',
    '--import',
    'tsx',
    script,
    path,
  ])
  const megabytes = [...stdout.matchAll(/^(\w+) (\d+)$/gm)].map(
    ([, name, size]) => [name, Number(size)] as const,
  )
  expect(megabytes.map(([name]) => name)).toEqual(['markdown', 'html', 'full'])
  for (const [, size] of megabytes) expect(size).toBeGreaterThanOrEqual(150)
})

async function makeLong(path: string): Promise<void> {
  const store = await openStore(path, { durability: 'normal' })
  for (let from = 0; from < 20_000; from += 500) {
    const messages = Array.from({ length: 500 }, (_, i) => ({
      role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `${from + i} ${WORDS}`,
    }))
    await store.append('long', messages)
  }
  await store.compactSession('long', { range: { from: 1, to: 19_000 }, summary: 'Rounding.' })
  await store.close()
}
