import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { examplesOf, runAsUser } from './support/run-as-user.ts'

const REPOSITORY = join(import.meta.dirname, '..')
const README = readFileSync(join(REPOSITORY, 'README.md'), 'utf8')
const blocks = examplesOf(README)

it('runs the first screen as it stands', async () => {
  const out = await runAsUser(`${blocks[0]!}\nconsole.log(stats!.messageCount, messages.length)`)
  expect(out.trim()).toBe('3 3')
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
  const code = blocks[1]!
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
  const out = await runAsUser(`${opening}\n${blocks[2]!}
    console.log((await store.getEffectiveHistory('session-1')).length)
    console.log((await store.listCompactions('session-1')).map(({ params }) => params.stage).join())`)
  expect(out.trim().split('\n')).toEqual(['1', 'drop_thanks'])
})

it('runs the example of settings', async () => {
  const code = blocks[3]!.replace("'chats.db'", "':memory:'")
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
  const out = await runAsUser(`${opening}\n${blocks[4]!}
    console.log((await store.getContextStats('session-1', 'anthropic', usage.model))!.source)
    console.log((await store.getContextStats('session-1', 'openai', 'gpt-4o'))!.contextWindow.tokens)`)
  // The run after the overflow changed the view, so the report is of another one.
  expect(out.trim().split('\n')).toEqual(['calibrated', '100000'])
})

it('runs the example of adding a model', async () => {
  const out = await runAsUser(`import { openStore } from 'undertext'
    ${blocks[5]!}
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
