import { expect, it } from 'vitest'
import { partsOf } from '../../../src/core/messages/message.ts'
import type { NewMessage } from '../../../src/index.ts'
import { pi } from '../../../src/transfer/sources/pi.ts'
import {
  eventsOf,
  eventsOfType,
  type Folded,
  foldEvents,
  goldenOf,
  inputOf,
  linesOf,
  notesOf,
  spokenOf,
} from './support.ts'

const HEADER = { type: 'session', version: 3, id: 'S', timestamp: '2025-01-01T00:00:00.000Z', cwd: '/work' }
type Entry = { readonly id: string; readonly type: string; readonly [field: string]: unknown }
type Case = {
  readonly fn: string
  readonly name: string
  readonly input: { readonly entries: readonly Entry[]; readonly leafId?: string }
  readonly expected: {
    readonly messages: readonly { readonly role: string; readonly [field: string]: unknown }[]
  }
}

const told = (entries: readonly object[], header: object = HEADER) => inputOf(linesOf([header, ...entries]))
const golden = goldenOf<{ cases: Case[] }>('pi-session-tree')

/** What a view shows, as pi has it: what pi's own parts of the metadata say, and the text. */
function toPi(folded: Folded): object[] {
  return spokenOf(folded).map((row) => {
    if ('inserted' in row) return { role: 'compactionSummary', summary: row.text }
    const entry = row.metadata!.pi as { type: string; message: object; summary?: string; fromId?: string }
    if (entry.type === 'branch_summary') {
      expect(row.content).toContain(entry.summary)
      return { role: 'branchSummary', summary: entry.summary, fromId: entry.fromId }
    }
    const content = typeof row.content === 'string' ? row.content : partsOf(row)
    return { ...entry.message, content }
  })
}

function recorded({ expected }: Case): object[] {
  return expected.messages.map((message) => {
    const { role, summary, fromId } = message
    if (role === 'compactionSummary') return { role, summary }
    return role === 'branchSummary' ? { role, summary, fromId } : message
  })
}

it.skipIf(golden === undefined)('shows what pi sends, in every recorded case', async () => {
  const cases = golden!.cases.filter(({ fn }) => fn === 'buildSessionContext')
  for (const one of cases) {
    const { entries, leafId } = one.input
    const conversations = foldEvents(await eventsOf(pi, told(entries), true))
    // An id that is not there means the last entry to pi.
    const leaf = entries.some(({ id }) => id === leafId) ? leafId : entries.at(-1)?.id
    const last = ({ messages }: Folded): string | undefined => messages.at(-1)?.idempotencyKey
    const [ours, ...more] = conversations.filter((branch) => last(branch) === (leaf ?? '%session'))
    expect(more).toEqual([])
    expect(toPi(ours!), one.name).toEqual(recorded(one))
    expect(ours!.messages, `${one.name}: nothing is lost`).toHaveLength(pathLength(entries, leaf) + 1)
  }
  expect(cases).toHaveLength(21)
  // The others are about counting tokens and cutting, which is no matter of files.
  const others = golden!.cases.filter(({ fn }) => fn !== 'buildSessionContext').map(({ fn }) => fn)
  expect([...new Set(others)].sort()).toEqual([
    'TRAP second compaction loses kept tail',
    'calculateContextTokens',
    'findCutPoint',
    'getLastAssistantUsage',
    'shouldCompact',
  ])
})

function pathLength(entries: readonly Entry[], leaf: string | undefined): number {
  const entry = entries.find(({ id }) => id === leaf)
  return entry === undefined ? 0 : 1 + pathLength(entries, (entry.parentId as string) ?? undefined)
}

const user = (id: string, parentId: string | null, content: unknown = id): Entry => ({
  type: 'message',
  id,
  parentId,
  timestamp: '2025-01-01T00:00:01.000Z',
  message: { role: 'user', content, timestamp: 1_735_689_601_000 },
})
const assistant = (id: string, parentId: string | null, content: unknown[], rest: object = {}): Entry => ({
  type: 'message',
  id,
  parentId,
  timestamp: '2025-01-01T00:00:02.000Z',
  message: { role: 'assistant', content, provider: 'anthropic', model: 'claude-x', ...rest },
})
const words = (id: string, parentId: string) => assistant(id, parentId, [{ type: 'text', text: id }])
const compaction = (id: string, parentId: string, firstKeptEntryId: string, summary = id): Entry => ({
  type: 'compaction',
  id,
  parentId,
  timestamp: '2025-01-01T00:00:03.000Z',
  summary,
  firstKeptEntryId,
  tokensBefore: 9,
})
const shown = (folded: Folded): string[] =>
  spokenOf(folded).map((row) => ('inserted' in row ? row.text : (row.idempotencyKey ?? '')))
const first = async (entries: readonly object[]): Promise<Folded> =>
  foldEvents(await eventsOf(pi, told(entries)))[0]!

/** u1 a1 u2 a2 u3 a3, S1 from u2 on, u4 a4. */
const TWO = [
  user('u1', null),
  words('a1', 'u1'),
  user('u2', 'a1'),
  words('a2', 'u2'),
  user('u3', 'a2'),
  words('a3', 'u3'),
  compaction('S1', 'a3', 'u2'),
  user('u4', 'S1'),
  words('a4', 'u4'),
]

it('a second compaction covers the tail the first had kept, and nothing is lost when it is undone', async () => {
  const folded = await first([...TWO, compaction('S2', 'a4', 'u4')])
  expect(shown(folded)).toEqual(['S2', 'u4', 'a4'])
  // Rows: header, u1, a1, u2, a2, u3, a3, the entry of S1, u4, …
  expect(folded.compactions).toMatchObject([
    { id: 'S1', kind: 'condense', covers: [[1, 3]], text: 'S1', createdAt: 1_735_689_603_000 },
    { id: 'S2', kind: 'condense', covers: [[1, 8]], text: 'S2' },
  ])
  // Without the second: S1 and the tail it kept.
  const before = await first(TWO)
  expect(shown(before)).toEqual(['S1', 'u2', 'a2', 'u3', 'a3', 'u4', 'a4'])
})

it('a later compaction that keeps more than an earlier one takes it out of force', async () => {
  const folded = await first([...TWO, compaction('S2', 'a4', 'a1')])
  expect(folded.compactions).toMatchObject([
    { id: 'S1', undone: true },
    { id: 'S2', covers: [[1, 2]] },
  ])
  expect(shown(folded)).toEqual(['S2', 'a1', 'u2', 'a2', 'u3', 'a3', 'u4', 'a4'])
})

it('a compaction whose first kept entry is not there covers all before it', async () => {
  const folded = await first([
    user('u1', null),
    words('a1', 'u1'),
    compaction('S', 'a1', 'gone'),
    user('u2', 'S'),
  ])
  expect(shown(folded)).toEqual(['S', 'u2'])
})

it('does not part a call from its result', async () => {
  const call = assistant('a1', 'u1', [{ type: 'toolCall', id: 'c', name: 'read', arguments: {} }])
  const result = {
    type: 'message',
    id: 'r1',
    parentId: 'a1',
    message: {
      role: 'toolResult',
      toolCallId: 'c',
      toolName: 'read',
      content: [{ type: 'text', text: 'x' }],
      isError: false,
    },
  }
  const entries = [user('u1', null), call, result, words('a2', 'r1'), compaction('S', 'a2', 'r1')]
  const events = await eventsOf(pi, told(entries))
  expect(shown(foldEvents(events)[0]!)).toEqual(['S', 'a1', 'r1', 'a2'])
  expect(notesOf(events)).toEqual([
    'mended: a compaction that separated a call from its result covers fewer messages',
  ])
})

it('tells the current branch, and the others in a note or as conversations of their own', async () => {
  const entries = [
    user('u1', null),
    words('a1', 'u1'),
    user('x1', 'a1'),
    words('x2', 'x1'),
    user('y1', 'x1'),
    user('u2', 'a1'),
    // A label alone is no branch.
    { type: 'label', id: 'l', parentId: 'a1', targetId: 'u1', label: 'here' },
    words('a2', 'u2'),
  ]
  const events = await eventsOf(pi, told(entries))
  expect(foldEvents(events).map(shown)).toEqual([['u1', 'a1', 'u2', 'a2']])
  expect(notesOf(events)).toEqual(['branch: 2 other branches were not imported'])

  const all = foldEvents(await eventsOf(pi, told(entries), true))
  expect(all.map(({ id, branchOf }) => [id, branchOf])).toEqual([
    ['S', undefined],
    ['S/x1', 'S'],
    ['S/y1', 'S/x1'],
  ])
  expect(all.map(shown)).toEqual([
    ['u1', 'a1', 'u2', 'a2'],
    ['u1', 'a1', 'x1', 'x2'],
    ['u1', 'a1', 'x1', 'y1'],
  ])
})

it('reads version 1, where lines follow each other and a compaction counts entries', async () => {
  const plain = ({ id: _, parentId: __, ...entry }: Entry): object => entry
  const { firstKeptEntryId: _, ...cut } = compaction('', '', '', 'S')
  const header = { ...HEADER, version: undefined, provider: 'openai', modelId: 'gpt-4o' }
  const entries = [user('u1', null), words('a1', ''), user('u2', ''), words('a2', '')].map(plain)
  // Entry 3, the header counted as 0, is u2.
  const input = told([...entries, plain({ ...cut, firstKeptEntryIndex: 3 }), plain(user('u3', ''))], header)
  const events = await eventsOf(pi, input)
  const [folded] = foldEvents(events)
  expect(spokenOf(folded!).map((row) => ('inserted' in row ? row.text : texts(row)))).toEqual([
    'S',
    'u2',
    'a2',
    'u3',
  ])
  expect(folded!.messages.map(({ idempotencyKey }) => idempotencyKey).slice(0, 3)).toEqual([
    '%session',
    '%line-2',
    '%line-3',
  ])
  // The model of the header, then that of the last answer.
  expect(eventsOfType(events, 'fields').map(({ provider }) => provider)).toEqual(['openai', 'anthropic'])
})

function texts(message: NewMessage): string {
  return partsOf(message)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
}

it('keeps every field of every form', async () => {
  const image = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }
  const usage = { input: 1, output: 2 }
  const entries = [
    user('u', null, [{ type: 'text', text: 'look', textSignature: 't' }, image]),
    assistant(
      'a',
      'u',
      [
        { type: 'thinking', thinking: 'hm', thinkingSignature: 'sig' },
        { type: 'toolCall', id: 'c1', name: 'read', arguments: { path: 'a' }, thoughtSignature: 'g' },
        { type: 'later', of: 1 },
      ],
      { api: 'anthropic-messages', usage, stopReason: 'toolUse' },
    ),
    {
      type: 'message',
      id: 'r',
      parentId: 'a',
      message: {
        role: 'toolResult',
        toolCallId: 'c1',
        toolName: 'read',
        content: [{ type: 'text', text: 'no' }, image],
        isError: true,
        details: { diff: '-' },
      },
    },
    {
      type: 'message',
      id: 'b',
      parentId: 'r',
      message: { role: 'bashExecution', command: 'ls', output: 'x', exitCode: 2 },
    },
    {
      type: 'message',
      id: 'q',
      parentId: 'b',
      message: { role: 'bashExecution', command: 'ls', output: 'x', excludeFromContext: true },
    },
    {
      type: 'message',
      id: 'h',
      parentId: 'q',
      message: { role: 'hookMessage', customType: 'k', content: 'hooked' },
    },
    {
      type: 'custom_message',
      id: 'm',
      parentId: 'h',
      customType: 'k',
      content: 'injected',
      display: true,
      details: 1,
    },
    { type: 'custom', id: 'd', parentId: 'm', customType: 'k', data: { state: 1 } },
    { type: 'session_info', id: 'i', parentId: 'd', name: ' A name ' },
    { type: 'message', id: 'z', parentId: 'i', message: { role: 'nobody', content: 'x' } },
  ]
  const events = await eventsOf(pi, told(entries))
  const [{ messages } = { messages: [] }] = foldEvents(events)
  const time = { timestamp: '2025-01-01T00:00:01.000Z' }
  expect(messages.slice(1)).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look', providerOptions: { pi: { textSignature: 't' } } },
        { type: 'image', image: 'iVBORw0KGgo=', mediaType: 'image/png' },
      ],
      metadata: {
        pi: {
          type: 'message',
          id: 'u',
          parentId: null,
          ...time,
          message: { role: 'user', timestamp: 1_735_689_601_000 },
        },
      },
      idempotencyKey: 'u',
      createdAt: 1_735_689_601_000,
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'sig' } } },
        {
          type: 'tool-call',
          toolCallId: 'c1',
          toolName: 'read',
          input: { path: 'a' },
          providerOptions: { pi: { thoughtSignature: 'g' } },
        },
        { type: 'provider', provider: 'pi', data: { type: 'later', of: 1 } },
      ],
      metadata: {
        pi: {
          type: 'message',
          id: 'a',
          parentId: 'u',
          timestamp: '2025-01-01T00:00:02.000Z',
          message: {
            role: 'assistant',
            provider: 'anthropic',
            model: 'claude-x',
            api: 'anthropic-messages',
            usage,
            stopReason: 'toolUse',
          },
        },
      },
      idempotencyKey: 'a',
      createdAt: 1_735_689_602_000,
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'c1',
          toolName: 'read',
          output: {
            type: 'content',
            value: [
              { type: 'text', text: 'no' },
              { type: 'image', image: 'iVBORw0KGgo=', mediaType: 'image/png' },
            ],
            isError: true,
          },
        },
      ],
      metadata: {
        pi: {
          type: 'message',
          id: 'r',
          parentId: 'a',
          message: { role: 'toolResult', details: { diff: '-' } },
        },
      },
      idempotencyKey: 'r',
    },
    {
      role: 'user',
      content: 'I ran `ls`:\n\n```\nx\n```\n\nIts exit code was 2.',
      metadata: { pi: entries[3] },
      idempotencyKey: 'b',
    },
    { role: 'tool', content: [], metadata: { pi: entries[4] }, idempotencyKey: 'q' },
    {
      role: 'user',
      content: 'hooked',
      metadata: {
        pi: { type: 'message', id: 'h', parentId: 'q', message: { role: 'custom', customType: 'k' } },
      },
      idempotencyKey: 'h',
    },
    {
      role: 'user',
      content: 'injected',
      metadata: {
        pi: { type: 'custom_message', id: 'm', parentId: 'h', customType: 'k', display: true, details: 1 },
      },
      idempotencyKey: 'm',
    },
    { role: 'tool', content: [], metadata: { pi: entries[7] }, idempotencyKey: 'd' },
    { role: 'tool', content: [], metadata: { pi: entries[8] }, idempotencyKey: 'i' },
    { role: 'tool', content: [], metadata: { pi: entries[9] }, idempotencyKey: 'z' },
  ])
  expect(notesOf(events)).toEqual(['kept: a message of an unknown form'])
  expect(eventsOfType(events, 'fields')).toEqual([
    {
      type: 'fields',
      title: 'A name',
      createdAt: 1_735_689_600_000,
      metadata: { version: 3, cwd: '/work' },
    },
    { type: 'fields', provider: 'anthropic', model: 'claude-x' },
  ])
})

it('reports what is wrong with a line, and continues after it', async () => {
  const text = `${linesOf([HEADER, user('u1', null)])}{"type":\n7\n${linesOf([{ type: 'message', parentId: 'u1' }, words('a1', 'u1')])}{"type":"mess`
  const events = await eventsOf(pi, inputOf(text))
  expect(eventsOfType(events, 'problem').map(({ at, why }) => [at.line, why])).toEqual([
    [4, 'an entry must be an object with a type'],
    [5, 'an entry must have an id'],
  ])
  expect(notesOf(events)).toEqual([
    expect.stringMatching(/^torn: it is not JSON.*; the agent skips it too$/),
    'left-out: the last line is incomplete; the next import reads it',
  ])
  expect(shown(foldEvents(events)[0]!)).toEqual(['u1', 'a1'])
  expect(await eventsOf(pi, inputOf('{}\n'))).toEqual([
    { type: 'problem', at: { line: 1 }, why: 'the first line must be the header of a session' },
  ])
})

it('reads entries on one line, also after one that is torn, as it reads them on their own', async () => {
  const apart = [HEADER, user('u1', null), words('a1', 'u1'), user('u2', 'a1')]
  const [first, second, third, last] = linesOf(apart).trim().split('\n')
  const text = `${first}${second}\n{"type":"message","text":"to${third}${last}\n`
  const events = await eventsOf(pi, inputOf(text))
  expect(shown(foldEvents(events)[0]!)).toEqual(['u1', 'a1', 'u2'])
  expect(eventsOfType(events, 'problem')).toEqual([])
  expect(eventsOfType(events, 'note').map(({ at, kind }) => [at, kind])).toEqual([
    [{ line: 2, column: 1 }, 'torn'],
  ])
})

it('knows its files by the header', () => {
  const head = (values: unknown[]) => ({ name: 'x.jsonl', shape: 'lines' as const, values })
  expect(pi.recognizes(head([HEADER]))).toBe(true)
  expect(pi.recognizes(head([user('u', null)]))).toBe(false)
  expect(pi.recognizes(head([]))).toBe(false)
})

const prompt = (id: string, parentId: string | null): Entry => ({
  type: 'message',
  id,
  parentId,
  message: { role: 'user', content: 'x' },
})

/** With a path for each branch this took 20 s and 3 GB, and with a scan for each compaction 9 s. */
it('counts very many branches, and reads very many compactions', async () => {
  const many = 16_000
  const trunk = Array.from({ length: many }, (_, at) => prompt(`t${at}`, at === 0 ? null : `t${at - 1}`))
  const branches = Array.from({ length: many - 1 }, (_, at) => prompt(`b${at}`, `t${at}`))
  const forked = await eventsOf(pi, told([...trunk.slice(0, -1), ...branches, trunk.at(-1)!]))
  expect(notesOf(forked)).toEqual([`branch: ${many - 1} other branches were not imported`])
  expect(eventsOfType(forked, 'message')).toHaveLength(many + 1)

  const compacted = Array.from({ length: many }, (_, at) =>
    at % 2 === 0
      ? prompt(`t${at}`, at === 0 ? null : `t${at - 1}`)
      : {
          type: 'compaction',
          id: `t${at}`,
          parentId: `t${at - 1}`,
          summary: 'So far.',
          firstKeptEntryId: `t${at - 1}`,
        },
  )
  const compactions = eventsOfType(await eventsOf(pi, told(compacted)), 'compaction')
  expect(compactions.map(({ compaction }) => compaction.covers[0]![1])).toEqual(
    Array.from({ length: many / 2 }, (_, at) => 2 * at + 1),
  )
  expect(compactions.some(({ compaction }) => compaction.undone === true)).toBe(false)
})
