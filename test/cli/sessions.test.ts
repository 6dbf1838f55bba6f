import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { type SmallStore, smallStore } from '../support/cli-store.ts'

let small: SmallStore
beforeAll(async () => {
  small = await smallStore()
})
afterAll(() => small.remove())

const ids = async (...more: string[]): Promise<unknown> => {
  const { json } = await runCli(['sessions', '--json', '--db', small.path, ...more])
  return (json as { sessions: { id: string }[] }).sessions.map(({ id }) => id)
}

it('lists sessions, newest first', async () => {
  const { exit, lines, err } = await runCli(['sessions', '--db', small.path])
  expect([exit, err]).toEqual([0, ''])
  const cells = lines.map((line) => line.split(/ {2,}/))
  expect(cells[0]).toEqual(['ID', 'TITLE', 'MESSAGES', 'VISIBLE', 'TOKENS', 'IN FORCE', 'NEWEST', 'MODEL'])
  const stats = await small.change((store) => store.getContextStats('talk'))
  const tokens = String(stats!.estimatedInputTokens)
  expect(cells[1]).toEqual([
    'talk',
    'The kettle',
    '8',
    '5',
    tokens,
    '1',
    '2026-03-01T10:08:00.000Z',
    'openai/gpt-4o',
  ])
  expect(cells.slice(2).map(([id]) => id)).toEqual(['older', 'empty'])
})

it('chooses by owner, archive, text, limit and place', async () => {
  expect(await ids()).toEqual(['talk', 'older', 'empty'])
  expect(await ids('--owner', 'bob')).toEqual(['empty'])
  expect(await ids('--archived')).toEqual(['gone'])
  expect(await ids('--search', 'INVOICES')).toEqual(['older'])
  expect(await ids('--search', 'alk')).toEqual(['talk'])
  expect(await ids('--limit', '2')).toEqual(['talk', 'older'])
  expect(await ids('--after', 'talk')).toEqual(['older', 'empty'])
  expect(await ids('--search', 'xyz')).toEqual([])
})

it('lists sessions by their newest messages, whatever was stored or changed last, and @ is the first', async () => {
  const path = `${small.folder}/order.db`
  const store = await openStore(path, { env: false })
  for (const day of [2, 4, 1, 3]) {
    await store.append(`day-${day}`, [{ role: 'user', content: 'x', createdAt: Date.UTC(2026, 0, day) }])
    await store.sessions.update(`day-${day}`, { title: 'changed' })
  }
  await store.close()
  const { json } = await runCli(['sessions', '--json', '--db', path])
  const listed = (json as { sessions: { id: string; newestAt: number }[] }).sessions
  expect(listed.map(({ id, newestAt }) => [id, newestAt])).toEqual(
    [4, 3, 2, 1].map((day) => [`day-${day}`, Date.UTC(2026, 0, day)]),
  )
  const shown = await runCli(['show', '@', '--json', '--db', path])
  expect(shown.json).toMatchObject({ session: 'day-4' })
})

it('prints a hint when there are no sessions', async () => {
  expect((await runCli(['sessions', '--search', 'xyz', '--db', small.path])).out).toBe('No sessions match.\n')
})

it('fits a narrow terminal, and prints how to continue', async () => {
  const { lines } = await runCli(['sessions', '--limit', '1', '--db', small.path], { columns: 40 })
  expect(lines.slice(0, 3)).toEqual(['talk', '  TITLE     The kettle', '  MESSAGES  8'])
  expect(lines.at(-1)).toBe('1 session shown; next: --after talk')
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(40)
})

it('prints a line for each session at 80 columns and in a pipe, however long ids and titles are', async () => {
  const path = `${small.folder}/long.db`
  const store = await openStore(path, { env: false })
  for (const nth of [1, 2, 3]) {
    const id = `0d4e5f60-111${nth}-4222-8333-abcdefabcdef`
    await store.sessions.create({
      id,
      title: 'A long title '.repeat(30),
      provider: 'anthropic',
      model: 'm'.repeat(90),
    })
    await store.append(id, [{ role: 'user', content: 'x' }])
  }
  await store.close()
  for (const columns of [80, undefined]) {
    const { lines } = await runCli(['sessions', '--db', path], columns === undefined ? {} : { columns })
    expect(lines).toHaveLength(4)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns ?? 120)
    const ids = lines.slice(1).map((line) => line.split(/ +/)[0]!)
    expect(ids[2]).toBe(columns === undefined ? '0d4e5f60-1111-4222-8333-abcdefabcdef' : '0d4e5f60-1111')
  }
})

it('keeps titles whole and shows their first 80 characters, cut after a word, wherever it prints them', async () => {
  const path = `${small.folder}/title.db`
  const title = 'word '.repeat(60).trim()
  const shown = `${'word '.repeat(16).trim()}…`
  const store = await openStore(path, { env: false })
  await store.sessions.create({ id: 'one', title })
  await store.append('one', [{ role: 'user', content: 'x' }])
  const fork = await store.sessions.fork('one')
  const whole = { id: 'one', title }
  const { messageId } = await store.sessions.bringBack(fork.id, { text: 'Done.' })
  const [, back] = await store.getMessages('one')
  await store.close()
  expect(back).toMatchObject({
    id: messageId,
    content: `[Conclusion of the branch ${fork.id} (${shown}), which left this conversation after message 1]\n\nDone.`,
  })
  const run = (...words: string[]) => runCli([...words, '--db', path])
  const onTerminal = (...words: string[]) => runCli([...words, '--db', path], { columns: 300 })
  expect((await run('sessions', '--json')).json).toMatchObject({ sessions: [whole, { title }] })
  for (const words of [['sessions'], ['show', 'one', '--full'], ['stats', 'one'], ['tree', 'one']]) {
    const { out } = await onTerminal(...words)
    expect(out, words.join(' ')).toContain(shown)
    expect(out, words.join(' ')).not.toContain('word '.repeat(17))
  }
  const { out: candidates } = await runCli(['__complete', '--', '--db', path, 'show', 'on'])
  expect(candidates).toMatch(/^one\t(?:word )+word…\n$/)
  const { out: page } = await run('export', 'one', '--format', 'html')
  expect(page).toContain(`<title>${shown}</title>`)
  expect(page).toContain(`<h1 dir="auto">${shown}</h1>`)
  expect(page.split(title)).toHaveLength(2)
  const { lines } = await run('export', 'one', '--format', 'markdown')
  expect(lines[0]).toBe(`# ${shown}`)
  expect(lines).toContain(`- **Title:** \`${title}\``)
})

it('finds a session by a beginning that only one has, or @', async () => {
  const shown = async (given: string) => runCli(['show', given, '--json', '--db', small.path])
  for (const [given, id] of [
    ['ta', 'talk'],
    ['@', 'talk'],
    ['older', 'older'],
    ['g', 'gone'],
  ] as const)
    expect((await shown(given)).json).toMatchObject({ session: id })
  await small.change((store) => store.sessions.create({ id: 'tall' }))
  const { exit, json } = await shown('tal')
  expect(exit).toBe(2)
  expect(json).toMatchObject({ error: { code: 'AMBIGUOUS', facts: { found: ['talk', 'tall'], count: 2 } } })
  expect((await shown('talk')).json).toMatchObject({ session: 'talk' })
  await small.change((store) => store.sessions.purge('tall'))
  const unknown = await runCli(['show', 'nobody', '--db', small.path])
  expect([unknown.exit, unknown.out]).toEqual([3, ''])
  expect(unknown.err).toBe(
    'undertext: There is no session "nobody".\n`undertext sessions` lists them; @ is the newest.\n',
  )
})

it('prints what to do when there is no store', async () => {
  const path = `${small.folder}/fresh.db`
  await (await openStore(path, { env: false })).close()
  const run = (...argv: string[]) => runCli([...argv, '--db', path])
  expect((await run('sessions')).out).toBe('There are no sessions yet.\n')
  expect((await run('sessions', '--archived')).out).toBe('No sessions are archived.\n')
  for (const argv of [
    ['show', '@'],
    ['stats', '@'],
    ['log', '@'],
    ['undo', '@', '@'],
    ['diff', '@', '@'],
    ['purge', '@'],
  ])
    expect(await run(...argv), argv.join(' ')).toMatchObject({
      exit: 3,
      out: '',
      err: expect.stringContaining('There are no sessions yet.'),
    })
  expect((await run('verify')).out).toBe('✓ 0 sessions checked, nothing found\n')
})

it('gives the room of 80 columns to the titles, and shows long ids by what a command takes for them', async () => {
  const path = `${small.folder}/long-ids.db`
  const store = await openStore(path, { env: false })
  const caller = '0d4e5f60-1111-4222-8333-abcdefabcdef'
  const ids = [caller, `${caller}/agent-1a2b3c4d`, '0d4e5f60-2222-4222-8333-abcdefabcdef', 'billing']
  for (const [at, id] of ids.entries()) {
    await store.sessions.create({ id, title: `Why is the kettle cold? ${id.slice(-3)}` })
    await store.append(id, [{ role: 'user', content: 'x', createdAt: Date.UTC(2026, 0, 9 - at) }])
  }
  await store.close()
  const list = async (columns?: number) =>
    (await runCli(['sessions', '--db', path], columns === undefined ? {} : { columns })).lines
  const narrow = (await list(80)).slice(1)
  expect(narrow.map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
    ['0d4e5f60-1', 'Why is the kettle cold? def'],
    ['1a2b3c4d', 'Why is the kettle cold? c4d'],
    ['0d4e5f60-2', 'Why is the kettle cold? def'],
    ['billing', 'Why is the kettle cold? ing'],
  ])
  // The id, the messages, the tokens, the time and their gaps take 48 of the 80.
  for (const line of narrow) expect(line.length).toBeLessThanOrEqual(80)
  for (const [at, line] of narrow.entries()) {
    const { json } = await runCli(['show', line.split(' ')[0]!, '--db', path, '--json'])
    expect(json).toMatchObject({ session: ids[at] })
  }
  expect((await list(160))[1]!.split(/ {2,}/).slice(0, 2)).toEqual([caller, 'Why is the kettle cold? def'])
  expect((await list()).map((line) => line.split(' ')[0])).toEqual(['ID', ...ids])
})
