import { DEFAULT_COMPACTION_TARGET } from '../../src/core/tokens/budget.ts'
import { isUndertextError, openStore, type Store } from '../../src/index.ts'
import { databaseIn, handOver, type Settings } from './handover.ts'
import { claim, fact, heading, say } from './screen.ts'
import { bytes, counted, figure, milliseconds, percent } from './text.ts'
import { readTranscript, type Transcript, UnusableFile } from './transcript.ts'

/** Whose window counts when the transcript does not say. */
const MODELS = { anthropic: 'claude-sonnet-4-20250514', openai: 'gpt-4o' } as const
const FORMS = {
  anthropic: "Anthropic's",
  openai: "OpenAI's",
  flat: 'the flat',
  gemini: "Gemini's",
  'openai-responses': "OpenAI's Responses",
  neutral: "this package's",
} as const
/** Shares of a short transcript's tokens: what it is brought down to, and limits that otherwise go by the window. */
const SHORT = { target: 0.5, protect: 0.15, savings: 0.05, summary: 0.1 }
const LEAST_SUMMARY_TOKENS = 200

/** Stores a transcript somebody has. Throws `UnusableFile` before anything is shown. */
export async function recordTranscript(folder: string, path: string): Promise<void> {
  const transcript = readTranscript(path)
  const { name, fileBytes, format, messages, conversations, number, skipped, model } = transcript
  await using store = await openStore(databaseIn(folder))
  const sessionId = 'transcript'
  const provider = format === 'anthropic' ? 'anthropic' : 'openai'
  await store.sessions.create({ id: sessionId, provider, model: model ?? MODELS[provider] })
  const tookMs = await append(store, sessionId, transcript)

  heading(1, 'A transcript')
  fact('file', `${name}, ${bytes(fileBytes)}, in ${FORMS[format]} form`)
  if (conversations > 1) {
    fact('sessions', `${figure(conversations)} in the file; this is the largest, number ${figure(number)}`)
  }
  if (skipped > 0) fact('skipped', `${counted(skipped, 'entry', 'entries')} without a message`)
  fact('messages', `${figure(messages.length)}, stored in one transaction of ${milliseconds(tookMs)}`)
  say()
  const same = transcript.sameAs(await store.getEffectiveHistory(sessionId))
  claim(same, `What the store gives back, in ${FORMS[format]} form again, equals the file.`)
  await handOver(store, folder, sessionId, await settingsFor(store, sessionId))
}

async function append(store: Store, sessionId: string, { messages, name }: Transcript): Promise<number> {
  const start = performance.now()
  try {
    await store.append(sessionId, messages)
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    throw new UnusableFile(`${name} holds a message that cannot be stored: ${error.facts.problems}`)
  }
  return performance.now() - start
}

/** A full context is treated as it always is; a short transcript gets a target by its own length. */
async function settingsFor(store: Store, sessionId: string): Promise<Settings> {
  const stats = await store.getContextStats(sessionId)
  if (stats === null) throw new Error('The session is empty.')
  if (stats.shouldCompact) {
    const target = percent(DEFAULT_COMPACTION_TARGET)
    return { compaction: {}, because: `All settings are the defaults; the target is ${target} of the room.` }
  }
  const tokens = stats.breakdown.conversationHistory
  return {
    compaction: {
      targetTokens: Math.floor(tokens * SHORT.target),
      pruneProtectTokens: Math.floor(tokens * SHORT.protect),
      pruneMinimumSavings: Math.floor(tokens * SHORT.savings),
      summaryMaxTokens: Math.max(LEAST_SUMMARY_TOKENS, Math.floor(tokens * SHORT.summary)),
    },
    because:
      `This takes only ${percent(stats.usageRatio)} of the room, so nothing is due. To have something to show, ` +
      `the target is ${percent(SHORT.target)} of its tokens, and the limits of the stages are scaled to its length.`,
  }
}
