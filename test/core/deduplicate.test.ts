import { describe, expect, it } from 'vitest'
import { deduplicateFileReads } from '../../src/compat/arrays/index.ts'
import { contextIn, rowsOf } from '../../src/compat/arrays/rows.ts'
import type { Json } from '../../src/core/messages/json.ts'
import type { Part, ToolResultOutput } from '../../src/core/messages/message.ts'
import type { ChatMessage } from '../../src/core/model/message-parts.ts'
import { deduplicate } from '../../src/core/stages/deduplicate.ts'
import { type NewMessage, openStore } from '../../src/index.ts'

/*
 * What is a re-read and what is not. Each pair is a first and a second read; both ways in are asked, the plain
 * array and the store, whose index of calls goes through the database.
 */

type Read = readonly [tool: string, input: object, output: string | ToolResultOutput]

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, at) => `const line${from + at} = ${from + at}\n`).join('')

function messagesOf(reads: readonly Read[]): NewMessage[] {
  return reads.flatMap(([toolName, input, output], index) => {
    const toolCallId = `c${index}`
    const called: Part = { type: 'tool-call', toolCallId, toolName, input: input as Json }
    const answer: Part = {
      type: 'tool-result',
      toolCallId,
      output: typeof output === 'string' ? { type: 'text', value: output } : output,
    }
    return [
      { role: 'assistant' as const, content: [called] },
      { role: 'tool' as const, content: [answer] },
    ]
  })
}

/** Which of the reads show a pointer, by the store; the plain function must say the same. */
async function replaced(...reads: Read[]): Promise<boolean[]> {
  const messages = messagesOf(reads)
  const plain = deduplicateFileReads(messages as ChatMessage[], { minimumSavings: 0 }).messages
  await using store = await openStore(':memory:')
  await store.append('s', messages)
  await store.compactSession('s', {
    enablePrune: false,
    enableSummarize: false,
    enableTruncate: false,
    targetTokens: 0,
    deduplicateMinimumSavings: 0,
  })
  const view = await store.getEffectiveHistory('s')
  const pointers = (all: readonly ChatMessage[]): boolean[] =>
    all
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => /refer to latest read/.test(JSON.stringify(content)))
  expect((await store.sessions.verify('s')).findings).toEqual([])
  expect(pointers(plain)).toEqual(pointers(view))
  return pointers(view)
}

const PATH = { path: 'src/a.ts' }
const WHOLE = lines(1, 300)
const IMAGE: Part = { type: 'image', image: 'aGVsbG8=', mediaType: 'image/png' }
const NOTE = `A screenshot of the settings page. ${'It shows a form. '.repeat(30)}`

const apart: readonly (readonly [string, Read, Read])[] = [
  [
    'the end of a file',
    ['read_text_file', PATH, WHOLE],
    ['read_text_file', { ...PATH, tail: 10 }, lines(291, 300)],
  ],
  [
    'a long end of a file',
    ['read_text_file', PATH, WHOLE],
    ['read_text_file', { ...PATH, tail: 290 }, lines(11, 300)],
  ],
  [
    'the end, twice: it has moved',
    ['read_text_file', { ...PATH, tail: 50 }, lines(251, 300)],
    ['read_text_file', { ...PATH, tail: 50 }, lines(451, 500)],
  ],
  [
    'an offset from the end',
    ['read_file', PATH, WHOLE],
    ['read_file', { ...PATH, offset: -290 }, lines(11, 300)],
  ],
  [
    'the head of a file',
    ['read_text_file', PATH, WHOLE],
    ['read_text_file', { ...PATH, head: 10 }, lines(1, 10)],
  ],
  [
    'another repository',
    ['get_file_contents', { owner: 'o', repo: 'r1', path: 'README.md' }, WHOLE],
    ['get_file_contents', { owner: 'o', repo: 'r2', path: 'README.md' }, WHOLE],
  ],
  [
    'another revision',
    ['get_file_contents', { owner: 'o', repo: 'r1', path: 'README.md', ref: 'main' }, WHOLE],
    ['get_file_contents', { owner: 'o', repo: 'r1', path: 'README.md', ref: 'dev' }, WHOLE],
  ],
  [
    'other pages',
    ['Read', { file_path: 'a.pdf', pages: '1-5' }, WHOLE],
    ['Read', { file_path: 'a.pdf', pages: '6-10' }, WHOLE],
  ],
  [
    'another cell',
    ['NotebookRead', { notebook_path: 'a.ipynb', cell_id: 'a' }, WHOLE],
    ['NotebookRead', { notebook_path: 'a.ipynb', cell_id: 'b' }, WHOLE],
  ],
  [
    'another encoding',
    ['read_file', { ...PATH, encoding: 'base64' }, 'A'.repeat(4000)],
    ['read_file', PATH, WHOLE],
  ],
  [
    'a range in words nobody knows',
    ['read_file', { ...PATH, lines: '1-50' }, lines(1, 50)],
    ['read_file', { ...PATH, lines: '51-100' }, lines(51, 100)],
  ],
  [
    'an argument whose long values differ at the end',
    ['read_file', { ...PATH, query: `${'q'.repeat(500)}1` }, WHOLE],
    ['read_file', { ...PATH, query: `${'q'.repeat(500)}2` }, WHOLE],
  ],
  ['nothing', ['read_file', PATH, lines(1, 50)], ['read_file', PATH, '']],
  ['blanks', ['read_file', PATH, lines(1, 50)], ['read_file', PATH, ' \n'.repeat(2000)]],
  [
    'an error told as text',
    ['read_file', PATH, lines(1, 4)],
    [
      'read_file',
      PATH,
      "Error: ENOENT: no such file or directory, open '/home/someone/projects/thing/src/a.ts'",
    ],
  ],
  [
    'an error in a tag',
    ['read_file', PATH, lines(1, 4)],
    ['read_file', PATH, `<tool_use_error>File does not exist.${' Try again.'.repeat(9)}</tool_use_error>`],
  ],
  [
    'an error in JSON',
    ['read_file', PATH, lines(1, 4)],
    ['read_file', PATH, { type: 'json', value: { error: 'x'.repeat(100) } }],
  ],
  [
    'a long stack trace',
    ['read_file', PATH, lines(1, 50)],
    ['read_file', PATH, `FileNotFoundError: src/a.ts\n${'  at open (fs.js:1:1)\n'.repeat(70)}`],
  ],
  [
    'word that it has not changed',
    ['read_file', PATH, lines(1, 5)],
    [
      'read_file',
      PATH,
      'File unchanged since last read. The content from the earlier Read is still current.',
    ],
  ],
  [
    'a text cut with how much is left',
    ['read_file', PATH, lines(1, 500)],
    ['read_file', PATH, `${lines(1, 50)}... (450 more lines)`],
  ],
  [
    'a text cut a little',
    ['read_file', PATH, lines(1, 500)],
    ['read_file', PATH, `${lines(1, 490)}... (10 more lines)`],
  ],
  [
    'a text cut in its middle',
    ['read_file', PATH, lines(1, 500)],
    ['read_file', PATH, `${lines(1, 240)}[... 20 lines omitted ...]\n${lines(261, 500)}`],
  ],
  [
    'a text cut at a limit',
    ['read_file', { ...PATH, limit: 2000 }, lines(1, 500)],
    ['read_file', { ...PATH, limit: 2000 }, `${lines(1, 480)}[output limit reached]`],
  ],
  [
    'a few words of something else',
    ['read_file', PATH, WHOLE],
    ['read_file', PATH, 'Kept as item 7; ask for it.'],
  ],
  ['a text cut without a word', ['read_file', PATH, lines(1, 500)], ['read_file', PATH, lines(1, 400)]],
  [
    'a part that ends with the file, by JSON',
    ['read_file', { ...PATH, offset: 51, limit: 50 }, { type: 'json', value: { content: lines(51, 100) } }],
    ['read_file', { ...PATH, offset: 1, limit: 50 }, { type: 'json', value: { content: lines(1, 50) } }],
  ],
  [
    'a text where an image was',
    ['view_image', { path: 'a.png' }, { type: 'content', value: [{ type: 'text', text: NOTE }, IMAGE] }],
    ['view_image', { path: 'a.png' }, NOTE],
  ],
  [
    'other lines, told in words',
    ['shell', {}, `Read file a.ts lines 1-50\n${lines(1, 50)}`],
    ['shell', {}, `Read file a.ts lines 51-120\n${lines(51, 120)}`],
  ],
  [
    'another tool, told in words',
    ['lint', {}, `Reading main.ts…\n${WHOLE}`],
    ['stats', {}, `Reading main.ts…\n${WHOLE}`],
  ],
  [
    'another command, told in words',
    ['shell', { command: 'lint main.ts' }, `Reading main.ts…\n${WHOLE}`],
    ['shell', { command: 'stats main.ts' }, `Reading main.ts…\n${WHOLE}`],
  ],
  [
    'a cut text, told in words',
    ['shell', {}, `Read file a.ts\n${lines(1, 50)}`],
    ['shell', {}, `Read file a.ts\n${lines(1, 50)}... (450 more lines)`],
  ],
]

describe('is no re-read:', () => {
  it.each(apart)('%s', async (_, first, second) => {
    expect(await replaced(first, second)).toEqual([false, false])
  })
})

const again: readonly (readonly [string, Read, Read])[] = [
  [
    'the whole after its end',
    ['read_text_file', { ...PATH, tail: 100 }, lines(201, 300)],
    ['read_text_file', PATH, WHOLE],
  ],
  [
    'the whole after its head',
    ['read_text_file', { ...PATH, head: 100 }, lines(1, 100)],
    ['read_text_file', PATH, WHOLE],
  ],
  [
    'a longer head',
    ['read_text_file', { ...PATH, head: 100 }, lines(1, 100)],
    ['read_text_file', { ...PATH, head: 150 }, lines(1, 150)],
  ],
  [
    'the same other arguments in another order',
    ['get_file_contents', { owner: 'o', repo: 'r1', path: 'README.md', ref: 'refs/heads/main' }, WHOLE],
    ['get_file_contents', { path: 'README.md', ref: 'refs/heads/main', repo: 'r1', owner: 'o' }, WHOLE],
  ],
  [
    'what was not given',
    ['read_file', { ...PATH, ref: null, offset: null }, WHOLE],
    ['read_file', PATH, WHOLE],
  ],
  [
    'another explanation',
    ['read_file', { ...PATH, explanation: 'to see' }, WHOLE],
    ['read_file', PATH, WHOLE],
  ],
  ['a file that has become a little shorter', ['read_file', PATH, WHOLE], ['read_file', PATH, lines(1, 280)]],
  ['a file that has lost most of it', ['read_file', PATH, WHOLE], ['read_file', PATH, lines(101, 150)]],
  ['a file of which a few lines are left', ['read_file', PATH, WHOLE], ['read_file', PATH, lines(298, 300)]],
  [
    'a short file that has lost its end',
    ['read_file', PATH, lines(1, 20)],
    ['read_file', PATH, lines(1, 10)],
  ],
  [
    'a numbered file of which a few lines are left',
    ['read_file', PATH, WHOLE.replace(/^/gm, '  12\t')],
    ['read_file', PATH, lines(298, 300).replace(/^/gm, '   1\t')],
  ],
  [
    'the same pages',
    ['Read', { file_path: 'a.pdf', pages: '1-5' }, WHOLE],
    ['Read', { file_path: './a.pdf', pages: '1-5' }, WHOLE],
  ],
  [
    'the same cut',
    ['read_file', PATH, `${lines(1, 50)}... (450 more lines)`],
    ['read_file', PATH, `${lines(1, 50)}... (450 more lines)`],
  ],
  [
    'the same image',
    ['view_image', { path: 'a.png' }, { type: 'content', value: [{ type: 'text', text: NOTE }, IMAGE] }],
    ['view_image', { path: 'a.png' }, { type: 'content', value: [{ type: 'text', text: NOTE }, IMAGE] }],
  ],
  [
    'a file about errors',
    ['read_file', PATH, `  this.error = 1\n${WHOLE}`],
    ['read_file', PATH, `  this.error = 1\n${WHOLE}`],
  ],
  [
    'more lines, told in words',
    ['shell', {}, `Read file a.ts lines 1-50\n${lines(1, 50)}`],
    ['shell', {}, `Read file a.ts lines 1-120\n${lines(1, 120)}`],
  ],
]

describe('is a re-read:', () => {
  it.each(again)('%s', async (_, first, second) => {
    expect(await replaced(first, second)).toEqual([true, false])
  })
})

it('an answer that shows nothing does not hide a re-read around it', async () => {
  const unchanged = 'File unchanged since last read. The content from the earlier Read is still current.'
  expect(await replaced(['Read', PATH, WHOLE], ['Read', PATH, WHOLE], ['Read', PATH, unchanged])).toEqual([
    true,
    false,
    false,
  ])
})

it('a file that was written in between has lost its end, and was not cut', async () => {
  const written: Read = ['write_file', { ...PATH, content: lines(1, 100) }, 'ok']
  expect(await replaced(['read_file', PATH, WHOLE], written, ['read_file', PATH, lines(1, 100)])).toEqual([
    true,
    false,
    false,
  ])
})

describe('reads shown as previews from the start', () => {
  const only = { enablePrune: false, enableSummarize: false, enableTruncate: false, targetTokens: 0 }
  // 3,000 lines: over the limit of 2,000.
  const large = lines(1, 3_000)
  const outputs = (view: readonly ChatMessage[]): string[] =>
    view.flatMap(({ content }) =>
      (content as readonly Part[]).flatMap((part) =>
        part.type === 'tool-result' && part.output.type === 'text' ? [part.output.value] : [],
      ),
    )

  it('point to the latest, which stays a preview; undo and redo are exact', async () => {
    await using store = await openStore(':memory:', { env: false })
    const { preview } = await store.append(
      's',
      messagesOf([
        ['read_file', PATH, large],
        ['read_file', PATH, `${large}// more`],
        ['read_file', PATH, large],
      ]),
    )
    expect(preview!.parts).toBe(3)
    const before = await store.getEffectiveHistory('s')
    const run = (await store.compactSession('s', only))!
    expect(run.stagesUsed).toEqual(['deduplicate'])
    const after = await store.getEffectiveHistory('s')
    const pointer = '[File src/a.ts - refer to latest read below]'
    expect(outputs(after)).toEqual([pointer, pointer, outputs(before)[2]])
    expect(run.tokensAfter).toBe((await store.getContextStats('s'))!.estimated)
    expect((await store.sessions.verify('s')).findings).toEqual([])
    await store.undoCompaction('s', run.runId)
    expect(await store.getEffectiveHistory('s')).toEqual(before)
    await store.redoCompaction('s', run.runId)
    expect(await store.getEffectiveHistory('s')).toEqual(after)
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })

  it('replace no read that shows more than they do', async () => {
    for (const [first, second] of [
      // Shown whole.
      [lines(1, 1_500), large],
      // Another part of the file.
      [`lines 1-2500 of 3000\n${lines(1, 2_500)}`, large],
    ]) {
      await using store = await openStore(':memory:', { env: false })
      await store.append(
        's',
        messagesOf([
          ['read_file', PATH, first!],
          ['read_file', PATH, second!],
        ]),
      )
      expect((await store.compactSession('s', only))!.compacted).toBe(false)
    }
  })
})

it('needs no contents but the results of repeated reads, also where settings have a copy of the names of path arguments', () => {
  const messages = messagesOf([
    ['read', PATH, WHOLE],
    ['bash', { command: 'ls' }, WHOLE],
    ['read', PATH, WHOLE],
  ])
  const rows = rowsOf(messages as ChatMessage[], '', 'test')
  const keeps = deduplicate.keeps!(rows.view, contextIn(rows, {}, 0, 0))
  const needed = rows.view.rows.map((row) => keeps(row, rows.contentOf(row)))
  // The results; what was called is in the index.
  expect(needed).toEqual([false, true, false, false, false, true])
})
