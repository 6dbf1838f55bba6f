import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { RECORD_SCHEMAS } from '../../src/storage/records/records.ts'
import { TRIGGERS } from '../../src/storage/storage.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'
import { linesOf, restoreLines } from './support.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'history-format.md'), 'utf8')
const EXAMPLE = /```jsonl\n([^`]+)```/.exec(PAGE)![1]!.trimEnd().split('\n')

it('has an example that is a history: restored, it is as the page describes, and its export is the example', async () => {
  const store = await openStore(':memory:')
  await restoreLines(store, EXAMPLE)
  const view = await store.getEffectiveHistory('session-1')
  expect(view.map(({ kind, position }) => position ?? kind)).toEqual(['summary', 3, 4])
  const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  expect(view[1]!.content).toContainEqual({ type: 'image', image: png, mediaType: 'image/png' })
  // All but the header, which has the time, and the checksum, which is of it too.
  expect((await linesOf(store, 'session-1')).slice(1, -1)).toEqual(EXAMPLE.slice(1, -1))
  const [compaction] = await store.listCompactions('session-1')
  await store.undoCompaction('session-1', compaction!.id)
  expect((await store.getEffectiveHistory('session-1')).map(({ position }) => position)).toEqual([1, 2, 3, 4])
  await store.close()
})

it('has an example of a file, out and in, that runs', async () => {
  const [, example = ''] = examplesOf(PAGE)
  expect((await runAsUser(example)).trim().split('\n')).toEqual(['session-1 2 undefined', '2'])
})

it.each(Object.entries(RECORD_SCHEMAS))(
  'lists every field of a record of the type %s, and no other',
  (type, { shape }) => {
    const section = PAGE.split(`### \`${type}\`\n`)[1]?.split('\n### ')[0] ?? ''
    const named = [...section.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`(\w+)`/g)].map(([, field]) => field),
    )
    expect(named.sort()).toEqual(Object.keys(shape).sort())
  },
)

it('knows the triggers there are', () => {
  const { options } = RECORD_SCHEMAS.compaction.shape.trigger as unknown as { options: readonly string[] }
  expect(options).toEqual(TRIGGERS)
})
