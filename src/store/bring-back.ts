import { z } from 'zod'
import { invalid, UndertextError, withOriginal } from '../core/errors.ts'
import { defined } from '../core/messages/json.ts'
import type { StoredMessage } from '../core/messages/message.ts'
import { shownTitle } from '../core/messages/title.ts'
import { extractiveSummarizer } from '../core/summarizers/extractive.ts'
import { chosenSummarizer } from '../core/summarizers/judge-answer.ts'
import { SUMMARY_SECTIONS } from '../core/summarizers/summarizer.ts'
import type { Session } from '../storage/storage.ts'
import { SummaryMaterial } from './compaction/summary-chunks.ts'
import { askForSummary } from './compaction/write-summary.ts'
import { authorshipSchema } from './config/store-options.ts'
import type { StoreContext } from './context.ts'

export const bringBackSchema = z.strictObject({
  /** The conclusion. Default: written by the summarizer of the fork's settings. */
  text: z.string().min(1).optional(),
  ...authorshipSchema.shape,
})
/** Options of `sessions.bringBack`. */
export type BringBackOptions = z.output<typeof bringBackSchema>

/** The result of `sessions.bringBack`. */
export type BringBackResult = {
  /** The session that was forked. */
  readonly sessionId: string
  readonly messageId: string
  readonly position: number
  /** The conclusion, as given or as written by the summarizer. */
  readonly text: string
  /** The name of the summarizer that wrote the text; absent for a given text. */
  readonly summarizer?: string
}

const MAX_TOKENS = 1_000

/** Appends the conclusion of a fork to its original. No transaction is open while the summarizer works. */
export async function bringBack(
  context: StoreContext,
  forkId: string,
  { text: given, actor, reason }: BringBackOptions,
): Promise<BringBackResult> {
  const fork = await context.requireSession(forkId)
  if (fork.forkedFrom === undefined) throw invalid("sessions.bringBack: this session isn't a fork")
  const { sessionId, position: from } = fork.forkedFrom
  const written =
    given === undefined ? await conclusionOf(context, fork, from) : { text: given, summarizer: undefined }
  const to = fork.messageCount
  const name = fork.title === undefined ? forkId : `${forkId} (${shownTitle(fork.title)})`
  const metadata = {
    broughtBack: { fork: forkId, from, to, ...defined({ summarizer: written.summarizer }) },
  }
  const content = `[Conclusion of the branch ${name}, which left this conversation after message ${from}]\n\n${written.text}`
  const message = { role: 'user' as const, content, metadata }
  const how = { fork: forkId, incarnation: fork.incarnation, from, to, actor, reason }
  const { id: messageId, position } = await context.storage.bringBack(sessionId, message, how)
  return {
    sessionId,
    messageId,
    position,
    ...written,
    ...defined({ summarizer: written.summarizer }),
  } as BringBackResult
}

/** Returns a summary of the part of a fork's view after the position where it was forked. */
async function conclusionOf(
  context: StoreContext,
  fork: Session,
  from: number,
): Promise<{ text: string; summarizer: string }> {
  const { settings } = context.configuration.ofSession(fork.config)
  const { summarizationProvider: provider, summarizationModel: model, readTools, userTools } = settings
  const { summarizer = extractiveSummarizer } = chosenSummarizer(settings.summarizer, provider, model)
  const rows = await ownRows(context, fork, from)
  if (rows.length === 0) throw invalid('sessions.bringBack: the fork has no messages of its own to summarize')
  const sources = rows.map((row) => ({
    kind: row.kind,
    shown: row,
    original: row,
    metadata: row.metadata,
    position: row.position,
  }))
  const estimator = context.estimatorNamed(fork.estimator, fork.id)
  const request = {
    sessionId: fork.id,
    sections: settings.summarySections ?? SUMMARY_SECTIONS,
    maxTokens: MAX_TOKENS,
    ...defined({ provider, model, userTools }),
  }
  const names = defined({ readTools, userTools })
  const view = { estimator, provider: context.modelFor(fork).key }
  const asked = await askForSummary(summarizer, SummaryMaterial.of(sources, summarizer, names), request, {
    timeoutMs: settings.summaryTimeoutMs,
    signal: undefined,
    view,
    answered: undefined,
  })
  const failed = (error: string): UndertextError =>
    new UndertextError('SUMMARIZER_FAILED', { summarizer: summarizer.name, error })
  if ('error' in asked) throw withOriginal(failed(asked.error), asked.thrown)
  if (asked.written.problem !== undefined) throw failed(asked.written.problem)
  return { text: asked.written.text, summarizer: summarizer.name }
}

/** Returns the rows of the view after a position; if a summary also replaces earlier messages, its messages after the position. */
async function ownRows(context: StoreContext, fork: Session, from: number): Promise<StoredMessage[]> {
  const view = await context.storage.view(fork.id, true)
  const visible = new Set(view.map(({ id }) => id))
  const mixed = view.flatMap(({ positions = [] }) =>
    positions.some(([first]) => first <= from) ? positions.filter(([, last]) => last > from) : [],
  )
  const query = { after: from, before: undefined, limit: undefined, order: 'forward' as const }
  const rows = await context.storage.messages(fork.id, query)
  return rows.filter(
    ({ id, position }) =>
      visible.has(id) ||
      (position !== undefined && mixed.some(([first, last]) => first <= position && position <= last)),
  )
}
