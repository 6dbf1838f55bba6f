import { z } from 'zod'
import { defined } from '../../../core/messages/json.ts'
import type { Session } from '../../../storage/storage.ts'
import type { CompactionPreview, CompactionResult } from '../../../store/compaction/result.ts'
import type { PreviewOptions } from '../../../store/config/store-options.ts'
import { providerAndModel, STAGES } from '../../options.ts'
import { count, counted, fromTo, listing, mediaText, reasoningText } from '../../output/figures.ts'
import { safeLine } from '../../output/safe-text.ts'
import { findCompaction, momentOf } from '../../references.ts'
import { IDLE_REASONS } from '../compact/plan.ts'
import { writerFor } from './answer.ts'
import type { Importer } from './importer.ts'
import {
  type Call,
  compactionId,
  type Given,
  moment,
  reason,
  sessionId,
  type Tool,
  time,
  tool,
} from './tool.ts'

/* The tools that change the store, each by a permission, and the preview of a compaction, which changes nothing. */

const compactInput = z.strictObject({
  session_id: sessionId,
  target: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('the share of the available input to reduce the request to; default 0.4'),
  target_tokens: z.int().min(0).optional().describe('the tokens to reduce the history to, instead of target'),
  stages: z
    .array(z.enum(STAGES as [string, ...string[]]))
    .min(1)
    .optional()
    .describe('only these stages, in this order'),
  model: z
    .string()
    .min(1)
    .optional()
    .describe("provider/model whose context window applies; default: the session's own"),
})

const stepShape = z.strictObject({
  compaction_id: z.string(),
  kind: z.string(),
  stage: z.string(),
  rows_hidden: z.int(),
  parts_replaced: z.int(),
  rows_inserted: z.int(),
  tokens_before: z.int(),
  tokens_after: z.int(),
})

const reasoningShape = z.strictObject({ blocks: z.int(), tokens: z.int() })

const outcomeShape = {
  session_id: z.string(),
  compacted: z.boolean(),
  why_not: z.string().nullable().describe('why nothing was done'),
  tokens_before: z.int(),
  tokens_after: z.int(),
  images_before: z.int(),
  images_after: z.int(),
  media_bytes_before: z.int().describe('bytes of images and files, in base64'),
  media_bytes_after: z.int(),
  target_tokens: z.int(),
  reached_target: z.boolean(),
  fits: z.boolean(),
  invalidated_reasoning: reasoningShape
    .nullable()
    .describe('reasoning that is kept but no longer sent, because the model checks the messages before it'),
  compactions: z.array(stepShape),
}

/** The end of the sentence "Nothing to compact: …". */
const COMPACTION_OFF = 'compaction and figures are disabled for this session (`enabled`)'

/** Stages of a run are few, but rounds may be many. */
const MAX_STEPS = 20

/** The facts of an answer about a compaction or its preview. `found` is null if the session couldn't be compacted at all. */
function outcomeOf({ id, messageCount }: Session, found: CompactionPreview | CompactionResult | null) {
  const whyNot = messageCount === 0 ? IDLE_REASONS.NO_MESSAGES : COMPACTION_OFF
  if (found === null) return { ...NO_OUTCOME, sessionId: id, whyNot }
  const { compacted, reason } = found
  return {
    ...found,
    sessionId: id,
    whyNot: compacted ? undefined : IDLE_REASONS[reason ?? 'NOTHING_TO_COMPACT'],
    compactions: found.compactions.slice(0, MAX_STEPS).map((one) => ({ ...one, compactionId: one.id })),
  }
}

const NO_OUTCOME = {
  ...{ compacted: false, tokensBefore: 0, tokensAfter: 0, targetTokens: 0, reachedTarget: true, fits: true },
  ...{ imagesBefore: 0, imagesAfter: 0, mediaBytesBefore: 0, mediaBytesAfter: 0, compactions: [] },
  invalidatedReasoning: undefined,
}

async function outcomeText(
  call: Call,
  outcome: ReturnType<typeof outcomeOf>,
  done: string,
  trail: readonly string[] = [],
): Promise<string> {
  if (!outcome.compacted) return `Nothing to compact: ${outcome.whyNot}.`
  const writer = await writerFor(call, outcome.sessionId)
  const figures = listing(
    `${fromTo(outcome.tokensBefore, outcome.tokensAfter)}${mediaText(outcome)}`,
    reasoningText(outcome),
  )
  const first = `${done}: ${figures}.`
  const steps = outcome.compactions.map(
    (one) =>
      `${writer.name(one.stage)}: ${counted(one.rowsHidden, 'row')} hidden, ${counted(one.partsReplaced, 'part')} replaced, ${counted(one.rowsInserted, 'row')} inserted; ${fromTo(one.tokensBefore, one.tokensAfter)}`,
  )
  for (;;) {
    const text = [first, ...steps, ...trail].join('\n')
    if (steps.length === 0 || writer.scope.tokensOf(text) <= call.maxTokens) return text
    steps.pop()
  }
}

function optionsOf(
  { target, targetTokens, stages, model }: Given<typeof compactInput>,
  signal: AbortSignal,
): PreviewOptions {
  return { ...providerAndModel({ model }), target, targetTokens, stages: stages && [...stages], signal }
}

export const previewCompaction = tool({
  name: 'preview_compaction',
  title: 'Preview a compaction',
  description: 'Returns what compact_session would do, and changes nothing.',
  input: compactInput,
  output: z.strictObject(outcomeShape),
  async run(call, given) {
    const session = await call.access.session(given.sessionId)
    const options = optionsOf(given, call.signal)
    const data = outcomeOf(session, await call.access.store.previewCompaction(session.id, options))
    return { data, text: await outcomeText(call, data, 'It would compact') }
  },
})

const compactSession = tool({
  name: 'compact_session',
  title: 'Compact a session',
  description:
    'Makes room in a session: prunes tool outputs, deduplicates file reads, summarizes, truncates, each only while the history is over the target. Nothing is destroyed; undo_compaction with the run id undoes all of it.',
  permission: 'compact',
  input: z.strictObject({ ...compactInput.shape, reason }),
  output: z.strictObject({ ...outcomeShape, run_id: z.string().nullable() }),
  async run(call, { reason: why, ...given }) {
    const session = await call.access.session(given.sessionId)
    const result = await call.access.store.compactSession(session.id, {
      ...optionsOf(given, call.signal),
      ...{ actor: call.actor, reason: why },
    })
    const runId = result?.compacted === true ? result.runId : null
    const data = { ...outcomeOf(session, result), runId }
    const undo = runId === null ? [] : [`Undo: undo_compaction with compaction_id ${runId}.`]
    return { data, text: await outcomeText(call, data, 'Compacted', undo) }
  },
})

const revertedShape = z.strictObject({
  session_id: z.string(),
  changed: z.boolean(),
  compaction_ids: z.array(z.string()).describe('what was undone or redone'),
  unchanged_ids: z.array(z.string()).describe("compactions of the run that weren't undone or redone"),
  rows: z.int(),
  parts: z.int(),
  tokens: z.int().describe('tokens of the view afterwards'),
  invalidated_reasoning: reasoningShape.nullable().describe('reasoning that is kept but no longer sent'),
  restored_reasoning: reasoningShape.nullable().describe('reasoning that is sent again'),
})

const revertInput = {
  session_id: sessionId,
  compaction_id: compactionId,
  cascade: z
    .boolean()
    .default(false)
    .describe(
      'also undo the compactions that build on it, or redo those it builds on; without it, the call fails',
    ),
  reason,
}

/** Undoes or redoes a compaction or a run. */
async function undoOrRedo(
  { access, actor }: Call,
  given: Given<z.ZodObject<typeof revertInput>> & { readonly both?: boolean },
  verb: 'undoCompaction' | 'redoCompaction',
) {
  const { store } = access
  const { id } = await access.session(given.sessionId)
  const target = await findCompaction(store, id, given.compactionId)
  const { cascade, both, reason } = given
  const outcome = await store[verb](id, target, { ...{ cascade, actor, reason }, ...defined({ both }) })
  const tokens = (await store.getContextStats(id))?.estimatedInputTokens ?? 0
  const { changed, compactionIds, unchanged = [], rows, parts } = outcome
  const data = {
    ...outcome,
    sessionId: id,
    compactionIds: compactionIds.slice(0, MAX_STEPS),
    unchangedIds: unchanged.slice(0, MAX_STEPS).map((one) => one.compactionId),
    tokens,
  }
  const done = verb === 'undoCompaction' ? 'Undone' : 'Redone'
  const text = changed
    ? `${done}: ${listing(counted(compactionIds.length, 'compaction'), counted(rows, 'row'), counted(parts, 'part'), reasoningText(outcome))}. The view has ${count(tokens)} tokens now.`
    : 'Nothing was changed: it is already in this state.'
  return { data, text }
}

const undoCompaction = tool({
  name: 'undo_compaction',
  title: 'Undo a compaction',
  description:
    'Undoes a compaction, or all compactions of a run: the view is as it was before. With cascade, those that build on it are undone first.',
  permission: 'undo',
  idempotent: true,
  input: z.strictObject({
    ...revertInput,
    both: z
      .boolean()
      .default(false)
      .describe(
        'undo a rewind even if messages were appended after it; the earlier messages then come before them',
      ),
  }),
  output: revertedShape,
  run: (call, given) => undoOrRedo(call, given, 'undoCompaction'),
})

const redoCompaction = tool({
  name: 'redo_compaction',
  title: 'Redo a compaction',
  description:
    'Redoes an undone compaction or run. It uses the stored summaries and calls no model. With cascade, those that it builds on are redone first.',
  permission: 'undo',
  idempotent: true,
  input: z.strictObject(revertInput),
  output: revertedShape,
  run: (call, given) => undoOrRedo(call, given, 'redoCompaction'),
})

/** The tool that pins messages, or removes their pins. */
function pinTool(verb: 'pin' | 'unpin', title: string, description: string): Tool {
  return tool({
    name: `${verb}_messages`,
    ...{ title, description },
    permission: 'pin',
    idempotent: true,
    input: z.strictObject({
      session_id: sessionId,
      message_ids: z.array(z.string().min(1)).min(1).max(1_000),
      reason,
    }),
    output: z.strictObject({
      session_id: z.string(),
      changed: z.int().describe('messages whose pin changed'),
    }),
    async run({ access, actor }, given) {
      const { id } = await access.session(given.sessionId)
      const authorship = { actor, reason: given.reason }
      const changed = await access.store.messages[verb](id, given.messageIds, authorship)
      const done = verb === 'pin' ? 'Pinned' : 'Unpinned'
      return { data: { sessionId: id, changed }, text: `${done}: ${counted(changed, 'message')}.` }
    },
  })
}

const pinMessages = pinTool(
  'pin',
  'Pin messages',
  'Pins messages of a session: no compaction hides or changes them.',
)

const unpinMessages = pinTool(
  'unpin',
  'Unpin messages',
  'Removes the pins of messages, starting with the next compaction.',
)

const forkSession = tool({
  name: 'fork_session',
  title: 'Fork a session',
  description:
    'Creates a new session that continues a session from now, or from a past moment. Later changes to one do not affect the other.',
  permission: 'fork',
  input: z.strictObject({
    session_id: sessionId,
    at: moment.optional(),
    title: z.string().max(1_000).optional().describe('default: the title of the session'),
  }),
  output: z.strictObject({
    session_id: z.string().describe('the id of the fork'),
    title: z.string().nullable(),
    forked_from: z.strictObject({ session_id: z.string(), position: z.int() }),
    created_at: time,
  }),
  async run(call, given) {
    const { store } = call.access
    const { id } = await call.access.session(given.sessionId)
    const at = await momentOf(store, id, given.at)
    const fork = await store.sessions.fork(id, { actor: call.actor, at, title: given.title })
    const { messages } = (await store.sessions.get(fork.id, { counts: true })).counts
    const { position } = fork.forkedFrom!
    const writer = await writerFor(call, id)
    return {
      data: { ...fork, sessionId: fork.id, forkedFrom: { sessionId: id, position } },
      text: `Forked: session ${fork.id} has the first ${counted(messages, 'message')} of ${writer.id(id)}.`,
    }
  },
})

export const CHANGING: readonly Tool[] = [
  compactSession,
  undoCompaction,
  redoCompaction,
  pinMessages,
  unpinMessages,
  forkSession,
]

/** Failures that an answer names. */
const MAX_FAILURES = 10

export function importTranscripts(importer: Importer): Tool {
  return tool({
    name: 'import_transcripts',
    title: 'Import transcripts',
    description:
      'Imports conversations of agents from a file, or from all files of a folder. Importing the same file again adds nothing; if it has grown, only the new messages are added.',
    permission: 'import',
    idempotent: true,
    input: z.strictObject({
      path: z.string().min(1).describe('an absolute path of a file or a folder on the machine of the server'),
    }),
    output: z.strictObject({
      files: z.int(),
      unrecognized: z.int().describe("files of a folder that aren't transcripts"),
      sessions: z.int().describe('sessions that are new or have grown'),
      messages: z.int(),
      failures: z.array(z.strictObject({ path: z.string(), code: z.string(), message: z.string() })),
      failures_in_all: z.int(),
    }),
    async run(call, { path }) {
      const { failures, ...done } = await importer.path(path, call.signal)
      const named = failures.slice(0, MAX_FAILURES)
      const writer = await writerFor(call)
      const lead = `${counted(done.files, 'file')} read, ${count(done.unrecognized)} of them not transcripts: ${counted(done.messages, 'message')} in ${counted(done.sessions, 'session')} stored.`
      return {
        data: { ...done, failures: named, failuresInAll: failures.length },
        text: writer.text({
          lead: [lead, ...(failures.length === 0 ? [] : [`Not stored: ${count(failures.length)}.`])],
          body: named.map((one) => `${writer.id(one.path)} (${one.code}): ${safeLine(one.message)}`),
        }),
      }
    },
  })
}
