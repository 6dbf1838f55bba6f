import type { ContextStats } from '../../../store/compaction/stats.ts'
import { type CompactionEvent, percentOf } from '../../../store/events.ts'
import type { Context, Sink } from '../../command.ts'
import { count, counted, fromTo, listing, reasoningText } from '../../output/figures.ts'
import { commandLine, shortIds } from '../../output/ids.ts'
import { writeLines } from '../../output/layout.ts'
import { safeJson } from '../../output/safe-text.ts'

/*
 * The events that a chat reports as they happen: as text for people, or with `--json` as one line each, in the form of these types
 * (docs/cli-chat.md).
 */

type SessionReport = {
  readonly sessionId: string
  readonly isNew: boolean
  /** Messages in the log before this chat. */
  readonly messages: number
  readonly backend: 'echo' | 'url' | 'ai-sdk'
  readonly provider?: string | undefined
  readonly model?: string | undefined
}

type AnswerReport = {
  readonly sessionId: string
  readonly text: string
  /** Position of the answer in the log. */
  readonly position: number
  readonly stopReason?: string | undefined
  /** Why the answer is not complete. */
  readonly stopped?: 'interrupted' | 'failed' | undefined
  readonly model?: string | undefined
  readonly usage?: object | undefined
  readonly stats: ContextStats | null
}

/** A failure. The failed turn or command stores nothing. */
type FailureReport = {
  readonly code: string
  readonly message: string
  readonly hint?: string | undefined
}

export type Reporter = {
  session(report: SessionReport): void
  /** A piece of an answer. */
  text(piece: string): void
  answer(report: AnswerReport): void
  warning(warning: UsageWarning): void
  compaction(event: CompactionEvent): void
  failure(report: FailureReport): void
  /** A remark for people only. */
  note(text: string): void
  /** The result of a slash command: lines for people, a value for programs. */
  result(command: string, value: unknown, lines: readonly string[]): void
  end(sessionId: string | undefined): void
}

/** Usage above which a chat reports how full the context is. */
export const WARNING_RATIO = 0.6

/** How full the context is after a turn. `warning`: compaction is due. */
type UsageWarning = {
  readonly level: 'info' | 'warning'
  /** Whole percent of the available tokens. */
  readonly percent: number
  readonly tokens: number
  readonly availableTokens: number
}

/** The remark on usage after a turn: none up to 60 percent or without compaction, a warning from the threshold on. */
export function usageWarning(
  stats: Pick<
    ContextStats,
    'usageRatio' | 'threshold' | 'estimatedInputTokens' | 'availableInputTokens'
  > | null,
  isCompacting: boolean,
): UsageWarning | undefined {
  if (stats === null || !isCompacting) return undefined
  const { usageRatio, threshold, estimatedInputTokens: tokens, availableInputTokens: availableTokens } = stats
  const figures = { percent: percentOf(tokens, availableTokens), tokens, availableTokens }
  if (usageRatio >= threshold) return { level: 'warning', ...figures }
  return usageRatio > WARNING_RATIO ? { level: 'info', ...figures } : undefined
}

export function warningLines({ level, percent, tokens, availableTokens }: UsageWarning): readonly string[] {
  if (level === 'info') return [`Context: ${percent}% used`]
  return [
    `Context usage: ${percent}% of window (${count(tokens)} / ${count(availableTokens)} tokens)`,
    'Auto-compaction will trigger to preserve conversation quality.',
  ]
}

/** Whether an answer ended at the limit of output tokens, in the words of any provider. */
export function isAtOutputLimit(stopReason: string | undefined): boolean {
  return stopReason === 'length' || stopReason === 'max_tokens'
}

/** Writes each event as one line of JSON. */
export function jsonReporter(out: Sink): Reporter {
  const write = (event: string, fields: object): void =>
    out.write(`${safeJson(JSON.stringify({ event, ...fields }))}\n`)
  return {
    session: ({ sessionId: session, ...report }) => write('session', { session, ...report }),
    text: (text) => write('text', { text }),
    answer: ({ sessionId: session, stats, ...report }) =>
      write('answer', { session, ...report, context: stats === null ? null : contextOf(stats) }),
    warning: (warning) => write('warning', warning),
    compaction: ({ sessionId: session, ...event }) => write('compaction', { session, ...event }),
    failure: ({ code, message, hint }) => write('error', { code, message, hint }),
    note: () => {},
    result: (command, value) => write('result', { command, value }),
    end: (session) => write('end', { session: session ?? null }),
  }
}

function contextOf({
  estimatedInputTokens: tokens,
  availableInputTokens: availableTokens,
  usageRatio,
  shouldCompact,
  source,
}: ContextStats) {
  return { tokens, availableTokens, usageRatio, shouldCompact, source }
}

/** Graphemes that wait for a continuation. */
const HELD_GRAPHEMES = 2

/**
 * Splits streamed text between graphemes: text is made safe for a terminal by looking at the neighbors of a character, and half of an emoji
 * would be shown as a number.
 */
export class StreamedText {
  readonly #write: (text: string) => void
  readonly #segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  #held = ''

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  push(piece: string): void {
    const text = this.#held + piece
    const from = [...this.#segmenter.segment(text)].at(-HELD_GRAPHEMES)?.index ?? 0
    this.#held = text.slice(from)
    if (from > 0) this.#write(text.slice(0, from))
  }

  /** Writes what is left. */
  end(): void {
    if (this.#held !== '') this.#write(this.#held)
    this.#held = ''
  }
}

/**
 * Writes a chat for people: answers to `out`, everything else to `err`, so that answers can be piped. Remarks on the session itself are
 * left out unless prompts are typed.
 */
export function textReporter(
  { out, err, style }: Pick<Context, 'out' | 'err' | 'style'>,
  isTyped: boolean,
): Reporter {
  const streamed = new StreamedText((text) => out.write(text))
  let endsInBreak = true
  const remark = (lines: readonly string[], look: (text: string) => string): void => {
    streamed.end()
    if (!endsInBreak) out.write('\n')
    endsInBreak = true
    writeLines(err, lines.map(look))
  }
  return {
    session: () => {},
    text(piece) {
      if (piece === '') return
      streamed.push(piece)
      endsInBreak = piece.endsWith('\n')
    },
    answer({ stopped, stopReason }) {
      if (stopped !== undefined) remark(['(incomplete; the part above is stored)'], style.dim)
      else
        remark(
          isAtOutputLimit(stopReason) ? ['(cut off at the output token limit; see --max-tokens)'] : [],
          style.dim,
        )
      if (isTyped) err.write('\n')
    },
    warning: (warning) =>
      remark(warningLines(warning), warning.level === 'warning' ? style.yellow : style.gray),
    compaction: (event) => remark(compactionLines(event, isTyped), style.dim),
    failure({ message, hint }) {
      remark([message], style.red)
      if (hint !== undefined) remark([hint], style.dim)
    },
    note: (text) => remark([text], style.dim),
    result: (_command, _value, lines) => writeLines(out, lines),
    end(sessionId) {
      if (!isTyped) return
      if (sessionId === undefined) remark(['No prompt was answered, so nothing is stored.'], style.dim)
      else remark([`Session ${sessionId}`, `Continue: ${commandLine('chat', sessionId)}`], style.dim)
    },
  }
}

function compactionLines(event: CompactionEvent, isTyped: boolean): string[] {
  if (event.phase === 'failed') return [`Compaction failed (${event.code}); the history is unchanged.`]
  if (event.phase !== 'completed') return []
  const { runId, tokensBefore, tokensAfter, compactionIds } = event
  const short = shortIds([runId, ...compactionIds]).get(runId) ?? runId
  const undo = isTyped ? `/undo ${short}` : commandLine('undo', event.sessionId, runId)
  return [
    `Compacted: history ${listing(`${fromTo(tokensBefore, tokensAfter)} by ${counted(compactionIds.length, 'compaction')}`, reasoningText(event))}; undo it with ${undo}`,
  ]
}
