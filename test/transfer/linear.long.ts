import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { importFile } from '../../src/transfer/index.ts'
import { BRANCHED, branchedLines } from './sources/branched.ts'

/* Twice the input takes at most 2.5 times the processor time, whatever stands in it. */

const folder = mkdtempSync(join(tmpdir(), 'undertext-linear-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** One message cannot have more than 10,000. */
function messageOfFields(count: number): string {
  return `{"role":"user","content":"x"${Array.from({ length: count }, (_, i) => `,"k${i}":1`).join('')}}\n`
}

const MESSAGE = '{"role":"user","content":"x"}\n'

const FILES: { readonly [name: string]: { readonly size: number; make(size: number): string } } = {
  ...Object.fromEntries(
    Object.keys(BRANCHED).map((shape) => [
      `branches of Claude Code, ${shape}`,
      { size: 30_000, make: (size: number) => branchedLines(shape, size).join('\n') },
    ]),
  ),
  'blank lines': { size: 4_000_000, make: (size) => MESSAGE + '\n'.repeat(size) + MESSAGE },
  'unknown keys of messages': {
    size: 500_000,
    make: (size) => messageOfFields(9_000).repeat(Math.ceil(size / 9_000)),
  },
}

async function secondsOf(name: string, size: number): Promise<number> {
  const path = join(folder, 'file.jsonl')
  writeFileSync(path, FILES[name]!.make(size))
  const store = await openStore(':memory:')
  const before = process.cpuUsage()
  const { totals } = await importFile(store, path)
  const { user, system } = process.cpuUsage(before)
  await store.close()
  expect(totals.imported).toBe(1)
  return (user + system) / 1e6
}

it.each(Object.keys(FILES))('%s', { timeout: 600_000 }, async (name) => {
  const { size } = FILES[name]!
  await secondsOf(name, size / 10)
  const once = await secondsOf(name, size)
  const twice = await secondsOf(name, size * 2)
  console.log(`${name}: ${once.toFixed(1)} s, twice as much ${twice.toFixed(1)} s`)
  expect(twice).toBeLessThan(once * 2.5 + 0.5)
})
