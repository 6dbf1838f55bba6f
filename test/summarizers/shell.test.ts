import { expect, it } from 'vitest'
import type { Json } from '../../src/core/messages/json.ts'
import type { Call } from '../../src/core/summarizers/calls.ts'
import { removedBy, writtenBy } from '../../src/core/summarizers/extractive/shell.ts'

it.each([
  ["cat > src/a.ts <<'EOF'\nlet a = 1\nEOF", [{ path: 'src/a.ts', isNew: true }]],
  ["cat >> notes.md <<'EOF'\nmore\nEOF", [{ path: 'notes.md', isNew: false }]],
  ["tee config.yaml <<'EOF'\na: 1\nEOF", [{ path: 'config.yaml', isNew: true }]],
  ["sed -i 's/a/b/' src/a.ts && npm test", [{ path: 'src/a.ts', isNew: false }]],
  [
    'sed -i \'\' \'s|from "../config.js"|from "./config.js"|g\' src/a.ts',
    [{ path: 'src/a.ts', isNew: false }],
  ],
  // Routes of Next.js, with and without quotes.
  [
    "cat > 'app/(shop)/[...slug]/page.tsx' <<'EOF'\nx\nEOF",
    [{ path: 'app/(shop)/[...slug]/page.tsx', isNew: true }],
  ],
  ["sed -i 's/a/b/' app/\\(shop\\)/@cart/page.tsx", [{ path: 'app/(shop)/@cart/page.tsx', isNew: false }]],
  // Neither a word of the shell nor a path inside the script is a file.
  ['for f in src/*.ts; do sed -i \'s|core/messages|core/message|\' "$f"; done', []],
  ['cat src/a.ts | head -20', []],
  ['echo done > /dev/null', []],
])('%s writes %j', (command, files) => {
  expect(writtenBy(command)).toEqual(files)
})

/** A call of a tool, as far as the files that it removes depend on it. */
const called = (name: string, input: Json, ...paths: string[]) =>
  removedBy({ name, input, paths, effect: 'write' } as unknown as Call, undefined)

it.each([
  ['rm -f src/a.ts "src/b c.ts" && npm test', [{ path: 'src/a.ts' }, { path: 'src/b c.ts' }]],
  ['cd /app && git rm -r docs/old/', [{ path: 'docs/old' }]],
  ['git mv src/a.ts src/b.ts', [{ path: 'src/a.ts', to: 'src/b.ts' }]],
  [
    'mv a.ts b.ts lib',
    [
      { path: 'a.ts', to: 'lib/a.ts' },
      { path: 'b.ts', to: 'lib/b.ts' },
    ],
  ],
  ['Remove-Item src\\a.ts', [{ path: 'src\\a.ts' }]],
  // Neither an option of another program nor a line of a file that is written removes anything.
  ['docker run --rm -it app', []],
  ["cat > clean.sh <<'EOF'\nrm src/a.ts\nEOF", []],
])('%s removes %j', (command, removed) => {
  expect(removedBy({} as Call, command)).toEqual(removed)
})

it('patches and tools remove files too', () => {
  const patch =
    '*** Begin Patch\n*** Delete File: a.ts\n*** Update File: b.ts\n*** Move to: c.ts\n@@\n-x\n+y\n*** End Patch'
  expect(called('apply_patch', { input: patch }, 'a.ts', 'b.ts', 'c.ts')).toEqual([
    { path: 'a.ts' },
    { path: 'b.ts', to: 'c.ts' },
  ])
  expect(called('delete_file', { path: 'a.ts' }, 'a.ts')).toEqual([{ path: 'a.ts' }])
  expect(called('delete_lines', { path: 'a.ts', from: 1 }, 'a.ts')).toEqual([])
  expect(called('move_file', { source: 'a.ts', destination: 'b.ts' }, 'b.ts')).toEqual([
    { path: 'a.ts', to: 'b.ts' },
  ])
})
