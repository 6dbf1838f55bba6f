import { expect, it } from 'vitest'
import { isReadTool, isWriteTool, pathArgument, pathsArgument } from '../../src/core/messages/tool-names.ts'

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
