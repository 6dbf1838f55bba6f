import { join } from 'node:path'
import { isUndertextError, openStore, type SqliteStore } from '../../src/index.ts'
import { Agent, type Totals, type Turn } from './agent.ts'
import { databaseIn, type Handover, writeHandover } from './handover.ts'
import { copyProject, filesOf } from './project.ts'
import { bar, claim, columns, fact, heading, paint, say, tell } from './screen.ts'
import { standingOf } from './standing.ts'
import { usageText } from './stats-chapter.ts'
import { bytes, cell, counted, figure, milliseconds, percent } from './text.ts'
import { readTranscript, type Transcript, UnusableFile } from './transcript.ts'
import { Workbench } from './workbench.ts'

const MODEL = 'claude-sonnet-4-20250514'
/** The default is 0.6; pruning alone would reach that. */
const TARGET = 0.15
/** Shares of a short transcript: what it is brought down to, and the limits of the stages that go by the window. */
const SHORT = { target: 0.5, protect: 0.15, savings: 0.05, summary: 0.1, leastSummary: 200 }

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
  await store.createSession({ id: sessionId, title: 'Demo', provider: 'anthropic', model: MODEL })
  const agent = new Agent(store, sessionId, new Workbench(root))
  const barWidth = 12
  const requestWidth = columns - 2 - 4 - 9 - 9 - barWidth - 9
  say(
    paint.dim(
      `${'turn'}  ${cell('request', requestWidth)}${cell('calls', 7, 'right')}${cell('failed', 8, 'right')}  context`,
    ),
  )
  for await (const turn of agent.work(root)) showTurn(turn, requestWidth, barWidth)
  say()
  showTotals(agent.totals)
  await handOver(store, folder, sessionId, {
    compaction: { target: TARGET },
    because:
      `The default would be 60 % of the room, and pruning alone would do; here the target is ${percent(TARGET)}, ` +
      'so that more stages have work.',
  })
}

function showTurn({ number, request, calls, failed, stats }: Turn, width: number, barWidth: number): void {
  const { usageRatio, shouldCompact } = stats
  const colour = shouldCompact ? paint.red : paint.cyan
  const failures = failed === 0 ? paint.dim('-') : paint.yellow(String(failed))
  say(
    `${String(number).padStart(4)}  ${cell(request, width)}${cell(String(calls), 7, 'right')}${cell(failures, 8, 'right')}  ` +
      `${bar(usageRatio, barWidth, colour, 0.8)}${colour(usageText(usageRatio).padStart(8))}`,
  )
}

function showTotals({ messages, calls, parallelCalls, failed, reads, appendMs }: Totals): void {
  const sorted = [...appendMs].sort((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0
  const again = reads.length - new Set(reads).size
  fact('calls', `${figure(calls)}, ${figure(parallelCalls)} of them in parallel; ${figure(failed)} failed`)
  fact('reads', `${figure(reads.length)}, ${figure(again)} of them of a file read before`)
  fact(
    'appends',
    `${figure(appendMs.length)} for ${counted(messages, 'message')}; median ${milliseconds(median)}, safe on the disk each time`,
  )
}

/** Stores a transcript somebody has. Throws `UnusableFile` before anything is stored. */
export async function recordTranscript(folder: string, path: string): Promise<void> {
  const transcript = readTranscript(path)
  heading(1, 'A transcript')
  fact('file', `${transcript.name}, ${bytes(transcript.fileBytes)}, in the form of ${formName(transcript)}`)
  if (transcript.conversations > 1) {
    fact(
      'sessions',
      `${figure(transcript.conversations)} in the file; taken is the largest, number ${transcript.number}`,
    )
  }
  if (transcript.skipped > 0)
    fact('skipped', `${counted(transcript.skipped, 'entry', 'entries')} without a message`)
  await using store = await openStore(databaseIn(folder))
  const sessionId = 'transcript'
  const provider = transcript.format === 'anthropic' ? 'anthropic' : 'openai'
  const model = transcript.model ?? (provider === 'anthropic' ? MODEL : 'gpt-4o')
  await store.createSession({ id: sessionId, provider, model })
  const tookMs = await append(store, sessionId, transcript)
  fact(
    'messages',
    `${figure(transcript.messages.length)}, stored in one transaction, ${milliseconds(tookMs)}`,
  )
  say()
  const same = transcript.sameAs(await store.getEffectiveHistory(sessionId))
  claim(same, `What the store gives back is equal to the file, in the form of ${formName(transcript)}.`)
  await handOver(store, folder, sessionId, await settingsFor(store, sessionId))
}

async function append(
  store: SqliteStore,
  sessionId: string,
  { messages, name }: Transcript,
): Promise<number> {
  const start = performance.now()
  try {
    await store.append(sessionId, messages)
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    throw new UnusableFile(`${name} holds a message that cannot be stored: ${error.facts.problems}`)
  }
  return performance.now() - start
}

function formName({ format }: Transcript): string {
  return { anthropic: "Anthropic's Messages", openai: "OpenAI's Chat Completions", neutral: 'this package' }[
    format
  ]
}

/** A full context gets a target by the window, a short transcript one by its own length. */
async function settingsFor(
  store: SqliteStore,
  sessionId: string,
): Promise<Pick<Handover, 'compaction' | 'because'>> {
  const stats = await store.getContextStats(sessionId)
  if (stats === null) throw new Error('The session is empty.')
  if (stats.shouldCompact) {
    return {
      compaction: { target: TARGET },
      because: `The target is ${percent(TARGET)} of the room in the window.`,
    }
  }
  const tokens = stats.breakdown.conversationHistory
  return {
    compaction: {
      targetTokens: Math.floor(tokens * SHORT.target),
      pruneProtectTokens: Math.floor(tokens * SHORT.protect),
      pruneMinimumSavings: Math.floor(tokens * SHORT.savings),
      summaryMaxTokens: Math.max(SHORT.leastSummary, Math.floor(tokens * SHORT.summary)),
    },
    because:
      `This fills ${percent(stats.usageRatio)} of the room only, so nothing is due. To have something to show, the ` +
      `target is half of its tokens, and the limits of the stages are scaled to its length.`,
  }
}

async function handOver(
  store: SqliteStore,
  folder: string,
  sessionId: string,
  settings: Pick<Handover, 'compaction' | 'because'>,
): Promise<void> {
  const { hash } = await standingOf(store, sessionId)
  const stats = await store.getContextStats(sessionId)
  const reason = `${usageText(stats?.usageRatio ?? 0)} full`
  writeHandover(folder, { sessionId, processId: process.pid, hash, reason, ...settings })
}
