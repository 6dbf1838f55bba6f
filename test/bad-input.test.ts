import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { afterTurn, beforeTurn } from '../src/compat/index.ts'
import { type ErrorCode, openStore, type Store, type Turn } from '../src/index.ts'
import type { Database } from '../src/storage/sqlite/driver.ts'
import { call, result, say } from './support/conversation.ts'
import { CANARY, dumpOf, expectFailure, failureOf } from './support/failures.ts'
import { newFolder } from './support/temporary.ts'

/*
 * Every verb of the store, called with what cannot be: one error with a code, nothing of the conversation in it,
 * nothing written, and the store usable afterwards.
 */

const folder = newFolder()
let store: Store
let beside: Database

beforeAll(async () => {
  store = await openStore(join(folder, 'chats.db'))
  await store.append('s', [
    say('user', CANARY),
    call('a', 'run', { said: CANARY }),
    result('a', CANARY),
    say('assistant', CANARY),
    say('user', `${CANARY} again`),
    say('assistant', `${CANARY} and again`),
  ])
  await store.compactions.hide('s', [(await store.getMessages('s'))[4]!.id])
  beside = new BetterSqlite3(join(folder, 'chats.db'), { readonly: true })
})
afterAll(async () => {
  beside.close()
  await store.close()
})

type Act = (store: Store) => unknown

/** Refused with this code, nothing written, the store still answers. */
async function refuses(act: Act, code: ErrorCode | readonly ErrorCode[], what: string): Promise<void> {
  const before = dumpOf(beside)
  const { messageCount } = await store.sessions.get('s')
  expectFailure(await failureOf(() => act(store)), code, what)
  expect(dumpOf(beside), `${what} wrote something`).toBe(before)
  expect((await store.sessions.get('s')).messageCount, what).toBe(messageCount)
}

function table(name: string, code: ErrorCode | readonly ErrorCode[], acts: Record<string, Act>): void {
  describe(name, () => {
    for (const [what, act] of Object.entries(acts)) test(what, () => refuses(act, code, what))
  })
}

/** A value of a type that no signature has. */
const bad = (value: unknown): never => value as never

/** Every verb that takes a session's id, with everything else in order. */
const VERBS: Record<string, (store: Store, id: string) => unknown> = {
  'sessions.create': (s, id) => s.sessions.create({ id }),
  'sessions.get': (s, id) => s.sessions.get(id),
  'sessions.list after': (s, id) => s.sessions.list({ after: id }),
  'sessions.update': (s, id) => s.sessions.update(id, { title: 'x' }),
  'sessions.archive': (s, id) => s.sessions.archive(id),
  'sessions.purge': (s, id) => s.sessions.purge(id),
  append: (s, id) => s.append(id, [say('user', CANARY)]),
  getMessages: (s, id) => s.getMessages(id),
  getEffectiveHistory: (s, id) => s.getEffectiveHistory(id),
  'messages.importance': (s, id) => s.messages.importance(id),
  renderHistory: (s, id) => s.renderHistory(id),
  'messages.toolOutput': (s, id) => s.messages.toolOutput(id, 'a'),
  'messages.toolCalls': (s, id) => s.messages.toolCalls(id),
  'messages.expand': (s, id) => s.messages.expand(id, 'x'),
  'messages.expand (flat)': (s, id) => s.messages.expand(id, 'x', { flat: true }),
  'messages.timeline': (s, id) => s.messages.timeline(id),
  'messages.pin': (s, id) => s.messages.pin(id, ['x']),
  'messages.unpin': (s, id) => s.messages.unpin(id, ['x']),
  'compactions.hide': (s, id) => s.compactions.hide(id, ['x']),
  rewind: (s, id) => s.rewind(id, { from: 'start' }),
  'sessions.import': (s, id) => s.sessions.import([], { id, source: 'x' }),
  'sessions.export': (s, id) => s.sessions.export(id).next(),
  'compactions.recordProvider': (s, id) => s.compactions.recordProvider(id),
  getContextStats: (s, id) => s.getContextStats(id),
  needsCompaction: (s, id) => s.needsCompaction(id),
  previewCompaction: (s, id) => s.previewCompaction(id),
  compactSession: (s, id) => s.compactSession(id),
  beforeTurn: (s, id) => beforeTurn(s, id),
  afterTurn: (s, id) => afterTurn(s, id),
  prepareRequest: (s, id) => s.prepareRequest(id),
  beginTurn: (s, id) => s.beginTurn(id),
  recordResponse: (s, id) => s.recordResponse(id, { messages: [say('assistant', CANARY)] }),
  withOverflowRecovery: (s, id) => s.withOverflowRecovery(id, () => 'answer'),
  listCompactions: (s, id) => s.listCompactions(id),
  'compactions.get': (s, id) => s.compactions.get(id, 'x'),
  'sessions.activeTurn': (s, id) => s.sessions.activeTurn(id),
  'sessions.audit': (s, id) => s.sessions.audit(id),
  undoCompaction: (s, id) => s.undoCompaction(id, 'x'),
  'undoCompaction (that fits)': (s, id) => s.undoCompaction(id, { ifFits: {} }),
  redoCompaction: (s, id) => s.redoCompaction(id, 'x'),
  'sessions.verify': (s, id) => s.sessions.verify(id),
  'sessions.reestimate': (s, id) => s.sessions.reestimate(id),
  'requests.recordUsage': (s, id) => s.requests.recordUsage(id, { inputTokens: 5 }),
  'requests.usage': (s, id) => s.requests.usage(id),
  'requests.costs': (s, id) => s.requests.costs({ session: id }),
  'requests.list': (s, id) => s.requests.list(id),
  'requests.get': (s, id) => s.requests.get(id, 'x'),
  'requests.compare': (s, id) => s.requests.compare(id, 'x'),
  'requests.recordAnswer': (s, id) => s.requests.recordAnswer(id, 'x', [1, 1]),
  'limits.learn': (s, id) => s.limits.learn(id, 'prompt is too long'),
  'jobs.start': (s, id) => s.jobs.start(id),
  'jobs.list': (s, id) => s.jobs.list(id),
  'jobs.whenIdle': (s, id) => s.jobs.whenIdle(id, { timeoutMs: 0 }),
  'jobs.cancel': (s, id) => s.jobs.cancel({ session: id }),
}

describe('ids that cannot be', () => {
  const IDS: Record<string, unknown> = {
    empty: '',
    '1,001 characters': 'x'.repeat(1_001),
    '10,000 characters': 'x'.repeat(10_000),
    'ten million characters': 'x'.repeat(10_000_000),
    'a NUL': 'a\0b',
    'a lone high surrogate': 'a\ud800b',
    'a lone low surrogate': '\udc00',
    'a number': 5,
    NaN: Number.NaN,
    null: null,
    undefined: undefined,
    'an object': {},
    'an array': ['s'],
    'a String object': new String('s'),
    'a symbol': Symbol('s'),
    'a bigint': 1n,
    'a function': () => 's',
  }
  for (const [verb, act] of Object.entries(VERBS)) {
    test(verb, async () => {
      for (const [kind, id] of Object.entries(IDS)) {
        // Those take an id that may be left out.
        const mayBeLeftOut = [
          'sessions.create',
          'sessions.list after',
          'jobs.whenIdle',
          'requests.costs',
        ].includes(verb)
        if (kind === 'undefined' && mayBeLeftOut) continue
        await refuses((s) => act(s, bad(id)), 'INVALID_INPUT', `${verb} with ${kind}`)
      }
    })
  }
})

describe('ids that are data', () => {
  const IDS = [
    "'; drop table undertext_messages; --",
    '" or 1=1 --',
    '../../etc/passwd',
    'C:\\windows\\system32',
    '%00%2e%2e',
    '\u0001\u001f\u007f\u0085\u2028\r\n\t',
    '`$(rm -rf /)`',
    '{"$ne":null}',
    '😀 𝒳 é e\u0301 \u202e',
    ' leading and trailing ',
    '__proto__',
    'constructor',
    '*',
    '%',
    '_',
    'null',
    'x'.repeat(1_000),
    '\u0800'.repeat(866),
  ]

  test('are kept as they are, apart from each other', async () => {
    const own = await openStore(':memory:')
    for (const id of IDS) await own.append(id, [{ ...say('user', id), id, idempotencyKey: id }])
    for (const id of IDS) {
      expect((await own.sessions.get(id)).id).toBe(id)
      const [message] = await own.getMessages(id)
      expect(message).toMatchObject({ id, content: id, idempotencyKey: id })
      expect(await own.messages.pin(id, [id], { actor: id, reason: id })).toBe(1)
      // A row of the audit stays small, so a very long name is shortened in it.
      const { actor } = (await own.sessions.audit(id))[0]!
      if (Buffer.byteLength(id) <= 1_000) expect(actor).toBe(id)
      else expect(id.startsWith(actor!.replace(/…$/, ''))).toBe(true)
      await own.sessions.update(id, { owner: id, title: id, provider: id, model: id })
      expect(await own.sessions.list({ owner: id })).toMatchObject([{ id, owner: id, title: id }])
      expect(await own.getContextStats(id)).toMatchObject({ messageCount: 1, provider: id, model: id })
      expect((await own.append(id, [{ ...say('user', id), idempotencyKey: id }])).messages).toMatchObject([
        { existing: true, id },
      ])
      expect((await own.renderHistory(id, { provider: id })).messages).toHaveLength(1)
      expect((await own.sessions.verify(id)).findings).toEqual([])
    }
    expect(await own.sessions.list({ limit: 100 })).toHaveLength(IDS.length)
    for (const id of IDS) expect(await own.sessions.purge(id)).toMatchObject({ messages: 1 })
    expect(await own.sessions.list()).toEqual([])
    await own.close()
  })

  test('an unknown session is not found under any name', async () => {
    const lenient = [
      'sessions.create',
      'append',
      'getContextStats',
      'needsCompaction',
      'previewCompaction',
      'compactSession',
      'beforeTurn',
      'afterTurn',
      'jobs.whenIdle',
      'prepareRequest',
      'recordResponse',
      'withOverflowRecovery',
      'sessions.import',
    ]
    for (const [verb, act] of Object.entries(VERBS)) {
      if (lenient.includes(verb)) continue
      for (const id of IDS) await refuses((s) => act(s, id), 'SESSION_NOT_FOUND', verb)
    }
  })
})

describe('options', () => {
  const OPTIONS: Record<string, (store: Store, options: never) => unknown> = {
    'sessions.create': (s, o) => s.sessions.create(o),
    'sessions.list': (s, o) => s.sessions.list(o),
    'sessions.update': (s, o) => s.sessions.update('s', o),
    'sessions.purge': (s, o) => s.sessions.purge('s', o),
    append: (s, o) => s.append('s', [say('user', CANARY)], o),
    getMessages: (s, o) => s.getMessages('s', o),
    getEffectiveHistory: (s, o) => s.getEffectiveHistory('s', o),
    'messages.importance': (s, o) => s.messages.importance('s', o),
    renderHistory: (s, o) => s.renderHistory('s', o),
    'messages.toolOutput': (s, o) => s.messages.toolOutput('s', 'a', o),
    'messages.toolCalls': (s, o) => s.messages.toolCalls('s', o),
    'messages.expand': (s, o) => s.messages.expand('s', 'x', o),
    'messages.pin': (s, o) => s.messages.pin('s', ['x'], o),
    'messages.unpin': (s, o) => s.messages.unpin('s', ['x'], o),
    'compactions.hide': (s, o) => s.compactions.hide('s', ['x'], o),
    rewind: (s, o) => s.rewind('s', o),
    'sessions.import (of records)': (s, o) => s.sessions.import([], o as never),
    'compactions.recordProvider': (s, o) => s.compactions.recordProvider('s', o),
    getContextStats: (s, o) => s.getContextStats('s', undefined, undefined, o),
    needsCompaction: (s, o) => s.needsCompaction('s', undefined, undefined, o),
    previewCompaction: (s, o) => s.previewCompaction('s', o),
    compactSession: (s, o) => s.compactSession('s', o),
    beforeTurn: (s, o) => beforeTurn(s, 's', o),
    afterTurn: (s, o) => afterTurn(s, 's', o),
    prepareRequest: (s, o) => s.prepareRequest('s', o),
    beginTurn: (s, o) => s.beginTurn('s', o),
    recordResponse: (s, o) => s.recordResponse('s', o),
    withOverflowRecovery: (s, o) => s.withOverflowRecovery('s', () => 'answer', o),
    listCompactions: (s, o) => s.listCompactions('s', o),
    'sessions.audit': (s, o) => s.sessions.audit('s', o),
    undoCompaction: (s, o) => s.undoCompaction('s', 'x', o),
    'undoCompaction (that fits)': (s, o) => s.undoCompaction('s', { ifFits: o }),
    redoCompaction: (s, o) => s.redoCompaction('s', 'x', o),
    'sessions.verify': (s, o) => s.sessions.verify('s', o),
    'jobs.start': (s, o) => s.jobs.start('s', o),
    'jobs.list': (s, o) => s.jobs.list('s', o),
    'jobs.whenIdle': (s, o) => s.jobs.whenIdle('s', o),
    backup: (s, o) => s.backup(join(folder, 'backup.db'), o),
    close: (s, o) => s.close(o),
  }
  for (const [verb, act] of Object.entries(OPTIONS)) {
    test(`${verb} rejects values that are not options`, async () => {
      for (const value of [null, 5, 'x', true, [], ['x'], Symbol('x'), () => ({}), { misspelt: 1 }]) {
        await refuses((s) => act(s, bad(value)), 'INVALID_INPUT', `${verb}(${String(value)})`)
      }
    })
  }
})

table('the background', 'INVALID_INPUT', {
  'a trigger of its own': (s) => s.jobs.start('s', { trigger: 'manual' }),
  'a signal that is none': (s) => s.jobs.start('s', { signal: bad({ aborted: false }) }),
  'a limit of nothing': (s) => s.jobs.list('s', { limit: 0 }),
  'a time that is negative': (s) => s.jobs.whenIdle('s', { timeoutMs: -1 }),
  'a time that is a fraction': (s) => s.close({ timeoutMs: 0.5 }),
  'a job that is a number': (s) => s.jobs.get(bad(5)),
})
table('backups', 'INVALID_INPUT', {
  'no path': (s) => s.backup(bad(undefined)),
  'an empty path': (s) => s.backup(''),
  'a path with NUL': (s) => s.backup('a\0b'),
  'a path that is a URL object': (s) => s.backup(bad(new URL('file:///tmp/x.db'))),
  'a store in memory': (s) => s.backup(':memory:'),
  'an address of a server': (s) => s.backup('postgres://user:secret@host/chats'),
  'the store itself': (s) => s.backup(join(folder, 'chats.db'), { overwrite: true }),
  'the log of the store': (s) => s.backup(join(folder, 'chats.db-wal'), { overwrite: true }),
  'an invalid signal': (s) => s.backup(join(folder, 'b.db'), { signal: bad({ aborted: false }) }),
  'progress that is no function': (s) => s.backup(join(folder, 'b.db'), { onProgress: bad(true) }),
})

/** A method of a turn that is over: bad input is rejected before the turn is looked at. */
const inTurn = (act: (turn: Turn) => unknown): Act => {
  return async (s) => {
    const turn = await s.beginTurn('s')
    await turn.end()
    return act(turn)
  }
}
table('turns', 'INVALID_INPUT', {
  'a wait that is negative': (s) => s.beginTurn('s', { waitMs: -1 }),
  'a wait without end': (s) => s.beginTurn('s', { waitMs: Number.POSITIVE_INFINITY }),
  'an idle time of nothing': (s) => s.beginTurn('s', { idleMs: 0 }),
  'an idle time that no timer has': (s) => s.beginTurn('s', { idleMs: 2 ** 31 }),
  'an invalid signal': (s) => s.beginTurn('s', { signal: bad({ aborted: false }) }),
  'taking over by a text': (s) => s.beginTurn('s', { takeOver: bad('yes') }),
  'a draft that is a text': inTurn((turn) => turn.flush(bad(CANARY))),
  'a draft with a role that nobody has': inTurn((turn) =>
    turn.flush([bad({ role: CANARY, content: CANARY })]),
  ),
  'a draft of more than 16 MB': inTurn((turn) => turn.flush([say('assistant', CANARY.repeat(2_000_000))])),
  'a step that is a text': inTurn((turn) => turn.append(bad(CANARY))),
  'an answer without messages': inTurn((turn) => turn.finish(bad({ said: CANARY }))),
  'an answer with an invalid message': inTurn((turn) => turn.finish({ messages: [bad(CANARY)] })),
  'a rewind to a text': inTurn((turn) => turn.rewind(bad({ from: CANARY }))),
  'a call that is a number': inTurn((turn) => turn.claimCall(bad(5))),
  'a claim with a misspelt option': inTurn((turn) => turn.claimCall('a', bad({ agian: true }))),
})
table('jobs nobody knows', 'JOB_NOT_FOUND', { 'an id that is data': (s) => s.jobs.get(CANARY.slice(0, 3)) })

table('sessions', 'INVALID_INPUT', {
  'an owner that is a number': (s) => s.sessions.create({ id: 'new', owner: bad(5) }),
  'an empty owner': (s) => s.sessions.create({ id: 'new', owner: '' }),
  'a title with NUL': (s) => s.sessions.create({ id: 'new', title: '\0' }),
  'a title of 1,001 characters': (s) => s.sessions.update('s', { title: 'x'.repeat(1_001) }),
  'a config that is an array': (s) => s.sessions.create({ id: 'new', config: bad([CANARY]) }),
  'metadata that is a date': (s) => s.sessions.update('s', { metadata: bad(new Date()) }),
  'metadata with NaN': (s) => s.sessions.update('s', { metadata: { said: CANARY, n: Number.NaN } }),
  'metadata with a function': (s) => s.sessions.update('s', { metadata: { f: bad(() => CANARY) } }),
  'metadata with a bigint': (s) => s.sessions.update('s', { metadata: { n: bad(1n) } }),
  'metadata that goes in a circle': (s) => {
    const metadata: Record<string, unknown> = { said: CANARY }
    metadata.self = metadata
    return s.sessions.update('s', { metadata: bad(metadata) })
  },
  'metadata nested 100,000 deep': (s) => s.sessions.update('s', { metadata: nested(100_000) as never }),
  'no limit at all': (s) => s.sessions.list({ limit: 0 }),
  'a limit of 10,001': (s) => s.sessions.list({ limit: 10_001 }),
  'a limit that is a text': (s) => s.sessions.list({ limit: bad('5') }),
  'archived that is a text': (s) => s.sessions.list({ archived: bad('yes') }),
  'archiving by a number': (s) => s.sessions.archive('s', bad(1)),
  'archiving by null': (s) => s.sessions.archive('s', bad(null)),
  'an actor that is empty': (s) => s.sessions.purge('s', { actor: '' }),
  'a reason of 1,001 characters': (s) => s.sessions.purge('s', { reason: 'x'.repeat(1_001) }),
  'changes that are missing': (s) => s.sessions.update('s', bad(undefined)),
})

function nested(depth: number): unknown {
  let value: unknown = CANARY
  for (let level = 0; level < depth; level++) value = { value }
  return value
}

const message =
  (more: object): Act =>
  (s) =>
    s.append('s', [say('user', CANARY), bad({ ...say('user', CANARY), ...more })])
const part = (value: unknown): Act => message({ role: 'assistant', content: [value] })

table('messages', 'INVALID_INPUT', {
  none: (s) => s.append('s', []),
  'not an array': (s) => s.append('s', bad(say('user', CANARY))),
  'an iterator': (s) => s.append('s', bad(new Set([say('user', CANARY)]))),
  missing: (s) => s.append('s', bad(undefined)),
  'a hole': (s) => s.append('s', bad(Array(2))),
  'a null': (s) => s.append('s', bad([null])),
  'a text': (s) => s.append('s', bad([CANARY])),
  'a class instance': (s) =>
    s.append(
      's',
      bad([
        new (class Message {
          role = 'user'
          content = CANARY
        })(),
      ]),
    ),
  'an unknown role': message({ role: 'robot' }),
  'a role that says something': message({ role: CANARY }),
  'an unknown key': message({ contents: 'x' }),
  'no content': message({ content: undefined }),
  'content that is a number': message({ content: 5 }),
  'content that is an object': message({ content: { type: 'text', text: CANARY } }),
  'content with a toJSON': message({
    content: Object.assign([{ type: 'text', text: CANARY }], { toJSON: () => 'other words' }),
  }),
  'a key that hides behind one that is not enumerated': part(
    Object.defineProperty({ type: 'text', foo: 1 }, 'text', { value: CANARY, enumerable: false }),
  ),
  'an id that is empty': message({ id: '' }),
  'an id with NUL': message({ id: '\0' }),
  'an id that is a number': message({ id: 5 }),
  'a key that is too long': message({ idempotencyKey: 'x'.repeat(1_001) }),
  'a time that is a fraction': message({ createdAt: 1.5 }),
  'a time that is NaN': message({ createdAt: Number.NaN }),
  'a time beyond 2^53': message({ createdAt: 2 ** 53 }),
  'a time that is a date': message({ createdAt: new Date() }),
  'metadata that is a text': message({ metadata: CANARY }),
  'metadata with undefined in it': message({ metadata: { a: undefined } }),
  'a position that is expected to be negative': (s) =>
    s.append('s', [say('user', 'x')], { expectedPosition: -1 }),
  'a position that is expected to be NaN': (s) =>
    s.append('s', [say('user', 'x')], { expectedPosition: Number.NaN }),
  'a position that is expected to be a fraction': (s) =>
    s.append('s', [say('user', 'x')], { expectedPosition: 0.5 }),
  'rows of the application that are no function': (s) =>
    s.append('s', [say('user', 'x')], { also: bad({ text: CANARY }) }),
  'rows of the application beside an answer that are no function': (s) =>
    s.recordResponse('s', { messages: [say('assistant', 'x')], also: bad(CANARY) }),
  'a part that is null': part(null),
  'a part that is a text': part(CANARY),
  'a part without a type': part({ text: CANARY }),
  'a part of an unknown type': part({ type: CANARY, text: CANARY }),
  'a part of the type __proto__': part({ type: '__proto__' }),
  'a text part without text': part({ type: 'text' }),
  'a text part with more': part({ type: 'text', text: CANARY, size: 1 }),
  'an image that is a number': part({ type: 'image', image: 5 }),
  'an image in an ArrayBuffer': part({ type: 'image', image: new ArrayBuffer(8) }),
  'a file without a media type': part({ type: 'file', data: CANARY }),
  'a call without an id': part({ type: 'tool-call', toolName: 'x', input: {} }),
  'a call without input': part({ type: 'tool-call', toolCallId: 'x', toolName: 'x' }),
  'a call with a date': part({ type: 'tool-call', toolCallId: 'x', toolName: 'x', input: new Date() }),
  'a call with Infinity': part({
    type: 'tool-call',
    toolCallId: 'x',
    toolName: 'x',
    input: [Number.POSITIVE_INFINITY],
  }),
  'a call with a toJSON': part({
    type: 'tool-call',
    toolCallId: 'x',
    toolName: 'x',
    input: { toJSON: () => CANARY },
  }),
  'a call with a Map': part({ type: 'tool-call', toolCallId: 'x', toolName: 'x', input: new Map() }),
  'a call nested 1,001 deep': part({
    type: 'tool-call',
    toolCallId: 'x',
    toolName: 'x',
    input: nested(1_001),
  }),
  'a result without output': part({ type: 'tool-result', toolCallId: 'x' }),
  'a result whose output is a text': part({ type: 'tool-result', toolCallId: 'x', output: CANARY }),
  'a result of an unknown kind': part({
    type: 'tool-result',
    toolCallId: 'x',
    output: { type: CANARY, value: CANARY },
  }),
  'a text result that is an object': part({
    type: 'tool-result',
    toolCallId: 'x',
    output: { type: 'text', value: {} },
  }),
  'a result with a call in it': part({
    type: 'tool-result',
    toolCallId: 'x',
    output: { type: 'content', value: [{ type: 'tool-call', toolCallId: 'x', toolName: 'x', input: {} }] },
  }),
  'a result that failed "yes"': part({
    type: 'tool-result',
    toolCallId: 'x',
    output: { type: 'content', value: [], isError: 'yes' },
  }),
  'provider options that are a text': part({ type: 'text', text: CANARY, providerOptions: CANARY }),
  'a provider part without data': part({ type: 'provider', provider: 'x' }),
})

table('places and pages', 'INVALID_INPUT', {
  'a call id that is a number': (s) => s.messages.toolOutput('s', bad(5)),
  'a call id that is missing': (s) => s.messages.toolOutput('s', bad(undefined)),
  'a call at position 0': (s) => s.messages.toolOutput('s', 'a', { position: 0 }),
  'a call at a fraction': (s) => s.messages.toolOutput('s', 'a', { position: 1.5 }),
  'calls after -1': (s) => s.messages.toolCalls('s', { after: -1 }),
  'no calls at all': (s) => s.messages.toolCalls('s', { limit: 0 }),
  'a summary whose id is a number': (s) => s.messages.expand('s', bad(5)),
  'a depth of 0': (s) => s.messages.expand('s', 'x', { depth: 0 }),
  'a depth that is a fraction': (s) => s.messages.expand('s', 'x', { depth: 1.5 }),
  'opening what is no summary': async (s) => s.messages.expand('s', (await s.getMessages('s'))[0]!.id),
  'sources of what is no summary': async (s) =>
    s.messages.expand('s', (await s.getMessages('s'))[0]!.id, { flat: true }),
  'no sources at all': (s) => s.messages.expand('s', 'x', { flat: true, limit: 0 }),
  'undoing up to twice the window': (s) => s.undoCompaction('s', { ifFits: { target: 2 } }),
  'undoing a kind that is none': (s) => s.undoCompaction('s', { ifFits: { kinds: [bad('whatever')] } }),
  'undoing for an empty model': (s) => s.undoCompaction('s', { ifFits: { model: '' } }),
  'after a fraction': (s) => s.getMessages('s', { after: 0.5 }),
  'after NaN': (s) => s.getMessages('s', { after: Number.NaN }),
  'after -1': (s) => s.getMessages('s', { after: -1 }),
  'before 0': (s) => s.getMessages('s', { before: 0 }),
  'before Infinity': (s) => s.getMessages('s', { before: Number.POSITIVE_INFINITY }),
  'a limit of 0': (s) => s.getMessages('s', { limit: 0 }),
  'a limit beyond 2^53': (s) => s.getMessages('s', { limit: 2 ** 60 }),
  'an order that is none': (s) => s.getMessages('s', { order: bad('up') }),
  'provenance that is a text': (s) => s.getEffectiveHistory('s', { provenance: bad('yes') }),
  'a scorer that is a text': (s) => s.messages.importance('s', { scorer: bad('mine') }),
  'a scorer without a version': (s) =>
    s.messages.importance('s', { scorer: bad({ name: 'a', score: () => [] }) }),
  'a signal that is none': (s) => s.messages.importance('s', { weights: { signals: bad({ misspelt: 1 }) } }),
  'a weight of 257': (s) => s.messages.importance('s', { weights: { base: { user: 257 } } }),
  'a recency below 0': (s) => s.messages.importance('s', { weights: { recency: { user: -1 } } }),
  'a provider that is a number': (s) => s.renderHistory('s', { provider: bad(5) }),
  'an unknown preset': (s) => s.renderHistory('s', { preset: bad('mine') }),
  'a summary role that is none': (s) => s.renderHistory('s', { summaryRole: bad('tool') }),
  'audit after -1': (s) => s.sessions.audit('s', { after: -1 }),
  'audit of 100,001': (s) => s.sessions.audit('s', { limit: 100_001 }),
  'a run that is a number': (s) => s.listCompactions('s', { runId: bad(5) }),
  'a compaction that is a number': (s) => s.compactions.get('s', bad(5)),
  'an empty compaction': (s) => s.compactions.get('s', ''),
  'undo of nothing': (s) => s.undoCompaction('s', bad(undefined)),
  'undo with a cascade of 1': (s) => s.undoCompaction('s', 'x', { cascade: bad(1) }),
  'redo of an object': (s) => s.redoCompaction('s', bad({})),
  'repair by a text': (s) => s.sessions.verify('s', { repair: bad('all') }),
  'pins of nothing': (s) => s.messages.pin('s', []),
  'a pin that is no list': (s) => s.messages.pin('s', bad('x')),
  'a pin of a number': (s) => s.messages.pin('s', [bad(1)]),
  'messages.unpin of an empty id': (s) => s.messages.unpin('s', ['']),
  'hiding nothing': (s) => s.compactions.hide('s', []),
  'hiding null': (s) => s.compactions.hide('s', bad(null)),
  'hiding a lone surrogate': (s) => s.compactions.hide('s', ['\ud800']),
  'an import of nobody': (s) =>
    s.sessions.import([{ type: 'message', message: bad({ role: CANARY, content: CANARY }) }], {
      id: 'i',
      source: 'x',
    }),
  'an import of a compaction of another kind': (s) =>
    s.sessions.import([{ type: 'compaction', compaction: bad({ id: 'x', kind: CANARY, covers: [] }) }], {
      id: 'i',
      source: 'x',
    }),
  'an import that covers backwards': (s) =>
    s.sessions.import([{ type: 'compaction', compaction: { id: 'x', kind: 'truncate', covers: [[2, 1]] } }], {
      id: 'i',
      source: 'x',
    }),
  'an import of what is no event': (s) => s.sessions.import([bad(CANARY)], { id: 'i', source: 'x' }),
  'an import of no list': (s) => s.sessions.import(bad(7), { id: 'i', source: 'x' }),
  'an import of a title that is none': (s) =>
    s.sessions.import([{ type: 'fields', title: bad(7) }], { id: 'i', source: 'x' }),
  'an import without a source': (s) => s.sessions.import([{ type: 'fields' }], bad({ id: 'i' })),
  'a restore under an empty id': (s) => s.sessions.import([], { id: '' }),
  'a restore under a number': (s) => s.sessions.import([], { id: bad(7) }),
  'a restore under a lone surrogate': (s) => s.sessions.import([], { id: '\ud800' }),
  'a restore of no list': (s) => s.sessions.import(bad(7)),
  'a restore of a text': (s) => s.sessions.import(bad(CANARY)),
  'a rewind from nowhere': (s) => s.rewind('s', bad({})),
  'a rewind from the middle': (s) => s.rewind('s', { from: bad('middle') }),
  'a rewind from an empty id': (s) => s.rewind('s', { from: { beforeMessage: '' } }),
  'a rewind with rows of the application that are no function': (s) =>
    s.rewind('s', { from: 'start', also: bad(7) }),
  'a rewind with a text': (s) => s.rewind('s', { from: 'start', append: bad(CANARY) }),
  'a rewind with a message of nobody': (s) =>
    s.rewind('s', { from: 'start', append: [bad({ role: CANARY, content: CANARY })] }),
  'a rewind to a function that answers nothing': (s) => s.rewind('s', { from: bad(() => undefined) }),
  'a rewind whose body is no JSON': (s) =>
    s.rewind('s', { from: 'start', operationId: 'x', operationBody: bad(() => 1) }),
  'a rewind by functions without a body': (s) => s.rewind('s', { from: () => 'start', operationId: 'x' }),
  'edits that are no list': (s) => s.compactions.recordProvider('s', { appliedEdits: bad({}) }),
  'an edit without a type': (s) => s.compactions.recordProvider('s', { appliedEdits: [bad({ a: 1 })] }),
  'an edit that is no JSON': (s) =>
    s.compactions.recordProvider('s', { appliedEdits: [bad({ type: 'x', of: () => 1 })] }),
  'tools that are numbers': (s) => s.compactions.recordProvider('s', { excludeTools: [bad(1)] }),
  'a message id with a lone surrogate': (s) => s.compactions.recordProvider('s', { messageId: '\ud800' }),
})

table('stats and budgets', 'INVALID_INPUT', {
  'a provider that is empty': (s) => s.getContextStats('s', ''),
  'a provider that is a number': (s) => s.getContextStats('s', bad(5)),
  'a model that is an object': (s) => s.getContextStats('s', 'openai', bad({})),
  'a model that is null': (s) => s.needsCompaction('s', 'openai', bad(null)),
  'a threshold of 1.1': (s) => s.getContextStats('s', 'openai', 'gpt-4', { threshold: 1.1 }),
  'a threshold that is NaN': (s) => s.needsCompaction('s', 'openai', 'gpt-4', { threshold: Number.NaN }),
  'negative output': (s) => s.getContextStats('s', 'openai', 'gpt-4', { maxOutputTokens: -1 }),
  'a fraction of output': (s) => s.getContextStats('s', 'openai', 'gpt-4', { maxOutputTokens: 0.5 }),
  'a prompt that is a list': (s) => s.getContextStats('s', 'openai', 'gpt-4', { prompt: bad([CANARY]) }),
  'tools that are a text': (s) => s.getContextStats('s', 'openai', 'gpt-4', { tools: bad(CANARY) }),
  'files without content': (s) =>
    s.getContextStats('s', 'openai', 'gpt-4', { files: [bad({ name: CANARY })] }),
})

const compact =
  (config: object): Act =>
  (s) =>
    s.compactSession('s', bad(config))
const NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, -1, 2 ** 53, '5', null, 1.5]

describe('compaction configs', () => {
  const NAMES = [
    'targetTokens',
    'keepRecentTokens',
    'pruneProtectTokens',
    'pruneMinimumSavings',
    'maxOutputTokens',
    'waitMs',
  ]
  for (const name of [...NAMES, 'summaryMaxTokens', 'summaryTimeoutMs', 'reportedTokens']) {
    test(`${name} that is no number of tokens or milliseconds`, async () => {
      for (const value of NUMBERS)
        await refuses(compact({ [name]: value }), 'INVALID_INPUT', `${name}: ${value}`)
    })
  }
  for (const name of ['target', 'keepRecentRatio', 'truncationFraction', 'deduplicateMinimumSavings']) {
    test(`${name} that is no share`, async () => {
      for (const value of [Number.NaN, -0.1, 1.1, Number.POSITIVE_INFINITY, '0.5', null])
        await refuses(compact({ [name]: value }), 'INVALID_INPUT', `${name}: ${value}`)
    })
  }
  for (const name of [
    'enableMedia',
    'enablePrune',
    'enableDeduplicate',
    'enableSummarize',
    'enableTruncate',
    'offlineFallback',
    'emergencyCut',
  ]) {
    test(`${name} that is neither true nor false`, async () => {
      for (const value of [0, 'true', null, []])
        await refuses(compact({ [name]: value }), 'INVALID_INPUT', name)
    })
  }
})

table('compaction configs, further', 'INVALID_INPUT', {
  'a misspelled option': compact({ enableprune: true }),
  'an option of a preview': compact({ summarize: true }),
  'an empty placeholder': compact({ prunePlaceholder: '' }),
  'no sections': compact({ summarySections: [] }),
  'protected tools that are a text': compact({ pruneProtectedTools: CANARY }),
  'a summarizer without a name': compact({
    summarizer: { usesModel: true, summarize: () => ({ text: CANARY }) },
  }),
  'a summarizer that is a function': compact({ summarizer: () => CANARY }),
  'a marker that is true': compact({ truncationMarker: true }),
  'an empty marker': compact({ truncationMarker: '' }),
  'a range from 0': compact({ range: { from: 0, to: 1 } }),
  'a range that ends before it begins': compact({ range: { from: 3, to: 2 } }),
  'a range without an end': compact({ range: { from: 3 } }),
  'a range in fractions': compact({ range: { from: 1.5, to: 2 } }),
  'a range with more': compact({ range: { from: 1, to: 2, step: 1 } }),
  'a summary without a range': compact({ summary: CANARY }),
  'an empty summary': compact({ range: { from: 1, to: 2 }, summary: '' }),
  'a summary that is a number': compact({ range: { from: 1, to: 2 }, summary: 5 }),
  'an unknown trigger': compact({ trigger: 'mood' }),
  'a signal that is none': compact({ signal: { aborted: false } }),
  'an actor with NUL': compact({ actor: '\0' }),
  'a preview of another session': async (s) => s.compactSession('other', bad(await s.previewCompaction('s'))),
  'a preview with a misspelled option': (s) => s.previewCompaction('s', bad({ sumarize: true })),
})

describe('what is attached is counted, not looked into', () => {
  test('files that go in a circle or hold a bigint', async () => {
    const file: Record<string, unknown> = { content: CANARY }
    file.self = file
    const stats = await store.getContextStats('s', 'openai', 'gpt-4', { files: [file as never] })
    expect(stats).not.toBeNull()
    expect(await store.compactSession('s', { files: [file as never] })).toMatchObject({
      compacted: false,
    })
    expect(
      await store.compactSession('s', { files: [{ content: CANARY, size: 1n } as never] }),
    ).toMatchObject({ compacted: false })
  })

  test('circular tools count by the rule of the seed', async () => {
    const tool: Record<string, unknown> = { name: 'x' }
    tool.self = tool
    const stats = await store.getContextStats('s', 'openai', 'gpt-4', { tools: [tool, { n: 1n }] })
    expect(stats!.breakdown.toolDefinitions).toBe(400)
  })
})

table('ids nobody gave', 'MESSAGE_NOT_FOUND', {
  'messages.pin': (s) => s.messages.pin('s', ['nobody']),
  'messages.unpin': (s) => s.messages.unpin('s', ['nobody']),
  hide: (s) => s.compactions.hide('s', ['nobody']),
  'rewind to': (s) => s.rewind('s', { from: { beforeMessage: 'nobody' } }),
  'to be opened': (s) => s.messages.expand('s', 'nobody'),
  'to find sources of': (s) => s.messages.expand('s', 'nobody', { flat: true }),
  'record a block of': (s) => s.compactions.recordProvider('s', { messageId: 'nobody' }),
  'one of several': async (s) => s.messages.pin('s', [(await s.getMessages('s'))[0]!.id, 'nobody']),
  'an id in the form of ours': async (s) =>
    s.messages.pin('s', [`${(await s.sessions.get('s')).incarnation}:7`]),
  'a position of ours written otherwise': async (s) =>
    s.messages.pin('s', [`${(await s.sessions.get('s')).incarnation}:01`]),
  'a position beyond all': async (s) =>
    s.messages.pin('s', [`${(await s.sessions.get('s')).incarnation}:${'9'.repeat(30)}`]),
  'a summary nobody made': async (s) =>
    s.compactions.hide('s', [`${(await s.sessions.get('s')).incarnation}:s1`]),
})

table('tool calls nobody made', 'TOOL_CALL_NOT_FOUND', {
  'an unknown id': (s) => s.messages.toolOutput('s', 'nobody'),
  'a known id elsewhere': (s) => s.messages.toolOutput('s', 'a', { position: 1 }),
  'an empty id': (s) => s.messages.toolOutput('s', ''),
  __proto__: (s) => s.messages.toolOutput('s', '__proto__'),
  'ten million characters': (s) => s.messages.toolOutput('s', 'x'.repeat(10_000_000)),
  'a lone surrogate': (s) => s.messages.toolOutput('s', '\ud800'),
})

table('compactions nobody made', 'COMPACTION_NOT_FOUND', {
  get: (s) => s.compactions.get('s', 'nobody'),
  undo: (s) => s.undoCompaction('s', "' or 1=1 --"),
  redo: (s) => s.redoCompaction('s', '%'),
})

table('an estimator nobody gave', ['ESTIMATOR_UNKNOWN', 'INVALID_INPUT'], {
  'a name': (s) => s.sessions.reestimate('s', 'tiktoken'),
  'an empty name': (s) => s.sessions.reestimate('s', ''),
  'a number': (s) => s.sessions.reestimate('s', bad(5)),
  'an object': (s) => s.sessions.reestimate('s', bad({})),
  null: (s) => s.sessions.reestimate('s', bad(null)),
  'a symbol': (s) => s.sessions.reestimate('s', bad(Symbol('x'))),
  'an object without a text': (s) => s.sessions.reestimate('s', bad(Object.create(null))),
  'an object whose text throws': (s) => s.sessions.reestimate('s', bad({ toString: fail })),
  'a very deep list': (s) => s.sessions.reestimate('s', bad(nestedList(20_000))),
})

function fail(): never {
  throw new RangeError(CANARY)
}
const guarded = (): never => bad(new Proxy({}, { get: fail, ownKeys: fail, getPrototypeOf: fail }))
const revoked = (): never => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return bad(proxy)
}
function nestedList(depth: number): unknown {
  let value: unknown = []
  for (let level = 0; level < depth; level++) value = [value]
  return value
}

for (const [kind, unreadable] of Object.entries({
  'a proxy that throws': guarded,
  'a revoked proxy': revoked,
}))
  table(`${kind}, wherever an argument is read`, 'INVALID_INPUT', {
    messages: (s) => s.append('s', unreadable()),
    'a message': (s) => s.append('s', [unreadable()]),
    'the metadata of a message': (s) => s.append('s', [{ ...say('user', CANARY), metadata: unreadable() }]),
    'options of an append': (s) => s.append('s', [say('user', CANARY)], unreadable()),
    'a number among options': (s) => s.sessions.audit('s', { limit: unreadable() }),
    'options of stats': (s) => s.getContextStats('s', 'openai', 'gpt-4o', unreadable()),
    'the config of a compaction': (s) => s.compactSession('s', unreadable()),
    'the config of a preview': (s) => s.previewCompaction('s', unreadable()),
    'a usage': (s) => s.requests.recordUsage('s', unreadable()),
    'the request of a usage': (s) => s.requests.recordUsage('s', { inputTokens: 1, request: unreadable() }),
    'the prompt of a response': (s) => s.recordResponse('s', { prompt: unreadable(), messages: [] }),
    'options of a turn': (s) => beforeTurn(s, 's', unreadable()),
    'messages of a rewind': (s) => s.rewind('s', { from: 'start', append: unreadable() }),
    'events of an import': (s) => s.sessions.import(unreadable(), { id: 'i', source: 'x' }),
    'options of an import': (s) => s.sessions.import([], unreadable() as never),
    'records of a restore': (s) => s.sessions.import(unreadable()),
    'options of a restore': (s) => s.sessions.import([], unreadable()),
  })

table('conflicts', ['POSITION_CONFLICT', 'IDEMPOTENCY_CONFLICT', 'MESSAGE_ID_TAKEN', 'SESSION_EXISTS'], {
  'another position': (s) => s.append('s', [say('user', CANARY)], { expectedPosition: 5 }),
  'an absurd position': (s) =>
    s.append('s', [say('user', CANARY)], { expectedPosition: Number.MAX_SAFE_INTEGER }),
  'an id in the form of ours': async (s) =>
    s.append('s', [{ ...say('user', CANARY), id: `${(await s.sessions.get('s')).incarnation}:99` }]),
  'the same id twice in one array': (s) =>
    s.append('s', [
      { ...say('user', CANARY), id: 'twice' },
      { ...say('user', CANARY), id: 'twice' },
    ]),
  'the same key with two bodies in one array': (s) =>
    s.append('s', [
      { ...say('user', CANARY), idempotencyKey: 'k' },
      { ...say('user', `${CANARY}!`), idempotencyKey: 'k' },
    ]),
  'a session that is there': (s) => s.sessions.create({ id: 's' }),
})

describe('absurd sizes', () => {
  test('200,000 messages in one append', async () => {
    const own = await openStore(':memory:')
    const messages = Array.from({ length: 200_000 }, (_, at) => say(at % 2 === 0 ? 'user' : 'assistant', 'x'))
    expect((await own.append('s', messages)).position).toBe(200_000)
    expect((await own.getContextStats('s'))!.messageCount).toBe(200_000)
    const run = await own.compactSession('s', { targetTokens: 1_000, enableSummarize: false })
    expect(run!.compacted).toBe(true)
    await own.undoCompaction('s', run!.runId)
    expect((await own.getContextStats('s'))!.messageCount).toBe(200_000)
    await own.close()
  })

  test('one turn of 200,000 messages', async () => {
    const own = await openStore(':memory:')
    const answers = Array.from({ length: 200_000 }, () => say('assistant', 'x'))
    await own.append('s', [say('user', 'go'), ...answers.slice(0, 100_000)])
    await own.append('s', [...answers.slice(100_000), say('user', 'and?'), say('assistant', 'done')])
    const run = await own.compactSession('s', { targetTokens: 1_000, enableSummarize: false })
    expect(run).toMatchObject({ compacted: true, stagesUsed: ['truncate'], reachedTarget: true })
    await own.close()
  })

  test('a message larger than a database can hold', async () => {
    const own = await openStore(':memory:')
    await own.append('s', [say('user', CANARY)])
    // Escaped it is 6 characters for one.
    const huge = '\u0001'.repeat(180_000_000)
    expectFailure(await failureOf(() => own.append('s', [say('user', huge)])), 'INVALID_INPUT', 'huge')
    expect((await own.sessions.get('s')).messageCount).toBe(1)
    await own.close()
  })
})

test.each([
  ['fromOpenAI', { role: 'assistant', content: null, tool_calls: [] }],
  ['fromOpenAI', { role: 'user', content: [{ type: 'image_url', image_url: {} }] }],
  ['fromAnthropic', { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] }],
  ['fromUIMessages', { role: 'user', parts: [] }],
])('a message of another form is refused by naming what converts it: %s', async (converter, given) => {
  const { message } = (await failureOf(() => store.append('s', [given as never]))) as Error
  expect(message).toContain(converter)
})

test('a prompt that cannot be is called a prompt', async () => {
  const { message } = (await failureOf(() => store.prepareRequest('s', { prompt: ['hi'] as never }))) as Error
  expect(message).toContain('prompt[0] must be an object')
})
