import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { examplesOf, runAsUser } from './support/run-as-user.ts'
import { newFolder } from './support/temporary.ts'

const REPOSITORY = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8')

/** The TypeScript example of a page of docs, counted from 0. */
function example(page: string, index: number): string {
  return examplesOf(read(`docs/${page}`))[index]!
}

it('runs the conversation of docs/api.md', async () => {
  const model = `async function callYourModel(system: unknown, messages: readonly unknown[]) {
      console.log(system, messages.length)
      return { messages: [{ role: 'assistant' as const, content: 'Nothing.' }], usage: { inputTokens: 20 } }
    }`
  const out = await runAsUser(
    `${example('api.md', 0)}\n${model}\nconsole.log(stats!.messageCount, run!.reason)`,
  )
  expect(out.trim().split('\n')).toEqual(['Be brief. 1', '2 NOTHING_TO_COMPACT'])
})

it('runs the example of preview and range after it', async () => {
  const opening = `
    import { openStore } from 'undertext'
    const store = await openStore(':memory:')
    for (let turn = 0; turn < 40; turn++) {
      await store.append('session-1', [
        { role: 'user', content: 'request '.repeat(2000) }, { role: 'assistant', content: 'answer '.repeat(2000) },
      ])
    }`
  const code = example('compaction.md', 0)
    .replace("await store.compactSession('session-1', preview)", '')
    .replaceAll('preview.', 'preview!.')
  const out =
    await runAsUser(`${opening}\n${code}\nconsole.log(preview!.tokensSaved > 0, preview!.messages.length < 80)
    const compactions = await store.listCompactions('session-1')
    console.log(compactions.length, compactions[0]!.rowsHidden)`)
  expect(out.trim().split('\n')).toEqual(['true true', '1 38'])
})

it('runs the stage of the application, in a composition', async () => {
  const opening = `
    import { openStore, type Stage } from 'undertext'
    const store = await openStore(':memory:')
    const thanks = { role: 'user', content: 'Thanks!' } as const
    await store.append('session-1', [{ role: 'user', content: 'request '.repeat(60_000) }, thanks])`
  const out = await runAsUser(`${opening}\n${example('compaction.md', 1)}
    console.log((await store.getEffectiveHistory('session-1')).length)
    console.log((await store.listCompactions('session-1')).map(({ params }) => params.stage).join())`)
  expect(out.trim().split('\n')).toEqual(['1', 'drop_thanks'])
})

it.each([
  ['tokens.md', ['7', '128000']],
  ['stages.md', ['']],
  ['formats.md', ['gemini', 'Hello']],
])('runs the example of docs/%s', async (page, printed) => {
  expect((await runAsUser(example(page, 0))).trimEnd().split('\n')).toEqual(printed)
})

it('runs the store and the handlers of docs/owners.md for two users, who use the same chat id', async () => {
  expect((await runAsUser(example('owners.md', 0))).trim().split('\n')).toEqual(['Hello from Ann', '1'])
  const store = example('owners.md', 1)
    .replace(
      "import { auth } from './auth' // your authentication: returns the session of a verified user, or null",
      '',
    )
    .replace('process.env.DATABASE_URL!, { strict: true, rowSecurity: true }', "':memory:', { strict: true }")
  const route = example('owners.md', 2)
    .replace("import { openai } from '@ai-sdk/openai'", '')
    .replace("import { userStore } from '../../store'", '')
    .replace("openai('gpt-5')", 'modelOf()')
  expect(`${store}${route}`).not.toMatch(/from '\.|@ai-sdk/)
  const out = await runAsUser(`import { simulateReadableStream } from 'ai'
    import * as mocks from 'ai/test'
    const Model = (mocks as any).MockLanguageModelV4 ?? (mocks as any).MockLanguageModelV3
    const modelOf = () => new Model({ doStream: async () => ({ stream: simulateReadableStream({ chunks: [
      { type: 'text-start', id: '1' }, { type: 'text-delta', id: '1', delta: 'Hello.' }, { type: 'text-end', id: '1' },
      { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } } },
    ] }) }) })
    let user: string | undefined
    const auth = async () => (user === undefined ? null : { user: { id: user } })
    ${store.replaceAll(/^export /gm, '')}
    ${route.replaceAll(/^export /gm, '')}
    const post = (text: string) => POST(new Request('http://localhost/api/chat', { method: 'POST', body: JSON.stringify({
      id: 'chat', trigger: 'submit-message', messages: [{ id: text, role: 'user', parts: [{ type: 'text', text }] }] }) }))
    const get = (query: string) => GET(new Request('http://localhost/api/chat' + query))
    console.log((await post('nobody')).status, (await get('')).status)
    for (user of ['ann', 'bob']) console.log((await (await post('I am ' + user)).text()).includes('Hello.'))
    for (user of ['ann', 'bob']) {
      const texts = (await (await get('?id=chat')).json()).flatMap(({ parts }: any) => parts.map(({ text }: any) => text)).filter(Boolean)
      console.log(texts.join('|'), (await (await get('')).json()).length, (await get('?id=other')).status)
    }`)
  expect(out.trim().split('\n')).toEqual([
    '401 401',
    ...['true', 'true'],
    'I am ann|Hello. 1 404',
    'I am bob|Hello. 1 404',
  ])
})

it('runs the example of settings', async () => {
  const code = example('configuration.md', 0).replace("'chats.db'", "':memory:'")
  const out = await runAsUser(`import { openStore } from 'undertext'
    ${code}
    const { settings, sources } = await store.sessions.config('long')
    console.log(settings.maxRetainedMessages, sources.maxRetainedMessages, settings.threshold, sources.estimator)`)
  expect(out.trim().split('\n')).toEqual(['100 session 0.7 preset'])
})

it('runs the example of usage and overflow', async () => {
  const opening = `
    import { openStore } from 'undertext'
    const store = await openStore(':memory:')
    await store.append('session-1', [{ role: 'user', content: 'request '.repeat(40_000) }])
    const callTheModel = async () => { throw new Error('prompt is too long: 130000 tokens > 100000 maximum') }`
  const out = await runAsUser(`${opening}\n${example('estimators.md', 1)}
    console.log((await store.getContextStats('session-1', 'anthropic', usage.model))!.source)
    console.log((await store.getContextStats('session-1', 'openai', 'gpt-4o'))!.contextWindow.tokens)`)
  // The run after the overflow changed the view, so the report is of another one.
  expect(out.trim().split('\n')).toEqual(['calibrated', '100000'])
})

it('runs the example of adding a model', async () => {
  const out = await runAsUser(`import { openStore } from 'undertext'
    ${example('estimators.md', 2)}
    await store.append('small', [{ role: 'user', content: 'x' }])
    await store.append('other', [{ role: 'user', content: 'x' }])
    for (const [id, provider, model] of [['other', 'openai', 'gpt-5.1'], ['other', 'ollama', 'any'], ['small', 'ollama', 'any']])
      console.log((await store.getContextStats(id, provider, model))!.contextWindow.tokens)
    await store.close()`)
  expect(out.trim().split('\n')).toEqual(['400000', '32768', '8192'])
})

describe('the API reference', () => {
  const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, { default: string }> }
  const entries = Object.keys(exports).filter((entry) => !/schema|json/.test(entry))
  const folder = newFolder()

  beforeAll(async () => {
    const typedoc = join(REPOSITORY, 'node_modules', '.bin', 'typedoc')
    await promisify(execFile)(typedoc, ['--logLevel', 'Error', '--out', folder], { cwd: REPOSITORY })
  })

  it.each(entries)('has every class and function of %s [S0-90]', async (entry) => {
    const file = join(folder, `${entry.replace('.', 'undertext')}.md`)
    const page = readFileSync(file, 'utf8').replaceAll('\\', '')
    const source = exports[entry]!.default.replace('./dist/', '../src/').replace(/\.js$/, '.ts')
    const names = Object.keys(await import(source))
    expect(names.length).toBeGreaterThan(0)
    const missing = names.filter((name) => !new RegExp(`^### ${name}(?:\\(\\))?$`, 'm').test(page))
    expect(missing).toEqual([])
  })
})

describe('links', () => {
  const docs = readdirSync(join(REPOSITORY, 'docs')).filter((name) => name.endsWith('.md'))
  const internals = readdirSync(join(REPOSITORY, 'docs', 'internals')).map((name) => `internals/${name}`)
  const pages = [
    ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'],
    ...[...docs, ...internals].map((name) => `docs/${name}`),
  ]

  it.each(pages)('of %s lead to files and headings that exist', (page) => {
    const broken = linksOf(read(page)).filter((link) => !leadsSomewhere(page, link))
    expect(broken).toEqual([])
  })

  it('of docs/README.md lead to every page once, each in a row that the site lists', () => {
    const rows = read('docs/README.md').matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\) \| .+ \|$/gm)
    const listed = [...rows].map(([, file]) => file)
    expect(listed.toSorted()).toEqual(docs.filter((name) => name !== 'README.md').toSorted())
  })
})

function linksOf(text: string): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link))
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  try {
    const text = read(target)
    return anchor === undefined || anchorsOf(text).includes(anchor)
  } catch {
    return readdirSync(join(REPOSITORY, dirname(target))).includes(target.split('/').at(-1)!)
  }
}

/** The anchors that Markdown renderers make of the headings of a page. */
function anchorsOf(text: string): string[] {
  return [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )
}
