import { z } from 'zod'
import { encodeCursor } from '../../../core/cursor.ts'
import { invalid } from '../../../core/errors.ts'
import { headOf } from '../../../core/messages/characters.ts'
import { defined } from '../../../core/messages/json.ts'
import type { ViewMessage } from '../../../core/messages/message.ts'
import { shownTitle } from '../../../core/messages/title.ts'
import { callerOf } from '../../../core/retention/subagent.ts'
import { isAssumed } from '../../../core/tokens/windows.ts'
import type { Compaction, Session } from '../../../storage/storage.ts'
import { headWithin } from '../../../store/recall/answer.ts'
import { framed, indented } from '../../../store/recall/render.ts'
import { rowText } from '../../../store/recall/rows.ts'
import type { Scope } from '../../../store/recall/scope.ts'
import type { Store } from '../../../store/store.ts'
import { statusWords } from '../../../transfer/document/session-document.ts'
import { providerAndModel } from '../../options.ts'
import { count, counted, fromTo, percent } from '../../output/figures.ts'
import { momentOf } from '../../references.ts'
import { kindName, readTimeline, workOf } from '../log.ts'
import { tokensIn } from '../sessions.ts'
import { requestFigures } from '../stats.ts'
import {
  digestOf,
  FRAME_TOKENS,
  itemsAfter,
  placeOf,
  readCursor,
  sessionPlace,
  timeText,
  type Writer,
  writerFor,
} from './answer.ts'
import {
  cursor,
  FIGURES_OFF,
  moment,
  momentPoint,
  nextCursor,
  pointShape,
  sessionId,
  shaped,
  type Tool,
  time,
  tool,
} from './tool.ts'

/* The tools that only read. Those that search and open stored text are in recalling.ts. */

const sessionShape = z.strictObject({
  session_id: z.string(),
  title: z.string().nullable().describe('in a list its first 80 characters'),
  owner: z.string().nullable(),
  parent_session_id: z.string().nullable().describe('the session whose subagent it belongs to'),
  provider: z.string().nullable(),
  model: z.string().nullable(),
  messages: z.int().describe('messages of the log, hidden ones included, without bookkeeping of an agent'),
  visible_rows: z.int().describe('rows of the view: what a model would be sent now'),
  tokens: z.int().nullable().describe("tokens of the view; null when its tokenizer isn't installed here"),
  compactions_in_force: z.int(),
  created_at: time,
  updated_at: time,
})
/** A session as a list shows it. */
type Listed = Session & {
  readonly sessionId: string
  readonly messages: number
  readonly visibleRows: number
  readonly tokens: number | undefined
  readonly compactionsInForce: number
  readonly parentSessionId: string | undefined
}

async function listed(store: Store, session: Session): Promise<Listed> {
  const { id, messageCount } = session
  const { messages, visible } = (await store.sessions.get(id, { counts: true })).counts
  return {
    ...session,
    ...{ sessionId: id, messages, visibleRows: visible, parentSessionId: callerOf(session) },
    tokens: messageCount === 0 ? 0 : await tokensIn(store, id),
    compactionsInForce: session.activeCompactions,
  }
}

function sessionLine(session: Listed, writer: Writer): string {
  const { id, title, messages, tokens, updatedAt, owner, parentSessionId: parent } = session
  const parts = [
    title && writer.name(title),
    `${counted(messages, 'message')}, ${tokens === undefined ? 'unknown' : count(tokens)} tokens in the view`,
    `changed ${timeText(updatedAt)}`,
    owner && `owner ${writer.name(owner)}`,
    parent && `subagent of ${writer.name(parent)}`,
  ]
  return `${writer.id(id)} · ${parts.filter((part) => part !== undefined).join(' · ')}`
}

const listSessions = tool({
  name: 'list_sessions',
  title: 'List sessions',
  description:
    'Lists the stored conversations, newest first, with their size. To find text in a session, use search_history.',
  input: z.strictObject({
    search: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('only sessions whose title or id contains this text'),
    owner: z.string().min(1).optional().describe('only sessions of this owner'),
    archived: z.boolean().default(false).describe('archived sessions instead of the others'),
    limit: z.int().min(1).max(100).default(20),
    cursor,
  }),
  output: z.strictObject({ sessions: z.array(sessionShape), next_cursor: nextCursor }),
  async run(call, { search, owner, archived, limit, cursor: given }) {
    const { access } = call
    const { store } = access
    const after = readCursor(sessionPlace, given)
    if (after !== undefined) await access.session(after.id)
    const page = await store.sessions.list({
      ...defined({ owner: access.ownerNamed(owner), archived, search, after }),
      limit: limit + 1,
    })
    const sessions: Listed[] = []
    for (const session of page.slice(0, limit)) {
      const one = await listed(store, session)
      sessions.push({ ...one, ...(one.title !== undefined && { title: shownTitle(one.title) }) })
    }
    if (sessions.length === 0) return { data: { sessions }, text: 'No sessions match.' }
    const writer = await writerFor(call)
    const { taken, next, text } = writer.page({
      items: sessions,
      dataOf: (one) => shaped(sessionShape, one),
      lineOf: (one) => sessionLine(one, writer),
      cursorOf: (_, taken) => placeOf(page[taken - 1]!),
      follows: page.length > limit,
    })
    return { data: { sessions: taken, nextCursor: next }, text }
  },
})

const breakdownShape = z
  .record(z.string(), z.int())
  .describe(
    'tokens by category: system, text, reasoning, calls, results, media, prompt, tools, files, unseen, free',
  )

const mediaUse = z
  .strictObject({ used: z.int(), limit: z.int().nullable() })
  .describe('of the request, and the limit of the provider; null if it is unknown')

const getStats = tool({
  name: 'get_stats',
  title: 'Figures of a session',
  description:
    'Returns how full the context of a session is: tokens, the window of its model, whether a compaction is due, what is hidden, and what was billed.',
  input: z.strictObject({
    session_id: sessionId,
    model: z
      .string()
      .min(1)
      .optional()
      .describe("provider/model whose context window applies; default: the session's own"),
    at: moment.optional(),
  }),
  output: z.strictObject({
    session: sessionShape,
    moment: momentPoint,
    figures: z
      .strictObject({
        provider: z.string(),
        model: z.string().nullable(),
        tokens: z.int(),
        window_tokens: z.int(),
        window_source: z
          .enum(['learned', 'session', 'store', 'package', 'registry', 'default'])
          .describe('the source of the window size'),
        window_assumed: z.boolean().describe('true if no table has the model, so that its window is assumed'),
        available_tokens: z.int(),
        usage_ratio: z.number(),
        images: mediaUse,
        bytes: mediaUse,
        fits: z.boolean(),
        compaction_due: z.boolean(),
        compaction_due_at: z.int(),
        target_tokens: z.int(),
        breakdown: breakdownShape,
        fixed: z
          .strictObject({ tokens: z.int(), source: z.enum(['given', 'last-request', 'none']) })
          .describe('the system prompt and tools of the last reported request, as far as they are known'),
      })
      .nullable()
      .describe('null for a session without messages, or whose figures are off'),
    hidden: z.strictObject({ condensed: z.int(), truncated: z.int(), manual: z.int() }),
    usage: z.strictObject({
      requests: z.int(),
      input_tokens: z.int(),
      output_tokens: z.int(),
      cost_usd: z.number().nullable(),
    }),
  }),
  async run(call, given) {
    const { store } = call.access
    const session = await call.access.session(given.sessionId)
    const { id } = session
    const at = await momentOf(store, id, given.at)
    const { provider, model } = providerAndModel({ model: given.model })
    const stats = await store.getContextStats(id, provider, model, { at })
    const { settings } = await store.sessions.config(id)
    const figures = stats === null ? undefined : requestFigures(stats, settings)
    const { total } = await store.requests.usage(id)
    const point = at === undefined ? undefined : await store.messages.moment(id, at)
    const hidden = stats?.hidden ?? session.hidden
    const found = await listed(store, session)
    const usage = {
      ...total,
      inputTokens: total.inputTokens + total.cacheReadTokens + total.cacheCreationTokens,
      costUsd: total.cost,
    }
    const data = {
      ...{ session: found, moment: point, hidden, usage },
      figures: stats && {
        ...stats,
        tokens: stats.estimatedInputTokens,
        windowTokens: stats.contextWindow.tokens,
        windowSource: stats.contextWindow.source,
        windowAssumed: isAssumed(stats.contextWindow),
        availableTokens: stats.availableInputTokens,
        fits: stats.withinBudget,
        compactionDue: stats.shouldCompact,
        compactionDueAt: figures!.due,
        targetTokens: figures!.target,
        breakdown: { ...figures!.breakdown, free: figures!.free },
      },
    }
    const writer = await writerFor(call, id)
    const lines =
      stats === null
        ? [(point?.position ?? session.messageCount) === 0 ? 'It has no messages.' : FIGURES_OFF]
        : [
            `${count(stats.estimatedInputTokens)} of ${count(stats.availableInputTokens)} available tokens, ${percent(stats.usageRatio)}; window of ${writer.name(stats.provider)}${stats.model === undefined ? '' : `/${writer.name(stats.model)}`}: ${count(stats.contextWindow.tokens)}${isAssumed(stats.contextWindow) ? ', assumed, because the window of this model is unknown' : ''}.`,
            ...(stats.fixed.source === 'last-request'
              ? [`System prompt and tools: ${count(stats.fixed.tokens)} tokens, as in the last request.`]
              : []),
            `Hidden: ${count(hidden.condensed)} by summaries, ${count(hidden.truncated)} by truncation, ${count(hidden.manual)} manually.`,
            `Billed: ${counted(usage.requests, 'request')}, ${count(usage.inputTokens)} tokens in, ${count(usage.outputTokens)} out${usage.cost === null ? '' : `, $${usage.cost.toFixed(4)}`}.`,
          ]
    // The names of the provider and the model are stored text too.
    return { data, text: writer.text({ body: [...lines, sessionLine(found, writer)] }) }
  },
})

const viewRowShape = z.strictObject({
  message_id: z.string(),
  position: z.int().nullable().describe('place in the log; null for summaries and markers'),
  kind: z.enum(['message', 'summary', 'marker']),
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  created_at: time,
  text: z.string(),
  from_character: z.int().describe('where this part of the text begins; 0 for its beginning'),
  cut: z.boolean().describe('whether the text continues on the next page'),
})
type ViewRow = Pick<ViewMessage, 'position' | 'kind' | 'role' | 'createdAt'> & {
  readonly messageId: string
  readonly text: string
  readonly fromCharacter: number
  readonly cut: boolean
}

/** The place of a page: a digest of the moment and the row, the character, and the length of the row's text. */
const viewCursor = z.tuple([z.string(), z.int().nonnegative(), z.int().nonnegative()])

const getView = tool({
  name: 'get_view',
  title: 'The view of a session',
  description:
    'Returns the view of a session, which is what a model would be sent: its messages in order, with summaries and shortened outputs in place; now, or as of a past moment.',
  input: z.strictObject({ session_id: sessionId, at: moment.optional(), cursor }),
  output: z.strictObject({
    session_id: z.string(),
    moment: momentPoint,
    rows: z.int().describe('rows of the whole view'),
    messages: z.array(viewRowShape),
    next_cursor: nextCursor,
  }),
  async run(call, given) {
    const { store } = call.access
    const { id } = await call.access.session(given.sessionId)
    const at = await momentOf(store, id, given.at)
    const view = await store.getEffectiveHistory(id, { at })
    const point = at === undefined ? undefined : await store.messages.moment(id, at)
    const { rows, next, text } = pageOfView(await writerFor(call, id), {
      view,
      after: readCursor(viewCursor, given.cursor),
      digest: (row) => digestOf(id, point === undefined ? null : shaped(pointShape, point), row),
    })
    const data = { sessionId: id, moment: point, rows: view.length, messages: rows, nextCursor: next }
    return { data, text }
  },
})

type ViewPage = {
  readonly view: readonly ViewMessage[]
  readonly after: z.output<typeof viewCursor> | undefined
  /** A name of a row of this view. */
  readonly digest: (row: string) => string
}

/** A page of a view. Its text decides: it has less until it fits. */
function pageOfView(writer: Writer, page: ViewPage) {
  const { scope, maxTokens } = writer
  let room = maxTokens - FRAME_TOKENS
  for (;;) {
    const { rows, next } = rowsOf(writer, room, page)
    const body = rows.map((row) => `${rowHeading(row, writer)}\n${indented(row.text)}`)
    const text = [
      `${counted(page.view.length, 'row')} in the view.`,
      ...(rows.length === 0 ? [] : [framed(body.join('\n'))]),
      ...writer.nextLine(next),
    ].join('\n')
    const over = scope.tokensOf(text) - maxTokens
    if (over <= 0 || room <= 0) return { rows, next, text }
    room -= over + 1
  }
}

/** The fewest tokens that the text of a row gets. */
const MIN_ROW_TOKENS = 20

/** The rows of a page, the last one cut where it does not fit. A row of its own always gets some room. */
function rowsOf(
  writer: Writer,
  maxTokens: number,
  { view, after, digest }: ViewPage,
): { readonly rows: ViewRow[]; readonly next: string | undefined } {
  const { scope } = writer
  const [place, character, length] = after ?? [undefined, 0, 0]
  const first = place === undefined ? 0 : view.findIndex((row) => digest(row.id) === place)
  if (first === -1 || (character > 0 && rowText(view[first]!).text.length !== length))
    throw invalid(
      'the cursor belongs to another session or moment, or its row has changed; begin without a cursor',
    )
  const rows: ViewRow[] = []
  let left = maxTokens
  for (let at = first; at < view.length; at += 1) {
    const row = view[at]!
    const from = at === first ? character : 0
    const { text: whole } = rowText(row)
    const rest = whole.slice(from)
    const shown = { ...row, messageId: row.id, fromCharacter: from, cut: true }
    const heading = scope.tokensOf(rowHeading(shown, writer))
    const { text: _, cut, ...fields } = shaped(viewRowShape, shown)
    const room = left - Math.max(heading, scope.tokensOf(JSON.stringify(fields)))
    const text = cutTo(scope, rest, Math.max(room, MIN_ROW_TOKENS))
    const isCut = text.length < rest.length
    if (rows.length > 0 && (room <= 0 || (isCut && room < maxTokens / 4)))
      return { rows, next: encodeCursor([digest(row.id), from, whole.length]) }
    rows.push({ ...shown, text, cut: isCut })
    if (isCut) return { rows, next: encodeCursor([digest(row.id), from + text.length, whole.length]) }
    left = room - tokensInBoth(scope, text)
  }
  return { rows, next: undefined }
}

/** Tokens of a text in the form that has more of them. */
function tokensInBoth(scope: Scope, text: string): number {
  return Math.max(scope.tokensOf(indented(text)), scope.tokensOf(JSON.stringify(text)))
}

/** The longest beginning of a text that fits in both forms, at least one character. */
function cutTo(scope: Scope, text: string, maxTokens: number): string {
  let cut = headWithin(scope, text, maxTokens)
  while (cut.length > 1 && scope.tokensOf(JSON.stringify(cut)) > maxTokens)
    cut = headOf(cut, Math.floor(cut.length * 0.8))
  return cut === '' ? headOf(text, Math.min(2, text.length)) : cut
}

function rowHeading(
  { position, role, kind, messageId, createdAt, fromCharacter: from, cut }: Omit<ViewRow, 'text'>,
  writer: Writer,
): string {
  const place = position === undefined ? kind : `${position} · ${role}`
  const part = [from > 0 && `from character ${from}`, cut && 'cut'].filter((note) => note !== false)
  return [place, timeText(createdAt), writer.id(messageId), ...part].join(' · ')
}

const compactionShape = z.strictObject({
  compaction_id: z.string(),
  run_id: z.string(),
  kind: z.string(),
  stage: z.string().nullable(),
  status: z.string().describe('active when it is in force'),
  trigger: z.string(),
  actor: z.string().nullable(),
  reason: z.string().nullable(),
  rows_hidden: z.int(),
  parts_replaced: z.int(),
  rows_inserted: z.int(),
  inserted_ids: z.array(z.string()).describe('ids of the summaries and markers that it inserted'),
  tokens_before: z.int(),
  tokens_after: z.int(),
  summarizer: z.string().nullable(),
  model: z.string().nullable(),
  cost_usd: z.number().nullable(),
  error: z.string().nullable(),
  dependents: z.array(z.string()).describe('compactions in force that build on it'),
  created_at: time,
  changed_at: time,
})

/** Ids of one list that an answer names. */
const MAX_IDS = 20

const listCompactions = tool({
  name: 'list_compactions',
  title: 'List compactions',
  description:
    'Lists the compactions of a session, newest first: the actor, the reason, the number of hidden rows, the status, and the compactions that build on each. Undone and failed compactions are included.',
  input: z.strictObject({ session_id: sessionId, cursor }),
  output: z.strictObject({
    session_id: z.string(),
    compactions: z.array(compactionShape),
    next_cursor: nextCursor,
  }),
  async run(call, given) {
    const { store } = call.access
    const { id } = await call.access.session(given.sessionId)
    const { runs } = await readTimeline(store, id)
    const all = runs.flatMap(({ compactions }) => compactions.toReversed())
    if (all.length === 0)
      return { data: { sessionId: id, compactions: [] }, text: 'The session has no compactions.' }
    const placeOf = ({ compaction }: { readonly compaction: Compaction }): string =>
      digestOf(id, compaction.id)
    const dataOf = ({ compaction, dependents }: (typeof all)[number]) => ({
      ...compaction,
      compactionId: compaction.id,
      stage: typeof compaction.params.stage === 'string' ? compaction.params.stage : null,
      insertedIds: compaction.insertedIds.slice(0, MAX_IDS),
      costUsd: compaction.cost,
      dependents: dependents.slice(0, MAX_IDS),
    })
    const writer = await writerFor(call, id)
    const { taken, next, text } = writer.page({
      items: itemsAfter(all, given.cursor, placeOf, 'another session'),
      dataOf: (one) => shaped(compactionShape, dataOf(one)),
      lineOf: ({ compaction }) => {
        const { actor, reason, createdAt, trigger } = compaction
        const cause = `${actor === undefined ? '' : ` by ${writer.name(actor)}`}${reason === undefined ? '' : `: ${writer.name(reason)}`}`
        const figures = `${workOf(compaction)}; ${fromTo(compaction.tokensBefore, compaction.tokensAfter)}`
        return `${timeText(createdAt)} · ${writer.name(kindName(compaction))} ${writer.id(compaction.id)}, ${statusWords(compaction)}, ${trigger}${cause} · ${figures}`
      },
      cursorOf: placeOf,
    })
    return { data: { sessionId: id, compactions: taken.map(dataOf), nextCursor: next }, text }
  },
})

const changeShape = z.strictObject({
  change: z.enum(['appeared', 'disappeared', 'changed']),
  message_id: z.string(),
  kind: z.enum(['message', 'summary', 'marker']),
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  position: z.int().nullable(),
  compaction_id: z.string().nullable().describe('the compaction that hides or inserted the row'),
  parts: z.array(
    z.strictObject({
      part: z.int(),
      before: z.string().nullable().describe('the compaction whose text was shown; null for the original'),
      after: z.string().nullable(),
    }),
  ),
})
const figuresShape = z.strictObject({ before: z.int(), after: z.int() })
/** The rows before the page, and a digest of the session and both moments. */
const diffCursor = z.tuple([z.int().positive(), z.string()])

const diffViews = tool({
  name: 'diff_views',
  title: 'Compare two views',
  description:
    'Compares what a model would have been sent at two moments of a session: the rows that appeared, disappeared or show another text, and the compactions that did it. Contains no message text; read_history returns it.',
  input: z.strictObject({ session_id: sessionId, from: moment, to: moment.optional(), cursor }),
  output: z.strictObject({
    session_id: z.string(),
    from: momentPoint,
    to: momentPoint,
    rows: figuresShape,
    tokens: figuresShape,
    changes: z.array(changeShape),
    changes_in_all: z.int(),
    next_cursor: nextCursor,
  }),
  async run(call, given) {
    const { store } = call.access
    const { id } = await call.access.session(given.sessionId)
    const from = await momentOf(store, id, given.from)
    if (from === undefined) throw invalid('from must be a past moment; the second one is now by default')
    const diff = await store.messages.diff(id, from, await momentOf(store, id, given.to))
    const digest = digestOf(id, shaped(pointShape, diff.from), shaped(pointShape, diff.to))
    const [first, compared] = readCursor(diffCursor, given.cursor) ?? [0, digest]
    if (compared !== digest)
      throw invalid(
        'the cursor belongs to other moments, or the session has changed since the previous page; begin without a cursor',
      )
    const writer = await writerFor(call, id)
    const { taken, next, text } = writer.page({
      lead: [
        `${diff.rows.before} → ${counted(diff.rows.after, 'row')}, ${fromTo(diff.tokens.before, diff.tokens.after)}; ${counted(diff.changes.length, 'row')} differ.`,
      ],
      items: diff.changes.slice(first).map(({ parts = [], ...change }) => ({
        ...change,
        messageId: change.id,
        parts: parts.slice(0, MAX_IDS),
      })),
      dataOf: (one) => shaped(changeShape, one),
      lineOf: ({ change, position, kind, role, messageId, compactionId: by }) =>
        `${change} · ${position ?? kind} · ${role} · ${writer.id(messageId)}${by === undefined ? '' : ` · ${writer.name(by)}`}`,
      cursorOf: (_last, shown) => [first + shown, digest],
    })
    return {
      data: { ...diff, sessionId: id, changes: taken, changesInAll: diff.changes.length, nextCursor: next },
      text,
    }
  },
})

const forkShape = z.strictObject({
  session_id: z.string(),
  title: z.string().nullable().describe('its first 80 characters'),
  position: z.int().describe('the last position that the fork copied'),
  messages: z.int(),
  created_at: time,
})

const listForks = tool({
  name: 'list_forks',
  title: 'List forks',
  description: 'Lists the forks of a session, oldest first, and the session from which it was forked.',
  input: z.strictObject({ session_id: sessionId, cursor }),
  output: z.strictObject({
    session_id: z.string(),
    forked_from: z.strictObject({ session_id: z.string(), position: z.int() }).nullable(),
    forks: z.array(forkShape),
    next_cursor: nextCursor,
  }),
  async run(call, given) {
    const { access } = call
    const { store } = access
    const session = await access.session(given.sessionId)
    const origin = session.forkedFrom
    const forks = await store.sessions.forks(session.id)
    const placeOf = ({ id }: { readonly id: string }): string => digestOf(session.id, id)
    const gone = 'another session, or its fork is gone'
    const shown = await Promise.all(
      itemsAfter(forks, given.cursor, placeOf, gone).map(async (fork) => ({
        ...fork,
        sessionId: fork.id,
        title: fork.title === undefined ? undefined : shownTitle(fork.title),
        position: fork.forkedFrom!.position,
        messages: (await store.sessions.get(fork.id, { counts: true })).counts.messages,
      })),
    )
    const writer = await writerFor(call, session.id)
    const { taken, next, text } = writer.page({
      head:
        origin === undefined
          ? []
          : [`A fork of ${writer.id(origin.sessionId)}, from position ${origin.position}.`],
      items: shown,
      dataOf: (one) => shaped(forkShape, one),
      lineOf: ({ id, title, position, messages }) =>
        `${writer.id(id)} · ${title === undefined ? '' : `${writer.name(title)} · `}from position ${position} · ${counted(messages, 'message')}`,
      cursorOf: placeOf,
    })
    return {
      data: { sessionId: session.id, forkedFrom: origin ?? null, forks: taken, nextCursor: next },
      text: text === '' ? 'The session has no forks.' : text,
    }
  },
})

export const READING: readonly Tool[] = [
  listSessions,
  getStats,
  getView,
  listCompactions,
  diffViews,
  listForks,
]
