import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { appendFile, symlink, truncate, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isUndertextError, openStore, type Store, type UndertextError } from '../../src/index.ts'
import { type ImportFileOptions, type ImportProgress, importFile } from '../../src/transfer/index.ts'
import { fileWith, folder } from './support/files.ts'

let store: Store
beforeEach(async () => {
  store = await openStore(':memory:')
})
afterEach(() => store.close())

const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })
/** As many turns as asked for, each a question and an answer. */
const turns = (count: number) =>
  Array.from({ length: count }, (_, i) => [user(`question ${i}`), assistant(`answer ${i}`)]).flat()

const load = (path: string, options?: ImportFileOptions) => importFile(store, path, options)

async function textsOf(sessionId: string): Promise<unknown[]> {
  const messages = await store.getMessages(sessionId, { limit: 1_000 })
  return messages.map(({ content }) =>
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : part.type)),
  )
}
const sessionIds = async (): Promise<string[]> => (await store.sessions.list()).map(({ id }) => id).toSorted()

async function failure(work: Promise<unknown>): Promise<UndertextError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!isUndertextError(error)) throw new Error('nothing was refused', { cause: error })
  return error
}

describe('a file with one conversation', () => {
  it('becomes a session that is called after the file', async () => {
    const path = await fileWith('my.chat.jsonl', turns(2))
    expect(await load(path)).toEqual({
      file: 'my.chat.jsonl',
      size: turns(2).reduce((size, message) => size + JSON.stringify(message).length + 1, 0),
      digest: createHash('sha256').update(readFileSync(path)).digest('hex'),
      source: 'messages',
      dryRun: false,
      conversations: [
        {
          sessionId: 'my.chat',
          status: 'imported',
          messages: 4,
          existing: 0,
          bookkeeping: 0,
          visible: 4,
          compactions: { applied: 0, known: 0, refused: 0, refusals: [] },
          skipped: 0,
          problemCount: 0,
          noteCount: 0,
          problems: [],
          notes: [],
        },
      ],
      totals: {
        conversations: 1,
        imported: 1,
        extended: 0,
        unchanged: 0,
        refused: 0,
        empty: 0,
        checked: 0,
        messages: 4,
        existing: 0,
        bookkeeping: 0,
        skipped: 0,
        problems: 0,
        notes: 0,
        compactionsApplied: 0,
        compactionsRefused: 0,
      },
    })
    expect(await textsOf('my.chat')).toEqual(['question 0', 'answer 0', 'question 1', 'answer 1'])
    expect((await store.sessions.verify('my.chat')).findings).toEqual([])
  })

  it('adds nothing when it is imported again, and its end when it has grown', async () => {
    const path = await fileWith('chat.jsonl', turns(2))
    await load(path)
    const [again] = (await load(path)).conversations
    expect(again).toMatchObject({ status: 'unchanged', messages: 0, existing: 4 })
    await appendFile(path, `${JSON.stringify(user('and then?'))}\n`)
    const [grown] = (await load(path)).conversations
    expect(grown).toMatchObject({ status: 'extended', messages: 1, existing: 4 })
    expect((await textsOf('chat')).at(-1)).toBe('and then?')
  })

  it('is rejected when its session has other content by now', async () => {
    const path = await fileWith('chat.jsonl', turns(2))
    await load(path)
    await writeFile(path, [user('changed'), ...turns(3)].map((line) => JSON.stringify(line)).join('\n'))
    const { conversations, totals } = await load(path)
    expect(conversations[0]).toMatchObject({ status: 'refused', messages: 0 })
    expect(conversations[0]!.why).toContain('differs from the import')
    expect(totals.refused).toBe(1)
    expect(await textsOf('chat')).toHaveLength(4)
  })

  it('goes under the name, for the owner and with the actor that are given', async () => {
    const path = await fileWith('chat.jsonl', turns(1))
    await load(path, { session: 'mine', owner: 'ann', actor: 'cli', reason: 'to keep' })
    expect(await store.sessions.get('mine')).toMatchObject({ owner: 'ann' })
    const [entry] = await store.sessions.audit('mine')
    expect(entry).toMatchObject({ event: 'imported', actor: 'cli', detail: { reason: 'to keep' } })
  })

  it('is only checked on request', async () => {
    const path = await fileWith('chat.jsonl', turns(2))
    const { dryRun, conversations } = await load(path, { dryRun: true })
    expect(dryRun).toBe(true)
    expect(conversations[0]).toMatchObject({ status: 'checked', messages: 4, existing: 0 })
    expect(await sessionIds()).toEqual([])
    await load(path)
    const stored = await load(path, { dryRun: true })
    expect(stored.conversations[0]).toMatchObject({ status: 'checked', messages: 0, existing: 4 })
    await writeFile(
      path,
      turns(3)
        .map((line) => JSON.stringify(line))
        .join('\n'),
    )
    const grown = await load(path, { dryRun: true })
    expect(grown.conversations[0]).toMatchObject({ status: 'checked', messages: 2, existing: 4 })
    await store.append('chat', [{ role: 'user', content: 'something else' }])
    const refused = await load(path, { dryRun: true })
    expect(refused.conversations[0]).toMatchObject({ status: 'refused', code: 'IMPORT_DIVERGED' })
    expect((await store.sessions.get('chat')).messageCount).toBe(5)
  })
})

describe('a bad place', () => {
  const BAD = '{"role":"user","content":'
  const lines = turns(2).map((message) => JSON.stringify(message))
  const withBad = (at: number): string => `${lines.toSpliced(at, 0, BAD).join('\n')}\n`

  it.each([
    ['first', 0],
    ['in the middle', 2],
    ['last', 4],
  ])('%s: nothing is stored, or all but it', async (_, at) => {
    const path = await fileWith('chat.jsonl', withBad(at))
    const refused = await load(path)
    expect(refused.conversations).toMatchObject([
      {
        status: 'refused',
        why: 'one place cannot be read',
        messages: 0,
        skipped: 0,
        problemCount: 1,
        problems: [{ line: at + 1, why: expect.stringMatching(/^it is not JSON/) }],
      },
    ])
    expect(await sessionIds()).toEqual([])

    const { conversations, totals } = await load(path, { skipBad: true })
    expect(conversations[0]).toMatchObject({ status: 'imported', messages: 4, skipped: 1, problemCount: 1 })
    expect(totals).toMatchObject({ skipped: 1, problems: 1 })
    expect(await textsOf('chat')).toEqual(['question 0', 'answer 0', 'question 1', 'answer 1'])
  })

  it('the file ends within: it is reported', async () => {
    const path = await fileWith('chat.jsonl', `${lines.join('\n')}\n${BAD}`)
    const { conversations } = await load(path)
    expect(conversations[0]).toMatchObject({
      status: 'refused',
      problems: [{ line: 5, why: 'the file ends within it' }],
    })
  })

  it('that the store would refuse has its line as well', async () => {
    const odd = { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 7 }] }
    const path = await fileWith('chat.jsonl', [...turns(1), odd, user('behind')])
    expect((await load(path)).conversations[0]).toMatchObject({ status: 'refused', problems: [{ line: 3 }] })
    expect((await load(path, { skipBad: true })).conversations[0]).toMatchObject({ messages: 3, skipped: 1 })
    expect(await textsOf('chat')).toEqual(['question 0', 'answer 0', 'behind'])
  })

  it.each([
    ['null', null],
    ['a text', 'hello'],
    ['a list', []],
  ])('a message that is %s, also before messages without a format', async (_, value) => {
    const path = await fileWith(
      'flat.json',
      JSON.stringify([value, { role: 'tool_call', content: '{}', tool: 'f' }]),
    )
    const { conversations } = await load(path)
    expect(conversations).toMatchObject([{ status: 'refused', problemCount: 1, problems: [{ element: 1 }] }])
    expect(await sessionIds()).toEqual([])
    expect((await load(path, { skipBad: true })).totals).toMatchObject({ imported: 1, messages: 1 })
  })

  it('a message of more than 10,000 fields', async () => {
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]))
    const path = await fileWith('wide.json', [
      { ...user('as many as it may have'), ...fields(9_998) },
      { ...user('one more'), ...fields(9_999) },
    ])
    const { conversations } = await load(path)
    expect(conversations[0]).toMatchObject({
      status: 'refused',
      problems: [{ why: expect.stringContaining('must have at most 10000 fields') }],
    })
    expect((await load(path, { skipBad: true })).conversations[0]).toMatchObject({ messages: 1, skipped: 1 })
  })

  it('in one conversation leaves the others alone', async () => {
    const bad = { id: 'bad', messages: [...turns(1), { role: 'alien', content: 'x' }] }
    const path = await fileWith('many.jsonl', [
      { id: 'first', messages: turns(1) },
      bad,
      { id: 'third', messages: turns(3) },
    ])
    const { conversations } = await load(path)
    expect(conversations.map(({ sessionId, status }) => [sessionId, status])).toEqual([
      ['first', 'imported'],
      ['bad', 'refused'],
      ['third', 'imported'],
    ])
    expect(conversations[1]!.problems).toEqual([{ line: 2, element: 3, why: expect.any(String) }])
    expect(await sessionIds()).toEqual(['first', 'third'])
  })

  it('is counted however many there are, and twenty are listed', async () => {
    const path = await fileWith(
      'chat.jsonl',
      `${JSON.stringify(user('good'))}\n`.repeat(40) + 'bad\n'.repeat(30),
    )
    const { conversations } = await load(path)
    expect(conversations[0]!.problemCount).toBe(30)
    expect(conversations[0]!.problems).toHaveLength(20)
    expect(conversations[0]!.problems[0]!.line).toBe(41)
  })

  it('may be zeros that a machine left which went down', async () => {
    const zeros = '\0'.repeat(300)
    const [last] = lines.slice(-1)
    const path = await fileWith('chat.jsonl', `${lines.slice(0, -1).join('\n')}\n${zeros}\n${last}\n${zeros}`)
    const { problems, status } = (await load(path)).conversations[0]!
    expect({ status, problems }).toEqual({
      status: 'refused',
      problems: [
        { line: 4, why: 'it contains only zeros' },
        { line: 6, why: 'the file ends within it' },
      ],
    })
    expect((await load(path, { skipBad: true })).conversations[0]).toMatchObject({ messages: 4, skipped: 2 })
  })

  it('that is nested too deep is one as well', async () => {
    const deep = `{"role":"user","content":${'['.repeat(300_000)}${']'.repeat(300_000)}}`
    const path = await fileWith('chat.jsonl', `${lines.join('\n')}\n${deep}\n`)
    const { conversations } = await load(path)
    expect(conversations[0]).toMatchObject({ status: 'refused', problems: [{ line: 5 }] })
    expect(conversations[0]!.problems[0]!.why.length).toBeLessThan(200)
    expect((await load(path, { skipBad: true })).conversations[0]).toMatchObject({ messages: 4, skipped: 1 })
  })

  it('is not reported because a field has an unusual name', async () => {
    const text =
      '{"__proto__":{"a":1},"title":"T","messages":[{"role":"user","content":"x","__proto__":{"b":2}}]}'
    const path = await fileWith('chat.json', text)
    expect((await load(path)).conversations[0]).toMatchObject({ status: 'imported', messages: 1 })
    const { title, metadata } = await store.sessions.get('chat')
    expect(title).toBe('T')
    expect(JSON.stringify(metadata)).toContain('"__proto__":{"a":1}')
  })

  it('is never quoted', async () => {
    const path = await fileWith(
      'chat.jsonl',
      `${lines.join('\n')}\nmy secret words\n{"role":"my secret"}\n{"my \\"secret":1}\n`,
    )
    const report = await load(path)
    expect(JSON.stringify(report)).not.toContain('secret')
    expect(report.conversations[0]!.problems.at(-1)).toEqual({
      line: 7,
      why: 'message unknown key of 10 characters',
    })
  })

  it('all there is: nothing is stored with skipBad either', async () => {
    const path = await fileWith('chat.jsonl', 'bad\n'.repeat(2))
    const { conversations } = await load(path, { source: 'messages', skipBad: true })
    expect(conversations[0]).toMatchObject({ status: 'refused', why: 'none of it can be read' })
  })
})

describe('a file with several conversations', () => {
  const many = [{ messages: turns(1) }, { id: 'own', messages: turns(2) }, { messages: [] }]

  it('calls them by their ids, else by its name and their place', async () => {
    const { conversations } = await load(await fileWith('many.jsonl', many), { prefix: 'old/' })
    expect(conversations.map(({ sessionId, status }) => [sessionId, status])).toEqual([
      ['old/many-1', 'imported'],
      ['old/own', 'imported'],
      ['old/many-3', 'empty'],
    ])
    expect(await sessionIds()).toEqual(['old/many-1', 'old/own'])
  })

  it('does not take one name for all of them', async () => {
    const path = await fileWith('many.jsonl', many)
    expect((await failure(load(path, { session: 'one' }))).code).toBe('INVALID_INPUT')
    expect(await sessionIds()).toEqual([])
  })

  it('is imported again without adding anything, and extended each by its end', async () => {
    const path = await fileWith('many.jsonl', many)
    await load(path)
    expect((await load(path)).totals).toMatchObject({ unchanged: 2, messages: 0, existing: 6 })
    const longer = [many[0]!, { id: 'own', messages: turns(3) }, many[2]!]
    await writeFile(path, longer.map((line) => JSON.stringify(line)).join('\n'))
    expect((await load(path)).totals).toMatchObject({ unchanged: 1, extended: 1, messages: 2, existing: 6 })
  })

  it('stores long ones as well, and knows them again', async () => {
    const long = Array.from({ length: 20_500 }, (_, i) => user(`${i}`))
    const path = await fileWith('many.jsonl', [
      { id: 'long', messages: long },
      { id: 'short', messages: turns(1) },
    ])
    expect((await load(path)).conversations).toMatchObject([
      { sessionId: 'long', status: 'imported', messages: 20_500 },
      { sessionId: 'short', status: 'imported', messages: 2 },
    ])
    expect((await load(path)).totals).toMatchObject({ unchanged: 2, messages: 0, existing: 20_502 })
  })

  it('stores branches of ChatGPT’s as sessions on request', async () => {
    const said = (role: string, words: string) => ({
      author: { role },
      content: { content_type: 'text', parts: [words] },
    })
    const node = (id: string, parent: string | null, message: object) => ({ id, parent, message })
    const talk = {
      conversation_id: 'talk',
      title: 'T',
      current_node: 'b',
      mapping: {
        ask: node('ask', null, said('user', 'q')),
        a: node('a', 'ask', said('assistant', 'one')),
        b: node('b', 'ask', said('assistant', 'two')),
      },
    }
    const path = await fileWith('conversations.json', JSON.stringify([talk]))
    const plain = await load(path)
    expect(plain.conversations).toMatchObject([{ sessionId: 'talk', messages: 2, noteCount: 1 }])
    const all = await load(path, { branches: true })
    expect(all.conversations).toMatchObject([
      { sessionId: 'talk', status: 'unchanged' },
      { sessionId: 'talk/a', status: 'imported', branchOf: 'talk', messages: 2 },
    ])
    expect(await store.sessions.get('talk')).toMatchObject({ title: 'T', provider: 'openai' })
    expect(await textsOf('talk/a')).toEqual([['q'], ['one']])
  })
})

describe('a file whose name gives no hint', () => {
  it('may be called otherwise, but for what has an id of its own', async () => {
    const path = await fileWith('chat.jsonl', turns(1))
    expect((await load(path, { name: 'a/b', prefix: 'p-' })).conversations).toMatchObject([
      { sessionId: 'p-a/b' },
    ])
    const many = await fileWith('many.jsonl', [{ messages: turns(1) }, { id: 'own', messages: turns(1) }])
    expect((await load(many, { name: 'n' })).conversations).toMatchObject([
      { sessionId: 'n-1' },
      { sessionId: 'own' },
    ])
  })

  it('may have to be of the kind that is named', async () => {
    const path = await fileWith('chat.jsonl', turns(1))
    const error = await failure(load(path, { source: 'pi', checkSource: true }))
    expect(error).toMatchObject({
      code: 'FILE_UNRECOGNIZED',
      facts: { looks: expect.stringContaining('JSONL') },
    })
    expect(await load(path, { source: 'messages', checkSource: true })).toMatchObject({ source: 'messages' })
    expect(await load(path, { checkSource: true, session: 'other' })).toMatchObject({ source: 'messages' })
    const history = await fileWith('x.jsonl', [{ type: 'header', format: 'undertext history' }])
    expect(await failure(load(history, { source: 'messages', checkSource: true }))).toMatchObject({
      code: 'FILE_UNRECOGNIZED',
    })
  })
})

describe('a file that is no transcript', () => {
  it.each([
    ['empty.jsonl', '', 'an empty file'],
    ['blank.json', ' \n ', 'an empty file'],
    ['page.html', '<html>secret</html>', 'text that is not JSON'],
    ['store.db', Buffer.from('SQLite format 3\0rest'), 'a SQLite database (open a store with --db)'],
    ['a.gz', Buffer.from([0x1f, 0x8b, 8, 0]), 'a gzip file (unpack it first)'],
    ['a.zip', Buffer.from('PK\x03\x04'), expect.stringMatching(/^a zip archive/)],
    ['a.bin', Buffer.from([1, 2, 0, 3]), 'a binary file'],
    ['bare-utf16.json', Buffer.from('[{}]', 'utf16le'), 'a binary file'],
    ['utf16.json', Buffer.from('\ufeff[]', 'utf16le'), 'text in UTF-16 (save it as UTF-8 first)'],
    ['numbers.json', '[1,2]', 'a JSON list of plain values in an unknown form'],
    ['none.json', '[]', 'an empty JSON list'],
    ['package.json', '{"name":"secret"}', 'a JSON object in an unknown form'],
    ['log.jsonl', '{"level":1}\n{"level":2}\n', 'JSONL in an unknown form'],
    [
      'agents.json',
      '[{"role":"user","content":"secret"},{"type":"function_call","callId":"c","name":"f","arguments":"{}"},{"type":"function_call_result","callId":"c","name":"f","output":"x"}]',
      "items of OpenAI's Agents SDK, which fromAgentItems reads",
    ],
  ])('%s is refused by what it looks like', async (name, content, looks) => {
    const path = await fileWith(name, content)
    const error = await failure(load(path))
    expect(error.code).toBe('FILE_UNRECOGNIZED')
    expect(error.facts).toEqual({ file: path, looks })
    expect(error.message).not.toContain('secret')
  })

  it('that does not exist, or is a folder, is reported as such', async () => {
    const place = await folder()
    expect((await failure(load(`${place}/none.jsonl`))).message).toContain('there is no such file')
    expect((await failure(load(place))).message).toContain('it is a folder')
  })

  it.skipIf(process.platform === 'win32')('that is a pipe without a writer is rejected at once', async () => {
    const pipe = `${await folder()}/pipe`
    execFileSync('mkfifo', [pipe])
    expect((await failure(load(pipe))).facts).toEqual({ file: pipe, detail: 'it is not a regular file.' })
  })

  it('refuses options that cannot be', async () => {
    const path = await fileWith('chat.jsonl', turns(1))
    expect((await failure(load(path, { skipbad: true } as never))).code).toBe('INVALID_INPUT')
    expect((await failure(importFile({} as never, path))).code).toBe('INVALID_INPUT')
  })
})

describe('while it is read', () => {
  /** The store, whose imports go through `through`. */
  const importing = (through: Store['sessions']['import']): Pick<Store, 'sessions'> => ({
    sessions: Object.assign(Object.create(store.sessions) as Store['sessions'], {
      get: store.sessions.get.bind(store.sessions),
      import: through,
    }),
  })
  /** Calls `then` once, between the check and the writing. */
  const between = (then: () => Promise<void>) => {
    const waiting: Promise<void>[] = []
    return {
      wrapped: importing(async (...args: readonly never[]) => {
        if (waiting.length === 0) waiting.push(then())
        await waiting[0]
        return (store.sessions.import as (...given: readonly never[]) => Promise<never>).call(
          store.sessions,
          ...args,
        )
      }),
    }
  }

  it('messages appended meanwhile are left for the next time', async () => {
    const path = await fileWith('chat.jsonl', turns(2))
    const { wrapped } = between(() => appendFile(path, `${JSON.stringify(user('new'))}\n`))
    expect((await importFile(wrapped, path)).totals).toMatchObject({ imported: 1, messages: 4 })
    expect((await load(path)).totals).toMatchObject({ extended: 1, messages: 1 })
  })

  it('a file that is rewritten is not stored', async () => {
    const path = await fileWith('chat.jsonl', turns(2))
    const { wrapped } = between(() =>
      writeFile(path, [user('another'), ...turns(9)].map((line) => JSON.stringify(line)).join('\n')),
    )
    const error = await failure(importFile(wrapped, path))
    expect(error.code).toBe('FILE_CHANGED')
    expect(error.facts).toEqual({ file: path, imported: 0 })
    expect(await sessionIds()).toEqual([])
  })

  it('a file that is rewritten while it is written: what was stored before stays', async () => {
    // Each of two is longer than a block of the file: behind the first conversation, the last one is not read yet.
    const long = { messages: [user('x'.repeat(600_000))] }
    const begin = [
      { id: 'first', messages: turns(1) },
      { ...long, id: 'second' },
      { ...long, id: 'third' },
    ]
    const linesWith = (last: string): string =>
      [...begin, { id: 'last', messages: [user(last)] }].map((each) => `${JSON.stringify(each)}\n`).join('')
    const path = await fileWith('many.jsonl', linesWith('one'))
    const wrapped = importing(async (...args: readonly never[]) => {
      const done = await (store.sessions.import as (...given: readonly never[]) => Promise<never>).call(
        store.sessions,
        ...args,
      )
      await writeFile(path, linesWith('two'))
      return done
    })
    const error = await failure(importFile(wrapped, path))
    expect(error.code).toBe('FILE_CHANGED')
    expect(error.facts).toEqual({ file: path, imported: 1 })
    expect(await sessionIds()).toEqual(['first'])
    expect((await load(path)).totals).toMatchObject({ unchanged: 1, imported: 3 })
  })

  it('a file that is cut is not stored', async () => {
    const path = await fileWith('chat.jsonl', turns(2))
    const { wrapped } = between(() => truncate(path, 20))
    expect((await failure(importFile(wrapped, path))).code).toBe('FILE_CHANGED')
    expect(await sessionIds()).toEqual([])
  })

  it('it reports its progress, and stops on request', async () => {
    const path = await fileWith('chat.jsonl', turns(3))
    const told: ImportProgress[] = []
    const { size } = await load(path, { onProgress: (progress) => told.push(progress) })
    expect(told).toEqual([
      { phase: 'check', bytes: 0, size, messages: 0 },
      { phase: 'check', bytes: size, size, messages: 6 },
      { phase: 'write', bytes: 0, size, messages: 0 },
      { phase: 'write', bytes: size, size, messages: 6 },
    ])
    const stop = new AbortController()
    const onProgress = ({ phase }: ImportProgress) => {
      if (phase === 'write') stop.abort()
    }
    const error = await failure(load(path, { session: 'other', signal: stop.signal, onProgress }))
    expect(error.code).toBe('IMPORT_ABORTED')
    expect(error.facts).toEqual({ file: path, imported: 0 })
    expect(await sessionIds()).toEqual(['chat'])
    const aborted = await failure(load(path, { session: 'other', signal: AbortSignal.abort() }))
    expect(aborted.code).toBe('IMPORT_ABORTED')
  })

  it('names the file as it was given, and tells only its name in the report', async () => {
    const path = await fileWith('chat.jsonl', turns(1))
    expect((await load(path)).file).toBe(basename(path))
  })
})

it.skipIf(process.platform === 'win32')('a link is followed, unless that is not wanted', async () => {
  const path = await fileWith('real.jsonl', turns(1))
  const link = join(dirname(path), 'link.jsonl')
  await symlink(path, link)
  const error = await failure(load(link, { followLinks: false }))
  expect([error.code, error.message]).toEqual([
    'FILE_UNREADABLE',
    expect.stringContaining('it is a symbolic link'),
  ])
  expect(await sessionIds()).toEqual([])
  await load(path, { followLinks: false, session: 'real' })
  await load(link)
  expect(await sessionIds()).toEqual(['link', 'real'])
})

describe('a file of a form that only resembles a known one', () => {
  const qwen = (uuid: string, parentUuid: string | null, role: string, text: string) => ({
    ...{ uuid, parentUuid, sessionId: 'q', timestamp: '2026-01-01T00:00:00Z' },
    ...{ type: role === 'user' ? 'user' : 'assistant', message: { role, parts: [{ text }] } },
  })
  it.each([
    [
      'Claude Code',
      [qwen('a', null, 'user', 'a secret'), qwen('b', 'a', 'model', 'an answer')],
      'role, parts',
    ],
    [
      'pi',
      [
        { type: 'session', id: 's', version: 3 },
        { type: 'turn', id: 'a', text: 'a secret' },
      ],
      'type, id, text',
    ],
  ])('is not recognized when no message can be read: %s', async (agent, lines, fields) => {
    const path = await fileWith('talk.jsonl', lines)
    const { code, facts } = await failure(load(path))
    expect([code, facts]).toEqual([
      'FILE_UNRECOGNIZED',
      {
        file: path,
        looks: `a session of ${agent}, but none of its messages can be read; they have the fields ${fields}`,
      },
    ])
    expect(await sessionIds()).toEqual([])
  })
})

describe('a title', () => {
  const titleOf = async (content: unknown) => {
    const path = await fileWith('talk.jsonl', [{ role: 'user', content }, assistant('Yes.')])
    await load(path)
    return (await store.sessions.get('talk')).title
  }
  it.each([
    ['the first text', 'Fix the\nbuild', 'Fix the build'],
    ['without what an editor adds', '<ide_opened_file>a.ts</ide_opened_file>\nFix it', 'Fix it'],
    [
      'within an element of a client',
      '<task>\nFix it\n</task>\n<environment_details>x</environment_details>',
      'Fix it',
    ],
    ['before what a client adds', 'Fix it\n\n<environment_details>x', 'Fix it'],
    ['whole, up to 1,000 characters', 'word '.repeat(200), 'word '.repeat(200).trim()],
    ['cut after a word at 1,000 characters', 'word '.repeat(205), `${'word '.repeat(200).trim()}…`],
    ['cut between characters', '👩‍👩‍👧'.repeat(200), `${'👩‍👩‍👧'.repeat(124)}…`],
  ])('is what the user typed: %s', async (_, content, title) => {
    expect(await titleOf(content)).toBe(title)
  })
  it('is that of a later text when the first ones were not typed', async () => {
    const blocks = ['<ide_selection>secret</ide_selection>', 'Make it small.']
    expect(await titleOf(blocks.map((text) => ({ type: 'text', text })))).toBe('Make it small.')
  })
})
