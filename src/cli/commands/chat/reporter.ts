import type { ContextStats } from '../../../compaction/stats.ts'
import { type CompactionEvent, percentOf } from '../../../events.ts'
import type { Context } from '../../command.ts'
import { count, counted } from '../../output/figures.ts'
import { commandLine, shortIds } from '../../output/ids.ts'

/** Usage above which it is told how full the context is. Source: seed 003's command line. */
export const TOLD_ABOVE = 0.6

/** How full the context is after a turn. `warning`: compaction is due. */
export type UsageWarning = {
  readonly level: 'info' | 'warning'
  /** Whole percent of what there is room for. */
  readonly percent: number
  readonly tokens: number
  readonly availableTokens: number
}

/**
 * What is to be said of usage after a turn: nothing up to 60 percent, then the share, and from the threshold on which compaction is due
 * a warning. Nothing where compaction is off. Source: seed 003, "CLI Session Warnings".
 */
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
  return usageRatio > TOLD_ABOVE ? { level: 'info', ...figures } : undefined
}

/** The lines of a warning, without colours. */
export function warningLines({ level, percent, tokens, availableTokens }: UsageWarning): readonly string[] {
  if (level === 'info') return [`Context: ${percent}% used`]
  return [
    `Context usage: ${percent}% of window (${count(tokens)} / ${count(availableTokens)} tokens)`,
    'Auto-compaction will trigger to preserve conversation quality.',
  ]
}

/** Graphemes that wait for what may still join them. */
const HELD = 2

/**
 * Text that comes in pieces, cut anew between whole characters as people see them: what makes text safe for a terminal looks at a
 * character's neighbours, and half of an emoji would be shown as a number.
 */
export class StreamedText {
  readonly #write: (text: string) => void
  readonly #segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  #held = ''

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  push(piece: string): void {
    const graphemes = [...this.#segmenter.segment(this.#held + piece)]
    const from = graphemes.at(-HELD)?.index ?? 0
    const text = this.#held + piece
    this.#held = text.slice(from)
    if (from > 0) this.#write(text.slice(0, from))
  }

  /** Lets out what is left. */
  end(): void {
    if (this.#held !== '') this.#write(this.#held)
    this.#held = ''
  }
}

/**
 * A chat for people. Answers go to `out`, everything else to `err`, so that what a model says can be piped on. Where nobody types, what is said
 * of the session itself is left out.
 */
export function textReporter(
  { out, err, style }: Pick<Context, 'out' | 'err' | 'style'>,
  isTyped: boolean,
): Reporter {
  const streamed = new StreamedText((text) => out.write(text))
  let endsInBreak = true
  const remark = (lines: readonly string[], look: (text: string) => string): void => {
    for (const line of lines) err.write(`${look(line)}\n`)
  }
  const endLine = (): void => {
    streamed.end()
    if (!endsInBreak) out.write('\n')
    endsInBreak = true
  }
  return {
    session: () => {},
    text(piece) {
      if (piece === '') return
      streamed.push(piece)
      endsInBreak = piece.endsWith('\n')
    },
    answer({ stopped, stopReason }) {
      endLine()
      if (stopped !== undefined) remark(['(broken off; what came is stored)'], style.dim)
      else if (isCut(stopReason)) remark(['(cut at the limit of output tokens; see --max-tokens)'], style.dim)
      if (isTyped) err.write('\n')
    },
    warning(warning) {
      remark(warningLines(warning), warning.level === 'warning' ? style.yellow : style.gray)
    },
    compaction(event) {
      endLine()
      remark(compactionLines(event, isTyped), style.dim)
    },
    failure({ message, hint }) {
      endLine()
      remark([message], style.red)
      if (hint !== undefined) remark([hint], style.dim)
    },
    note(text) {
      endLine()
      remark([text], style.dim)
    },
    result(_command, _value, lines) {
      for (const line of lines) out.write(`${line}\n`)
    },
    end(sessionId) {
      if (!isTyped) return
      if (sessionId === undefined) remark(['Nothing was said, and nothing is stored.'], style.dim)
      else remark([`Session ${sessionId}`, `Go on: ${commandLine('chat', sessionId)}`], style.dim)
    },
  }
}

/** What is said of a compaction that nobody asked for in so many words. */
function compactionLines(event: CompactionEvent, isTyped: boolean): string[] {
  if (event.phase === 'failed')
    return [`Compaction came to nothing (${event.code}); the history is as it was.`]
  if (event.phase !== 'completed') return []
  const { runId, tokensBefore, tokensAfter, compactionIds } = event
  const short = shortIds([runId, ...compactionIds]).get(runId) ?? runId
  const undo = isTyped ? `/undo ${short}` : commandLine('undo', event.sessionId, runId)
  return [
    `Compacted: history ${count(tokensBefore)} → ${count(tokensAfter)} tokens by ${counted(compactionIds.length, 'compaction')}; take it back with ${undo}`,
  ]
}

/*
 * What a chat tells, as it happens. For people it is text; with `--json` each is one line, in the form the types give (docs/cli-chat.md).
 */

type SessionTold = {
  readonly sessionId: string
  readonly isNew: boolean
  /** Messages in the log, before this chat. */
  readonly messages: number
  readonly backend: 'echo' | 'url' | 'ai-sdk'
  readonly provider?: string | undefined
  readonly model?: string | undefined
}

type AnswerTold = {
  readonly sessionId: string
  readonly text: string
  /** Place of the answer in the log. */
  readonly position: number
  readonly stopReason?: string | undefined
  /** Why it is not whole. */
  readonly stopped?: 'interrupted' | 'failed' | undefined
  readonly model?: string | undefined
  readonly usage?: object | undefined
  readonly stats: ContextStats | null
}

/** Something that came to nothing, or only to a part. Nothing of it is stored. */
type FailureTold = {
  readonly code: string
  readonly message: string
  readonly hint?: string | undefined
}

export type Reporter = {
  session(told: SessionTold): void
  /** A piece of an answer. */
  text(piece: string): void
  answer(told: AnswerTold): void
  warning(warning: UsageWarning): void
  compaction(event: CompactionEvent): void
  failure(told: FailureTold): void
  /** A remark, for people alone. */
  note(text: string): void
  /** What a command of the chat answers: lines for people, a value for programs. */
  result(command: string, value: unknown, lines: readonly string[]): void
  end(sessionId: string | undefined): void
}

/** Whether an answer ended at the limit of output tokens, in the words of any provider. */
export function isCut(stopReason: string | undefined): boolean {
  return stopReason === 'length' || stopReason === 'max_tokens'
}
