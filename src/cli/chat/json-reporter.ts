import type { Sink } from '../command.ts'
import { safeJson } from '../output/safe-text.ts'
import type { Reporter } from './reporter.ts'

/** Each event as one line of JSON. Remarks for people are left out. */
export function jsonReporter(out: Sink): Reporter {
  const tell = (event: string, fields: object): void =>
    out.write(`${safeJson(JSON.stringify({ event, ...fields }))}\n`)
  return {
    session: ({ sessionId: session, ...told }) => tell('session', { session, ...told }),
    text: (text) => tell('text', { text }),
    answer: ({ sessionId: session, stats, ...told }) =>
      tell('answer', { session, ...told, context: stats === null ? null : contextOf(stats) }),
    warning: (warning) => tell('warning', warning),
    compaction: ({ sessionId: session, ...told }) => tell('compaction', { session, ...told }),
    failure: (told) => tell('error', told),
    note: () => {},
    result: (command, value) => tell('result', { command, value }),
    end: (session) => tell('end', { session: session ?? null }),
  }
}

function contextOf({
  estimatedInputTokens: tokens,
  availableInputTokens: availableTokens,
  usageRatio,
  shouldCompact,
  source,
}: Parameters<Reporter['answer']>[0]['stats'] & object) {
  return { tokens, availableTokens, usageRatio, shouldCompact, source }
}
