import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { beforeAll, expect, it } from 'vitest'
import { newFolder } from './support/temporary.ts'

const run = promisify(execFile)
const REPOSITORY = join(import.meta.dirname, '..')
const MANIFEST = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as {
  exports: Record<string, unknown>
  dependencies: Record<string, string>
}
const DEPENDENCIES = Object.keys(MANIFEST.dependencies)

/*
 * The packed tarball in an empty project. It is unpacked into node_modules with the dependencies it names linked
 * beside it, as npm would lay them, so that no test needs the network or a compiler.
 */
let project: string
let unpackedSize: number
type Packed = { readonly filename: string; readonly unpackedSize: number }

beforeAll(async () => {
  project = newFolder()
  // CI has just built the package.
  const pack = ['pack', ...(process.env.PREBUILT === '1' ? ['--ignore-scripts'] : []), '--json']
  const { stdout } = await run('npm', [...pack, '--pack-destination', project], { cwd: REPOSITORY })
  // `prepack` builds and may print before the JSON.
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [Packed]
  const { filename } = packed
  unpackedSize = packed.unpackedSize
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
  // Of types nothing but Node's: no project has to have those of the driver.
  await mkdir(join(modules, '@types'))
  await symlink(join(REPOSITORY, 'node_modules', '@types', 'node'), join(modules, '@types', 'node'))
}, 300_000)

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

it('names the package to install when a tokenizer is requested and absent', async () => {
  await writeFile(
    join(project, 'tokenizer.mjs'),
    `import { openStore } from 'undertext'\nopenStore(':memory:', { estimator: 'o200k_base' }).catch((error) => console.log(error.code, error.message))`,
  )
  const { stdout } = await run(process.execPath, ['tokenizer.mjs'], { cwd: project })
  expect(stdout).toMatch(/^TOKENIZER_UNAVAILABLE .*it is not installed\..*npm install gpt-tokenizer/)
})

it('has its entry for the AI SDK without the AI SDK, and names the package to install when it is needed', async () => {
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

it('has its entry for the Claude Agent SDK without that SDK, and names the package to install when it is needed', async () => {
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
    `import { KIT_FILTER, messages } from 'undertext/schema'
import * as postgres from 'undertext/schema/postgres'
import { getTableName, getTableUniqueName } from 'drizzle-orm'
console.log(getTableName(messages), getTableUniqueName(postgres.messages), KIT_FILTER.tablesFilter[0])`,
  )
  const { stdout } = await run(process.execPath, ['tables.mjs'], { cwd: project })
  expect(stdout.trim()).toBe('undertext_messages undertext.messages !undertext_*')
})

// The compiler is the same on any Node.
const withTypes = it.skipIf(process.env.TESTS === 'platform')

withTypes(
  'has types that a strict project accepts',
  async () => {
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
await store.append('s', messages, { also: (client: { readonly name: string }, [first]) => void [client.name, first?.position] })
// @ts-expect-error a misspelled option
await store.prepareRequest('s', { promt: 'hi' })
// @ts-expect-error a misspelled option
await store.compactSession('s', { enablePrunes: true })
export { answer, due, middleware, request, result, summarizer }`,
    )
    // As Node looks modules up, and as bundlers do; the parts beside the main one are imported for their declarations alone.
    const entries = ENTRIES.filter((entry) => entry !== '/langchain' && !entry.startsWith('/schema'))
    await writeFile(join(project, 'entries.mts'), importsOf(entries))
    const resolutions = [
      ['--module', 'nodenext'],
      ['--module', 'esnext', '--moduleResolution', 'bundler'],
    ]
    for (const resolution of resolutions) {
      const { errors, files } = await compiled(['types.mts', 'entries.mts'], resolution)
      expect(errors).toEqual([])
      expect(files.filter((file) => /drizzle-orm|better-sqlite3/.test(file))).toEqual([])
    }
  },
  300_000,
)

withTypes(
  'has types for LangChain and drizzle that add no error to those of their packages',
  async () => {
    const langchain = join(project, 'node_modules', '@langchain')
    await mkdir(langchain)
    await symlink(join(REPOSITORY, 'node_modules', '@langchain', 'core'), join(langchain, 'core'))
    await writeFile(
      join(project, 'with-packages.mts'),
      importsOf(['/langchain', '/schema', '/schema/postgres']),
    )
    const { errors } = await compiled(['with-packages.mts'], ['--module', 'nodenext'])
    await rm(langchain, { recursive: true })
    expect(errors.filter((line) => !line.startsWith('../'))).toEqual([])
  },
  300_000,
)

/** The parts of the package that hold code: '' for its main one. */
const ENTRIES = Object.keys(MANIFEST.exports)
  .filter((entry) => entry !== './package.json')
  .map((entry) => entry.slice(1))

function importsOf(entries: readonly string[]): string {
  const imports = entries.map((entry, i) => `import * as part${i} from 'undertext${entry}'`)
  return `${imports.join('\n')}\nexport { ${entries.map((_, i) => `part${i}`).join(', ')} }`
}

/** What the compiler says of files when it is as strict as it can be, declarations of packages included; and what it read. */
async function compiled(
  sources: readonly string[],
  resolution: readonly string[],
): Promise<{ readonly errors: readonly string[]; readonly files: readonly string[] }> {
  const tsc = join(REPOSITORY, 'node_modules', 'typescript', 'bin', 'tsc')
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess']
  const options = [...strict, '--skipLibCheck', 'false', '--noEmit', '--listFiles', '--target', 'es2023']
  const args = [tsc, ...options, '--types', 'node', ...resolution, ...sources]
  const { stdout } = await run(process.execPath, args, { cwd: project, maxBuffer: 1e8 }).catch(
    (error: { stdout: string }) => error,
  )
  const lines = stdout.split('\n')
  return {
    errors: lines.filter((line) => line.includes('error TS')),
    files: lines.filter((line) => line.startsWith('/')),
  }
}

const BUNDLED = `
import { openStore } from 'undertext'
import { aiSdkSummarizer } from 'undertext/ai-sdk'
import * as parts from 'undertext/claude-agent-sdk'
import * as others from 'undertext/transfer'
import { inspector } from 'undertext/inspect'
async function main() {${USE.replace('chats.db', ':memory:')}
  const files = { read: [], modified: [] }
  const request = { sessionId: 's', messages: [{ role: 'user', content: 'hi', kind: 'message' }], sections: [], maxTokens: 100, files }
  await aiSdkSummarizer({ model: 'openai/gpt-5' }).summarize(request).catch(({ code, facts }) => console.log(code, facts.detail))
  await openStore(':memory:', { estimator: 'o200k_base' }).catch(({ code, facts }) => console.log(code, facts.detail))
  const script = await inspector(await openStore(':memory:'))(new Request('http://localhost/app.js'))
  console.log(script.status, (await script.text()).length > 10_000)
}
main()
globalThis.kept = [parts, others]`

it('is bundled to CommonJS by esbuild, without a folder beside it, and runs', async () => {
  await writeFile(join(project, 'bundle-me.mjs'), BUNDLED)
  const { warnings } = await build({
    entryPoints: [join(project, 'bundle-me.mjs')],
    outfile: join(project, 'bundles', 'bundle.cjs'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['better-sqlite3'],
    logLevel: 'silent',
  })
  // Packages that are optional are not there; each is imported where that can be said when it is needed.
  const absent = /^Could not resolve "(?:ai|gpt-tokenizer|pg|@anthropic-ai\/claude-agent-sdk)/
  expect(warnings.map(({ text }) => text).filter((text) => !absent.test(text))).toEqual([])
  const { stdout, stderr } = await run(process.execPath, ['bundles/bundle.cjs'], { cwd: project })
  expect({ stdout: stdout.trim().split('\n'), stderr }).toEqual({
    stdout: [
      '1 false',
      'AI_SDK_UNAVAILABLE it is not installed.',
      'TOKENIZER_UNAVAILABLE it is not installed.',
      // The page is in the bundle too.
      '200 true',
    ],
    stderr: '',
  })
})

it('carries what it needs and nothing else, in 8 MB', async () => {
  const { stdout } = await run('tar', ['-tzf', join(project, 'undertext-0.1.0.tgz')])
  const files = stdout.trim().split('\n')
  expect(files).toContain('package/dist/index.d.ts')
  expect(files).toContain('package/docs/api.md')
  const others = /\/(?:src|test|migrations|scripts|\.ci|reference|internals)\/|\.map$|\.vitepress/
  expect(files.filter((file) => others.test(file))).toEqual([])
  expect(unpackedSize).toBeLessThan(8_000_000)
})

it('has the library once: the program shares its chunks', async () => {
  const dist = join(project, 'node_modules', 'undertext', 'dist')
  const files = (await readdir(dist, { recursive: true })).filter((file) => file.endsWith('.js'))
  const texts = await Promise.all(files.map((file) => readFile(join(dist, file), 'utf8')))
  const withStore = files.filter((_, i) => /\bvar Store = class\b/.test(texts[i]!))
  expect(withStore).toHaveLength(1)
})

it('has a bill of materials: what it depends on, and what is built into the program', async () => {
  const { stdout } = await run(process.execPath, ['scripts/sbom.mjs'], { cwd: REPOSITORY })
  const { metadata, components } = JSON.parse(stdout) as {
    metadata: { component: { name: string } }
    components: readonly { name: string; version: string; hashes?: readonly object[] }[]
  }
  expect(metadata.component.name).toBe('undertext')
  const names = components.map(({ name }) => name)
  // zod is needed by development dependencies too, tar-fs by better-sqlite3 12, and commander is part of the program.
  expect(names).toEqual(expect.arrayContaining([...DEPENDENCIES, 'tar-fs', 'commander', 'sisteransi']))
  expect(names.filter((name) => /^(?:vitest|vitepress|typescript|pg|ai|esbuild)$/.test(name))).toEqual([])
  expect(components.filter(({ hashes = [] }) => hashes.length === 0)).toEqual([])
})

it('carries every page and picture that its README links to', async () => {
  const installed = join(project, 'node_modules', 'undertext')
  const readme = await readFile(join(installed, 'README.md'), 'utf8')
  const links = [...readme.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link]) => link!)
  expect(links.length).toBeGreaterThan(10)
  expect(links.filter((link) => !existsSync(join(installed, link)))).toEqual([])
})
