import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import type { Bundled } from '../support/bundled.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { newFile, newFolder } from '../support/temporary.ts'
import { type Connected, connect } from './connect.ts'

/* `--watch`: files are imported while a client is connected. */

let bundled: Bundled
beforeAll(async () => {
  bundled = await bundleCli()
})
afterAll(() => bundled.remove())

let folder: string
let db: string
beforeEach(() => {
  folder = newFolder()
  db = newFile()
})

/** A line of a session of Claude Code. */
const line = (session: string, at: number, text = `Message ${at} of ${session}.`): string =>
  `${JSON.stringify({
    type: at % 2 === 1 ? 'user' : 'assistant',
    uuid: `${session}-${at}`,
    parentUuid: at === 1 ? null : `${session}-${at - 1}`,
    sessionId: session,
    isSidechain: false,
    timestamp: new Date(Date.UTC(2026, 2, 1, 10, at)).toISOString(),
    message: { role: at % 2 === 1 ? 'user' : 'assistant', content: text },
  })}\n`

const file = (name: string): string => join(folder, name)

function watching(argv: readonly string[] = []): Promise<Connected> {
  return connect(bundled.script, { db, argv: ['--allow', 'import', '--watch', folder, ...argv] })
}

/** Waits until the sessions have these numbers of messages. */
async function until(server: Connected, expected: { readonly [id: string]: number }): Promise<void> {
  let found: object = {}
  for (let attempt = 0; attempt < 300; attempt += 1) {
    const { sessions } = (await server.call('list_sessions')).data
    found = Object.fromEntries(
      sessions.map((one: { session_id: string; messages: number }) => [one.session_id, one.messages]),
    )
    if (JSON.stringify(sorted(found)) === JSON.stringify(sorted(expected))) return
    await sleep(50)
  }
  expect(found).toEqual(expected)
}

function sorted(object: object): [string, unknown][] {
  return Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
}

describe('a watched folder', () => {
  it('is imported, and so is what appears and grows later, in folders that appear later too', async () => {
    writeFileSync(file('one.jsonl'), line('one', 1) + line('one', 2))
    writeFileSync(file('notes.txt'), 'no transcript')
    const server = await watching()
    let changes = 0
    server.client.setNotificationHandler('notifications/resources/list_changed', () => {
      changes += 1
    })
    await until(server, { one: 2 })
    appendFileSync(file('one.jsonl'), line('one', 3))
    await until(server, { one: 3 })
    mkdirSync(file('project/deeper'), { recursive: true })
    writeFileSync(file('project/deeper/two.jsonl'), line('two', 1))
    await until(server, { one: 3, two: 1 })
    appendFileSync(file('project/deeper/two.jsonl'), line('two', 2))
    await until(server, { one: 3, two: 2 })
    const found = await server.call('search_history', { query: '"Message 2 of two"' })
    expect(found.data.messages[0]).toMatchObject({ session_id: 'two', position: 2 })
    expect(changes).toBeGreaterThan(1)
    expect(server.errors()).toBe('')
    await server.close()
  })

  it('may hold half a line, which is imported when it is whole', async () => {
    const [first, second] = [line('one', 1), line('one', 2)]
    writeFileSync(file('one.jsonl'), first + second.slice(0, 40))
    const server = await watching()
    await until(server, { one: 1 })
    await sleep(500)
    appendFileSync(file('one.jsonl'), second.slice(40))
    await until(server, { one: 2 })
    expect(server.errors()).toBe('')
    await server.close()
  })

  it('may lose files and folders, and be removed and made again; what was imported stays', async () => {
    mkdirSync(file('a'))
    writeFileSync(file('a/one.jsonl'), line('one', 1))
    writeFileSync(file('two.jsonl'), line('two', 1))
    const server = await watching()
    await until(server, { one: 1, two: 1 })
    rmSync(file('a'), { recursive: true })
    appendFileSync(file('two.jsonl'), line('two', 2))
    await until(server, { one: 1, two: 2 })
    mkdirSync(file('a'))
    writeFileSync(file('a/one.jsonl'), line('one', 1) + line('one', 2))
    await until(server, { one: 2, two: 2 })
    expect(server.errors()).toBe('')
    await server.close()
  })

  it('reports a line that cannot be read once, without its text, and imports the others', async () => {
    const bad = `${line('bad', 1)}{"type":"user", the secret\n${line('bad', 2)}`
    writeFileSync(file('bad.jsonl'), bad)
    writeFileSync(file('good.jsonl'), line('good', 1))
    const server = await watching()
    await until(server, { bad: 2, good: 1 })
    appendFileSync(file('bad.jsonl'), line('bad', 3))
    appendFileSync(file('good.jsonl'), line('good', 2))
    await until(server, { bad: 3, good: 2 })
    await sleep(500)
    await server.close()
    const lines = server.errors().trimEnd().split('\n')
    expect(lines.length).toBe(1)
    expect(lines[0]).toMatch(
      /^undertext mcp: .*bad\.jsonl: skipped, line 2: it is not JSON from character 17 on; the agent skips it too$/m,
    )
    expect(lines[0]).not.toContain('secret')
  })

  it('is imported to its end when the client leaves', async () => {
    writeFileSync(file('one.jsonl'), line('one', 1))
    const server = await watching()
    await until(server, { one: 1 })
    appendFileSync(file('one.jsonl'), line('one', 2))
    await server.close()
    const store = await openStore(db, { env: false })
    expect((await store.sessions.get('one')).messageCount).toBe(2)
    expect((await store.sessions.verify('one')).findings).toEqual([])
    await store.close()
  })

  it('is the only folder that a client may import from, and links do not lead out of it', async () => {
    const outside = newFile('outside.jsonl')
    writeFileSync(outside, line('outside', 1))
    symlinkSync(outside, file('link.jsonl'))
    writeFileSync(file('one.jsonl'), line('one', 1))
    const server = await watching(['--owner', 'ann'])
    await until(server, { one: 1 })
    for (const path of [outside, file('link.jsonl'), file('../x.jsonl')]) {
      const answer = await server.call('import_transcripts', { path })
      expect(answer.text).toMatch(/^(?:WRONG_USE|NOT_THERE): /)
    }
    expect((await server.call('import_transcripts', { path: folder })).data).toMatchObject({
      files: 1,
      sessions: 0,
    })
    expect((await server.call('list_sessions')).data.sessions).toMatchObject([
      { session_id: 'one', owner: 'ann' },
    ])
    await server.close()
  })

  it('may be watched by several servers with one store: each message is stored once', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `s${at}`)
    for (const name of names) writeFileSync(file(`${name}.jsonl`), line(name, 1) + line(name, 2))
    const servers = await Promise.all([watching(), watching(), watching()])
    const expected = (messages: number) => Object.fromEntries(names.map((name) => [name, messages]))
    await until(servers[0]!, expected(2))
    for (let at = 3; at <= 8; at += 1) {
      for (const name of names) appendFileSync(file(`${name}.jsonl`), line(name, at))
      await sleep(150)
    }
    for (const server of servers) await until(server, expected(8))
    for (const server of servers) {
      expect(server.errors()).toBe('')
      await server.close()
    }
    const store = await openStore(db, { env: false })
    for (const name of names) {
      const texts = (await store.getMessages(name)).map(({ content }) => JSON.stringify(content))
      expect(texts.map((text) => /Message (\d)/.exec(text)?.[1])).toEqual([
        '1',
        '2',
        '3',
        '4',
        '5',
        '6',
        '7',
        '8',
      ])
      expect((await store.sessions.verify(name)).findings).toEqual([])
    }
    await store.close()
  })
})
