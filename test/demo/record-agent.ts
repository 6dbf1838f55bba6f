import { join } from 'node:path'
import { DEFAULT_COMPACTION_TARGET, DEFAULT_COMPACTION_THRESHOLD } from '../../src/core/tokens/budget.ts'
import { openStore } from '../../src/index.ts'
import { Agent, type Totals, type Turn } from './agent.ts'
import { databaseIn, handOver } from './handover.ts'
import { copyProject, filesOf } from './project.ts'
import { bar, columns, fact, heading, paint, say, tell } from './screen.ts'
import { usageText } from './stats-chapter.ts'
import { cell, counted, figure, milliseconds, percent } from './text.ts'
import { Workbench } from './workbench.ts'

const PROVIDER = 'anthropic'
const MODEL = 'claude-sonnet-4-20250514'
/** Pruning alone would reach the default. */
const TARGET = 0.1

const BAR_WIDTH = 12
/** What a line of a turn takes besides the request. */
const OTHER_COLUMNS = 2 + 6 + 7 + 8 + 2 + BAR_WIDTH + 8

/** Lets the agent work until its context is nearly full, every turn stored as it happens. */
export async function recordAgent(folder: string): Promise<void> {
  heading(1, 'An agent at work')
  const root = await copyProject(join(folder, 'project'))
  const files = await filesOf(root, '.')
  tell(
    `A scripted agent with real tools (list, read, search, edit, run) works on a copy of ` +
      `${counted(files.length, 'file')}: this repository and typed sources of zod and drizzle-orm.`,
  )
  say()
  await using store = await openStore(databaseIn(folder))
  const sessionId = 'coding-agent'
  await store.sessions.create({ id: sessionId, title: 'Demo', provider: PROVIDER, model: MODEL })
  const agent = new Agent(store, sessionId, new Workbench(root))
  say(paint.dim(`turn  ${cell('request', columns - OTHER_COLUMNS)}  calls  failed  context`))
  for await (const turn of agent.work(root)) showTurn(turn)
  say()
  showTotals(agent.totals)
  await handOver(store, folder, sessionId, {
    compaction: { target: TARGET },
    because:
      `The default target is ${percent(DEFAULT_COMPACTION_TARGET)} of the room, and pruning alone would reach ` +
      `it; here it is ${percent(TARGET)}, so that more stages have work.`,
  })
}

function showTurn({ number, request, calls, failed, stats }: Turn): void {
  const { usageRatio, shouldCompact } = stats
  const colour = shouldCompact ? paint.red : paint.cyan
  const failures = failed === 0 ? paint.dim('-') : paint.yellow(String(failed))
  say(
    [
      `${cell(String(number), 4, 'right')}  ${cell(request, columns - OTHER_COLUMNS)}`,
      `${cell(String(calls), 7, 'right')}${cell(failures, 8, 'right')}  `,
      `${colour(cell(usageText(usageRatio), 6, 'right'))}  `,
      bar(usageRatio, BAR_WIDTH, colour, DEFAULT_COMPACTION_THRESHOLD),
    ].join(''),
  )
}

function showTotals({ messages, calls, parallelCalls, failed, reads, appendMs }: Totals): void {
  const median = [...appendMs].sort((a, b) => a - b)[Math.floor(appendMs.length / 2)] ?? 0
  const again = reads.length - new Set(reads).size
  fact('calls', `${figure(calls)}, ${figure(parallelCalls)} of them in parallel; ${figure(failed)} failed`)
  fact('reads', `${figure(reads.length)}, ${figure(again)} of them of a file read before`)
  fact(
    'appends',
    `${figure(appendMs.length)} of ${counted(messages, 'message')}, each on the disk before the work went on; ` +
      `median ${milliseconds(median)}`,
  )
}
