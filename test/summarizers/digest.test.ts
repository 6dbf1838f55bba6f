import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Digest,
  type DigestEntry,
  digestToolCalls,
  filesOf,
  mergeDigests,
  renderDigest,
} from '../../src/core/summarizers/digest.ts'
import { estimateTokens } from '../../src/core/tokens/measure.ts'
import { assistant, call, did, failure, type Row, result, user } from './support.ts'

const EMPTY: Digest = { entries: [], omitted: 0 }

describe('digesting', () => {
  it('makes an entry a call: name, target, status, first line, size, id', () => {
    const messages = [
      user('look'),
      ...did('c1', 'read', { path: '/src/a.ts' }, '\n  export const a = 1\nmore'),
      ...did('c2', 'bash', { command: 'npm   test' }, 'ok'),
      assistant('', call('c3', 'write', { file_path: '/src/b.ts', content: 'x' })),
      failure('c3', 'EACCES: permission denied'),
      assistant('', call('c4', 'ask', { question: 'why?' })),
    ]

    expect(digestToolCalls(messages)).toEqual({
      omitted: 0,
      entries: [
        // 26 characters: ceil(26 / 4) = 7 units, ceil(7 × 1.15) = 9 tokens.
        {
          name: 'read',
          target: '/src/a.ts',
          status: 'ok',
          count: 1,
          first: 'export const a = 1',
          tokens: 9,
          callIds: ['c1'],
          effect: 'read',
        },
        {
          name: 'bash',
          target: 'npm test',
          status: 'ok',
          count: 1,
          first: 'ok',
          tokens: 2,
          callIds: ['c2'],
          effect: 'other',
        },
        {
          name: 'write',
          target: '/src/b.ts',
          status: 'failed',
          count: 1,
          first: 'EACCES: permission denied',
          tokens: 9,
          callIds: ['c3'],
          effect: 'write',
        },
        {
          name: 'ask',
          target: 'why?',
          status: 'pending',
          count: 1,
          tokens: 0,
          callIds: ['c4'],
          effect: 'other',
        },
      ],
    })
  })

  it('merges equal calls at the place of the first: count and size add up, the newest line and ids stay', () => {
    const messages = [
      ...did('c1', 'read', { path: 'a' }, 'one'),
      ...did('c2', 'bash', { command: 'ls' }, 'files'),
      ...did('c3', 'read', { path: 'a' }, 'two'),
      ...did('c4', 'read', { path: 'a' }, 'three'),
      ...did('c5', 'read', { path: 'a' }, 'four'),
    ]

    const { entries } = digestToolCalls(messages)

    expect(entries.map(({ name, count }) => [name, count])).toEqual([
      ['read', 4],
      ['bash', 1],
    ])
    expect(entries[0]).toMatchObject({ first: 'four', callIds: ['c3', 'c4', 'c5'], tokens: 2 + 2 + 3 + 2 })
  })

  it('keeps calls apart that differ in name, target, status or effect', () => {
    const messages = [
      ...did('c1', 'edit', { path: 'a' }),
      ...did('c2', 'edit', { path: 'b' }),
      assistant('', call('c3', 'edit', { path: 'a' })),
      failure('c3', 'no match'),
      ...did('c4', 'text_editor', { path: 'a', command: 'view' }),
      ...did('c5', 'text_editor', { path: 'a', command: 'str_replace' }),
    ]

    expect(digestToolCalls(messages).entries.map(({ effect, status }) => `${effect} ${status}`)).toEqual([
      'write ok',
      'write ok',
      'write failed',
      'read ok',
      'write ok',
    ])
  })

  it('gives a result to the nearest earlier call with its id that has none', () => {
    const messages = [
      result('same', 'an orphan'),
      assistant('', call('same', 'first', { query: 'a' })),
      result('same', 'to the first'),
      result('same', 'once too often'),
      assistant('', call('same', 'second', { query: 'b' }), call('same', 'third', { query: 'c' })),
      failure('same', 'to the third'),
      result('same', 'to the second'),
    ]

    expect(digestToolCalls(messages).entries.map(({ name, first }) => [name, first])).toEqual([
      ['first', 'to the first'],
      ['second', 'to the second'],
      ['third', 'to the third'],
    ])
  })

  it.each([
    ['a main argument', { command: 'ls -la', timeout: 3 }, 'ls -la'],
    ['a path', { path: 'src', depth: 2 }, 'src'],
    ['one scalar', { reservation_id: 'ZFA04Y' }, 'ZFA04Y'],
    ['scalars by name', { origin: 'JFK', seats: 2, legs: [1] }, 'origin=JFK, seats=2'],
    ['words of a command', { command: ['git', 'status'] }, 'git status'],
    ['a bare text', 'just this', 'just this'],
    ['nothing', {}, undefined],
    ['nothing in null', null, undefined],
    ['long ones shortened', { query: 'word '.repeat(50) }, `${'word '.repeat(23)}word…`],
  ])('takes for a target %s', (_, input, target) => {
    expect(digestToolCalls([assistant('', call('c', 'tool', input))]).entries[0]?.target).toBe(target)
  })

  it('finds the files of a patch', () => {
    const input = {
      patch: '*** Begin Patch\n*** Update File: src/a.ts\n@@\n*** Add File: src/b.ts\n+x\n*** End Patch',
    }

    expect(digestToolCalls([assistant('', call('c', 'apply_patch', input))]).entries[0]?.target).toBe(
      'src/a.ts and 1 more',
    )
    expect(filesOf([assistant('', call('c', 'apply_patch', input))]).modified).toEqual([
      'src/a.ts',
      'src/b.ts',
    ])
  })

  it('knows results that are more than text', () => {
    const messages: Row[] = [
      assistant('', call('c1', 'lookup'), call('c2', 'shot'), call('c3', 'lookup', { id: 1 })),
      {
        kind: 'message',
        role: 'user',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c1',
            output: { type: 'json', value: { rows: [1, { a: 'b' }, null], ok: true } },
          },
          {
            type: 'tool-result',
            toolCallId: 'c2',
            output: {
              type: 'content',
              isError: true,
              value: [
                { type: 'image', image: '' },
                { type: 'text', text: 'seen' },
              ],
            },
          },
          { type: 'tool-result', toolCallId: 'c3', output: { type: 'error-json', value: 'gone' } },
        ],
      },
    ]

    expect(
      digestToolCalls(messages).entries.map(({ status, first, tokens }) => [status, first, tokens]),
    ).toEqual([
      ['ok', '{"rows":[1,{"a":"b"},null],"ok":true}', 12],
      ['failed', 'seen', 1_024 + 2],
      ['failed', 'gone', 3],
    ])
  })

  it('takes other names for readers and writers', () => {
    const messages = [
      ...did('c1', 'load', { path: 'a' }),
      ...did('c2', 'store', { path: 'b' }),
      ...did('c3', 'read', { path: 'c' }),
    ]
    const names = { readTools: ['load'], writeTools: ['store'] }

    expect(digestToolCalls(messages, names).entries.map(({ effect }) => effect)).toEqual([
      'read',
      'write',
      'other',
    ])
    expect(filesOf(messages, names)).toEqual({ read: ['a'], modified: ['b'] })
  })
})

describe('files', () => {
  it('are listed once, in order of first use, failed calls aside', () => {
    const messages = [
      ...did('c1', 'read', { path: 'b' }),
      ...did('c2', 'read', { path: 'a' }),
      ...did('c3', 'edit', { path: 'b' }),
      ...did('c4', 'read', { path: 'b' }),
      assistant('', call('c5', 'write', { path: 'd' })),
      failure('c5', 'no'),
      ...did('c6', 'grep', { path: 'e', pattern: 'x' }),
    ]

    expect(filesOf(messages)).toEqual({ read: ['b', 'a'], modified: ['b'] })
  })
})

describe('rendering', () => {
  const entry = (name: string, more: Partial<DigestEntry> = {}): DigestEntry => ({
    name,
    status: 'ok',
    count: 1,
    tokens: 0,
    callIds: [],
    effect: 'other',
    ...more,
  })
  const digest: Digest = {
    omitted: 0,
    entries: [
      entry('read', { target: '/a.ts', effect: 'read', tokens: 120, first: 'import x' }),
      entry('bash', { target: 'npm test', count: 2, tokens: 1, first: 'ok' }),
      entry('edit', { target: '/a.ts', effect: 'write' }),
      entry('read', { target: '/b.ts', effect: 'read', count: 3 }),
      entry('bash', { target: 'make', status: 'failed', first: 'no rule' }),
    ],
  }

  it('writes nothing of nothing', () => {
    expect(renderDigest(EMPTY, 1_000)).toEqual({ text: '', digest: EMPTY })
  })

  it('writes a line an entry', () => {
    expect(renderDigest(digest, 1_000)).toEqual({
      digest,
      text: [
        '## Tool Calls',
        '- read /a.ts · ok · 120 tokens · import x',
        '- bash npm test ×2 · ok · 1 token · ok',
        '- edit /a.ts · ok',
        '- read /b.ts ×3 · ok',
        '- bash make · failed · no rule',
      ].join('\n'),
    })
  })

  it('lists files read on one line when there is little room', () => {
    const { text, digest: shown } = renderDigest(digest, 46)

    expect(text).toBe(
      [
        '## Tool Calls',
        '- bash npm test ×2 · ok · 1 token · ok',
        '- edit /a.ts · ok',
        '- bash make · failed · no rule',
        '- files read: /a.ts, /b.ts ×3',
      ].join('\n'),
    )
    expect(shown).toEqual(digest)
  })

  it.each([
    [43, ['bash', 'edit', 'read', 'bash'], 1],
    [34, ['edit', 'bash'], 6],
    [25, ['edit', 'bash'], 6],
    [22, ['bash'], 7],
    [15, [], 8],
    [5, [], 8],
  ])('leaves out in %i tokens what matters least, oldest first', (maxTokens, names, omitted) => {
    const { text, digest: shown } = renderDigest(digest, maxTokens)

    expect(shown.entries.map(({ name }) => name)).toEqual(names)
    expect(shown.omitted).toBe(omitted)
    if (maxTokens > 5) expect(text).toContain(`- ${omitted} ${omitted === 1 ? 'call' : 'calls'} left out`)
    else expect(text).toBe('')
  })

  it('carries over the number of omitted calls', () => {
    expect(renderDigest({ entries: [], omitted: 3 }, 100).text).toBe('## Tool Calls\n- 3 calls left out')
  })
})

describe('laws', () => {
  /** Calls with their results, in groups of up to three. */
  const groups = fc.array(
    fc.array(
      fc.record({
        name: fc.constantFrom('read', 'edit', 'bash', 'lookup'),
        target: fc.constantFrom('a', 'b', 'src/c.ts', '\ud83d', '😀'.repeat(80)),
        fails: fc.boolean(),
        output: fc.constantFrom('', 'fine', 'line one\nline two', 'x'.repeat(3_000), '\udc00'),
        id: fc.constantFrom('1', '2', '3'),
      }),
      { maxLength: 3 },
    ),
    { maxLength: 12 },
  )
  const rowsOf = (
    group: { name: string; target: string; fails: boolean; output: string; id: string }[],
  ): Row[] => [
    assistant('', ...group.map(({ id, name, target }) => call(id, name, { path: target }))),
    ...group.toReversed().map(({ id, fails, output }) => (fails ? failure : result)(id, output)),
  ]
  const digests = groups.map((list) => digestToolCalls(list.flatMap(rowsOf)))
  const calls = (digest: Digest) => digest.entries.reduce((sum, { count }) => sum + count, digest.omitted)

  it('the digest of the whole is the merge of the digests of its parts', () => {
    fc.assert(
      fc.property(groups, fc.nat(), (list, cut) => {
        const at = cut % (list.length + 1)
        const parts = [list.slice(0, at), list.slice(at)].map((part) => digestToolCalls(part.flatMap(rowsOf)))
        expect(mergeDigests(parts[0]!, parts[1]!)).toEqual(digestToolCalls(list.flatMap(rowsOf)))
      }),
    )
  })

  it('merging is associative, and merging with nothing changes nothing', () => {
    fc.assert(
      fc.property(digests, digests, digests, (a, b, c) => {
        expect(mergeDigests(mergeDigests(a, b), c)).toEqual(mergeDigests(a, mergeDigests(b, c)))
        expect(mergeDigests(a, EMPTY)).toEqual(a)
        expect(mergeDigests(EMPTY, a)).toEqual(a)
      }),
    )
  })

  it('every call is counted once, shown or left out, and the cap holds', () => {
    fc.assert(
      fc.property(digests, fc.nat(600), (digest, maxTokens) => {
        const { text, digest: shown } = renderDigest(digest, maxTokens)
        expect(estimateTokens(text)).toBeLessThanOrEqual(maxTokens)
        expect(calls(shown)).toBe(calls(digest))
        expect(text.isWellFormed()).toBe(true)
      }),
    )
  })

  it('an error is never left out before a call that went well', () => {
    fc.assert(
      fc.property(digests, fc.nat(600), (digest, maxTokens) => {
        const { digest: shown } = renderDigest(digest, maxTokens)
        const lost = digest.entries.filter((entry) => !shown.entries.includes(entry))
        if (lost.some(({ status }) => status === 'failed')) {
          expect(shown.entries.every(({ status }) => status === 'failed')).toBe(true)
        }
      }),
    )
  })
})

it('counts calls whose results a client wrote as texts, and files by the shape of their edits', () => {
  const edit = (id: string, path: string) =>
    call(id, 'multi_replace_file_content', { TargetFile: path, ReplacementChunks: [{ TargetContent: 'x' }] })
  const answers = [
    "[execute_command for 'npm test'] Result:\nCommand failed with exit code 1.\nOutput:\n1 failing",
    "[multi_replace_file_content for 'src/a.ts'] Result:\nThe content was saved to src/a.ts.",
    "[multi_replace_file_content for 'src/b.ts'] Result:\nThe user denied this operation.",
    '<environment_details>\nOpen tabs: src/a.ts\n</environment_details>',
  ]
  const messages: Row[] = [
    assistant(
      '',
      call('1', 'execute_command', { command: 'npm test' }),
      edit('2', 'src/a.ts'),
      edit('3', 'src/b.ts'),
      call('4', 'execute_command', { command: 'npm run lint' }),
    ),
    { kind: 'message', role: 'user', content: answers.map((text) => ({ type: 'text', text })) },
  ]
  const shown = digestToolCalls(messages).entries.map(({ target, status, effect }) => [
    target,
    status,
    effect,
  ])
  expect(shown).toEqual([
    ['npm test', 'failed', 'other'],
    ['src/a.ts', 'ok', 'write'],
    ['src/b.ts', 'failed', 'write'],
    ['npm run lint', 'pending', 'other'],
  ])
  expect(filesOf(messages)).toEqual({ read: [], modified: ['src/a.ts'] })
})
