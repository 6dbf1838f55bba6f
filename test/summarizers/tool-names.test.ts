import { expect, it } from 'vitest'
import type { Json } from '../../src/core/messages/json.ts'
import {
  editedFiles,
  effectOf,
  isReadTool,
  isWriteTool,
  pathArgument,
  pathsArgument,
} from '../../src/core/messages/tool-names.ts'

it.each([
  'read',
  'Read',
  'read_file',
  'readFile',
  'READ-FILE',
  'mcp__files__read_file',
  'files.readFile',
  'fs/view',
])('%s reads files', (name) => {
  expect(isReadTool(name)).toBe(true)
  expect(isWriteTool(name)).toBe(false)
})

it.each(['write', 'Edit', 'MultiEdit', 'apply_patch', 'str_replace_based_edit_tool', 'mcp__fs__writeFile'])(
  '%s changes files',
  (name) => {
    expect(isWriteTool(name)).toBe(true)
    expect(isReadTool(name)).toBe(false)
  },
)

it.each(['bash', 'grep', 'reader', 'thread', '', '_', '__', 'a__'])('%j does neither', (name) => {
  expect(isReadTool(name)).toBe(false)
  expect(isWriteTool(name)).toBe(false)
})

it('takes a caller list instead of the default one', () => {
  expect(isReadTool('load', ['load'])).toBe(true)
  expect(isReadTool('read', ['load'])).toBe(false)
  expect(isWriteTool('store', ['store'])).toBe(true)
})

it.each([
  [{ path: 'a.ts' }, 'a.ts'],
  [{ filePath: 'a.ts' }, 'a.ts'],
  [{ file_path: 'b.ts', content: 'x' }, 'b.ts'],
  [{ file: 'later.ts', path: 'first.ts' }, 'first.ts'],
  [{ path: '  ', file: 'b.ts' }, 'b.ts'],
  [{ paths: ['a.ts', 'b.ts'] }, 'a.ts'],
  [{ path: 7 }, undefined],
  [{ command: 'ls' }, undefined],
  ['a.ts', undefined],
  [null, undefined],
  [['a.ts'], undefined],
])('the path of %j is %j', (input, path) => {
  expect(pathArgument(input)).toBe(path)
})

it('takes a caller list of arguments, first first', () => {
  expect(pathArgument({ path: 'a', where: 'b' }, ['where', 'path'])).toBe('b')
  expect(pathArgument({ path: 'a' }, ['where'])).toBeUndefined()
})

it('names all paths of a list', () => {
  expect(pathsArgument({ files: ['a.ts', '', 3, 'b.ts'] })).toEqual(['a.ts', 'b.ts'])
})

const PATCH = '*** Begin Patch\n*** Update File: src/a.ts\n*** Move to: src/b.ts\n@@\n-x\n+y\n*** End Patch'

it.each([
  ['a path and a new text', { TargetFile: 'c:\\w\\a.ts', CodeContent: 'x' }, ['c:\\w\\a.ts']],
  ['a path and replacements', { path: 'a.ts', ReplacementChunks: [{ TargetContent: 'x' }] }, ['a.ts']],
  [
    'changes in several files',
    { replacements: ['a.ts', 'b.ts'].map((filePath) => ({ filePath, oldString: 'x', newString: 'y' })) },
    ['a.ts', 'b.ts'],
  ],
  ['a patch', { input: PATCH }, ['src/a.ts', 'src/b.ts']],
  [
    'a patch in a shell command',
    { command: ['bash', '-lc', `apply_patch <<'EOF'\n${PATCH}\nEOF`] },
    ['src/a.ts', 'src/b.ts'],
  ],
  [
    'a patch in the source of a program',
    `await tools.apply_patch(${JSON.stringify(PATCH.replace('src/a.ts', 'C:\\new\\a.ts'))})`,
    ['C:\\new\\a.ts', 'src/b.ts'],
  ],
  ['a diff', { diff: '--- a/x.c\t2020\n+++ b/x.c\t2021\n@@ -1 +1 @@' }, ['x.c']],
] as [string, Json, string[]][])(
  'arguments with %s change files, whatever the tool is called',
  (_, input, files) => {
    expect(editedFiles(input)).toEqual(files)
    expect(effectOf('frob', input)).toBe('write')
    // An application that names its tools names all of them.
    expect(effectOf('frob', input, { writeTools: ['store'] })).toBe('other')
  },
)

it.each([
  { path: 'src', text: 'x' },
  { path: 'src/a.ts', body: 'a remark' },
  { to: 'a@b.test', content: 'a mail' },
  { command: 'rg "Update File: x"' },
])('%j changes no file', (input) => {
  expect(effectOf('frob', input)).toBe('other')
})
