import { expect, it } from 'vitest'
import { writtenBy } from '../../src/core/summarizers/extractive/shell.ts'

it.each([
  ["cat > src/a.ts <<'EOF'\nlet a = 1\nEOF", [{ path: 'src/a.ts', isNew: true }]],
  ["cat >> notes.md <<'EOF'\nmore\nEOF", [{ path: 'notes.md', isNew: false }]],
  ["tee config.yaml <<'EOF'\na: 1\nEOF", [{ path: 'config.yaml', isNew: true }]],
  ["sed -i 's/a/b/' src/a.ts && npm test", [{ path: 'src/a.ts', isNew: false }]],
  [
    'sed -i \'\' \'s|from "../config.js"|from "./config.js"|g\' src/a.ts',
    [{ path: 'src/a.ts', isNew: false }],
  ],
  // Neither a word of the shell nor a path inside the script is a file.
  ['for f in src/*.ts; do sed -i \'s|core/messages|core/message|\' "$f"; done', []],
  ['cat src/a.ts | head -20', []],
  ['echo done > /dev/null', []],
])('%s writes %j', (command, files) => {
  expect(writtenBy(command)).toEqual(files)
})
