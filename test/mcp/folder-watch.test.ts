import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { FolderWatch } from '../../src/cli/commands/mcp/importer.ts'
import { newFolder } from '../support/temporary.ts'

/* What a watch does with the outcomes of imports. */

/** Watches a folder with one file; the outcomes of its imports are given, the last one for all further ones. */
function watched(outcomes: readonly (string | undefined)[], left: object = { problems: [], notes: [] }) {
  const folder = newFolder()
  const file = join(folder, 'a.jsonl')
  writeFileSync(file, 'x')
  const lines: string[] = []
  let imports = 0
  const watch = new FolderWatch(folder, {
    importer: {
      file: async (_folder, path) => {
        const code = outcomes[Math.min(imports, outcomes.length - 1)]
        imports += 1
        const totals = { imported: 0, extended: 0 }
        return {
          path,
          report: {
            totals,
            conversations:
              code === undefined ? [left] : [{ status: 'refused', code, problems: [], notes: [] }],
          },
        } as never
      },
      failuresOf: (outcome) =>
        'report' in outcome
          ? outcome.report.conversations.flatMap(({ code }) =>
              code === undefined
                ? []
                : {
                    path: outcome.path,
                    code,
                    message: 'why',
                  },
            )
          : [],
    },
    signal: new AbortController().signal,
    report: (line) => void lines.push(line),
    changed: () => {},
  })
  return { watch, lines, file, imports: () => imports }
}

async function until(holds: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 200 && !holds(); attempt += 1) await sleep(20)
  expect(holds()).toBe(true)
}

it('tries a file again when another process was faster, and reports nothing', async () => {
  const { watch, lines, imports } = watched(['POSITION_CONFLICT', undefined])
  watch.start()
  await until(() => imports() === 2)
  await sleep(700)
  expect([imports(), lines]).toEqual([2, []])
  await watch.end()
})

it('reports what does not pass once, and tries again only when the file changes', async () => {
  const { watch, lines, imports, file } = watched(['SESSION_EXISTS'])
  watch.start()
  await until(() => lines.length === 1)
  expect(imports()).toBe(2)
  await sleep(700)
  expect(imports()).toBe(2)
  appendFileSync(file, 'y')
  await until(() => imports() === 4)
  await sleep(100)
  expect(lines).toEqual(["a.jsonl wasn't imported (SESSION_EXISTS): why"])
  await watch.end()
})

it('ignores files of other kinds, and leaves unchanged files alone at its end', async () => {
  const { watch, lines, imports, file } = watched(['FILE_UNRECOGNIZED'])
  watch.start()
  await until(() => imports() === 1)
  appendFileSync(file, 'y')
  await watch.end()
  expect(imports()).toBe(2)
  appendFileSync(file, 'z')
  await sleep(500)
  expect([imports(), lines]).toEqual([2, []])
})

it('reports once the lines of the places that were left out', async () => {
  const { watch, lines, file, imports } = watched([undefined], {
    problems: [{ line: 3, column: 5, why: 'why' }],
    notes: [
      { line: 4, kind: 'torn', why: 'a crash' },
      { line: 9, kind: 'left-out', why: 'not finished' },
    ],
  })
  watch.start()
  await until(() => imports() === 1)
  appendFileSync(file, 'y')
  await watch.end()
  expect(lines).toEqual(['a.jsonl: skipped, line 3, column 5: why', 'a.jsonl: skipped, line 4: a crash'])
})

it('reports what fails unexpectedly once, and goes on', async () => {
  const folder = newFolder()
  const file = join(folder, 'a.jsonl')
  writeFileSync(file, 'x')
  const lines: string[] = []
  let imports = 0
  const watch = new FolderWatch(folder, {
    importer: {
      file: async () => {
        imports += 1
        throw new RangeError('no')
      },
      failuresOf: () => [],
    },
    signal: new AbortController().signal,
    report: (line) => void lines.push(line),
    changed: () => {},
  })
  watch.start()
  await until(() => lines.length === 1)
  appendFileSync(file, 'y')
  await until(() => imports === 2)
  await watch.end()
  expect(imports).toBe(3)
  expect(lines).toEqual([
    `${folder} could not be scanned (RangeError); the next attempt follows within a minute.`,
  ])
})
