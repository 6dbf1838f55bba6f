import { appendFileSync, chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { textReporter } from '../../src/cli/commands/import/report.ts'
import { createStyle } from '../../src/cli/output/safe-text.ts'
import { openStore } from '../../src/index.ts'
import type { ImportReport } from '../../src/transfer/index.ts'
import { runCli } from '../support/cli-run.ts'
import { newFolder } from '../support/temporary.ts'

let home: string
beforeEach(() => {
  home = newFolder()
})

const put = (path: string, ...values: readonly unknown[]): void => {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), values.map((value) => `${JSON.stringify(value)}\n`).join(''))
}
const user = (content: string) => ({ role: 'user', content })
const run = (...argv: readonly string[]) =>
  runCli(['import', ...argv], { cwd: home, env: { UNDERTEXT_DB: join(home, '.chats.db') } })
type Told = {
  readonly files: readonly {
    readonly path: string
    readonly error: { readonly code: string } | null
    readonly conversations: readonly { readonly sessionId: string; readonly status: string }[]
  }[]
  readonly folders: readonly object[]
}
/** What became of each file: its path, and its sessions with what became of them. */
const imported = async (...argv: readonly string[]): Promise<string[]> =>
  ((await run(...argv, '--json')).json as Told).files.map(({ path, error, conversations }) => {
    const sessions =
      error?.code ?? conversations.map(({ sessionId, status }) => `${sessionId} ${status}`).join()
    return `${path}: ${sessions}`
  })

/** An entry of Claude Code. */
const entry = (uuid: string, sessionId: string, rest: object = {}) => ({
  type: 'user',
  uuid,
  parentUuid: null,
  sessionId,
  isSidechain: false,
  message: user('Hello.'),
  ...rest,
})

describe('a folder', () => {
  it('is gone through by name, and what is no conversation is passed over', async () => {
    put('logs/b/chat.jsonl', user('one'))
    put('logs/a.jsonl', user('a'), user('b'))
    put('logs/c/chat.jsonl', user('one'), user('two'))
    put('logs/c/note.json', { a: 1 })
    put('logs/c/empty.jsonl')
    for (const hidden of [
      '.git/x.jsonl',
      'node_modules/p/x.jsonl',
      '.hidden.jsonl',
      's/tool-results/x.jsonl',
    ])
      put(`logs/${hidden}`, user('not this'))
    const { exit, err, lines } = await run('logs/')
    expect([exit, err]).toEqual([0, ''])
    expect(lines).toEqual([
      '✓ logs/a.jsonl: plain messages, 2 messages stored as a',
      '✓ logs/b/chat.jsonl: plain messages, 1 message stored as b/chat',
      '✓ logs/c/chat.jsonl: plain messages, 2 messages stored as c/chat',
      '✓ logs/: 5 files: 5 messages in 3 sessions',
      '  not recognized, and skipped: 2 files',
      '    logs/c/empty.jsonl: an empty file',
      '    logs/c/note.json: a JSON object in an unknown form',
    ])
    put('logs/c/chat.jsonl', user('one'), user('two'), user('three'))
    expect((await run('logs')).lines.slice(0, 2)).toEqual([
      '✓ logs/c/chat.jsonl: plain messages, 1 message stored as c/chat, 2 there already',
      '✓ logs: 5 files: 1 message in 1 session, 2 files with nothing new',
    ])
  })

  it('lists its files and what was skipped with --json', async () => {
    put('logs/a.jsonl', user('a'))
    put('logs/b.json', { a: 1 })
    expect((await run('logs', '--json')).json).toMatchObject({
      files: [{ path: 'logs/a.jsonl', file: 'a.jsonl', totals: { imported: 1 }, error: null }],
      folders: [
        {
          path: 'logs',
          files: 2,
          unrecognized: 1,
          named: [{ path: 'logs/b.json', looks: 'a JSON object in an unknown form' }],
        },
      ],
    })
    expect(await imported('logs', '--dry-run', '--prefix', 'p-')).toEqual(['logs/a.jsonl: p-a checked'])
  })

  it('without any conversation is not done: exit 1', async () => {
    put('logs/b.json', { a: 1 })
    mkdirSync(join(home, 'empty'))
    const { exit, lines } = await run('logs')
    expect([exit, lines[0]]).toEqual([1, '✗ logs: 1 file: no conversations found'])
    expect(await run('empty', '--json')).toMatchObject({
      exit: 1,
      json: { files: [], folders: [{ path: 'empty', files: 0, unrecognized: 0, named: [] }] },
    })
  })

  it('keeps nothing out for one bad file, and exits as that file does', async () => {
    put('logs/b.jsonl', user('b'))
    put('logs/a.jsonl', user('a'), { role: 'alien' })
    const { exit, lines } = await run('logs')
    expect(exit).toBe(6)
    expect(lines[0]).toContain('✗ logs/a.jsonl: plain messages, rejected as a')
    expect(lines.slice(-2)).toEqual([
      '✓ logs/b.jsonl: plain messages, 1 message stored as b',
      '✓ logs: 2 files: 1 message in 1 session, 1 conversation rejected',
    ])
    // A file that is named is recognized or refused, as ever.
    put('x.json', { a: 1 })
    expect((await run('logs/b.jsonl', 'x.json')).exit).toBe(6)
  })

  describe('with a file that stays bad', () => {
    const bad = { path: 'logs/bad.jsonl', error: null, totals: { refused: 1 } }
    beforeEach(() => {
      put('logs/bad.jsonl', user('a'), { role: 'alien' })
      put('logs/good.jsonl', user('b'))
    })

    it('exits with 6 once, and with 0 while the file is unchanged', async () => {
      expect(await run('logs')).toMatchObject({ exit: 6 })
      const again = await run('logs')
      expect([again.exit, again.err]).toEqual([0, ''])
      expect(again.lines).toEqual([
        '✓ logs: 2 files: nothing new, 1 conversation rejected before',
        '  rejected before, and unchanged since: 1 file',
        '    logs/bad.jsonl',
      ])
      expect(await run('logs', '--json')).toMatchObject({
        exit: 0,
        json: {
          files: [
            { ...bad, reported: true },
            { path: 'logs/good.jsonl', reported: false },
          ],
        },
      })
      // The same bytes at another time are unchanged; another way to name the folder is no other folder.
      utimesSync(join(home, 'logs/bad.jsonl'), 1, 1)
      expect(await run(join(home, 'logs'))).toMatchObject({ exit: 0 })
      // What is named is asked for.
      expect(await run('logs/bad.jsonl')).toMatchObject({ exit: 6 })
      expect(await run('logs/bad.jsonl', 'logs')).toMatchObject({ exit: 6 })
    })

    it('exits with 6 again when the file has changed, or is refused for another reason', async () => {
      await run('logs')
      put('logs/bad.jsonl', user('a'), { role: 'alien' }, user('c'))
      expect(await run('logs', '--json')).toMatchObject({
        exit: 6,
        json: { files: [{ ...bad, reported: false }, {}] },
      })
      expect(await run('logs')).toMatchObject({ exit: 0 })
      expect(await run('logs', '--prefix', 'p-')).toMatchObject({ exit: 6 })
      expect(await run('logs', '--owner', 'ann')).toMatchObject({ exit: 6 })
      // An own session of that name, and the file repaired: the conflict is new, and exit 4.
      const store = await openStore(join(home, '.chats.db'), { env: false })
      await store.append('bad', [{ role: 'user', content: 'mine' }])
      await store.close()
      put('logs/bad.jsonl', user('a'), user('c'))
      expect(await run('logs')).toMatchObject({ exit: 4 })
      expect(await run('logs')).toMatchObject({ exit: 0 })
    })

    it('has not reported it after a dry run, or when the import ended early', async () => {
      expect(await run('logs', '--dry-run')).toMatchObject({ exit: 6 })
      const early = new AbortController()
      early.abort()
      await runCli(['import', 'logs'], {
        cwd: home,
        env: { UNDERTEXT_DB: join(home, '.chats.db') },
        signal: early.signal,
      })
      expect(await run('logs')).toMatchObject({ exit: 6 })
      expect(await run('logs', '--dry-run')).toMatchObject({ exit: 0 })
    })

    it('lists places that --skip-bad left out once', async () => {
      expect((await run('logs', '--skip-bad')).lines[1]).toBe(
        '  line 2: message.role must be one of system, user, assistant, tool',
      )
      expect((await run('logs', '--skip-bad')).lines).toEqual(['✓ logs: 2 files: nothing new'])
    })

    it('reports it again where the store cannot keep marks', async () => {
      await run('logs/good.jsonl')
      const database = new BetterSqlite3(join(home, '.chats.db'))
      database.exec(
        "create trigger no_marks before insert on undertext_meta begin select raise(abort, 'no'); end",
      )
      database.close()
      expect(await run('logs')).toMatchObject({ exit: 6, err: '' })
      expect(await run('logs')).toMatchObject({ exit: 6, err: '' })
    })
  })

  it('names refused files however many others there are', async () => {
    for (let at = 0; at < 201; at++) put(`logs/a${at}.jsonl`, user('a'))
    put('logs/z.jsonl', user('a'), { role: 'alien' })
    const { lines } = await run('logs')
    expect(lines.filter((line) => line.startsWith('✗'))).toEqual([
      '✗ logs/z.jsonl: plain messages, rejected as z: one place cannot be read; --skip-bad stores the rest',
    ])
    expect(lines.at(-2)).toBe('  and 1 more file; --json lists all')
  })

  it('takes only files of a kind with --from', async () => {
    put('logs/a.jsonl', user('a'))
    put('logs/s.jsonl', entry('u', 's'))
    put('logs/ui_messages.json', [{ ts: 1, type: 'say', say: 'text' }])
    expect(await imported('logs', '--from', 'claude-code')).toEqual(['logs/s.jsonl: s imported'])
  })

  it('has no one name', async () => {
    put('logs/a.jsonl', user('a'))
    expect(await run('logs', '--session', 'x')).toMatchObject({ exit: 2, out: '' })
  })

  it.skipIf(process.platform === 'win32')(
    'follows no links to folders, and to files only elsewhere',
    async () => {
      put('logs/a.jsonl', user('a'))
      put('elsewhere/b.jsonl', user('b'))
      symlinkSync(join(home, 'logs'), join(home, 'logs', 'again'))
      symlinkSync(join(home, 'elsewhere'), join(home, 'logs', 'elsewhere'))
      symlinkSync(join(home, 'logs', 'a.jsonl'), join(home, 'logs', 'latest.jsonl'))
      symlinkSync(join(home, 'elsewhere', 'b.jsonl'), join(home, 'logs', 'link.jsonl'))
      symlinkSync(join(home, 'nothing'), join(home, 'logs', 'nothing.jsonl'))
      symlinkSync(join(home, 'logs'), join(home, 'link'))
      expect(await imported('link', '--no-follow')).toEqual(['link/a.jsonl: a imported'])
      expect(await imported('link')).toEqual(['link/a.jsonl: a unchanged', 'link/link.jsonl: link imported'])
      // A link that is named is meant.
      expect(await imported('logs/link.jsonl', '--no-follow', '--prefix', 'x/')).toEqual([
        'logs/link.jsonl: x/link imported',
      ])
    },
  )

  it.skipIf(process.platform === 'win32')('ends where links lead in a circle', async () => {
    put('logs/a.jsonl', user('a'))
    symlinkSync('b', join(home, 'logs', 'c'))
    symlinkSync('c', join(home, 'logs', 'b'))
    symlinkSync('.', join(home, 'logs', 'here'))
    symlinkSync('itself.jsonl', join(home, 'logs', 'itself.jsonl'))
    for (const more of [['--no-follow'], ['--prefix', 'x/']])
      expect(await imported('logs', ...more)).toHaveLength(1)
  })

  it.skipIf(process.platform === 'win32' || process.getuid?.() === 0)(
    'reports what it may not read, and continues',
    async () => {
      put('logs/a/x.jsonl', user('a'))
      put('logs/b.jsonl', user('b'))
      chmodSync(join(home, 'logs/a'), 0)
      try {
        expect(await imported('logs')).toEqual(['logs/a: FILE_UNREADABLE', 'logs/b.jsonl: b imported'])
        expect((await run('logs')).exit).toBe(3)
      } finally {
        chmodSync(join(home, 'logs/a'), 0o755)
      }
    },
  )

  it('stops at Ctrl-C, and reports it in complete JSON', async () => {
    put('logs/a.jsonl', user('a'))
    const aborted = { cwd: home, env: { UNDERTEXT_DB: join(home, '.chats.db') }, signal: AbortSignal.abort() }
    expect(await runCli(['import', 'logs', '--json'], aborted)).toMatchObject({
      exit: 130,
      json: { error: { code: 'INTERRUPTED' } },
    })
  })

  it('ends when the store cannot be used any more, with what was done before', async () => {
    put('logs/a.jsonl', user('a'))
    await run('logs')
    put('logs/b.jsonl', user('b'))
    put('logs/c.jsonl', user('c'))
    const database = new BetterSqlite3(join(home, '.chats.db'))
    database.exec(
      "create trigger broken before insert on undertext_messages begin select raise(abort, 'no'); end",
    )
    database.close()
    const { json, exit } = await run('logs', 'logs/c.jsonl', '--json')
    expect(exit).toBe(5)
    expect(json).toMatchObject({
      files: [
        { path: 'logs/a.jsonl', error: null, totals: { unchanged: 1 } },
        { path: 'logs/b.jsonl', error: { code: 'STORE_CORRUPT' } },
      ],
      folders: [{ path: 'logs', files: 2, unrecognized: 0 }],
    })
    const { lines, err } = await run('logs', 'logs/c.jsonl')
    expect(lines).toEqual(['✗ logs: 2 files: nothing new, then the import ended'])
    expect(err).toContain('The store is damaged')
  })

  it('has one line for each session on a terminal of 80 columns, and whole paths and ids in a pipe', async () => {
    const project = 'projects/-home-someone-work-a-project-with-a-long-name'
    const ids = [1, 2, 3].map((nth) => `0d4e5f60-111${nth}-4222-8333-abcdefabcdef`)
    for (const id of ids)
      put(`${project}/${id}.jsonl`, entry('u', id), entry('v', id, { parentUuid: 'u' }), {
        ...entry('w', id, { parentUuid: 'v' }),
        type: 'system',
      })
    put(`${project}/list.json`, [{ messages: [user('a')] }, { messages: [user('b')] }])
    put(`${project}/z-this-one-is-refused-for-a-bad-line.jsonl`, user('a'), { role: 'alien' })
    const piped = (await run('projects', '--dry-run')).lines
    expect(piped[0]).toBe(
      `✓ ${project}/${ids[0]}.jsonl: a session of Claude Code, 2 messages would be stored as ${ids[0]}`,
    )
    const { lines } = await runCli(['import', 'projects'], {
      cwd: home,
      env: { UNDERTEXT_DB: join(home, '.chats.db') },
      columns: 80,
    })
    expect(lines.slice(0, 3)).toEqual(ids.map((id) => `✓ ${id}: 2 messages`))
    expect(lines[3]).toBe('✓ projects/-home-someone…-a-long-name/list.json: 2 messages stored in 2 sessions')
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
  })

  it('of hundreds of files lists two hundred', async () => {
    put('a.jsonl', user('a'))
    const { files } = (await run('a.jsonl', '--json')).json as { readonly files: readonly ImportReport[] }
    const written: string[] = []
    const out = { isTerminal: false, columns: 80, write: (text: string) => void written.push(text) }
    const reporter = textReporter({ out, err: out, style: createStyle(false) })
    for (let at = 0; at < 250; at++) reporter.file({ path: `logs/${at}`, report: files[0]! }, true)
    reporter.folder({ path: 'logs', files: 250, unrecognized: 0, named: [] }, true)
    const lines = written.join('').trimEnd().split('\n')
    expect(lines).toHaveLength(202)
    expect(lines.slice(-2)).toEqual([
      '  and 50 more files; --json lists all',
      '✓ logs: 250 files: 250 messages in 250 sessions',
    ])
  })
})

describe('folders of agents', () => {
  it('Claude Code: sessions, and their subagents whose short ids meet', async () => {
    const agent = { isSidechain: true, agentId: 'a1' }
    put('projects/-work/s-1.jsonl', entry('1', 's-1'))
    put('projects/-work/s-1/subagents/agent-a1.jsonl', entry('2', 's-1', agent))
    put('projects/-work/s-1/subagents/agent-a1.meta.json', { agentType: 'Explore', description: 'x' })
    put('projects/-work/s-1/subagents/journal.jsonl', { type: 'started', agentId: 'a1' })
    put('projects/-work/s-1/tool-results/r.txt', entry('3', 's-9'))
    put('projects/-work/sessions-index.json', {
      version: 1,
      entries: [{ sessionId: 's-1', messageCount: 1 }],
    })
    put('projects/-work/s-2.jsonl', entry('4', 's-2'))
    put('projects/-work/s-2/subagents/agent-a1.jsonl', entry('5', 's-2', agent))
    const files = (status: string) => [
      `projects/-work/s-1/subagents/agent-a1.jsonl: agent-a1 ${status}`,
      `projects/-work/s-1.jsonl: s-1 ${status}`,
      `projects/-work/s-2/subagents/agent-a1.jsonl: s-2/agent-a1 ${status}`,
      `projects/-work/s-2.jsonl: s-2 ${status}`,
    ]
    expect(await imported('projects')).toEqual(files('imported'))
    expect(await imported('projects')).toEqual(files('unchanged'))
    expect(await imported('projects', '--dry-run')).toEqual(files('checked'))
    const agents = ['s-1', 's-2'].map((session) => `projects/-work/${session}/subagents/agent-a1.jsonl`)
    expect(await imported(...agents)).toEqual([files('unchanged')[0], files('unchanged')[2]])
  })

  it('Roo Code: tasks by their folders, whatever else lies in them', async () => {
    const said = (ts: number) => ({ role: 'user', content: `m${ts}`, ts })
    for (const task of ['t-1', 't-2']) {
      put(`tasks/${task}/api_conversation_history.json`, [said(1), said(2)])
      put(`tasks/${task}/ui_messages.json`, [{ ts: 1, type: 'say', say: 'text', text: 'm1' }])
      put(`tasks/${task}/task_metadata.json`, { files_in_context: [] })
      put(`tasks/${task}/history_item.json`, { id: task, ts: 1, task: 'm1' })
      put(`tasks/${task}/command-output/cmd-1.txt`, user('printed'))
      put(`tasks/${task}/checkpoints/.git/config.json`, user('no'))
    }
    put('tasks/_index.json', { version: 1, updatedAt: 1, entries: [{ id: 't-1', ts: 1 }] })
    put('tasks/copies/one.json', [said(1)])
    put('tasks/copies/two.json', [said(1)])
    const { json, exit } = await run('tasks', '--json')
    expect(exit).toBe(0)
    expect((json as Told).folders).toMatchObject([{ files: 11, unrecognized: 7 }])
    expect(await imported('tasks')).toEqual([
      'tasks/copies/one.json: copies/one unchanged',
      'tasks/copies/two.json: copies/two unchanged',
      'tasks/t-1/api_conversation_history.json: t-1 unchanged',
      'tasks/t-2/api_conversation_history.json: t-2 unchanged',
    ])
  })

  it('pi: sessions by the ids in their headers', async () => {
    for (const id of ['p-1', 'p-2'])
      put(
        `sessions/--work--/2026-01-01_${id}.jsonl`,
        { type: 'session', version: 3, id, cwd: '/work' },
        { type: 'message', id: 'a', parentId: null, message: user(id) },
      )
    expect(await imported('sessions')).toEqual([
      'sessions/--work--/2026-01-01_p-1.jsonl: p-1 imported',
      'sessions/--work--/2026-01-01_p-2.jsonl: p-2 imported',
    ])
  })
})

describe('the projects of Claude Code', () => {
  const SESSION = '0d4e5f60-1111-4222-8333-abcdefabcdef'
  /** Entries said at some minutes of a day in 2025, each after the one before. */
  const said = (minutes: readonly number[], more: object = {}) =>
    minutes.map((minute, at) => {
      const role = at % 2 === 0 ? 'user' : 'assistant'
      return {
        ...{
          type: role,
          uuid: `${SESSION}-${minute}`,
          sessionId: SESSION,
          isSidechain: false,
          cwd: '/home/ann/app',
        },
        parentUuid: at === 0 ? null : `${SESSION}-${minutes[at - 1]}`,
        timestamp: new Date(Date.UTC(2025, 4, 1, 10, minute)).toISOString(),
        message: { role, content: [{ type: 'text', text: `Words of ${minute}` }] },
        ...more,
      }
    })
  const bookkeeping = [
    { type: 'mode', mode: 'normal', sessionId: SESSION },
    { type: 'queue-operation', operation: 'enqueue', sessionId: SESSION, content: 'x' },
  ]
  const listed = async () =>
    (await runCli(['sessions', '--json', '--db', join(home, '.chats.db')])).json as {
      readonly sessions: readonly {
        readonly id: string
        readonly title: string | null
        readonly parent: string | null
        readonly createdAt: number
        readonly updatedAt: number
      }[]
    }

  it('have titles, times and subagents below their session', async () => {
    put(`projects/-home-ann-app/${SESSION}.jsonl`, ...bookkeeping, ...said([1, 2, 3, 9]))
    const agent = { isSidechain: true, agentId: 'a1b2' }
    put(`projects/-home-ann-app/${SESSION}/subagents/agent-a1b2.jsonl`, ...said([4, 5], agent))
    const { out } = await run('projects')
    expect(out).toContain(`4 messages stored as ${SESSION}`)
    expect(out).toContain('2 messages stored as agent-a1b2')
    const { sessions } = await listed()
    const at = (minute: number) => Date.UTC(2025, 4, 1, 10, minute)
    expect(sessions).toMatchObject([
      { id: SESSION, title: 'Words of 1', parent: null, createdAt: at(1), updatedAt: at(9) },
      { id: 'agent-a1b2', title: 'Words of 4', parent: SESSION, createdAt: at(4), updatedAt: at(5) },
    ])
    const { lines } = await runCli(['sessions', '--db', join(home, '.chats.db')])
    expect(lines[2]).toMatch(/^agent-a1b2 +└ Words of 4/)
  })

  it('are imported while they are written: a line that is not finished waits', async () => {
    const path = `projects/p/${SESSION}.jsonl`
    const [first, second] = said([1, 2])
    put(path, first)
    const line = `${JSON.stringify(second)}\n`
    appendFileSync(join(home, path), line.slice(0, 60))
    expect(await run('projects')).toMatchObject({ exit: 0 })
    appendFileSync(join(home, path), line.slice(60))
    const { out } = await run('projects')
    expect(out).toContain(`1 message stored as ${SESSION}, 1 there already`)
    expect(out).not.toContain('bad place')
    // The session was changed when its newest message was said, not when it was imported.
    expect((await listed()).sessions).toMatchObject([{ id: SESSION, updatedAt: Date.UTC(2025, 4, 1, 10, 2) }])
  })

  it('count their messages and those that a model receives, without bookkeeping lines', async () => {
    const words = said([1, 2, 3, 4])
    const [last] = said([5])
    const boundary = { ...last, type: 'system', subtype: 'compact_boundary', uuid: 'b', parentUuid: null }
    const summary = { ...last, uuid: 's', parentUuid: 'b', isCompactSummary: true }
    const lines = [...words, { ...boundary, logicalParentUuid: words[3]!.uuid }, summary]
    put(`projects/p/${SESSION}.jsonl`, ...bookkeeping, ...lines, { ...said([6])[0], parentUuid: 's' })
    const { out } = await run('projects', '--dry-run')
    expect(out).toContain(`5 messages would be stored as ${SESSION}`)
    expect((await run('projects')).out).toContain(`5 messages, 2 visible, stored as ${SESSION}, 1 compaction`)
    // Two lines before the words, the boundary, and the summary's own line.
    const counts = { messages: 5, bookkeeping: 4, visible: 2 }
    expect((await listed()).sessions).toMatchObject([counts])
    const at = ['--db', join(home, '.chats.db')]
    expect((await runCli(['stats', SESSION, '--json', ...at])).json).toMatchObject(counts)
    expect((await runCli(['stats', SESSION, ...at])).out).toContain(
      '5 messages, 4 lines of bookkeeping, 2 rows in the view',
    )
    expect((await runCli(['show', SESSION, ...at])).out).toContain('5 messages stored, 2 rows in the view')
  })

  it('get the title that Claude Code gives them later, unless they were given one here', async () => {
    const lines = said([1, 2])
    const retitled = [...lines, { type: 'ai-title', aiTitle: 'Made up', sessionId: SESSION }]
    const titles = async () => (await listed()).sessions.map(({ title }) => title)
    put(`projects/p/${SESSION}.jsonl`, ...lines)
    await run('projects')
    expect(await titles()).toEqual(['Words of 1'])
    put(`projects/p/${SESSION}.jsonl`, ...retitled)
    await run('projects')
    expect(await titles()).toEqual(['Made up'])
    const store = await openStore(join(home, '.chats.db'))
    await store.sessions.update(SESSION, { title: 'Mine' })
    await store.close()
    const again = { type: 'ai-title', aiTitle: 'Made up anew', sessionId: SESSION }
    put(`projects/p/${SESSION}.jsonl`, ...retitled, again)
    await run('projects')
    expect(await titles()).toEqual(['Mine'])
  })

  it('@ is the session with the newest message, independent of the last import', async () => {
    put('projects/p/b.jsonl', ...said([30, 40]))
    put('projects/p/c.jsonl', ...said([10, 20]).map((one) => ({ ...one, uuid: `c${one.uuid}` })))
    await run('projects')
    const show = await runCli(['show', '@', '--json', '--db', join(home, '.chats.db')])
    expect(show.json).toMatchObject({ session: 'b' })
  })
})
