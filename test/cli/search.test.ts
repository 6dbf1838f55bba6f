import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

let small: SmallStore
beforeEach(async () => {
  small = await smallStore()
})
afterEach(() => small.remove())

const MANY = 1_200
const fill = (): Promise<unknown> =>
  small.change((store) =>
    store.append(
      'long',
      Array.from({ length: MANY }, (_, at) => ({ role: 'user' as const, content: `teapot ${at}` })),
    ),
  )
const search = (argv: readonly string[], options?: Parameters<typeof runCli>[1]) =>
  runCli(['search', ...argv, '--db', small.path], options)
/** The texts of a line that was rewritten, the empty one for a cleared line. */
const drawn = (err: string): string[] => err.split('\r').slice(1).map(stripVTControlCharacters)

it('shows on a terminal how far the index is, in one line that is gone at the end', async () => {
  await fill()
  const { exit, err, out } = await search(['teapot'], { columns: 80 })
  expect(exit).toBe(0)
  expect(out).toContain('teapot')
  const lines = drawn(err)
  expect(lines.length).toBeGreaterThan(2)
  for (const line of lines.slice(0, -1)) expect(line).toMatch(/^indexing, [\d,]+ of [\d,]+ messages$/)
  expect(err.endsWith('\r\u001b[2K')).toBe(true)
  expect(err).not.toContain('\n')
  expect((await search(['teapot'], { columns: 80 })).err).toBe('')
})

it('shows nothing of it in a pipe, with --json, or on a terminal that cannot move its cursor', async () => {
  for (const [more, options] of [
    [[], {}],
    [['--json'], { columns: 80 }],
    [[], { columns: 80, env: { TERM: 'dumb' } }],
  ] as const) {
    const { exit, err } = await search(['teapot', ...more], options)
    expect([exit, err]).toEqual([0, ''])
    await small.change((store) => store.append('long', [{ role: 'user', content: 'teapot' }]))
  }
})

it('is interrupted while it indexes, and the next search continues', async () => {
  await fill()
  const stop = new AbortController()
  const running = search(['teapot', '--json'], { signal: stop.signal })
  setTimeout(() => stop.abort(), 0)
  const { exit, json } = await running
  expect([exit, json]).toMatchObject([130, { error: { code: 'INTERRUPTED' } }])
  expect((await search(['teapot', '--json'])).json).toMatchObject({ complete: true })
})

it('says why a query of very common words, or of none, has no hits', async () => {
  expect((await search(['What is the…'])).out).toBe(
    'No messages match: all words of the query are too common to be searched for (What, is, the).\n',
  )
  expect((await search(['?'])).out).toBe(
    'No messages match: the query has no word that can be searched for.\n',
  )
  expect((await search(['the xylophone'])).out).toBe('No messages match.\n')
  expect((await search(['What is the…', '--json'])).json).toEqual({
    ...{ hits: [], cursor: null, complete: true, noWords: true, leftOut: ['What', 'is', 'the'] },
  })
  const notes = (...more: string[]) =>
    runCli(['notes', '--session', 'talk', '--search', 'the', ...more, '--db', small.path])
  expect((await notes()).out).toBe(
    'No notes match: all words of the query are too common to be searched for (the).\n',
  )
  expect((await notes('--json')).json).toMatchObject({ notes: [], noWords: true, leftOut: ['the'] })
})
