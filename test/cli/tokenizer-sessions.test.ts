import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { estimatorNamed } from '../../src/core/tokens/measure.ts'
import { openStore } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { newFolder } from '../support/temporary.ts'

/* A store with a session that was counted with a tokenizer, which the command line is not told about. */

const folder = newFolder()
const path = join(folder, 'tokens.db')
let compaction: string

beforeAll(async () => {
  await using store = await openStore(path, { env: false, estimator: 'o200k_base' })
  await store.append('talk', [
    { role: 'user', content: 'Does the kettle work?' },
    { role: 'assistant', content: 'No: its plug is out.' },
    { role: 'user', content: 'Put it in.' },
  ])
  const run = await store.compactSession('talk', { range: { from: 1, to: 2 }, summary: 'The plug is out.' })
  compaction = run!.compactions[0]!.id
  await store.sessions.fork('talk', { id: 'fork' })
  await store.append('fork', [{ role: 'assistant', content: 'Done.' }])
})

const CASES: { readonly [name: string]: () => readonly string[] } = {
  sessions: () => [],
  show: () => ['talk'],
  search: () => ['kettle'],
  stats: () => ['talk'],
  compact: () => ['talk', '--dry-run', '--target-tokens', '5'],
  log: () => ['talk'],
  requests: () => ['talk'],
  diff: () => ['talk', compaction],
  fork: () => ['talk', '--id', 'second'],
  tree: () => ['talk'],
  'bring-back': () => ['fork', '--text', 'It works.'],
  undo: () => ['talk', compaction],
  redo: () => ['talk', compaction],
  chat: () => ['talk', '--echo', '--message', 'And now?'],
  import: () => {
    const file = join(folder, 'more.jsonl')
    writeFileSync(file, '{"role":"user","content":"Hello."}\n')
    return [file]
  },
  export: () => ['talk', '--format', 'markdown'],
  move: () => ['--to', join(folder, 'moved.db')],
  backup: () => [join(folder, 'backup.db')],
  restore: () => [join(folder, 'backup.db'), '--check'],
  verify: () => ['talk'],
  scan: () => ['talk'],
  notes: () => ['--session', 'talk'],
  purge: () => ['second', '--yes'],
  'purge-text': () => {
    const file = join(folder, 'text.txt')
    writeFileSync(file, 'nobody said this')
    return ['--all', '--yes', '--file', file]
  },
  retention: () => {
    const file = join(folder, 'rules.json')
    writeFileSync(file, JSON.stringify({ hidden: { olderThanDays: 3_000 } }))
    return ['--yes', '--rules', file]
  },
  doctor: () => [],
  completion: () => ['bash'],
}

it('has a case for every command that ends by itself', () => {
  const serving = ['inspect', 'mcp']
  expect(COMMANDS.map(({ name }) => name).filter((name) => !serving.includes(name))).toEqual(
    Object.keys(CASES),
  )
})

it.each(Object.keys(CASES))('%s works', async (name) => {
  const { exit, err } = await runCli([name, ...CASES[name]!(), '--db', path])
  expect([exit, err]).toEqual([name === 'compact' ? expect.toBeOneOf([0, 1]) : 0, expect.any(String)])
  expect(err).not.toContain('estimator')
})

it('lists a session whose estimator is not available, without its tokens; others name it', async () => {
  const own = join(folder, 'own.db')
  const estimator = { ...estimatorNamed('nca')!, name: 'mine' }
  const store = await openStore(own, { env: false, estimator })
  await store.append('talk', [{ role: 'user', content: 'x' }])
  await store.close()
  const { exit, json } = await runCli(['sessions', '--json', '--db', own])
  expect([exit, json]).toEqual([
    0,
    { sessions: [expect.objectContaining({ id: 'talk', tokens: null })], more: false },
  ])
  const stats = await runCli(['stats', 'talk', '--db', own])
  expect(stats.exit).toBe(5)
  expect(stats.err).toContain(`Session "talk" was counted with "mine", which isn't available here.`)
})
