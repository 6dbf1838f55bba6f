import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shares } from '../../src/cli/output/figures.ts'
import { type OpenOptions, openStore } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

let small: SmallStore
beforeAll(async () => {
  small = await smallStore()
})
afterAll(() => small.remove())

const stats = async (...argv: string[]) => runCli(['stats', ...argv, '--db', small.path])

it('shares a whole by weights, to the last token', () => {
  expect(shares(10, [1, 1, 1])).toEqual([4, 3, 3])
  expect(shares(7, [0, 3, 4])).toEqual([0, 3, 4])
  expect(shares(5, [0, 0])).toEqual([0, 0])
})

it('draws the bar: half full, marks at 40, 60 and 80 %', async () => {
  // A window of 1,000 tokens without any kept for the answer; the view and a prompt that makes it 500.
  const { tokens } = await small.change(async (store) => {
    await store.sessions.create({ id: 'bar', config: { contextWindows: { openai: 1_000 } } })
    await store.append('bar', [{ role: 'user', content: 'x'.repeat(1_600) }])
    return {
      tokens: (await store.getContextStats('bar', undefined, undefined, { maxOutputTokens: 0 }))!
        .estimatedInputTokens,
    }
  })
  const { lines, exit } = await stats('bar', '--max-tokens', '0')
  expect(exit).toBe(0)
  const cells = Math.round((tokens / 1_000) * 60)
  expect(lines.slice(5, 8)).toEqual([
    '█'.repeat(cells) + '·'.repeat(60 - cells),
    // 40 % of 60 columns is the 24th, 60 % the 36th, 80 % the 48th.
    `${' '.repeat(23)}▴${' '.repeat(11)}▴${' '.repeat(11)}▴`,
    '▴ 40.0 % target · 60.0 % warning · 80.0 % compaction due',
  ])
  expect(lines).toContain("Window: 1,000 tokens, the session's own table, entry _default.")
  expect(lines).toContain('Answer: 0 tokens reserved, maxOutputTokens, as requested.')
  expect(lines).toContain('Compaction: due at 800 tokens, then down to 400.')
})

it('counts with the windows that an application gave to openStore, and names them; its own stay', async () => {
  const open = async (contextWindows: OpenOptions['contextWindows']) =>
    (await openStore(small.path, { contextWindows })).close()
  await small.change(async (store) => {
    await store.sessions.create({ id: 'local', provider: 'ollama', model: 'llama3.2' })
    await store.append('local', [{ role: 'user', content: 'Hello' }])
  })
  const windowOf = async () => {
    const { json } = await stats('local', '--json')
    return (json as { models: { window: object }[] }).models[0]!.window
  }
  expect(await windowOf()).toEqual({ tokens: 4_096, source: 'registry', entry: '_default', assumed: true })
  expect((await stats('local')).lines.join(' ')).toContain('Window: 4,096 tokens, assumed for ollama')
  await open({ ollama: { 'llama3.2': 32_768 } })
  expect(await windowOf()).toEqual({ tokens: 32_768, source: 'store', entry: 'llama3.2', assumed: false })
  expect((await stats('local')).lines.join(' ')).toContain(
    'Window: 32,768 tokens, contextWindows of the settings or of openStore, entry llama3.2.',
  )
  // Another application gives others; a figure of the same model replaces the earlier one.
  await open({ ollama: { 'llama3.2': 16_384 }, 'my-gateway': 65_536 })
  expect(await windowOf()).toMatchObject({ tokens: 16_384 })
  // A command reads the windows and adds none, and an application without them has the tables of the package.
  const store = await openStore(small.path)
  expect((await store.getContextStats('local'))!.contextWindow).toMatchObject({ tokens: 4_096 })
  store.close()
})

it('reports the fixed part of the last request, and says when a window is assumed', async () => {
  await small.change(async (store) => {
    await store.sessions.create({ id: 'fixed', provider: 'ollama', model: 'qwen3' })
    await store.append('fixed', [{ role: 'user', content: 'Hello' }])
    const system = 'You answer in one word. '.repeat(40)
    await store.requests.recordUsage('fixed', { inputTokens: 300, system })
  })
  const { json } = await stats('fixed', '--json')
  const { fixed, window } = (json as { models: { fixed: { tokens: number }; window: object }[] }).models[0]!
  expect(fixed).toMatchObject({ source: 'last-request' })
  expect(fixed.tokens).toBeGreaterThan(100)
  expect(window).toMatchObject({ assumed: true })
})

it('tells counts and what hides', async () => {
  const { lines } = await stats('talk')
  expect(lines.slice(0, 2)).toEqual([
    'talk · The kettle',
    '8 messages, 5 rows in the view, 4 hidden (4 summarized); 1 compaction in force',
  ])
})

it('reports that an empty session has nothing to send', async () => {
  const { exit, lines } = await stats('empty')
  expect([exit, lines.at(-1)]).toEqual([0, 'It has no messages yet.'])
  expect((await stats('empty', '--json')).json).toMatchObject({ models: [] })
})

it('adds up: breakdown and free make the available input', async () => {
  const { json } = await stats('talk', '--prompt', 'And now?', '--json')
  const [model] = (
    json as { models: { tokens: number; available: number; breakdown: Record<string, number> }[] }
  ).models
  const { free, ...parts } = model!.breakdown
  expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBe(model!.tokens)
  expect(model!.tokens + free!).toBe(model!.available)
  expect(parts.prompt).toBeGreaterThan(0)
})

it('puts several models side by side', async () => {
  const { lines } = await stats(
    'talk',
    '--model',
    'openai/gpt-4o,anthropic/claude-sonnet-4-20250514',
    '--model',
    'gpt-4o-mini',
  )
  const rows = lines.slice(3).map((line) => line.split(/ {2,}/))
  expect(rows.map((row) => row[0])).toEqual([
    'MODEL',
    'openai/gpt-4o',
    'anthropic/claude-sonnet-4-20250514',
    'openai/gpt-4o-mini',
  ])
  expect(rows[2]!.slice(1, 3)).toEqual(['200,000', '136,000'])
})

describe('what is sent besides', () => {
  it('counts from files', async () => {
    const system = join(small.folder, 'system.txt')
    const tools = join(small.folder, 'tools.json')
    writeFileSync(system, 'Be brief. '.repeat(40))
    writeFileSync(tools, JSON.stringify([{ name: 'look', description: 'Looks at a thing.' }]))
    const { json } = await stats('talk', '--system-file', system, '--tools', tools, '--json')
    const [{ breakdown }] = (json as { models: [{ breakdown: Record<string, number> }] }).models
    expect(breakdown.system).toBeGreaterThan(80)
    expect(breakdown.tools).toBeGreaterThan(0)
  })

  it('counts a system prompt that is given as text the same, and takes one of the two', async () => {
    const system = join(small.folder, 'system.txt')
    writeFileSync(system, 'Be brief.')
    const [byText, byFile] = [
      await stats('talk', '--system', 'Be brief.', '--json'),
      await stats('talk', '--system-file', system, '--json'),
    ]
    expect(byText.json).toEqual(byFile.json)
    expect(byText.json).not.toEqual((await stats('talk', '--json')).json)
    expect(await stats('talk', '--system', 'Be brief.', '--system-file', system)).toMatchObject({ exit: 2 })
  })

  it('is refused where a file is not what it must be', async () => {
    const bad = join(small.folder, 'bad.json')
    writeFileSync(bad, '{ "a": 1 }')
    expect(await stats('talk', '--tools', bad)).toMatchObject({ exit: 6 })
    writeFileSync(bad, 'not JSON')
    expect(await stats('talk', '--tools', bad)).toMatchObject({
      exit: 6,
      err: `undertext: ${bad} isn't JSON.\n`,
    })
    const missing = await stats('talk', '--system-file', join(small.folder, 'none.txt'))
    expect(missing).toMatchObject({
      exit: 3,
      err: `undertext: ${join(small.folder, 'none.txt')} doesn't exist.\n`,
    })
  })
})

it("shows what was billed, and the provider's report as the source", async () => {
  await small.change((store) =>
    store.requests.recordUsage('older', {
      provider: 'openai',
      model: 'gpt-4o',
      inputTokens: 50,
      outputTokens: 7,
    }),
  )
  const { lines } = await stats('older', '--model', 'openai/gpt-4o')
  expect(lines.some((line) => line.startsWith("Tokens: the provider's own report of this request ("))).toBe(
    true,
  )
  expect(lines.at(-1)!.split(/ {2,}/)).toEqual(['openai/gpt-4o', '1', '50', '0', '0', '7', '$0.0002'])
})

it('fits a narrow terminal', async () => {
  const { lines } = await runCli(['stats', 'talk', '--db', small.path], { columns: 40 })
  for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(40)
})

it('refuses a list of models that names none, and a folder for a file', async () => {
  for (const none of ['', ',']) {
    const { exit, err } = await stats('talk', '--model', none)
    expect([exit, err.split('\n')[0]]).toEqual([
      2,
      `undertext: Option '--model <provider/model>' argument '${none}' is invalid. It is empty.`,
    ])
  }
  const folder = await stats('talk', '--system-file', small.folder)
  expect([folder.exit, folder.err]).toEqual([5, `undertext: ${small.folder} is a folder.\n`])
})

it('leaves no room, not less than none, beneath an answer longer than the window', async () => {
  const { lines } = await stats('talk', '--model', 'openai/gpt-4', '--max-tokens', '10000')
  expect(lines[3]).toMatch(/^openai\/gpt-4: [\d,]+ of 0 tokens, 100 % · too large$/)
  expect(lines).toContain('Compaction: due at 0 tokens, then down to 0.')
})

it('takes tools from a file that begins with a mark of byte order', async () => {
  const path = join(small.folder, 'marked.json')
  writeFileSync(path, '\ufeff[]')
  expect((await stats('talk', '--tools', path)).exit).toBe(0)
})
