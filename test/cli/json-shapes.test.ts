import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'
import { call, result, say } from '../support/conversation.ts'

/* docs/cli.md has an example of what each command prints with --json. The keys of the real output are exactly those. */

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'cli.md'), 'utf8')

/** The example below a heading that names the command. */
function documented(name: string): unknown {
  const section = PAGE.split(/^### /m).find((part) =>
    new RegExp(`(?:^|, )${name}(?: |\\n|$)`).test(part.split('\n')[0]!),
  )
  const block = /```json\n([\s\S]*?)```/.exec(section ?? '')
  if (block === null) throw new Error(`docs/cli.md has no JSON of ${name}`)
  return JSON.parse(block[1]!)
}

/** The paths of all keys; what is null or an empty list says nothing of what stands beneath it. */
function keysOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((one) => keysOf(one, `${path}[]`)))]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    `${path}.${key}`,
    ...keysOf(inner, `${path}.${key}`),
  ])
}

/** Values whose insides are the package's own business: contents of messages and values of settings. */
const OPAQUE = /^(?:\.messages\[\]\.content|\.settings\[\]\.value|\.runs\[\]\.compactions\[\]\.usage)./

let small: SmallStore
beforeAll(async () => {
  small = await smallStore()
  await small.change(async (store) => {
    await store.requests.recordUsage('talk', {
      provider: 'openai',
      model: 'gpt-4o',
      inputTokens: 60,
      outputTokens: 5,
    })
    await store.append('large', [
      say('user', 'read'),
      call('c', 'read'),
      result('c', 'x\n'.repeat(3_000), 'read'),
    ])
    await store.append('talk', [
      say('user', 'a long question '.repeat(40)),
      say('assistant', 'yes'),
      say('user', 'so'),
    ])
    const answer = {
      text: 'Asked at length.',
      model: 'm-1',
      usage: { inputTokens: 9, outputTokens: 3 },
      cost: 0.01,
    }
    const summarizer = { name: 'asking', usesModel: true, summarize: async () => answer }
    await store.compactSession('talk', { range: { from: 9, to: 10 }, summarizer })
    const request = await store.prepareRequest('older', {
      prompt: 'And?',
      system: 'Be brief.',
      model: 'gpt-4o',
    })
    const messages = [say('assistant', 'Yes.')]
    const billed = { inputTokens: 9, cacheReadTokens: 4, outputTokens: 2 }
    await store.recordResponse('older', { request, messages, usage: billed })
    await store.sessions.create({ id: 'spoilt' })
    await store.sessions.create({ id: 'old' })
  })
  const database = new BetterSqlite3(small.path)
  database.exec("update undertext_sessions set visible = 9 where id = 'spoilt'")
  database.close()
})
afterAll(() => small.remove())

const CASES: Readonly<Record<string, (store: SmallStore) => Promise<readonly string[]>>> = {
  sessions: async () => [],
  show: async () => ['talk', '--full'],
  search: async () => ['kettle'],
  stats: async () => ['talk', '--model', 'openai/gpt-4o'],
  log: async () => ['talk'],
  requests: async () => ['older', '1'],
  diff: async ({ change }) => ['large', (await change((store) => store.listCompactions('large')))[0]!.id],
  fork: async () => ['talk', '--at', 'position:2', '--id', 'talk-2'],
  tree: async () => ['talk'],
  'bring-back': async () => ['talk-2', '--text', 'It works.'],
  undo: async ({ compactions }) => ['talk', compactions[0]!.id],
  redo: async ({ compactions }) => ['talk', compactions[0]!.id],
  import: async ({ folder }) => {
    const path = join(folder, 'bad.jsonl')
    writeFileSync(path, '{"role":"user","content":"Hello."}\n{"role":"user","con\n')
    const logs = join(folder, 'logs')
    mkdirSync(logs)
    writeFileSync(join(logs, 'notes.txt'), 'words')
    return [path, logs]
  },
  export: async ({ folder }) => ['talk', '--format', 'gemini', '--full', '-o', join(folder, 'talk.json')],
  move: async ({ folder }) => ['--to', join(folder, 'moved.db')],
  backup: async ({ folder }) => [join(folder, 'backup.db')],
  // The session that is spoilt is a problem.
  restore: async ({ folder }) => [join(folder, 'backup.db'), '--check'],
  verify: async () => ['spoilt'],
  scan: async ({ change }) => {
    const content = 'Use ghp_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX.'
    await change((store) => store.append('talk', [{ role: 'user', content }]))
    return ['talk']
  },
  notes: async ({ change }) => {
    await change(async (store) => {
      const [message] = await store.getMessages('talk')
      const source = message!.id
      await store.notes.add('It needs its plug.', {
        session: 'talk',
        key: 'k',
        source,
        metadata: { a: 1 },
        actor: 'ann',
      })
    })
    return ['--session', 'talk']
  },
  purge: async () => ['older', '--yes'],
  'purge-text': async ({ folder }) => {
    const path = join(folder, 'text.txt')
    // A text, and the name of a tool.
    writeFileSync(path, 'read')
    return ['--all', '--yes', '--file', path]
  },
  retention: async ({ folder }) => {
    const path = join(folder, 'rules.json')
    writeFileSync(path, JSON.stringify({ hidden: { olderThanDays: 0 } }))
    return ['--yes', '--rules', path, '--clear-files']
  },
  doctor: async () => ['--deep'],
  completion: async () => ['bash'],
}

it('has a case for every command without a page of its own', () => {
  const others = ['compact', 'chat', 'inspect', 'mcp']
  expect(COMMANDS.map(({ name }) => name).filter((name) => !others.includes(name))).toEqual(
    Object.keys(CASES),
  )
})

it.each(Object.keys(CASES))('%s prints exactly the documented keys', async (name) => {
  const argv = [name, ...(await CASES[name]!(small)), '--db', small.path, '--json']
  const { json, err } = await runCli(argv, {
    env: { TERM: 'xterm', ...(name === 'doctor' && { UNDERTEXT_X: '1' }) },
  })
  expect(err.replace(/^undertext: nothing reads UNDERTEXT_X.*\n/, '')).toBe('')
  const real = new Set(keysOf(json).filter((key) => !OPAQUE.test(key)))
  const page = new Set(keysOf(documented(name)).filter((key) => !OPAQUE.test(key)))
  expect(
    [...real].filter((key) => !page.has(key)),
    'not documented',
  ).toEqual([])
  expect(
    [...page].filter((key) => !real.has(key)),
    'documented and not printed',
  ).toEqual([])
})

it('prints errors as documented', async () => {
  const { json } = await runCli(['show', 'x', '--json', '--db', small.path])
  const block = /```json\n(\{ "error"[\s\S]*?)```/.exec(PAGE)![1]!
  expect(json).toEqual(JSON.parse(block))
})
