import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { Contents, Sample } from './agent.ts'

const AGENT = fileURLToPath(new URL('agent.ts', import.meta.url))
const MEGABYTE = 1024 * 1024

/** Lets agents live for some seconds, or so many turns, in a process of their own; answers what it told, and how it ended. */
async function live(
  seconds: number,
  every: number,
  turnsASession: number,
  mostTurns: number,
): Promise<{ samples: Sample[]; contents: Contents; errors: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-life-'))
  let child: ChildProcess | undefined
  try {
    const args = ['--expose-gc', '--import', import.meta.resolve('tsx'), AGENT]
    const life = [join(folder, 'life.db'), seconds, every, turnsASession, mostTurns].map(String)
    const running = spawn(process.execPath, [...args, ...life])
    child = running
    let [told, errors] = ['', '']
    running.stdout.on('data', (data: Buffer) => {
      told += data.toString()
    })
    running.stderr.on('data', (data: Buffer) => {
      errors += data.toString()
    })
    const status = await new Promise((resolve) => running.on('close', resolve))
    if (status !== 0) throw new Error(`the agents ended with ${status}: ${errors}`)
    const lines = told
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
    return { samples: lines.slice(0, -1) as Sample[], contents: lines.at(-1) as Contents, errors }
  } finally {
    child?.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Lets agents live and holds what they told to what must be: memory does not grow, the write-ahead log stays small
 * while readers come and go, and the file is as large as what is in it. Sessions must be short enough for the agents
 * to purge some in the first quarter of their life.
 */
export async function expectHealthyLife(
  seconds: number,
  every: number,
  turnsASession: number,
  mostTurns = Number.POSITIVE_INFINITY,
): Promise<Sample> {
  const { samples, contents, errors } = await live(seconds, every, turnsASession, mostTurns)
  expect(errors).toBe('')
  const last = samples.at(-1)!
  expect(last.turns).toBeGreaterThan(100)
  expect(last.compactions).toBeGreaterThan(10)
  expect(last.undos).toBeGreaterThan(2)

  // The second half of life against the first, without its first quarter, in which everything is warmed up.
  const warm = samples.slice(Math.floor(samples.length / 4))
  const [early, late] = [warm.slice(0, warm.length >> 1), warm.slice(warm.length >> 1)]
  const most = (some: readonly Sample[], what: keyof Sample): number =>
    some.reduce((largest, one) => Math.max(largest, one[what]), 0)
  expect(most(late, 'heapBytes')).toBeLessThan(most(early, 'heapBytes') + 8 * MEGABYTE)
  expect(most(late, 'residentBytes')).toBeLessThan(most(early, 'residentBytes') * 1.25 + 16 * MEGABYTE)
  expect(most(late, 'fileBytes')).toBeLessThan(most(early, 'fileBytes') * 1.25 + MEGABYTE)

  // Checkpoints come every 1,000 pages (4 MB); a reader holds one back for as long as it looks.
  expect(most(samples, 'walBytes')).toBeLessThan(64 * MEGABYTE)

  // A page of 4 KB holds one content of 2.1 KB or more, so contents of such lengths fill little more than half of it.
  // Summaries are in these pages too and not in `contentBytes`: one that fills its room has about a page more than the others.
  expect(contents.contentPages).toBeLessThan(2.25 * last.contentBytes + 4_096 * last.compactions)
  // A row of a message and its entries in three indexes are about 150 bytes; each of the twenty tables and indexes has a page.
  expect(contents.otherPages).toBeLessThan(
    200 * contents.messages + 3 * contents.compactionBytes + 20 * 4_096,
  )
  // What a purge freed is used again: no more is free than the sessions of one round of purges.
  expect(last.freeBytes).toBeLessThan(last.fileBytes / 2)
  return last
}
