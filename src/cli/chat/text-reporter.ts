import type { CompactionEvent } from '../../events.ts'
import type { Context } from '../command.ts'
import { commandLine } from '../output/command-line.ts'
import { count, counted } from '../output/figures.ts'
import { shortIds } from '../output/short-ids.ts'
import type { Reporter } from './reporter.ts'
import { isCut } from './stop-reasons.ts'
import { warningLines } from './usage-warning.ts'

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
