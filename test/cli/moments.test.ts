import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

let small: SmallStore
beforeAll(async () => {
  small = await smallStore()
})
afterAll(() => small.remove())

const run = (command: string, ...argv: string[]) => runCli([command, 'talk', ...argv, '--db', small.path])
const thirdAt = { at: { afterMessage: 3 } } as const

it('show --at shows the view of a moment, before it was compacted', async () => {
  const { exit, out } = await run('show', '--at', 'position:3', '--json')
  expect(exit).toBe(0)
  const view = await small.change((store) => store.getEffectiveHistory('talk', thirdAt))
  expect(view.map(({ position }) => position)).toEqual([1, 2, 3])
  const shown = JSON.parse(out) as { messages: { position: number }[] }
  expect(shown.messages.map(({ position }) => position)).toEqual([1, 2, 3])
})

it('export --at writes the view of a moment, in the form of an API', async () => {
  const { exit, out } = await run('export', '--at', 'position:3', '--format', 'openai')
  expect(exit).toBe(0)
  const view = await small.change((store) => store.getEffectiveHistory('talk', thirdAt))
  const written = JSON.parse(out) as { role: string }[]
  expect(written.map(({ role }) => role)).toEqual(view.map(({ role }) => role))
  expect(JSON.stringify(written)).not.toContain('It boils.')
})

it('stats --at shows how full the context was, and says that it was then', async () => {
  const { exit, out } = await run('stats', '--at', 'position:3', '--json')
  expect(exit).toBe(0)
  const [then, moment] = await small.change(async (store) => [
    await store.getContextStats('talk', undefined, undefined, thirdAt),
    await store.messages.moment('talk', thirdAt.at),
  ])
  const { models } = JSON.parse(out) as { models: { estimated: number; moment: object }[] }
  const { position, auditNo } = moment
  expect(models).toMatchObject([{ estimated: then!.estimated, moment: { position, auditNo } }])
  const { lines } = await run('stats', '--at', 'position:3')
  expect(lines.at(-1)).toBe(
    `The context is as of the past, after position 3 and entry ${auditNo} of the audit; counts and usage are current.`,
  )
  const now = JSON.parse((await run('stats', '--at', 'now', '--json')).out) as { models: object[] }
  expect(now.models[0]).not.toHaveProperty('moment')
})

it.each(['show', 'stats'])(
  '%s --at refuses a text that is no moment, and an unknown message',
  async (command) => {
    expect(await run(command, '--at', 'yesterday')).toMatchObject({ exit: 2 })
    expect((await run(command, '--at', 'position:99')).exit).not.toBe(0)
  },
)
