import { describe, expect, it } from 'vitest'
import { DEDUP_THRESHOLD, deduplicateFileReads } from '../../src/compat/arrays/index.ts'
import type { ChatMessage } from '../../src/core/model/message-parts.ts'
import { assistant, call, deepFreeze, result, user } from './support.ts'

const NOTICE = '[File src/a.ts - refer to latest read below]'

/** A read of a file as flat call and result, `length` characters long. */
const read = (path: string, length = 400): ChatMessage[] => [
  call('read_file', { path }),
  result('read_file', `${path}: `.padEnd(length, 'x')),
]

function contents({ messages }: { readonly messages: readonly ChatMessage[] }): string[] {
  return messages.flatMap(({ role, content }) => (role === 'tool_result' ? [content as string] : []))
}

it('keeps the latest read whole and points to it from the earlier ones [S3-107 S3-108 S3-U10]', () => {
  const messages = [...read('src/a.ts'), user('again'), ...read('src/a.ts'), ...read('src/a.ts')]
  const latest = messages[6]!.content
  expect(contents(deduplicateFileReads(messages))).toEqual([NOTICE, NOTICE, latest])
})

/*
 * The notice is 44 characters: 11 units. An earlier read of 20 units saves 9; with a latest of 10 units that is
 * 9 of 30, exactly 30 %.
 */
it.each([
  { latest: 40, deduplicated: true },
  { latest: 44, deduplicated: false },
])(
  'at 30 % and just below: a latest read of $latest characters [S3-109 S3-110 S3-113]',
  ({ latest, deduplicated }) => {
    expect(DEDUP_THRESHOLD).toBe(0.3)
    const texts = ['cat src/a.ts '.padEnd(80, 'x'), 'cat src/a.ts '.padEnd(latest, 'x')]
    const messages = deepFreeze(texts.map((text) => result('shell', text)))
    const outcome = deduplicateFileReads(messages)
    expect(outcome).toMatchObject({ deduplicated, filesDeduped: deduplicated ? 1 : 0 })
    if (!deduplicated) expect(outcome.messages).toEqual(messages)
    expect(contents(outcome)).toEqual(deduplicated ? [NOTICE, texts[1]] : texts)
  },
)

it('counts distinct files: 2 for two files read three times each [S3-111]', () => {
  const messages = [1, 2, 3].flatMap(() => [...read('src/a.ts'), ...read('src/b.ts')])
  expect(deduplicateFileReads(messages).filesDeduped).toBe(2)
})

it('counts a file once that was read with two tools [S3-111]', () => {
  const twice = (tool: string): ChatMessage[] =>
    [1, 2].flatMap(() => [call(tool, { path: './src/a.ts' }), result(tool, 'x'.repeat(400))])
  const outcome = deduplicateFileReads([...twice('read_file'), ...twice('cat')])
  expect(outcome.filesDeduped).toBe(1)
  expect(outcome.deduplicated).toBe(true)
})

describe('knows a read by the words of its result [S3-112]', () => {
  const words = ['read', 'reading', 'read_file', 'readFile', 'Read file', 'cat']
  const quotes = ['', "'", '"', '`']
  const cases = [...words, ...words.map((word) => word.toUpperCase())].flatMap((word) =>
    quotes.map((quote) => `${word} ${quote}src/a.ts${quote}`),
  )
  it.each(cases)('%s', (heading) => {
    const text = `${heading}\n${'line of the file\n'.repeat(20)}`
    const messages = [
      call('shell'),
      result('shell', text),
      assistant('and again'),
      call('shell'),
      result('shell', text),
    ]
    expect(contents(deduplicateFileReads(messages))).toEqual([NOTICE, text])
    expect(deduplicateFileReads(messages, { byText: false }).deduplicated).toBe(false)
  })

  it('and never treats text of the assistant or the user as a read', () => {
    const text = `Read file src/a.ts\n${'line of the file\n'.repeat(20)}`
    const messages = [user(text), assistant(text), user(text), assistant(text)]
    expect(deduplicateFileReads(messages)).toEqual({ deduplicated: false, messages, filesDeduped: 0 })
  })

  it('nor words in the middle of a result', () => {
    const text = `The thread is concat src/a.ts, already read src/a.ts\n${'x\n'.repeat(200)}`
    const messages = [result('shell', text), result('shell', text)]
    expect(deduplicateFileReads(messages).deduplicated).toBe(false)
  })
})

it('leaves a read that a later, smaller one does not cover', () => {
  const part = (range: object): ChatMessage[] => [
    call('read_file', { path: 'src/a.ts', ...range }),
    result('read_file', 'x'.repeat(400)),
  ]
  expect(deduplicateFileReads([...part({}), ...part({ offset: 10, limit: 5 })]).deduplicated).toBe(false)
})

it('replaces nothing twice, and takes no pointer or placeholder for the latest read', () => {
  const once = deduplicateFileReads([...read('src/a.ts'), ...read('src/a.ts')]).messages
  expect(deduplicateFileReads(once).deduplicated).toBe(false)
  const cleared = [call('read_file', { path: 'src/a.ts' }), result('read_file', '[Tool result cleared]')]
  expect(deduplicateFileReads([...read('src/a.ts'), ...cleared]).deduplicated).toBe(false)
})

it('takes names of tools and arguments of the caller’s own', () => {
  const own = (length: number): ChatMessage[] => [
    call('slurp', { what: 'src/a.ts' }),
    result('slurp', 'x'.repeat(length)),
  ]
  const messages = [...own(400), ...own(400)]
  expect(deduplicateFileReads(messages).deduplicated).toBe(false)
  const config = { readTools: ['slurp'], pathArguments: ['what'] }
  expect(contents(deduplicateFileReads(messages, config))[0]).toBe(NOTICE)
})

it('changes no input and refuses a misspelled option', () => {
  const messages = deepFreeze([...read('src/a.ts'), ...read('src/a.ts')])
  const before = structuredClone(messages)
  expect(deduplicateFileReads(messages).deduplicated).toBe(true)
  expect(messages).toEqual(before)
  expect(() => deduplicateFileReads([], { threshold: 0.3 } as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT' }),
  )
})

it('results that carry their call (`tool_name`, `tool_input`) are reads', () => {
  const text = 'const a = 1\n'.repeat(40)
  const read = (path: string, content: string, name = 'readFile') => ({
    role: 'tool',
    tool_name: name,
    tool_input: { path },
    content,
  })
  const messages = [
    { role: 'user', content: 'Look.' },
    read('src/a.ts', text),
    read('src/b.ts', text),
    read('src/a.ts', text, 'writeFile'),
    read('src/a.ts', text),
  ]
  const { messages: shown, filesDeduped } = deduplicateFileReads(messages)
  expect(filesDeduped).toBe(1)
  expect(shown).toEqual([
    messages[0],
    { ...messages[1], content: '[File src/a.ts - refer to latest read below]' },
    ...messages.slice(2),
  ])
})

it('a result that names its call by id has that one call alone', () => {
  const text = 'const a = 1\n'.repeat(40)
  const call = (id: string) => ({
    role: 'assistant',
    content: '',
    tool_calls: [{ id, type: 'function', function: { name: 'readFile', arguments: '{"path":"a.ts"}' } }],
  })
  const result = (id: string) => ({
    role: 'tool',
    tool_call_id: id,
    tool_name: 'readFile',
    tool_input: { path: 'a.ts' },
    content: text,
  })
  const messages = [call('1'), result('1'), call('2'), result('2')]
  const { messages: shown } = deduplicateFileReads(messages)
  expect(shown.map(({ content }) => content)).toEqual([
    '',
    '[File a.ts - refer to latest read below]',
    '',
    text,
  ])
})
