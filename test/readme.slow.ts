import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { COMMANDS } from '../src/cli/commands.ts'
import { examplesOf, runAsUser } from './support/run-as-user.ts'

const REPOSITORY = join(import.meta.dirname, '..')
const README = readFileSync(join(REPOSITORY, 'README.md'), 'utf8')
const blocks = examplesOf(README)

it('runs the first screen as it stands', async () => {
  const model = `async function callYourModel(system: unknown, messages: readonly unknown[]) {
      console.log(system, messages.length)
      return { messages: [{ role: 'assistant' as const, content: 'Nothing.' }], usage: { inputTokens: 20 } }
    }`
  const out = await runAsUser(`${blocks[0]!}\n${model}\nconsole.log(stats!.messageCount, run!.reason)`)
  expect(out.trim().split('\n')).toEqual(['Be brief. 1', '2 NOTHING_TO_COMPACT'])
})

it('imports a file', async () => {
  const opening = `
    import { writeFile } from 'node:fs/promises'
    import { openStore } from 'undertext'
    const store = await openStore(':memory:')
    await writeFile('session.jsonl', '{"role":"user","content":"hello"}\\n')`
  const out = await runAsUser(`${opening}\n${blocks[1]!}
    console.log(report.source, report.totals.messages, (await store.getEffectiveHistory('session')).length)
    await store.close()`)
  expect(out.trim()).toBe('messages 1 1')
})

it('names only commands that there are', () => {
  const commands = [...README.matchAll(/npx undertext ([a-z]+)/g)].map(([, name]) => name!)
  expect(commands.length).toBeGreaterThan(5)
  const known = COMMANDS.map(({ name }) => name)
  for (const name of commands) expect(known).toContain(name)
})

it('runs the example of the AI SDK', async () => {
  const opening = `
    import { generateText, wrapLanguageModel } from 'ai'
    import * as mocks from 'ai/test'
    import { openStore } from 'undertext'
    const { MockLanguageModelV3, MockLanguageModelV4 } = mocks as any
    const count = { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0, text: 10, reasoning: 0 }
    const large = new (MockLanguageModelV4 ?? MockLanguageModelV3)({
      doGenerate: async () => ({
        content: [{ type: 'text', text: 'Nothing yet.' }],
        finishReason: { unified: 'stop' },
        usage: { inputTokens: count, outputTokens: count },
        warnings: [],
      }),
    })
    const small = large`
  const code = blocks[2]!.replace("'chats.db'", "':memory:'")
  const out = await runAsUser(`${opening}\n${code}
    console.log(text, (await store.getMessages('session-1')).map(({ role }) => role).join())
    await store.close()`)
  expect(out.trim()).toBe('Nothing yet. user,assistant')
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
  const code = blocks[3]!
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
  const out = await runAsUser(`${opening}\n${blocks[4]!}
    console.log((await store.getEffectiveHistory('session-1')).length)
    console.log((await store.listCompactions('session-1')).map(({ params }) => params.stage).join())`)
  expect(out.trim().split('\n')).toEqual(['1', 'drop_thanks'])
})

it('runs the example of settings', async () => {
  const code = blocks[5]!.replace("'chats.db'", "':memory:'")
  const out = await runAsUser(`import { openStore } from 'undertext'
    ${code}
    const { settings, sources } = await store.getConfig('long')
    console.log(settings.maxRetainedMessages, sources.maxRetainedMessages, settings.threshold, sources.estimator)`)
  expect(out.trim().split('\n')).toEqual(['100 session 0.7 preset'])
})

it('runs the example of usage and overflow', async () => {
  const opening = `
    import { openStore } from 'undertext'
    const store = await openStore(':memory:')
    await store.append('session-1', [{ role: 'user', content: 'request '.repeat(40_000) }])
    const callTheModel = async () => { throw new Error('prompt is too long: 130000 tokens > 100000 maximum') }`
  const out = await runAsUser(`${opening}\n${blocks[6]!}
    console.log((await store.getContextStats('session-1', 'anthropic', usage.model))!.source)
    console.log((await store.getContextStats('session-1', 'openai', 'gpt-4o'))!.contextWindow.tokens)`)
  // The run after the overflow changed the view, so the report is of another one.
  expect(out.trim().split('\n')).toEqual(['calibrated', '100000'])
})

it('runs the example of adding a model', async () => {
  const out = await runAsUser(`import { openStore } from 'undertext'
    ${blocks[7]!}
    await store.append('small', [{ role: 'user', content: 'x' }])
    await store.append('other', [{ role: 'user', content: 'x' }])
    for (const [id, provider, model] of [['other', 'openai', 'gpt-5.1'], ['other', 'ollama', 'any'], ['small', 'ollama', 'any']])
      console.log((await store.getContextStats(id, provider, model))!.contextWindow.tokens)
    await store.close()`)
  expect(out.trim().split('\n')).toEqual(['400000', '32768', '8192'])
})

it('names only scripts that exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const named = [...README.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!)
  expect(named.length).toBeGreaterThan(3)
  for (const name of named) expect(Object.keys(scripts)).toContain(name)
})
