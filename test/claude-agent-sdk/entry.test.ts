import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeName,
  encodeName,
  entryOf,
  keyOfSession,
  messagesOf,
  transcriptOf,
} from '../../src/adapters/claude-agent-sdk/entry.ts'
import type { SessionStoreEntry } from '../../src/adapters/claude-agent-sdk/index.ts'
import { isStorableText } from '../../src/core/messages/check.ts'
import { canonicalJson, stringifyJson } from '../../src/core/messages/json.ts'
import type { Message, NewMessage } from '../../src/core/messages/message.ts'
import { messageProblem } from '../../src/core/messages/message-check.ts'
import { problemOf } from '../support/failures.ts'
import { anyEntry, asks, beside, brings, calls, says, thinks, turn } from './entries.ts'

const messageOf = (entry: SessionStoreEntry, isMain = true): NewMessage => messagesOf([entry], isMain)[0]!

describe('an entry as a message', () => {
  it('is the message, with the rest of the entry in its metadata', () => {
    const entry = asks('Read a.txt')
    const { message: _, ...envelope } = entry
    expect(messageOf(entry)).toStrictEqual({
      role: 'user',
      content: 'Read a.txt',
      metadata: { 'claude-agent-sdk': { envelope } },
      createdAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
      idempotencyKey: entry.uuid,
    })
  })

  it('has the parts of each block', () => {
    const shown = [thinks('Hm.'), says('Reading.'), calls('toolu_1'), brings('toolu_1', 'hello')].map(
      (entry) => {
        const { role, content } = messageOf(entry)
        return { role, content }
      },
    )
    expect(shown).toStrictEqual([
      {
        role: 'assistant',
        content: [{ type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 'c2ln' } } }],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Reading.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'toolu_1', toolName: 'Read', input: { file_path: '/work/a.txt' } },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'toolu_1', output: { type: 'text', value: 'hello' } }],
      },
    ])
  })

  it.each(Object.entries(beside))('has no content for a model and is stored whole: %s', (_, entry) => {
    const { role, content, metadata } = messageOf(entry)
    expect({ role, content, metadata }).toStrictEqual({
      role: 'tool',
      content: [],
      metadata: { 'claude-agent-sdk': { entry } },
    })
  })

  it.each<[string, object]>([
    ['only shows', { isVisibleInTranscriptOnly: true }],
    ['puts in place of an answer', { isApiErrorMessage: true }],
    ['has of a sidechain', { isSidechain: true }],
  ])('has no content for a model where Claude Code %s', (_, mark) => {
    expect(messageOf(asks('words', mark)).content).toEqual([])
  })

  it("is a message in a subagent's own transcript, which is a sidechain throughout", () => {
    expect(messageOf(asks('words', { isSidechain: true }), false).content).toBe('words')
  })

  it('keeps whole what the form of messages does not allow', () => {
    const entry = {
      type: 'user',
      message: { role: 'user', content: [{ type: 'tool_use', id: 'a', name: 'b', input: {} }] },
    }
    expect(messageOf(entry)).toStrictEqual({
      role: 'tool',
      content: [],
      metadata: { 'claude-agent-sdk': { entry } },
    })
  })

  it('is the entry again, exactly, for any entry', () => {
    fc.assert(
      fc.property(anyEntry, fc.boolean(), (entry, isMain) => {
        const before = canonicalJson(entry)
        const message = messageOf(entry, isMain)
        expect(messageProblem(message)).toBeUndefined()
        // By way of the text a database would hold.
        const back = entryOf(JSON.parse(stringifyJson(message)) as Message)
        expect(canonicalJson(back)).toBe(before)
        expect(canonicalJson(entry)).toBe(before)
      }),
      { numRuns: 3_000 },
    )
  })

  it('is the entry again for each of a turn', () => {
    for (const entry of turn()) expect(entryOf(messageOf(entry))).toStrictEqual(entry)
  })

  it('takes fields that are undefined for absent', () => {
    expect(entryOf(messageOf({ type: 'x', a: undefined, b: { c: undefined } }))).toStrictEqual({
      type: 'x',
      b: {},
    })
  })
})

describe('what is no entry', () => {
  const cyclic: Record<string, unknown> = { type: 'x' }
  cyclic.self = cyclic
  const deep = (levels: number): unknown => (levels === 0 ? 'secret' : [deep(levels - 1)])
  it.each<[string, unknown, string]>([
    ['no list', { type: 'x' }, 'entries: must be an array'],
    ['no object', [{ type: 'x' }, 'secret'], 'entries[1]: must be an object'],
    ['a list', [[]], 'entries[0]: must be an object'],
    ['no type', [{ uuid: 'secret' }], 'entries[0].type: must be a string'],
    ['another type', [{ type: 1 }], 'entries[0].type: must be a string'],
    [
      'a function',
      [{ type: 'x', run: () => 0 }],
      'entries[0]: contains a value of type function in an object',
    ],
    [
      'a date',
      [{ type: 'x', at: new Date() }],
      "entries[0]: contains an object that isn't plain in an object",
    ],
    [
      'no number',
      [{ type: 'x', n: [Number.NaN] }],
      "entries[0]: contains a number that isn't finite at [0] in an object",
    ],
    ['a bigint', [{ type: 'x', n: 1n }], 'entries[0]: contains a value of type bigint in an object'],
  ])('is refused with its place: %s', (_, entries, problem) => {
    expect(problemOf(() => messagesOf(entries, true))).toBe(problem)
  })

  it('is refused when it goes round in circles, or too deep to be kept', () => {
    expect(problemOf(() => messagesOf([cyclic], true))).toMatch(
      /^entries\[0\]: contains nesting deeper than 1000/,
    )
    const deepest = { type: 'x', deep: deep(997) }
    const message = messageOf(deepest)
    expect(messageProblem(message)).toBeUndefined()
    expect(entryOf(message)).toEqual(deepest)
    expect(problemOf(() => messagesOf([{ type: 'x', deep: deep(998) }], true))).toMatch(
      /^entries\[0\]: contains nesting deeper than 1000/,
    )
  })
})

describe('a key', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '%', '/', '\0', '\udc00', '%0041', '%%'),
  )

  it('is written so that any text can be read back, and a database can hold it', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const name = encodeName(text)
        expect(decodeName(name)).toBe(text)
        expect(isStorableText(name) && name !== '' && !name.includes('/')).toBe(true)
      }),
    )
  })

  it('leaves usual names as they are', () => {
    expect(
      transcriptOf({ projectKey: '-home-ada-work', sessionId: 'abc', subpath: 'subagents/agent-1' }),
    ).toEqual({
      key: { projectKey: '-home-ada-work', sessionId: 'abc', subpath: 'subagents/agent-1' },
      id: 'claude-agent-sdk/-home-ada-work/abc/subagents%002fagent-1',
      owner: '-home-ada-work',
      isMain: false,
    })
  })

  it('is identified by the name of its session', () => {
    const piece = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 })
    const anyKey = fc.record(
      { projectKey: fc.string({ unit: 'binary', maxLength: 40 }), sessionId: piece, subpath: piece },
      { requiredKeys: ['projectKey', 'sessionId'] },
    )
    fc.assert(
      fc.property(anyKey, (key) => {
        expect(keyOfSession(transcriptOf(key).id)).toEqual(key)
      }),
    )
    expect(keyOfSession('session-1')).toBeUndefined()
  })

  it.each<[unknown, string]>([
    [undefined, 'key: must be an object'],
    [{ sessionId: 's' }, 'key.projectKey: must be a string'],
    [{ projectKey: 'p' }, 'key.sessionId: must be a string'],
    [{ projectKey: 'p', sessionId: '' }, 'key.sessionId: must not be empty'],
    [{ projectKey: 'p', sessionId: 's', subpath: '' }, 'key.subpath: must not be empty'],
    [
      { projectKey: 'p'.repeat(990), sessionId: 's' },
      'key: must not be longer than 1000 characters in total',
    ],
  ])('is refused (%#)', (key, problem) => {
    expect(problemOf(() => transcriptOf(key))).toBe(problem)
  })
})
