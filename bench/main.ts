import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Folder } from './folder.ts'
import { SECTIONS, type Sections } from './sections.ts'

/*
 * Measures the package against better-sqlite3 statements written by hand, in the same run. `--json` prints the
 * figures as one line at the end; `--messages N` makes the long session shorter than a million messages. `--section` and
 * `--folder` are for the processes it starts itself: a section builds on the files of those before it.
 */

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    messages: { type: 'string', default: '1000000' },
    section: { type: 'string' },
    folder: { type: 'string' },
  },
})
const messages = Number(values.messages)
if (!Number.isSafeInteger(messages) || messages < 20_000) {
  process.stderr.write('--messages must be a whole number of at least 20000\n')
  process.exit(2)
}

if (values.section === undefined) runAll()
else {
  const section = SECTIONS[values.section as keyof Sections]
  const found = await section(new Folder(values.folder!), messages)
  process.stdout.write(JSON.stringify(found))
}

function runAll(): void {
  const folder = Folder.make()
  try {
    report(
      Object.fromEntries(
        Object.keys(SECTIONS).map((name) => {
          process.stderr.write(`${name} …\n`)
          return [name, runSection(name, folder)]
        }),
      ) as Found,
    )
  } finally {
    folder.remove()
  }
}

type Found = { [Name in keyof Sections]: Awaited<ReturnType<Sections[Name]>> }

/** One section, in a process of its own. */
function runSection(name: string, folder: Folder): unknown {
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      fileURLToPath(import.meta.url),
      '--section',
      name,
      '--folder',
      folder.path,
      '--messages',
      String(messages),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`the section "${name}" failed`)
  return JSON.parse(stdout)
}

function report(found: Found): void {
  const { normal, full } = found['append, one turn at a time']
  const growth = found['append to it, and to many']
  const { small, thousand, long } = found.views
  const { stats } = found
  const bound = found['reasoning bound to its prefix']
  const prune = found['prune and truncate']
  const undo = found['undo and redo']
  const overlapping = found['undo and redo of overlaps']
  const size = found['size of a file']
  const past = found['moments, forks and requests']
  const { search } = found

  const figures = {
    append_ratio: normal.ratio,
    append_full_ratio: full.ratio,
    append_growth: growth.large / growth.small,
    view_ratio: Math.max(thousand.ours / thousand.bare, long.ours / long.bare),
    view_growth: long.ours / thousand.ours,
    view_small_ratio: small.ours / small.bare,
    bound_view_ratio: Math.max(bound.view, bound.settled),
    bound_changed_ratio: bound.changed,
    bound_prepare_ratio: bound.prepare,
    stats_ratio: Math.max(stats.thousand.stats, stats.thousand.needs) / stats.thousand.bare,
    stats_growth: stats.long.stats / stats.thousand.stats,
    compact_ms: prune.total,
    plan_ms: prune.planning,
    compact_summarize_ms: found['the default pipeline'].total,
    undo_ratio: undo.undo / undo.bareClear,
    redo_ratio: undo.redo / undo.bareSet,
    size_ratio: size.ratio,
    moment_ms: past.moment.compacted,
    moment_ratio: past.moment.whole / past.moment.today,
    moment_long_ms: past.longMoment,
    fork_ms: past.fork.milliseconds,
    fork_share: past.fork.share,
    request_bytes: past.request.bytes,
    search_index_ms: search.index.ours,
    search_ms: search.search.ours,
    search_size_ratio: search.size,
  }
  if (values.json) {
    process.stdout.write(`${JSON.stringify(figures)}\n`)
    return
  }

  const megabytes = (found['an agent’s session'].bytes / 1e6).toFixed(1)
  const rows: [what: string, figure: number, asked?: string][] = [
    ['append, normal: throughput over hand-written', figures.append_ratio, '>= 0.8'],
    ['  a text turn, ms', normal.ours.text],
    ['  a tool turn, ms', normal.ours.tool],
    ['append, full: throughput over hand-written', figures.append_full_ratio, '>= 0.9'],
    ['  a text turn, ms', full.ours.text],
    ['  a tool turn, ms', full.ours.tool],
    [`append at ${messages} messages over a new file`, figures.append_growth, '<= 1.2'],
    ['append to 500 sessions in turn over one', growth.interleaved / growth.small, '<= 1.6'],
    [`${messages} messages in batches of 1,000, s`, found['a long session'].fill / 1_000],
    ['view, 1,000 visible: time over select and parse', figures.view_ratio, '<= 1.3'],
    ['  ms', thousand.ours],
    [`  of ${messages} stored over 1,000 stored`, figures.view_growth, '<= 1.2'],
    ['view, a summary and 50 of 10,000: over select', figures.view_small_ratio, '<= 1.5'],
    ['  ms', small.ours],
    ['view of 2,000 rows with bound reasoning over unbound', bound.view, '<= 1.03'],
    ['  after a change of old rows and an answer', bound.settled, '<= 1.03'],
    ['  between the two', figures.bound_changed_ratio],
    ['  ms', bound.milliseconds],
    ['  prepareRequest', bound.prepare],
    ['stats: time over one prepared read', figures.stats_ratio, '<= 5'],
    ['  getContextStats, microseconds', stats.thousand.stats * 1_000],
    ['  needsCompaction, microseconds', stats.thousand.needs * 1_000],
    [`  at ${messages} messages over 1,000`, figures.stats_growth, '<= 1.2'],
    [`cold start with ${messages} messages, ms`, found['cold start'].milliseconds, '<= 150'],
    [`hiding ${messages - 999} messages behind a summary, s`, found['hide all but its end'].hide / 1_000],
    [`prune and truncate, 10,000 messages of ${megabytes} MB, ms`, figures.compact_ms, '<= 100'],
    ['  of it reading the index and planning, ms', figures.plan_ms, '<= 25'],
    ['  rows hidden', prune.rows],
    ['  parts replaced', prune.parts],
    ['default pipeline, offline summarizer, ms', figures.compact_summarize_ms, '<= 600'],
    ['undo of 10,000 hidden rows over the bare update', figures.undo_ratio, '<= 1.4'],
    ['  ms', undo.undo],
    ['redo of the same', figures.redo_ratio, '<= 1.4'],
    ['  ms', undo.redo],
    ['undo of replacements that overlap others', overlapping.undo / overlapping.bareClear, '<= 2'],
    ['redo of the same', overlapping.redo / overlapping.bareSet, '<= 2'],
    [`file over content, ${size.name}`, figures.size_ratio, '<= 1.35'],
    ['view at a moment of 10,000 rows with compactions, ms', figures.moment_ms, '<= 25'],
    ['  before them, with all rows visible, over the view of now', figures.moment_ratio],
    [`  near the end of ${messages} rows`, figures.moment_long_ms, '<= 300'],
    [`fork of 10,000 messages, ${past.fork.name}, ms`, figures.fork_ms, '<= 40'],
    ['  bytes over the file', figures.fork_share, '<= 0.12'],
    ['  the same, messages of 400 characters', past.forkOfTexts.share],
    ['a record of a request, bytes', figures.request_bytes, '~ 200'],
    ['  ms of a turn', past.request.milliseconds],
    ['search: index of 10,000 messages, ms', figures.search_index_ms, '<= 1000'],
    ['  over a bare table of FTS5', search.index.ours / search.index.bare],
    ['  a search of six words, ms', figures.search_ms, '<= 10'],
    ['  over a bare table of FTS5', search.search.ours / search.search.bare],
    ['  index over texts, bytes', figures.search_size_ratio, '<= 1'],
  ]
  const width = Math.max(...rows.map(([what]) => what.length))
  for (const [what, figure, asked = ''] of rows) {
    const number = figure.toFixed(figure < 10 ? 3 : 1).padStart(9)
    process.stdout.write(`${`${what.padEnd(width)}  ${number}  ${asked}`.trimEnd()}\n`)
  }
}
