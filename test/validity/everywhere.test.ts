import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, it } from 'vitest'

/*
 * Tests over random, replayed and recorded histories that render or prepare requests give each rendering to the checker, through
 * `test/support/requests.ts`, so that what a provider would refuse is found wherever it can appear.
 */

const TESTS = join(import.meta.dirname, '..')
const CHECKER = join(TESTS, 'support', 'requests.ts')

/** Tests whose renderings are no requests, or are checked elsewhere. */
const OTHERS: ReadonlySet<string> = new Set([
  // The checker's own, and the helper's.
  'validity/laws.test.ts',
  // Views that are wrong on purpose, for a shorter view or a law; `core/render.laws` checks the same views.
  'core/render.mends.test.ts',
  // The requests go to a server that refuses what the checker refuses, and signatures that do not fit.
  'support/prefix-paths.ts',
  // Random settings; its views are of one kind.
  'config/layers.test.ts',
  // Random are only the sizes of images.
  'core/large-images.test.ts',
  // Sequences of turns, compared with a model of them; the view is rendered once, for a broken answer.
  'storage/contract/turns.ts',
  // A log in the form of another program.
  'claude-agent-sdk/session-store.test.ts',
])

const MANY =
  /\bfc\.(?:assert|check)\(|\bnew Replay\(|\brooCases[<(]|\brooSequences\(|\bsharedPath\(|\bnativeCorpora\(/
const RENDERS = /\brenderView\(|\.renderHistory\(|\.prepareRequest\(|\.withOverflowRecovery\(/

const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => join(TESTS, name))
const sources = new Map(files.map((file) => [file, readFileSync(file, 'utf8')] as const))

/** The files of `test` that a file imports. */
function importsOf(file: string): string[] {
  const found = sources.get(file)!.matchAll(/from '(\.{1,2}\/[^']+\.ts)'/g)
  return [...found].map(([, path]) => resolve(dirname(file), path!)).filter((path) => sources.has(path))
}

function reaches(file: string, goal: string, seen = new Set<string>()): boolean {
  if (file === goal) return true
  if (seen.has(file)) return false
  seen.add(file)
  return importsOf(file).some((path) => reaches(path, goal, seen))
}

it('every test that renders random, replayed or recorded histories gives them to the checker', () => {
  const without = files.filter((file) => {
    const source = sources.get(file)!
    const name = relative(TESTS, file)
    return MANY.test(source) && RENDERS.test(source) && !OTHERS.has(name) && !reaches(file, CHECKER)
  })
  expect(without.map((file) => relative(TESTS, file))).toEqual([])
})

it('every replay of another system with a store does so too', () => {
  const without = files.filter((file) => {
    const name = relative(TESTS, file)
    return (
      /^replays\/.*\.(?:test|slow|long)\.ts$/.test(name) &&
      // When a run is due is a figure, and no view.
      name !== 'replays/roo-triggers.test.ts' &&
      /openStore\(|RooStore\.open\(/.test(sources.get(file)!) &&
      !reaches(file, CHECKER)
    )
  })
  expect(without.map((file) => relative(TESTS, file))).toEqual([])
})
