import { expect, it } from 'vitest'
import { claudeCode } from '../../../src/transfer/sources/claude-code.ts'
import { Branches } from '../../../src/transfer/sources/claude-code-branches.ts'
import { factsOf } from '../../../src/transfer/sources/claude-code-tree.ts'
import { BRANCHED, branchedLines } from './branched.ts'
import { eventsOf, eventsOfType, foldEvents, inputOf, notesOf, spokenOf } from './support.ts'

/* However the entries of a file branch, what is gone through grows with their number. Counted, not timed. */

const SIZES = [5_000, 10_000] as const

it.each(Object.keys(BRANCHED))('goes through few entries for each: %s', (shape) => {
  const efforts = SIZES.map((size) => {
    const branches = new Branches()
    let ordinal = 0
    for (const line of branchedLines(shape, size)) branches.add(factsOf(JSON.parse(line), true)!, ++ordinal)
    branches.end(ordinal)
    expect(branches.made.length).toBeLessThan(2_000)
    return branches.effort
  })
  // 4,000,000 for any file, 32 for each entry, and a last step that goes through all of them a few times.
  for (const [at, size] of SIZES.entries()) expect(efforts[at]).toBeLessThan(4_100_000 + 45 * size)
})

it('shows the way to the last entry where rewinds are too many to be listed', async () => {
  const lines = branchedLines('two in turn', 4_000)
  const events = await eventsOf(claudeCode, inputOf(lines.join('\n'), { name: 's.jsonl' }))
  const [folded] = foldEvents(events)
  const odd = Array.from({ length: 2_000 }, (_, i) => `m${2 * i + 1}`)
  const said = spokenOf(folded!).map((row) => ('inserted' in row ? row.text : row.content))
  expect(said.map((content) => (content as unknown as { text: string }[])[0]!.text)).toEqual(['m0', ...odd])
  expect(notesOf(events)).toEqual([
    'mended: too many rewinds and compactions: from here on, rewinds are combined at the end of the file',
  ])
  const compactions = eventsOfType(events, 'compaction')
  expect(compactions.length).toBeLessThan(1_000)
  // A file that has grown begins with the same events, but for what is taken back at the end and what came back.
  const more = await eventsOf(claudeCode, inputOf(lines.slice(0, 3_500).join('\n'), { name: 's.jsonl' }))
  const ids = eventsOfType(more, 'compaction').map(({ compaction }) => compaction.id)
  expect(compactions.map(({ compaction }) => compaction.id).slice(0, ids.length - 1)).toEqual(
    ids.slice(0, -1),
  )
})
