import { z } from 'zod'
import type { Session } from '../../../storage/storage.ts'
import type { CompactionPreview, CompactionResult } from '../../../store/compaction/result.ts'
import type { PreviewOptions } from '../../../store/config/store-options.ts'
import { providerAndModel, STAGES } from '../../options.ts'
import { count, counted, fromTo, listing, mediaText, reasoningText } from '../../output/figures.ts'
import { safeLine } from '../../output/safe-text.ts'
import { findCompaction } from '../../references.ts'
import { WHY_NOTHING } from '../compact/plan.ts'
import { countingFor, Names, textWithin, timeText } from './answer.ts'
import type { Importer } from './importer.ts'
import { type Call, compactionId, moment, readMoment, reason, sessionId, type Tool, tool } from './tool.ts'

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
    .describe('reasoning that stays and is no longer sent, where the model checks what precedes it'),
  compactions: z.array(stepShape),
}

/** The end of the sentence "Nothing to compact: …". */
const COMPACTION_OFF = 'compaction and figures are off for this session (`enabled`)'

/** Stages of a run are few, but rounds may be many. */
const MOST_STEPS = 20

function outcomeOf({ id, messageCount }: Session, found: CompactionPreview | CompactionResult | null) {
  if (found === null)
    return {
      ...{
        session_id: id,
        compacted: false,
        why_not: messageCount === 0 ? WHY_NOTHING.NO_MESSAGES : COMPACTION_OFF,
        tokens_before: 0,
        tokens_after: 0,
      },
      ...{ images_before: 0, images_after: 0, media_bytes_before: 0, media_bytes_after: 0 },
      ...{ target_tokens: 0, reached_target: true, fits: true, invalidated_reasoning: null, compactions: [] },
    }
  const { compacted, reason: why, tokensBefore, tokensAfter, targetTokens, reachedTarget, fits } = found
  return {
    session_id: id,
    compacted,
    why_not: compacted ? null : WHY_NOTHING[why ?? 'NOTHING_TO_COMPACT'],
    tokens_before: tokensBefore,
    tokens_after: tokensAfter,
    images_before: found.imagesBefore,
    images_after: found.imagesAfter,
    media_bytes_before: found.mediaBytesBefore,
    media_bytes_after: found.mediaBytesAfter,
    target_tokens: targetTokens,
    reached_target: reachedTarget,
    fits,
    invalidated_reasoning: found.invalidatedReasoning ?? null,
    compactions: found.compactions.slice(0, MOST_STEPS).map((one) => ({
      compaction_id: one.id,
      kind: one.kind,
      stage: one.stage,
      rows_hidden: one.rowsHidden,
      parts_replaced: one.partsReplaced,
      rows_inserted: one.rowsInserted,
      tokens_before: one.tokensBefore,
      tokens_after: one.tokensAfter,
    })),
  }
}

async function outcomeText(
  { access, maxTokens }: Call,
  outcome: ReturnType<typeof outcomeOf>,
  done: string,
  trail: readonly string[] = [],
): Promise<string> {
  if (!outcome.compacted) return `Nothing to compact: ${outcome.why_not}.`
  const scope = await countingFor(access.store, outcome.session_id)
  const names = new Names(scope, maxTokens)
  const reasoning = reasoningText({ invalidatedReasoning: outcome.invalidated_reasoning ?? undefined })
  const media = mediaText({
    imagesBefore: outcome.images_before,
    imagesAfter: outcome.images_after,
    mediaBytesBefore: outcome.media_bytes_before,
    mediaBytesAfter: outcome.media_bytes_after,
  })
  const figures = listing(`${fromTo(outcome.tokens_before, outcome.tokens_after)}${media}`, reasoning)
  const first = `${done}: ${figures}.`
  const steps = outcome.compactions.map(
    (one) =>
      `${names.name(one.stage)}: ${counted(one.rows_hidden, 'row')} hidden, ${counted(one.parts_replaced, 'part')} replaced, ${counted(one.rows_inserted, 'row')} inserted; ${fromTo(one.tokens_before, one.tokens_after)}`,
  )
  for (;;) {
    const text = [first, ...steps, ...trail].join('\n')
    if (steps.length === 0 || scope.tokensOf(text) <= maxTokens) return text
    steps.pop()
  }
}

function optionsOf(
  { target, target_tokens, stages, model }: z.output<typeof compactInput>,
  signal: AbortSignal,
): PreviewOptions {
  return {
    ...providerAndModel({ model }),
    ...(target !== undefined && { target }),
    ...(target_tokens !== undefined && { targetTokens: target_tokens }),
    ...(stages !== undefined && { stages: [...stages] }),
    signal,
  }
}

export const previewCompaction = tool({
  name: 'preview_compaction',
  title: 'Preview a compaction',
  description: 'Returns what compact_session would do, and changes nothing.',
  input: compactInput,
  output: z.strictObject(outcomeShape),
  async run(call, given) {
    const session = await call.access.session(given.session_id)
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
    const session = await call.access.session(given.session_id)
    const result = await call.access.store.compactSession(session.id, {
      ...optionsOf(given, call.signal),
      actor: call.actor,
      ...(why !== undefined && { reason: why }),
    })
    const data = { ...outcomeOf(session, result), run_id: result?.compacted === true ? result.runId : null }
    const undo = data.run_id === null ? [] : [`Undo: undo_compaction with compaction_id ${data.run_id}.`]
    return { data, text: await outcomeText(call, data, 'Compacted', undo) }
  },
})

const revertedShape = z.strictObject({
  session_id: z.string(),
  changed: z.boolean(),
  compaction_ids: z.array(z.string()).describe('what was undone or redone'),
  unchanged_ids: z.array(z.string()).describe('compactions of the run that were not undone or redone'),
  rows: z.int(),
  parts: z.int(),
  tokens: z.int().describe('tokens of the view afterwards'),
  invalidated_reasoning: reasoningShape.nullable().describe('reasoning that stays and is no longer sent'),
  restored_reasoning: reasoningShape.nullable().describe('reasoning that is sent again'),
})

/** Undoes or redoes a compaction or a run. */
async function undoOrRedo(
  { access, actor }: Call,
  given: {
    session_id: string
    compaction_id: string
    cascade: boolean
    both?: boolean
    reason?: string | undefined
  },
  verb: 'undoCompaction' | 'redoCompaction',
) {
  const { store } = access
  const { id } = await access.session(given.session_id)
  const target = await findCompaction(store, id, given.compaction_id)
  const options = {
    ...{ cascade: given.cascade, actor },
    ...(given.both !== undefined && { both: given.both }),
    ...(given.reason !== undefined && { reason: given.reason }),
  }
  const outcome = await store[verb](id, target, options)
  const stats = await store.getContextStats(id)
  const data = {
    session_id: id,
    changed: outcome.changed,
    compaction_ids: outcome.compactionIds.slice(0, MOST_STEPS),
    unchanged_ids: (outcome.unchanged ?? []).slice(0, MOST_STEPS).map((one) => one.compactionId),
    rows: outcome.rows,
    parts: outcome.parts,
    tokens: stats?.estimatedInputTokens ?? 0,
    invalidated_reasoning: outcome.invalidatedReasoning ?? null,
    restored_reasoning: outcome.restoredReasoning ?? null,
  }
  const done = verb === 'undoCompaction' ? 'Undone' : 'Redone'
  const text = data.changed
    ? `${done}: ${listing(counted(outcome.compactionIds.length, 'compaction'), counted(data.rows, 'row'), counted(data.parts, 'part'), reasoningText(outcome))}. The view has ${count(data.tokens)} tokens now.`
    : 'Nothing was changed: it is in this state already.'
  return { data, text }
}

const revertInput = {
  session_id: sessionId,
  compaction_id: compactionId,
  cascade: z
    .boolean()
    .default(false)
    .describe('undo also what builds on it, or redo also what it builds on; without it, the call fails'),
  reason,
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

const pinInput = z.strictObject({
  session_id: sessionId,
  message_ids: z.array(z.string().min(1)).min(1).max(1_000),
  reason,
})
const pinnedShape = z.strictObject({
  session_id: z.string(),
  changed: z.int().describe('messages whose pin changed'),
})

async function setPins({ access, actor }: Call, given: z.output<typeof pinInput>, verb: 'pin' | 'unpin') {
  const { id } = await access.session(given.session_id)
  const authorship = { actor, ...(given.reason !== undefined && { reason: given.reason }) }
  const changed = await access.store.messages[verb](id, given.message_ids, authorship)
  return {
    data: { session_id: id, changed },
    text: `${verb === 'pin' ? 'Pinned' : 'Unpinned'}: ${counted(changed, 'message')}.`,
  }
}

const pinMessages = tool({
  name: 'pin_messages',
  title: 'Pin messages',
  description: 'Pins messages of a session: no compaction hides or changes them.',
  permission: 'pin',
  idempotent: true,
  input: pinInput,
  output: pinnedShape,
  run: (call, given) => setPins(call, given, 'pin'),
})

const unpinMessages = tool({
  name: 'unpin_messages',
  title: 'Unpin messages',
  description: 'Removes the pins of messages, with effect from the next compaction on.',
  permission: 'pin',
  idempotent: true,
  input: pinInput,
  output: pinnedShape,
  run: (call, given) => setPins(call, given, 'unpin'),
})

const forkSession = tool({
  name: 'fork_session',
  title: 'Fork a session',
  description:
    'Makes a new session that continues a session from now, or from a moment of its past. Afterwards neither sees changes of the other.',
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
    created_at: z.string(),
  }),
  async run(call, given) {
    const { store } = call.access
    const { id } = await call.access.session(given.session_id)
    const at = await readMoment(call, id, given.at)
    const fork = await store.sessions.fork(id, {
      actor: call.actor,
      ...(at !== undefined && { at }),
      ...(given.title !== undefined && { title: given.title }),
    })
    const { position } = fork.forkedFrom!
    const { messages } = (await store.sessions.get(fork.id, { counts: true })).counts
    const names = new Names(await countingFor(store, id), call.maxTokens)
    return {
      data: {
        session_id: fork.id,
        title: fork.title ?? null,
        forked_from: { session_id: id, position },
        created_at: timeText(fork.createdAt),
      },
      text: `Forked: session ${fork.id} has the first ${counted(messages, 'message')} of ${names.id(id)}.`,
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
const MOST_FAILURES = 10

export function importTranscripts(importer: Importer): Tool {
  return tool({
    name: 'import_transcripts',
    title: 'Import transcripts',
    description:
      'Imports conversations of agents from a file, or from all files of a folder. The same file again adds nothing; one that has grown adds its end.',
    permission: 'import',
    idempotent: true,
    input: z.strictObject({
      path: z.string().min(1).describe('an absolute path of a file or a folder on the machine of the server'),
    }),
    output: z.strictObject({
      files: z.int(),
      unrecognized: z.int().describe('files of a folder that are no transcripts'),
      sessions: z.int().describe('sessions that are new or have grown'),
      messages: z.int(),
      failures: z.array(z.strictObject({ path: z.string(), code: z.string(), message: z.string() })),
      failures_in_all: z.int(),
    }),
    async run({ access, maxTokens, signal }, { path }) {
      const { failures, ...done } = await importer.path(path, signal)
      const named = failures.slice(0, MOST_FAILURES)
      const scope = await countingFor(access.store)
      const names = new Names(scope, maxTokens)
      const lead = `${counted(done.files, 'file')} read, ${count(done.unrecognized)} of them no transcripts: ${counted(done.messages, 'message')} in ${counted(done.sessions, 'session')} stored.`
      return {
        data: { ...done, failures: named, failures_in_all: failures.length },
        text: textWithin(scope, maxTokens, {
          lead: [lead, ...(failures.length === 0 ? [] : [`Not stored: ${count(failures.length)}.`])],
          body: named.map((one) => `${names.id(one.path)} (${one.code}): ${safeLine(one.message)}`),
          trail: [],
        }),
      }
    },
  })
}
