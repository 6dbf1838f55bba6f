import { describe, expect, it } from 'vitest'
import type { Part } from '../../../src/core/messages/message.ts'
import { colored, languageOf } from '../../../src/inspect/page/highlight.ts'
import { MAX_MARKDOWN_LENGTH, markdownOf, webAddress } from '../../../src/inspect/page/markdown-tree.ts'
import { edit, editsOf, patchEdits } from '../../../src/inspect/page/tool-edits.ts'
import { absorbedParts, resultsOf } from '../../../src/inspect/page/tool-pairs.ts'
import {
  beginningOf,
  hasMoreArguments,
  lineCount,
  mainArgument,
} from '../../../src/inspect/page/tool-words.ts'

describe('Markdown', () => {
  it('becomes known elements', () => {
    expect(markdownOf('# A *b*\n\n1. one\n2. two')).toEqual([
      { tag: 'h1', children: ['A ', { tag: 'em', children: ['b'] }] },
      {
        tag: 'ol',
        children: [
          { tag: 'li', children: [{ tag: 'tight', children: ['one'] }] },
          { tag: 'li', children: [{ tag: 'tight', children: ['two'] }] },
        ],
      },
    ])
    expect(markdownOf('```ts\nlet a\n```')).toEqual([{ tag: 'pre', language: 'ts', children: ['let a\n'] }])
  })

  it('keeps HTML as text', () => {
    expect(markdownOf('<script>alert(1)</script>')).toEqual([
      { tag: 'p', children: ['<script>alert(1)</script>'] },
    ])
    expect(markdownOf('a <img src=x onerror=y> b')).toEqual([
      { tag: 'p', children: ['a <img src=x onerror=y> b'] },
    ])
  })

  it('links to the web only, and shows an image as a link', () => {
    const linked = (text: string) => markdownOf(text)[0]
    expect(linked('[a](javascript:alert(1))')).toEqual({
      tag: 'p',
      children: [{ tag: 'a', children: ['a'] }],
    })
    expect(linked('[a](data:text/html,b)')).toEqual({ tag: 'p', children: [{ tag: 'a', children: ['a'] }] })
    expect(linked('[a](https://x.org/b)')).toEqual({
      tag: 'p',
      children: [{ tag: 'a', href: 'https://x.org/b', children: ['a'] }],
    })
    expect(linked('![a cat](https://x.org/c.png)')).toEqual({
      tag: 'p',
      children: [{ tag: 'a', href: 'https://x.org/c.png', children: ['image: a cat'] }],
    })
    expect(webAddress('HTTPS://x.org')).toBe('https://x.org/')
    expect(webAddress('https://')).toBeUndefined()
    expect(webAddress(' javascript:alert(1)//https://x.org')).toBeUndefined()
  })

  it('stays plain in a text that is too long', () => {
    const long = '*a* '.repeat(MAX_MARKDOWN_LENGTH)
    expect(markdownOf(long)).toEqual([{ tag: 'p', children: [long] }])
  })
})

describe('code', () => {
  it('is divided by color, and its text stays the same', () => {
    const stretches = colored('const a = "b"', 'ts')!
    expect(stretches.map(({ text }) => text).join('')).toBe('const a = "b"')
    expect(stretches).toContainEqual({ text: 'const', kind: 'keyword' })
    expect(stretches).toContainEqual({ text: '"b"', kind: 'string' })
  })

  it('stays plain in an unknown language, and if it or a line is long', () => {
    expect(colored('a', 'none')).toBeUndefined()
    expect(colored('a', undefined)).toBeUndefined()
    expect(colored('a\n'.repeat(30_000), 'ts')).toBeUndefined()
    expect(colored('a'.repeat(1_001), 'ts')).toBeUndefined()
  })

  it('keeps its text where it is read in pieces', () => {
    const code = 'int main() { return 0; }\n'.repeat(300)
    const stretches = colored(code, 'c')!
    expect(stretches.map(({ text }) => text).join('')).toBe(code)
    expect(stretches.filter(({ kind, text }) => kind === 'keyword' && text === 'return')).toHaveLength(300)
    expect(colored(code.repeat(3), 'c')).toBeUndefined()
  })

  it('may be nested deeper than the stack', () => {
    const nested = '"$('.repeat(10_000).replaceAll(/(.{900})/g, '$1\n')
    expect(
      colored(nested, 'bash')!
        .map(({ text }) => text)
        .join(''),
    ).toBe(nested)
  })

  it('has the language of its file', () => {
    expect(languageOf('src/a.tsx')).toBe('typescript')
    expect(languageOf('a.constructor')).toBeUndefined()
    expect(languageOf('Makefile')).toBeUndefined()
  })
})

describe('edits', () => {
  const lines = (edits: ReturnType<typeof editsOf>) =>
    edits.map(({ path, lines: all, added, removed }) => ({
      path,
      text: all.map(({ kind, text }) => `${{ added: '+', removed: '-', same: ' ', gap: '@' }[kind]}${text}`),
      counts: [added, removed],
    }))

  it('are read from the arguments of Claude Code, opencode, pi and editors', () => {
    const expected = [{ path: 'a.ts', text: [' one', '-two', '+three'], counts: [1, 1] }]
    const [before, after] = ['one\ntwo', 'one\nthree']
    for (const input of [
      { file_path: 'a.ts', old_string: before, new_string: after },
      { filePath: 'a.ts', oldString: before, newString: after },
      { path: 'a.ts', edits: [{ oldText: before, newText: after }] },
      { path: 'a.ts', old_str: before, new_str: after, command: 'str_replace' },
    ])
      expect(lines(editsOf('edit', input))).toEqual(expected)
  })

  it('are read from several edits of one file', () => {
    const input = {
      file_path: 'a',
      edits: [
        { old_string: 'x', new_string: 'y' },
        { old_string: 'z', new_string: '' },
      ],
    }
    expect(lines(editsOf('MultiEdit', input))).toEqual([
      { path: 'a', text: ['-x', '+y'], counts: [1, 1] },
      { path: 'a', text: ['-z'], counts: [0, 1] },
    ])
  })

  it('are added lines where a file is written', () => {
    expect(lines(editsOf('Write', { file_path: 'a', content: 'x\ny\n' }))).toEqual([
      { path: 'a', text: ['+x', '+y'], counts: [2, 0] },
    ])
    expect(editsOf('send', { path: 'a', content: 'x' })).toEqual([])
  })

  it('are read from patches', () => {
    const patch = [
      ...['*** Begin Patch', '*** Update File: a.ts', '@@ f()', ' x', '-y', '+z'],
      ...['*** Add File: b.ts', '+new', '*** Delete File: c.ts', '*** End Patch'],
    ].join('\n')
    const expected = [
      { path: 'a.ts', text: ['@f()', ' x', '-y', '+z'], counts: [1, 1] },
      { path: 'b.ts', text: ['+new'], counts: [1, 0] },
      { path: 'c.ts', text: [], counts: [0, 0] },
    ]
    expect(lines(editsOf('apply_patch', { patch }))).toEqual(expected)
    expect(lines(editsOf('apply_patch', patch))).toEqual(expected)
    expect(lines(editsOf('shell', { command: ['apply_patch', patch] }))).toEqual(expected)
    const unified = '--- a/x.ts\n+++ b/x.ts\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n'
    expect(lines(patchEdits(unified))).toEqual([
      { path: 'x.ts', text: ['@-1,2 +1,2', ' a', '-b', '+c'], counts: [1, 1] },
    ])
  })

  it('of texts that are too different show both', () => {
    const before = Array.from({ length: 3_000 }, (_, at) => `a${at}`).join('\n')
    const after = Array.from({ length: 3_000 }, (_, at) => `b${at}`).join('\n')
    const { added, removed } = edit('x', before, after)
    expect([added, removed]).toEqual([3_000, 3_000])
  })

  it('are absent from other arguments', () => {
    expect(editsOf('read', { path: 'a' })).toEqual([])
    expect(editsOf('read', null)).toEqual([])
    expect(editsOf('read', { edits: ['x'] })).toEqual([])
  })
})

describe('tool calls', () => {
  const call = (id: string): Part => ({ type: 'tool-call', toolCallId: id, toolName: 't', input: {} })
  const result = (id: string): Part => ({
    type: 'tool-result',
    toolCallId: id,
    output: { type: 'text', value: id },
  })
  const log = (...contents: readonly (readonly [string, readonly Part[], boolean?])[]) => {
    const rows = contents.map(([role, content, hidden = false], at) => ({
      ...{ role, content, hidden, position: at + 1 },
    }))
    return { rows, rowAt: (position: number) => rows[position - 1] }
  }

  it('have the results that follow them directly', () => {
    const { rows, rowAt } = log(
      ['assistant', [call('a'), call('b')]],
      ['tool', [result('a')]],
      ['tool', [result('b')]],
      ['user', [{ type: 'text', text: 'x' }]],
    )
    const found = resultsOf(rows[0]!, rowAt)
    expect([...found].map(([id, { row, index }]) => [id, row.position, index])).toEqual([
      ['a', 2, 0],
      ['b', 3, 0],
    ])
    expect(absorbedParts(rows[2]!, rowAt)).toEqual({ parts: new Set([0]), position: 1 })
    expect(absorbedParts(rows[3]!, rowAt)).toEqual({ parts: new Set(), position: undefined })
  })

  it('leave other parts of a message with results in their row', () => {
    const { rows, rowAt } = log(
      ['assistant', [call('a')]],
      ['user', [result('a'), { type: 'text', text: 'x' }, result('other')]],
    )
    expect(absorbedParts(rows[1]!, rowAt)).toEqual({ parts: new Set([0]), position: 1 })
  })

  it('do not have a later result, one of the other state, or one that is not loaded', () => {
    const late = log(
      ['assistant', [call('a')]],
      ['user', [{ type: 'text', text: 'x' }]],
      ['tool', [result('a')]],
    )
    expect(resultsOf(late.rows[0]!, late.rowAt).size).toBe(0)
    const hidden = log(['assistant', [call('a')]], ['tool', [result('a')], true])
    expect(resultsOf(hidden.rows[0]!, hidden.rowAt).size).toBe(0)
    expect(absorbedParts(hidden.rows[1]!, hidden.rowAt).parts.size).toBe(0)
    expect(resultsOf(hidden.rows[0]!, () => undefined).size).toBe(0)
  })

  it('are named by their command, path or query', () => {
    expect(mainArgument({ description: 'Lists files', command: 'ls  -l\nwc' })).toBe('ls -l wc')
    expect(mainArgument({ cmd: ['bash', '-lc', 'npm test'] })).toBe('npm test')
    expect(mainArgument({ limit: 3, file_path: 'a.ts' })).toBe('a.ts')
    expect(mainArgument({ limit: 3 })).toBe('3')
    expect(mainArgument([])).toBe('')
    expect(hasMoreArguments({ path: 'a' })).toBe(false)
    expect(hasMoreArguments({ path: 'a\nb' })).toBe(true)
    expect(hasMoreArguments({ path: 'a', limit: 1 })).toBe(true)
    expect(hasMoreArguments({})).toBe(false)
  })

  it('show the beginning of a long output in whole lines', () => {
    expect(beginningOf('a\nb\nc', 2, 100)).toBe('a\nb')
    expect(beginningOf('a\nb', 2, 100)).toBe('a\nb')
    expect(beginningOf('abcdef', 2, 4)).toBe('abcd')
    // A character of two units isn't cut.
    expect(beginningOf('abc😀', 2, 4)).toBe('abc')
    expect(lineCount('a\nb\n')).toBe(2)
    expect(lineCount('a\nb')).toBe(2)
  })
})
