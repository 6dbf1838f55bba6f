import { expect, it } from 'vitest'
import { FilePaths } from '../../src/core/summarizers/extractive/paths.ts'

/** The number of files that paths name, in this order; those in `[]` are working directories. */
function filesIn(...paths: readonly (string | readonly [string])[]): number {
  const known = new FilePaths()
  const found = paths.flatMap((path) => {
    if (typeof path === 'string') return [known.identityOf(path)]
    known.enter(path[0])
    return []
  })
  return new Set(found).size
}

it.each([
  // Separators, case and the forms of Windows.
  [
    1,
    [
      'c:\\App\\src\\a.ts',
      'C:/App/src/a.ts',
      'C:\\app\\SRC\\a.ts',
      '/mnt/c/App/src/a.ts',
      'file:///c:/App/src/a.ts',
    ],
  ],
  [1, ['src\\lib\\a.ts', 'src/lib/a.ts', './src/lib//a.ts']],
  // A relative path, before or after the absolute one.
  [1, ['/work/app/src/a.ts', 'src/a.ts']],
  [1, ['src/a.ts', '/work/app/src/a.ts']],
  [1, ['src/A.ts', 'C:\\work\\src\\a.ts']],
  [1, [['/work/app'], '/work/app/README.md', 'README.md']],
  [1, [['C:\\Work'], 'README.md', 'c:\\work\\readme.md']],
  // Another file of that name, another case on POSIX, two folders.
  [2, ['/work/app/README.md', 'README.md']],
  [2, ['/work/src/a.ts', '/work/src/A.ts']],
  [2, ['/one/src/a.ts', '/two/src/a.ts']],
  [3, ['/one/src/a.ts', '/two/src/a.ts', 'src/a.ts']],
  [2, ['src/a.ts', '/one/src/a.ts', '/two/src/a.ts']],
  [2, ['/one/src/a.ts', '/two/src/a.ts', ['/two'], 'src/a.ts']],
] as const)('%i files: %j', (count, paths) => {
  expect(filesIn(...(paths as readonly (string | readonly [string])[]))).toBe(count)
})
