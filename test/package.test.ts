import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'

const run = promisify(execFile)
const REPOSITORY = join(import.meta.dirname, '..')

/*
 * The packed tarball in an empty project. It is unpacked into node_modules with the dependencies it names linked
 * beside it, as npm would lay them, so that no test needs the network or a compiler.
 */
let project: string

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'undertext-package-'))
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd: REPOSITORY })
  // `prepack` builds and may print before the JSON.
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }]
  await writeFile(join(project, 'package.json'), '{ "name": "empty", "private": true }')
  const modules = join(project, 'node_modules')
  await run('mkdir', ['-p', modules])
  await run('tar', ['-xzf', join(project, filename), '-C', modules])
  await run('mv', [join(modules, 'package'), join(modules, 'undertext')])
  const { dependencies } = JSON.parse(await readFile(join(modules, 'undertext', 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies)) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(join(REPOSITORY, 'node_modules', name), join(modules, name))
  }
}, 120_000)

afterAll(() => rm(project, { recursive: true, force: true }))

const USE = `
  const store = await openStore('chats.db')
  await store.append('s', [{ role: 'user', content: 'hello' }])
  console.log((await store.getEffectiveHistory('s')).length, store.needsCompaction('s'))
  await store.close()`

it('is imported and runs', async () => {
  await writeFile(join(project, 'use.mjs'), `import { openStore } from 'undertext'\n${USE}`)
  const { stdout } = await run(process.execPath, ['use.mjs'], { cwd: project })
  expect(stdout.trim()).toBe('1 false')
})

it('is required from CommonJS and runs', async () => {
  await writeFile(
    join(project, 'use.cjs'),
    `const { openStore } = require('undertext')\n;(async () => {${USE.replace('chats.db', ':memory:')}})()`,
  )
  const { stdout } = await run(process.execPath, ['use.cjs'], { cwd: project })
  expect(stdout.trim()).toBe('1 false')
})

it('is a program', async () => {
  const { bin, version } = JSON.parse(
    await readFile(join(project, 'node_modules', 'undertext', 'package.json'), 'utf8'),
  ) as { bin: { undertext: string }; version: string }
  const program = join(project, 'node_modules', 'undertext', bin.undertext)
  expect((await readFile(program, 'utf8')).startsWith('#!/usr/bin/env node\n')).toBe(true)
  const { stdout } = await run(process.execPath, [program, '--version'], { cwd: project })
  expect(stdout).toBe(`${version}\n`)
  const db = ['--db', join(project, 'program.db')]
  const chats = join(project, 'chats.jsonl')
  await writeFile(chats, '{"role":"user","content":"hello"}\n')
  await run(process.execPath, [program, 'import', chats, ...db], { cwd: project })
  const listed = await run(process.execPath, [program, 'sessions', '--json', ...db], { cwd: project })
  expect(JSON.parse(listed.stdout)).toMatchObject({ sessions: [{ id: 'chats', messages: 1 }], more: false })
})

it('says what to install when a tokenizer is asked for and absent', async () => {
  await writeFile(
    join(project, 'tokenizer.mjs'),
    `import { openStore } from 'undertext'\nopenStore(':memory:', { estimator: 'o200k_base' }).catch((error) => console.log(error.code, error.message))`,
  )
  const { stdout } = await run(process.execPath, ['tokenizer.mjs'], { cwd: project })
  expect(stdout).toMatch(/^TOKENIZER_UNAVAILABLE .*it is not installed\..*npm install gpt-tokenizer/)
})

it('has its part for the AI SDK without the AI SDK, and says what to install when that is needed', async () => {
  await writeFile(
    join(project, 'ai-sdk.mjs'),
    `import { openStore, isUndertextError } from 'undertext'
import { aiSdkSummarizer, undertext } from 'undertext/ai-sdk'
const store = await openStore(':memory:')
console.log(undertext(store, 's').specificationVersion)
const files = { read: [], modified: [] }
const request = { sessionId: 's', messages: [{ role: 'user', content: 'hi', kind: 'message' }], sections: [], maxTokens: 100, files }
const error = await aiSdkSummarizer({ model: 'openai/gpt-5' }).summarize(request).catch((thrown) => thrown)
console.log(isUndertextError(error, 'AI_SDK_UNAVAILABLE'), error.message)`,
  )
  const { stdout } = await run(process.execPath, ['ai-sdk.mjs'], { cwd: project })
  expect(stdout).toMatch(/^v3\ntrue .*it is not installed\..*npm install ai$/m)
})

it('has its part for the Claude Agent SDK without that SDK, and says what to install when that is needed', async () => {
  await writeFile(
    join(project, 'claude.mjs'),
    `import { openStore } from 'undertext'
import { undertextSessionStore } from 'undertext/claude-agent-sdk'
const sessionStore = undertextSessionStore({ store: await openStore(':memory:') })
const key = { projectKey: 'p', sessionId: 's' }
await sessionStore.append(key, [{ type: 'user', uuid: 'u', message: { role: 'user', content: 'hi' } }])
console.log((await sessionStore.load(key)).length, (await sessionStore.listSessions('p')).length)
await sessionStore.listSessionSummaries('p').catch((error) => console.log(error.code, error.message))`,
  )
  const { stdout } = await run(process.execPath, ['claude.mjs'], { cwd: project })
  expect(stdout).toMatch(
    /^1 1\nCLAUDE_AGENT_SDK_UNAVAILABLE .*it is not installed\..*npm install @anthropic-ai/,
  )
})

it('exports its tables for drizzle', async () => {
  await writeFile(
    join(project, 'tables.mjs'),
    `import { messages } from 'undertext/schema'\nimport { getTableName } from 'drizzle-orm'\nconsole.log(getTableName(messages))`,
  )
  const { stdout } = await run(process.execPath, ['tables.mjs'], { cwd: project })
  expect(stdout.trim()).toBe('undertext_messages')
})

it('has types that a strict project accepts', async () => {
  await writeFile(
    join(project, 'types.mts'),
    `import { openStore, type CompactionResult, type NewMessage, type PreparedRequest, type Summarizer } from 'undertext'
import { aiSdkSummarizer, undertext } from 'undertext/ai-sdk'
const messages: NewMessage[] = [{ role: 'user', content: 'hi' }]
const store = await openStore(':memory:')
await store.append('s', messages)
const result: CompactionResult | null = await store.compactSession('s')
const due: boolean = store.needsCompaction('s')
const middleware = undertext(store, 's', { history: 'whole' })
const summarizer: Summarizer = aiSdkSummarizer({ model: 'openai/gpt-5', price: { input: 1, output: 5 } })
const request: PreparedRequest = await store.prepareRequest('s', { prompt: 'hi' })
const answer: string = await store.withOverflowRecovery('s', async ({ messages }) => String(messages.length), {})
// @ts-expect-error a misspelled option
aiSdkSummarizer({ modle: 'x' })
// @ts-expect-error a misspelled option
await store.prepareRequest('s', { promt: 'hi' })
// @ts-expect-error a misspelled option
await store.compactSession('s', { enablePrunes: true })
export { answer, due, middleware, request, result, summarizer }`,
  )
  const tsc = join(REPOSITORY, 'node_modules', 'typescript', 'bin', 'tsc')
  await symlink(join(REPOSITORY, 'node_modules', '@types'), join(project, 'node_modules', '@types'))
  const options = [
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--types',
    'node',
    'types.mts',
  ]
  const { stdout } = await run(process.execPath, [tsc, ...options], { cwd: project }).catch(
    (error: { stdout: string }) => error,
  )
  expect(stdout).toBe('')
})

it('carries what it needs and nothing else', async () => {
  const { stdout } = await run('tar', ['-tzf', join(project, 'undertext-0.1.0.tgz')])
  const files = stdout.trim().split('\n')
  expect(files).toContain('package/dist/index.d.ts')
  expect(files.filter((file) => /\/(?:src|test|docs|migrations|\.ci)\//.test(file))).toEqual([])
})
