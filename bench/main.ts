import { parseArgs } from 'node:util'
import { openStore } from 'undertext'
import { appendAgainstBare, appendGrowth } from './append.ts'
import { coldStart } from './cold-start.ts'
import {
  compactionTime,
  DEFAULT_PIPELINE,
  PRUNE_AND_TRUNCATE,
  undoHidden,
  undoOverlapping,
} from './compaction.ts'
import { agentSession, makeRandom, textTurn } from './conversation.ts'
import { Folder } from './folder.ts'
import { timed } from './rounds.ts'
import { fileSize } from './size.ts'
import { statsAgainstBare, viewAgainstBare } from './view.ts'

/*
 * Measures the package against better-sqlite3 statements written by hand, in the same run. `--json` prints the
 * figures as one line at the end; `--messages N` makes the long session shorter than a million messages.
 */

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, messages: { type: 'string', default: '1000000' } },
})
const MESSAGES = Number(values.messages)
if (!Number.isSafeInteger(MESSAGES) || MESSAGES < 20_000) {
  process.stderr.write('--messages must be a whole number of at least 20000\n')
  process.exit(2)
}

const write = (line: string): boolean => process.stderr.write(`${line}\n`)

/** One session `s` of text messages in a file, all of it visible. */
async function fill(folder: Folder, name: string, messages: number): Promise<void> {
  const random = makeRandom(11)
  await using store = await openStore(folder.file(name), { durability: 'normal' })
  const turns = Array.from({ length: 500 }, () => textTurn(random)).flat()
  for (let stored = 0; stored < messages; stored += turns.length) {
    await store.append('s', turns.slice(0, messages - stored))
  }
}

/** Hides all but the last messages behind one summary; answers the milliseconds it took. */
async function condenseAllBut(folder: Folder, name: string, last: number): Promise<number> {
  await using store = await openStore(folder.file(name))
  const { messageCount } = await store.getSession('s')
  return await timed(() =>
    store.compactSession('s', {
      range: { from: 1, to: messageCount - last },
      summary: 'What was said before, in short.',
    }),
  )
}

const folder = new Folder()
try {
  write('append, one turn at a time …')
  const normal = await appendAgainstBare(folder, 'normal')
  const full = await appendAgainstBare(folder, 'full')

  write(`a session of ${MESSAGES} messages …`)
  const fillTime = await timed(() => fill(folder, 'long.db', MESSAGES))
  const growth = await appendGrowth(folder, 'long.db')

  write('views and stats …')
  await fill(folder, 'thousand.db', 1_000)
  await fill(folder, 'small.db', 10_000)
  await condenseAllBut(folder, 'small.db', 50)
  const [small] = await viewAgainstBare(folder, ['small.db'], 100)
  const hideTime = await condenseAllBut(folder, 'long.db', 999)
  const [view, longView] = await viewAgainstBare(folder, ['thousand.db', 'long.db'], 10)
  const [stats, longStats] = await statsAgainstBare(folder, ['thousand.db', 'long.db'])
  const start = await coldStart(folder, 'long.db')

  write('compaction …')
  const session = agentSession(10_000)
  const contentBytes = session.reduce((sum, { content }) => sum + JSON.stringify(content).length, 0)
  {
    await using store = await openStore(folder.file('agent.db'))
    await store.append('s', session)
  }
  const compaction = await compactionTime(folder, 'agent.db', PRUNE_AND_TRUNCATE)
  const pipeline = await compactionTime(folder, 'agent.db', DEFAULT_PIPELINE)

  write('undo and redo …')
  await fill(folder, 'undo.db', 10_020)
  const undo = await undoHidden(folder, 'undo.db')
  const overlapping = await undoOverlapping(folder, 'agent.db')
  const size = await fileSize(folder)

  const figures = {
    append_ratio: normal.ratio,
    append_full_ratio: full.ratio,
    append_growth: growth.large / growth.small,
    view_ratio: Math.max(view!.ours / view!.bare, longView!.ours / longView!.bare),
    view_growth: longView!.ours / view!.ours,
    view_small_ratio: small!.ours / small!.bare,
    stats_ratio: Math.max(stats!.stats, stats!.needs) / stats!.bare,
    stats_growth: longStats!.stats / stats!.stats,
    compact_ms: compaction.total,
    plan_ms: compaction.planning,
    compact_summarize_ms: pipeline.total,
    undo_ratio: undo.undo / undo.bareClear,
    redo_ratio: undo.redo / undo.bareSet,
    size_ratio: size.ratio,
  }

  const rows: [string, string, string][] = []
  const row = (what: string, figure: number, asked: string): unknown =>
    rows.push([what, figure.toFixed(figure < 10 ? 3 : 1), asked])
  row('append, normal: throughput over hand-written', figures.append_ratio, '>= 0.8')
  row('  a text turn, ms', normal.ours.text, '')
  row('  a tool turn, ms', normal.ours.tool, '')
  row('append, full: throughput over hand-written', figures.append_full_ratio, '>= 0.9')
  row('  a text turn, ms', full.ours.text, '')
  row('  a tool turn, ms', full.ours.tool, '')
  row(`append at ${MESSAGES} messages over a new file`, figures.append_growth, '<= 1.2')
  row('append to 500 sessions in turn over one', growth.interleaved / growth.small, '<= 1.6')
  row(`${MESSAGES} messages appended in batches of 1,000, s`, fillTime / 1_000, '')
  row('view, 1,000 visible: time over select and parse', figures.view_ratio, '<= 1.3')
  row('  ms', view!.ours, '')
  row(`  of ${MESSAGES} stored over 1,000 stored`, figures.view_growth, '<= 1.2')
  row('view, a summary and 50 of 10,000: over select', figures.view_small_ratio, '<= 1.5')
  row('  ms', small!.ours, '')
  row('stats: time over one prepared read', figures.stats_ratio, '<= 5')
  row('  getContextStats, microseconds', stats!.stats * 1_000, '')
  row('  needsCompaction, microseconds', stats!.needs * 1_000, '')
  row(`  at ${MESSAGES} messages over 1,000`, figures.stats_growth, '<= 1.2')
  row(`cold start with ${MESSAGES} messages, ms`, start, '<= 150')
  row(`hiding ${MESSAGES - 999} messages behind a summary, ms`, hideTime, '')
  row(
    `prune and truncate, 10,000 messages of ${(contentBytes / 1e6).toFixed(1)} MB, ms`,
    figures.compact_ms,
    '<= 100',
  )
  row('  of it reading the index and planning, ms', figures.plan_ms, '<= 25')
  row('  rows hidden', compaction.rows, '')
  row('  parts replaced', compaction.parts, '')
  row('default pipeline, offline summarizer, ms', figures.compact_summarize_ms, '<= 600')
  row('undo of 10,000 hidden rows over the bare update', figures.undo_ratio, '<= 1.4')
  row('  ms', undo.undo, '')
  row('redo of the same', figures.redo_ratio, '<= 1.4')
  row('  ms', undo.redo, '')
  row('undo of replacements that overlap others', overlapping.undo / overlapping.bareClear, '<= 2')
  row('redo of the same', overlapping.redo / overlapping.bareSet, '<= 2')
  row(`file over content, ${size.name}`, figures.size_ratio, '<= 1.35')
  if (values.json) process.stdout.write(`${JSON.stringify(figures)}\n`)
  else {
    const width = Math.max(...rows.map(([what]) => what.length))
    for (const [what, figure, asked] of rows)
      process.stdout.write(`${what.padEnd(width)}  ${figure.padStart(9)}  ${asked}\n`.trimEnd().concat('\n'))
  }
} finally {
  folder.remove()
}
