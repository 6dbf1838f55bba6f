import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Context } from '../../src/cli/command.ts'
import { Importer } from '../../src/cli/commands/mcp/importer.ts'
import { Access } from '../../src/cli/commands/mcp/tool.ts'
import { createServer, serveMcp } from '../../src/cli/commands/mcp.ts'
import { PERMISSIONS } from '../../src/cli/options.ts'
import { isUndertextError, type Store } from '../../src/index.ts'
import { recallTools } from '../../src/store/recall/index.ts'
import { importFile, importStream, restoreFrom } from '../../src/transfer/index.ts'
import { linesOf, recordsOf } from '../history/support.ts'
import { storageOf } from '../support/apply-stage.ts'
import { newFolder } from '../support/temporary.ts'
import { FILES, type File, sharedFiles } from './files.ts'
import { type Damages, damagedBytes, damagedJson, damages } from './mutations.ts'
import {
  emptyImage,
  everythingIn,
  expectNoSecret,
  FOREIGN,
  type Ground,
  newGround,
  othersIn,
  storeOf,
} from './people.ts'
import { codeOf, inputsOf, runInputs, watchRejections } from './runs.ts'

/* Damaged contents: files, histories, calls of tools, and cursors. With LONG=1, with owners.slow.ts more than 100,000 of them. */

watchRejections()

/** The rows of the tables that a refused input must not fill. */
function rowsIn({ database }: Ground): unknown {
  return [
    'sessions',
    'messages',
    'contents',
    'blobs',
    'compactions',
    'replacements',
    'requests',
    'notes',
  ].map((table) => database.prepare(`select count(*) from undertext_${table}`).pluck().get())
}

/** Fails if a session is left that is not whole. Answers their ids. */
async function expectWhole({ store, database }: Ground): Promise<string[]> {
  expect(await storageOf(store).importsInProgress()).toEqual([])
  const sessions = await store.sessions.list({ limit: 1_000 })
  expect(database.prepare('select count(*) from undertext_sessions').pluck().get()).toBe(sessions.length)
  return sessions.map(({ id }) => id)
}

async function expectVerified(store: Store, id: string): Promise<void> {
  expect((await store.sessions.verify(id)).findings, id).toEqual([])
  await store.getEffectiveHistory(id)
}

type Way = {
  readonly damages: Damages
  readonly isStream: boolean
  readonly isNamed: boolean
  readonly branches: boolean
  readonly skipBad: boolean
}

describe('an import of a damaged file ends in a report or an UndertextError, and in whole sessions:', async () => {
  const empty = await emptyImage()
  const ground = await newGround()
  const history: File = {
    ...{ source: 'undertext', name: 'a.jsonl' },
    lines: (await linesOf(ground.store.forOwner('ann'), 'ann-s')).map((line) => JSON.parse(line) as unknown),
  }
  const files = [...FILES, history, ...sharedFiles()]
  const folder = newFolder()
  const ways: fc.Arbitrary<Way> = fc.record({
    damages,
    isStream: fc.boolean(),
    isNamed: fc.boolean(),
    branches: fc.boolean(),
    skipBad: fc.boolean(),
  })

  function bytesOf(file: File, { json, bytes }: Damages): Buffer {
    if ('bytes' in file) return damagedBytes(file.bytes, [...json, ...bytes])
    const isLines = 'lines' in file
    const value = damagedJson(isLines ? file.lines : file.value, json)
    const text =
      isLines && Array.isArray(value)
        ? value.map((line) => `${JSON.stringify(line)}\n`).join('')
        : String(JSON.stringify(value))
    return damagedBytes(Buffer.from(text), bytes)
  }

  it.each(files.map((file) => [file.name, file.source, file] as const))(
    '%s of %s',
    async (name, source, file) => {
      const act = async (way: Way): Promise<string> => {
        const content = bytesOf(file, way.damages)
        const { branches, skipBad } = way
        const options = { branches, skipBad, ...(way.isNamed && { source }) }
        const path = join(folder, name)
        writeFileSync(path, content)
        const made = await newGround(empty)
        const read = () =>
          way.isStream
            ? importStream(made.store, Readable.from([content]), { called: name, ...options })
            : importFile(made.store, path, options)
        try {
          const report = await read().catch(codeOf)
          const ids = await expectWhole(made)
          for (const id of ids) await expectVerified(made.store, id)
          if (typeof report === 'string') {
            expect(ids).toEqual([])
            return report
          }
          const stored = report.conversations.filter(
            ({ status }) => status === 'imported' || status === 'extended',
          )
          expect(ids.sort()).toEqual([...new Set(stored.map(({ sessionId }) => sessionId))].sort())
          const again = await read()
          expect(again.totals.messages, 'messages of the same file again').toBe(0)
          return stored.length > 0 ? 'imported' : 'nothing stored'
        } finally {
          await made.close()
        }
      }
      const damaged = bytesOf(file, { json: [], bytes: [] })
      writeFileSync(join(folder, name), damaged)
      const whole = await newGround(empty)
      const report = await importFile(whole.store, join(folder, name), { source })
      expect(report.totals.imported, 'of the undamaged file').toBeGreaterThan(0)
      await whole.close()
      await runInputs(`import of ${source}`, ways, Math.ceil(inputsOf(1_200, 12_000) / files.length), act)
    },
  )
})

it('a restore of a damaged history is refused, or a session that verifies, with nothing of others', async () => {
  const source = await newGround()
  const values = (await recordsOf(source.store.forOwner('ann'), 'ann-s')) as readonly {
    readonly type: string
  }[]
  const others = await othersIn(source.store)
  await source.close()
  const ways = fc.record({
    damages,
    /** Whether the counts and the checksum are those of the damaged history, so that the other checks are reached. */
    isForged: fc.boolean(),
    isRecords: fc.boolean(),
    isOwnStore: fc.boolean(),
    id: fc.constantFrom('restored', undefined, 'bob-s', 'nobody-s'),
  })
  let ground = await newGround()
  await runInputs('restore', ways, inputsOf(800, 8_000), async (way) => {
    const { json, bytes } = way.damages
    const damaged = damagedJson(values, json, FOREIGN)
    const records = forged(Array.isArray(damaged) ? damaged : [damaged], way.isForged)
    const own = ground.store.forOwner('ann')
    const [before, listed] = [rowsIn(ground), await expectWhole(ground)]
    const into = way.isOwnStore ? own : ground.store
    const options = { ...(way.id !== undefined && { id: way.id }), ...(!way.isOwnStore && { owner: 'ann' }) }
    const restored = way.isRecords
      ? await into.sessions.import(records as never, options).catch(codeOf)
      : await restoredFrom(into, linesWith(records, bytes, way.isForged), options).catch(codeOf)
    const ids = await expectWhole(ground)
    if (typeof restored === 'string') {
      expect(rowsIn(ground)).toEqual(before)
      return restored
    }
    expect(ids.length).toBe(listed.length + (restored.existing ? 0 : 1))
    await expectVerified(own, restored.sessionId)
    expectNoSecret(await everythingIn(own, restored.sessionId), restored.sessionId)
    expect(await othersIn(ground.store)).toBe(others)
    await ground.close()
    ground = await newGround()
    return 'restored'
  })
  await ground.close()
})

it('a history that names a text of others by its hash is refused', async () => {
  const ground = await newGround()
  const own = ground.store.forOwner('ann')
  const records = (await recordsOf(own, 'ann-s')) as readonly { readonly type: string }[]
  // The same text has the same hash, and a history may name those that it contains.
  const contained = JSON.stringify(records)
  const hashes = FOREIGN.filter((name) => /^[0-9a-f]{64}$/.test(name) && !contained.includes(name))
  expect(hashes.length).toBeGreaterThan(1)
  const at = records.findIndex(({ type }) => type === 'request')
  const piece = records.findIndex(({ type }) => type === 'piece')
  for (const sha256 of hashes) {
    const naming = ['system', 'tools', 'prompt', 'files'].map((field) =>
      records.with(at, { ...records[at]!, [field]: [sha256] } as never),
    )
    const renamed = records.with(piece, { ...records[piece]!, sha256 } as never)
    for (const given of [...naming, renamed])
      await expect(own.sessions.import(given as never, { id: 'taken' })).rejects.toMatchObject({
        code: 'HISTORY_REFUSED',
      })
  }
  await ground.close()
})

/** The records with the counts that they have. */
function forged(records: readonly unknown[], isForged: boolean): unknown[] {
  const types = records.map((record) => (record as { readonly type?: unknown } | null)?.type)
  const count = (...of: string[]): number => types.filter((type) => of.includes(type as string)).length
  const counts = {
    ...{ compactions: count('compaction'), audit: count('audit'), messages: count('message') },
    ...{ inserted: count('summary', 'marker'), replacements: count('replacement') },
  }
  const { messages, inserted } = counts
  return records.map((record, at) => {
    if (!isForged) return record
    if (types[at] === 'end') return { ...(record as object), ...counts }
    return types[at] === 'session' ? { ...(record as object), messages, inserted } : record
  })
}

/** The lines of records, damaged, and with the checksum that these lines have. */
function linesWith(records: readonly unknown[], bytes: Damages['bytes'], isForged: boolean): string[] {
  const text = records.slice(0, -1).map((record) => `${JSON.stringify(record)}\n`)
  const lines = damagedBytes(Buffer.from(text.join('')), bytes).toString()
  const sha256 = createHash('sha256')
    .update(isForged ? lines : text.join(''))
    .digest('hex')
  const end = records.at(-1)
  return [...lines.split('\n').slice(0, -1), JSON.stringify({ ...(end as object), sha256 })]
}

async function restoredFrom(
  store: Store,
  lines: readonly string[],
  { id, owner }: { id?: string; owner?: string },
) {
  for await (const one of restoreFrom(store, lines, { ids: [id], ...(owner !== undefined && { owner }) }))
    return 'restored' in one ? one.restored : one.refused.code
  return 'nothing'
}

/** The context of a server within this process. */
function contextOn(store: Store, input: NodeJS.ReadableStream, pour: (text: string) => void): Context {
  const sink = { isTerminal: false, columns: 80, write: () => undefined }
  return {
    ...{ out: sink, err: sink, input, env: {}, cwd: newFolder(), version: '1', json: false },
    signal: new AbortController().signal,
    open: async () => store,
    pour: async (text: string) => pour(text),
  } as Partial<Context> as Context
}

/** Valid arguments of each tool. */
const TOOLS: { readonly [name: string]: (ground: Ground) => object } = {
  search_history: () => ({ query: 'combination safe', session_id: 'ann-s', hidden: true, cursor: 'x' }),
  read_history: () => ({ session_id: 'ann-s', position: 3, before: 1, after: 1, query: 'combination' }),
  open_history: ({ fixtures }) => ({ session_id: 'ann-s', message_id: fixtures.ann.summaryId, levels: 2 }),
  recall_notes: () => ({ session_id: 'ann-s', query: 'canary combination' }),
  remember_note: () => ({ session_id: 'ann-s', text: 'a note', key: 'k' }),
  forget_note: ({ fixtures }) => ({ session_id: 'ann-s', note_id: fixtures.ann.noteId }),
  list_sessions: () => ({ owner: 'ann', archived: false, cursor: 'x' }),
  get_stats: () => ({ session_id: 'ann-s', model: 'openai/gpt-4o' }),
  get_view: () => ({ session_id: 'ann-s', at: 'position:3' }),
  list_compactions: () => ({ session_id: 'ann-s' }),
  diff_views: () => ({ session_id: 'ann-s', from: 'position:1', to: 'position:9' }),
  list_forks: () => ({ session_id: 'ann-s' }),
  preview_compaction: () => ({
    session_id: 'ann-s',
    target_tokens: 1,
    stages: ['prune'],
    model: 'openai/gpt-4o',
  }),
  compact_session: () => ({ session_id: 'ann-s', target: 0.1, reason: 'r' }),
  undo_compaction: ({ fixtures }) => ({
    session_id: 'ann-s',
    compaction_id: fixtures.ann.compactionId,
    both: true,
  }),
  redo_compaction: ({ fixtures }) => ({
    session_id: 'ann-s',
    compaction_id: fixtures.ann.undoneId,
    cascade: true,
  }),
  pin_messages: ({ fixtures }) => ({ session_id: 'ann-s', message_ids: [fixtures.ann.messageId] }),
  unpin_messages: ({ fixtures }) => ({ session_id: 'ann-s', message_ids: [fixtures.ann.messageId] }),
  fork_session: () => ({ session_id: 'ann-s', at: 'position:3', title: 'T' }),
  import_transcripts: () => ({ path: 'some/path' }),
}

type Connected = { readonly ground: Ground; readonly client: Client }

async function connectAs(owner: string): Promise<Connected> {
  const ground = await newGround()
  const access = new Access(ground.store, owner)
  const context = contextOn(ground.store, new PassThrough(), () => undefined)
  const importer = new Importer(access, context, [])
  const server = createServer({
    context,
    access,
    permissions: new Set(PERMISSIONS),
    maxTokens: 2_000,
    importer,
  })
  const client = new Client({ name: 'a test', version: '1' }, {})
  const [mine, its] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(its), client.connect(mine)])
  await client.listTools()
  return { ground, client }
}

describe('a server of the Model Context Protocol for one owner tells nothing of others, and ends each call:', () => {
  it('the tools', async () => {
    let connected = await connectAs('ann')
    const { tools } = await connected.client.listTools()
    expect(tools.map(({ name }) => name).sort()).toEqual(Object.keys(TOOLS).sort())
    const others = await othersIn(connected.ground.store)
    let calls = 0
    const ways = fc.record({
      tool: fc.constantFrom(...Object.keys(TOOLS)),
      json: damages.map(({ json }) => json),
    })
    await runInputs('MCP tools', ways, inputsOf(2_000, 30_000), async ({ tool, json }) => {
      const { client, ground } = connected
      const given = damagedJson(TOOLS[tool]!(ground), json, FOREIGN) as never
      const answer = await client.callTool({ name: tool, arguments: given }).catch((error: unknown) => error)
      expectNoSecret(answer, tool)
      if (++calls % 100 === 0 && ground.isTouched()) {
        expect(await othersIn(ground.store)).toBe(others)
        await client.close()
        await ground.close()
        connected = await connectAs('ann')
      }
      if (answer instanceof Error) {
        // The client refuses arguments that aren't an object, and answers that don't have the form of the tool.
        expect(answer.message).not.toMatch(/output schema|structured content/i)
        return answer.name
      }
      const { isError, content } = answer as { isError?: boolean; content: { text: string }[] }
      if (isError !== true) return 'answered'
      expect(content[0]!.text).not.toMatch(/^(INTERNAL_ERROR|STORE_CORRUPT|STORE_BUSY)/)
      return /^[A-Z_]+(?=: )/.exec(content[0]!.text)?.[0] ?? 'not an input'
    })
    await connected.client.close()
    await connected.ground.close()
  })

  it('the lines of its input', async () => {
    const ground = await newGround()
    const others = await othersIn(ground.store)
    await ground.close()
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    }
    const opening = [
      { jsonrpc: '2.0', id: 'first', method: 'initialize', params },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
    ]
    const requests = (of: Ground) => [
      ...Object.entries(TOOLS).map(
        ([name, given]) => ['tools/call', { name, arguments: given(of) }] as const,
      ),
      ...[['tools/list', {}] as const, ['resources/list', { cursor: 'x' }] as const, ['ping', {}] as const],
      ['resources/read', { uri: 'undertext://sessions/ann-s' }] as const,
      ['notifications/cancelled', { requestId: 1 }] as const,
    ]
    const ways = fc.array(fc.tuple(fc.nat(), damages), { minLength: 20, maxLength: 20 })
    await runInputs('MCP input of 20 lines', ways, inputsOf(100, 1_000), async (lines) => {
      const made = await newGround()
      const all = requests(made)
      const written = lines.map(([at, { json, bytes }], id) => {
        const [method, given] = all[at % all.length]!
        const message = damagedJson({ jsonrpc: '2.0', id, method, params: given }, json, FOREIGN)
        return damagedBytes(Buffer.from(String(JSON.stringify(message))), bytes)
      })
      const input = new PassThrough()
      const told: string[] = []
      const context = contextOn(made.store, input, (text) => told.push(text))
      const served = serveMcp(context, { owner: 'ann', allow: [...PERMISSIONS] } as never)
      for (const message of opening) input.write(`${JSON.stringify(message)}\n`)
      for (const line of written) input.write(Buffer.concat([line, Buffer.from('\n')]))
      input.end(`${JSON.stringify({ jsonrpc: '2.0', id: 'last', method: 'ping' })}\n`)
      expect(await served).toBe(0)
      const answers = told.map((line) => JSON.parse(line) as { readonly id?: unknown })
      expectNoSecret(answers, 'an answer')
      expect(await othersIn(made.store)).toBe(others)
      await made.close()
      return answers.some(({ id }) => id === 'last') ? 'answered to the end' : 'ended before'
    })
  })
})

it('a damaged cursor is refused, or names a page without rows of others', async () => {
  const connected = { ann: await connectAs('ann'), bob: await connectAs('bob') }
  const pages = { ann: await cursorsOf(connected.ann, 'ann'), bob: await cursorsOf(connected.bob, 'bob') }
  expect(pages.ann.map(({ name }) => name)).toEqual(pages.bob.map(({ name }) => name))
  const ways = fc.record({
    page: fc.nat({ max: pages.ann.length - 1 }),
    damages: fc.option(damages),
    /** The cursor of the same page, or of another one, of somebody else. */
    isBobs: fc.boolean(),
    other: fc.option(fc.nat({ max: pages.ann.length - 1 })),
    isPlain: fc.boolean(),
  })
  await runInputs('cursors', ways, inputsOf(3_000, 25_000), async (way) => {
    const { read, name } = pages.ann[way.page]!
    const cursor = pages[way.isBobs ? 'bob' : 'ann'][way.other ?? way.page]!.cursor
    const given = way.damages === null ? cursor : damagedCursor(cursor, way.damages, way.isPlain)
    const answer = await read(given).catch((error: unknown) => error)
    expectNoSecret(answer, name)
    if (answer instanceof Error) {
      const code = isUndertextError(answer) ? answer.code : (REFUSED.exec(answer.message)?.[0] ?? 'other')
      expect([...NOT_THERE, ...IN_PROTOCOL], `${name}: ${answer.message}`).toContain(code)
      return code
    }
    return 'a page'
  })
  for (const { client, ground } of Object.values(connected)) {
    await client.close()
    await ground.close()
  }
})

/** What is wrong with a cursor, or no longer there. */
const NOT_THERE = ['INVALID_INPUT', 'SESSION_NOT_FOUND', 'MESSAGE_NOT_FOUND', 'NOTE_NOT_FOUND']
/** What the protocol says of arguments of a wrong type, and of a page after a session that isn't there. */
const IN_PROTOCOL = ['Input validation error', 'Resource not found']
const REFUSED = new RegExp(`^(?:[A-Z_]+(?=: )|${IN_PROTOCOL.join('|')})`)

function damagedCursor(cursor: unknown, { json, bytes }: Damages, isPlain: boolean): unknown {
  if (typeof cursor !== 'string') return damagedJson(cursor, json, FOREIGN)
  if (isPlain) return damagedBytes(Buffer.from(cursor), [...json, ...bytes]).toString()
  const held = damagedJson(JSON.parse(Buffer.from(cursor, 'base64url').toString()), json, FOREIGN)
  return damagedBytes(Buffer.from(String(JSON.stringify(held))), bytes).toString('base64url')
}

type Page = {
  readonly name: string
  readonly cursor: unknown
  readonly read: (cursor: unknown) => Promise<unknown>
}

/** A first page of each list, as a person sees it, and its cursor. */
async function cursorsOf({ client, ground }: Connected, whose: 'ann' | 'bob'): Promise<Page[]> {
  const store = storeOf(ground.store, whose)
  const s = `${whose}-s`
  for (let more = 0; more < 110; more++)
    await store.sessions.fork(s, { id: `${whose} ${more} ${'long '.repeat(60)}`, title: `fork ${more}` })
  for (let more = 0; more < 30; more++)
    await store.compactions
      .hide(s, [(await store.getMessages(s))[8]!.id], { reason: 'r'.repeat(200) })
      .then(({ id }) => store.undoCompaction(s, id))
  for (let more = 0; more < 30; more++)
    await store.notes.add(`note ${more} ${'long '.repeat(200)}`, { session: s })
  await store.append(
    s,
    Array.from({ length: 40 }, (_, at) => ({
      role: 'user' as const,
      content: `${at} canary ${'long '.repeat(3_000)}`,
    })),
  )
  const tools = recallTools(store, { session: s, sessions: 'owner' }, { notes: true, maxTokens: 600 })
  const recall = (name: string, given: object): Omit<Page, 'cursor'> => ({
    name: `recall ${name}`,
    read: async (cursor) => {
      const answer = await tools.find((tool) => tool.name === name)!.answer({ ...given, cursor })
      if (answer.problem === undefined) return answer
      throw Object.assign(new Error(`${answer.problem}: ${answer.text}`), { answer })
    },
  })
  const mcp = (name: string, given: object): Omit<Page, 'cursor'> => ({
    name: `MCP ${name}`,
    read: async (cursor) => {
      const answer = await client.callTool({ name, arguments: { ...given, cursor } as never })
      const [content] = answer.content as { text: string }[]
      if (answer.isError === true) throw new Error(content!.text)
      return answer
    },
  })
  const lists: readonly Omit<Page, 'cursor'>[] = [
    { name: 'search', read: (cursor) => store.search('canary', { limit: 2, cursor } as never) },
    {
      name: 'search of a session',
      read: (cursor) => store.search('canary', { session: s, limit: 2, cursor } as never),
    },
    { name: 'sessions.list', read: (after) => store.sessions.list({ limit: 2, after } as never) },
    recall('search_history', { query: 'canary' }),
    recall('read_history', { position: 5 }),
    recall('open_history', { messageId: (await store.getMessages(s)).at(-1)!.id }),
    recall('history_notes', { action: 'recall' }),
    mcp('search_history', { query: 'canary' }),
    mcp('read_history', { session_id: s, position: 5 }),
    mcp('open_history', { session_id: s, position: (await store.sessions.get(s)).messageCount }),
    mcp('recall_notes', { session_id: s }),
    mcp('list_sessions', {}),
    mcp('get_view', { session_id: s }),
    mcp('list_compactions', { session_id: s }),
    mcp('diff_views', { session_id: s, from: 'position:1' }),
    mcp('list_forks', { session_id: s }),
    {
      name: 'MCP resources',
      // The client itself refuses what isn't a text.
      read: (cursor) =>
        client.request({
          method: 'resources/list',
          params: cursor === undefined ? {} : { cursor: String(cursor) },
        } as never),
    },
  ]
  const found: Page[] = []
  for (const list of lists) {
    const cursor = cursorIn(await list.read(undefined))
    expect(cursor, list.name).toBeDefined()
    found.push({ ...list, cursor })
  }
  return found
}

function cursorIn(answer: unknown): unknown {
  if (Array.isArray(answer)) {
    const { id, newestAt } = answer.at(-1) as { readonly id: string; readonly newestAt: number }
    return { id, newestAt }
  }
  const { structuredContent = answer } = answer as { readonly structuredContent?: object }
  const { cursor, next_cursor, nextCursor, messages, pieces } = structuredContent as {
    readonly [name: string]: string
  } & { readonly messages?: { cursor?: string }[]; readonly pieces?: { cursor?: string }[] }
  return (
    next_cursor ??
    nextCursor ??
    cursor ??
    [...(messages ?? []), ...(pieces ?? [])].find((one) => one.cursor)?.cursor
  )
}
