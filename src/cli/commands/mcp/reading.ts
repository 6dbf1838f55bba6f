import { z } from 'zod'
import { encodeCursor } from '../../../core/cursor.ts'
import { invalid } from '../../../core/errors.ts'
import { headOf, shownTitle } from '../../../core/messages/characters.ts'
import { defined } from '../../../core/messages/json.ts'
import type { ViewMessage } from '../../../core/messages/message.ts'
import type { MomentPoint } from '../../../core/model/moment.ts'
import { isAssumed } from '../../../core/tokens/windows.ts'
import type { Session } from '../../../storage/storage.ts'
import { headWithin } from '../../../store/recall/answer.ts'
import { framed, indented } from '../../../store/recall/render.ts'
import { rowText } from '../../../store/recall/row-text.ts'
import type { Scope } from '../../../store/recall/scope.ts'
import type { Store } from '../../../store/store.ts'
import type { ViewDiff } from '../../../store/topics/messages.ts'
import { statusWords } from '../../../transfer/document/session-document.ts'
import { providerAndModel } from '../../options.ts'
import { count, counted, fromTo, percent } from '../../output/figures.ts'
import { kindName, readTimeline, workOf } from '../log.ts'
import { parentOf, tokensIn } from '../sessions.ts'
import { requestFigures } from '../stats/report.ts'
import {
  countingFor,
  digestOf,
  FRAME_TOKENS,
  itemsAfter,
  Names,
  nextLine,
  pageOf,
  placeOf,
  readCursor,
  sessionPlace,
  textWithin,
  timeText,
} from './answer.ts'
import {
  cursor,
  FIGURES_OFF,
  moment,
  momentPoint,
  nextCursor,
  readMoment,
  sessionId,
  type Tool,
  tool,
} from './tool.ts'

/* The tools that only read. Those that search and open stored text are in src/recall. */

const sessionShape = z.strictObject({
  session_id: z.string(),
  title: z.string().nullable().describe('in a list its first 80 characters'),
  owner: z.string().nullable(),
  parent_session_id: z.string().nullable().describe('the session whose subagent it belongs to'),
  provider: z.string().nullable(),
  model: z.string().nullable(),
  messages: z.int().describe('messages of the log, hidden ones included, without bookkeeping of an agent'),
  visible_rows: z.int().describe('rows of the view: what a model would be sent now'),
  tokens: z.int().nullable().describe('tokens of the view; null when its tokenizer is not installed here'),
  compactions_in_force: z.int(),
  created_at: z.string(),
  updated_at: z.string(),
})
type ListedSession = z.output<typeof sessionShape>

async function listed(store: Store, session: Session): Promise<ListedSession> {
  const { id, title = null, owner = null, provider = null, model = null, messageCount } = session
  const { messages, visible } = (await store.sessions.get(id, { counts: true })).counts
  return {
    session_id: id,
    title,
    owner,
    parent_session_id: parentOf(session) ?? null,
    provider,
    model,
    messages,
    visible_rows: visible,
    tokens: messageCount === 0 ? 0 : ((await tokensIn(store, id)) ?? null),
    compactions_in_force: session.activeCompactions,
    created_at: timeText(session.createdAt),
    updated_at: timeText(session.updatedAt),
  }
}

function sessionLine(session: ListedSession, names: Names): string {
  const { session_id: id, title, messages, tokens, updated_at: updated, owner } = session
  const parts = [
    title === null ? undefined : names.name(title),
    `${counted(messages, 'message')}, ${tokens === null ? 'unknown' : count(tokens)} tokens in the view`,
    `changed ${updated}`,
    owner === null ? undefined : `owner ${names.name(owner)}`,
    session.parent_session_id === null ? undefined : `subagent of ${names.name(session.parent_session_id)}`,
  ]
  return `${names.id(id)} · ${parts.filter((part) => part !== undefined).join(' · ')}`
}

const listSessions = tool({
  name: 'list_sessions',
  title: 'List sessions',
  description:
    'Lists the stored conversations, newest first, with their size. To find what was written in one, use search_history.',
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
  async run({ access, maxTokens }, { search, owner, archived, limit, cursor: given }) {
    const { store } = access
    const after = readCursor(sessionPlace, given)
    if (after !== undefined) await access.session(after.id)
    const page = await store.sessions.list({
      ...defined({ owner: access.ownerNamed(owner), archived, search, after }),
      limit: limit + 1,
    })
    const sessions: ListedSession[] = []
    for (const session of page.slice(0, limit)) {
      const one = await listed(store, session)
      sessions.push({ ...one, title: one.title && shownTitle(one.title) })
    }
    if (sessions.length === 0) return { data: { sessions: [] }, text: 'No session matches.' }
    const scope = await countingFor(store)
    const names = new Names(scope, maxTokens)
    const { taken, next, text } = pageOf(scope, maxTokens, {
      items: sessions,
      dataOf: (one) => one,
      lineOf: (one) => sessionLine(one, names),
      cursorOf: (_, taken) => placeOf(page[taken - 1]!),
      follows: page.length > limit,
    })
    return { data: { sessions: [...taken], ...(next !== undefined && { next_cursor: next }) }, text }
  },
})

const breakdownShape = z
  .record(z.string(), z.int())
  .describe(
    'tokens by category: system, text, reasoning, calls, results, media, prompt, tools, files, unseen, free',
  )

const mediaUse = z
  .strictObject({ used: z.int(), limit: z.int().nullable() })
  .describe('of the request, and the limit of the provider; null where it is unknown')

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
          .describe('where the size of the window is from'),
        window_assumed: z
          .boolean()
          .describe('whether no table has the model, so that its window is only assumed'),
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
    const session = await call.access.session(given.session_id)
    const { id } = session
    const at = await readMoment(call, id, given.at)
    const { provider, model } = providerAndModel({ model: given.model })
    const stats = await store.getContextStats(id, provider, model, { ...(at !== undefined && { at }) })
    const { settings } = await store.sessions.config(id)
    const figures = stats === null ? undefined : requestFigures(stats, settings)
    const { total } = await store.requests.usage(id)
    const point = at === undefined ? undefined : pointOf(await store.messages.moment(id, at))
    const hidden = stats?.hidden ?? session.hidden
    const data = {
      session: await listed(store, session),
      ...(point !== undefined && { moment: point }),
      figures:
        stats === null || figures === undefined
          ? null
          : {
              provider: stats.provider,
              model: stats.model ?? null,
              tokens: stats.estimatedInputTokens,
              window_tokens: stats.contextWindow.tokens,
              window_source: stats.contextWindow.source,
              window_assumed: isAssumed(stats.contextWindow),
              available_tokens: stats.availableInputTokens,
              usage_ratio: stats.usageRatio,
              images: { used: stats.images.used, limit: stats.images.limit ?? null },
              bytes: { used: stats.bytes.used, limit: stats.bytes.limit ?? null },
              fits: stats.withinBudget,
              compaction_due: stats.shouldCompact,
              compaction_due_at: figures.due,
              target_tokens: figures.target,
              breakdown: { ...figures.breakdown, free: figures.free },
              fixed: stats.fixed,
            },
      hidden: { condensed: hidden.condensed, truncated: hidden.truncated, manual: hidden.manual },
      usage: {
        requests: total.requests,
        input_tokens: total.inputTokens + total.cacheReadTokens + total.cacheCreationTokens,
        output_tokens: total.outputTokens,
        cost_usd: total.cost,
      },
    }
    const scope = await countingFor(store, id)
    const names = new Names(scope, call.maxTokens)
    const lines =
      data.figures === null
        ? [(point?.position ?? session.messageCount) === 0 ? 'It has no messages.' : FIGURES_OFF]
        : [
            `${count(data.figures.tokens)} of ${count(data.figures.available_tokens)} available tokens, ${percent(data.figures.usage_ratio)}; window of ${names.name(data.figures.provider)}${data.figures.model === null ? '' : `/${names.name(data.figures.model)}`}: ${count(data.figures.window_tokens)}${data.figures.window_assumed ? ', assumed, because the window of this model is not known' : ''}.`,
            ...(data.figures.fixed.source === 'last-request'
              ? [
                  `System prompt and tools: ${count(data.figures.fixed.tokens)} tokens, as in the last request.`,
                ]
              : []),
            `Compaction is ${data.figures.compaction_due ? 'due' : 'not due'}; it is due at ${count(data.figures.compaction_due_at)} tokens, and reduces to ${count(data.figures.target_tokens)}.`,
            `Hidden: ${count(data.hidden.condensed)} by summaries, ${count(data.hidden.truncated)} by truncation, ${count(data.hidden.manual)} manually.`,
            `Billed: ${counted(data.usage.requests, 'request')}, ${count(data.usage.input_tokens)} tokens in, ${count(data.usage.output_tokens)} out${data.usage.cost_usd === null ? '' : `, $${data.usage.cost_usd.toFixed(4)}`}.`,
          ]
    // The names of the provider and the model are stored text too.
    const body = [...lines, sessionLine(data.session, names)]
    return { data, text: textWithin(scope, call.maxTokens, { lead: [], body, trail: [] }) }
  },
})

function pointOf({ position, auditNo }: MomentPoint) {
  return { position, audit_no: auditNo }
}

const viewRowShape = z.strictObject({
  message_id: z.string(),
  position: z.int().nullable().describe('place in the log; null for summaries and markers'),
  kind: z.enum(['message', 'summary', 'marker']),
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  created_at: z.string(),
  text: z.string(),
  from_character: z.int().describe('where this part of the text begins; 0 for its beginning'),
  cut: z.boolean().describe('whether the text continues on the next page'),
})
type ViewRow = z.output<typeof viewRowShape>

/** The place of a page: a digest of the moment and the row, the character, and the length of the row's text. */
const viewCursor = z.tuple([z.string(), z.int().nonnegative(), z.int().nonnegative()])

const getView = tool({
  name: 'get_view',
  title: 'The view of a session',
  description:
    'Returns what a model would be sent of a session: its messages in order, with summaries and shortened outputs in place; now, or as it was at a moment of the past.',
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
    const { id } = await call.access.session(given.session_id)
    const at = await readMoment(call, id, given.at)
    const view = await store.getEffectiveHistory(id, { ...(at !== undefined && { at }) })
    const point = at === undefined ? undefined : pointOf(await store.messages.moment(id, at))
    const scope = await countingFor(store, id)
    const page = pageOfView(scope, call.maxTokens, {
      view,
      names: new Names(scope, call.maxTokens),
      after: readCursor(viewCursor, given.cursor),
      digest: (row) => digestOf(id, point ?? null, row),
    })
    return {
      data: {
        session_id: id,
        ...(point !== undefined && { moment: point }),
        rows: view.length,
        messages: page.rows,
        ...(page.next !== undefined && { next_cursor: page.next }),
      },
      text: page.text,
    }
  },
})

type ViewPage = {
  readonly view: readonly ViewMessage[]
  readonly names: Names
  readonly after: z.output<typeof viewCursor> | undefined
  /** A name of a row of this view. */
  readonly digest: (row: string) => string
}

/** A page of a view. Its text decides: it has less until it fits. */
function pageOfView(scope: Scope, maxTokens: number, page: ViewPage) {
  let room = maxTokens - FRAME_TOKENS
  for (;;) {
    const { rows, next } = rowsOf(scope, room, page)
    const body = rows.map((row) => `${rowHeading(row, page.names)}\n${indented(row.text)}`)
    const text = [
      `${counted(page.view.length, 'row')} in the view.`,
      ...(rows.length === 0 ? [] : [framed(body.join('\n'))]),
      ...nextLine(scope, maxTokens, next),
    ].join('\n')
    const over = scope.tokensOf(text) - maxTokens
    if (over <= 0 || room <= 0) return { rows, next, text }
    room -= over + 1
  }
}

/** The least tokens of the text of a row. */
const LEAST_ROW = 20

/** The rows of a page, the last one cut where it does not fit. A row of its own always gets some room. */
function rowsOf(
  scope: Scope,
  maxTokens: number,
  { view, names, after, digest }: ViewPage,
): { readonly rows: ViewRow[]; readonly next: string | undefined } {
  const [place, character, length] = after ?? [undefined, 0, 0]
  const first = place === undefined ? 0 : view.findIndex((row) => digest(row.id) === place)
  if (first === -1 || (character > 0 && rowText(view[first]!).text.length !== length))
    throw invalid(
      'the cursor is of another session or moment, or its row is no longer in the view as it was; begin without a cursor',
    )
  const rows: ViewRow[] = []
  let left = maxTokens
  for (let at = first; at < view.length; at += 1) {
    const row = view[at]!
    const from = at === first ? character : 0
    const { text: whole } = rowText(row)
    const rest = whole.slice(from)
    const shown = {
      message_id: row.id,
      position: row.position ?? null,
      kind: row.kind,
      role: row.role,
      created_at: timeText(row.createdAt),
      from_character: from,
    }
    const heading = scope.tokensOf(rowHeading({ ...shown, text: '', cut: true }, names))
    const room = left - Math.max(heading, scope.tokensOf(JSON.stringify(shown)))
    const text = cutTo(scope, rest, Math.max(room, LEAST_ROW))
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
  { position, role, kind, message_id: id, created_at: at, from_character: from, cut }: ViewRow,
  names: Names,
): string {
  const place = position === null ? kind : `${position} · ${role}`
  const part = [from > 0 && `from character ${from}`, cut && 'cut'].filter((note) => note !== false)
  return [place, at, names.id(id), ...part].join(' · ')
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
  created_at: z.string(),
  changed_at: z.string(),
})

/** Ids of one list that an answer names. */
const MOST_IDS = 20

const listCompactions = tool({
  name: 'list_compactions',
  title: 'List compactions',
  description:
    'Lists what compactions did to a session, newest first: who, why, how much is hidden, whether it is in force, what builds on it. Undone and failed ones are listed too.',
  input: z.strictObject({ session_id: sessionId, cursor }),
  output: z.strictObject({
    session_id: z.string(),
    compactions: z.array(compactionShape),
    next_cursor: nextCursor,
  }),
  async run({ access, maxTokens }, given) {
    const { id } = await access.session(given.session_id)
    const { runs } = await readTimeline(access.store, id)
    const all = runs.flatMap(({ compactions }) => compactions.toReversed())
    const placeOf = (one: { readonly compaction: { readonly id: string } }): string =>
      digestOf(id, one.compaction.id)
    const shown = itemsAfter(all, given.cursor, placeOf, 'another session').map(
      ({ compaction, dependents }) => {
        const { params } = compaction
        return {
          compaction,
          data: {
            compaction_id: compaction.id,
            run_id: compaction.runId,
            kind: compaction.kind,
            stage: typeof params.stage === 'string' ? params.stage : null,
            status: compaction.status,
            trigger: compaction.trigger,
            actor: compaction.actor ?? null,
            reason: compaction.reason ?? null,
            rows_hidden: compaction.rowsHidden,
            parts_replaced: compaction.partsReplaced,
            rows_inserted: compaction.rowsInserted,
            inserted_ids: compaction.insertedIds.slice(0, MOST_IDS),
            tokens_before: compaction.tokensBefore,
            tokens_after: compaction.tokensAfter,
            summarizer: compaction.summarizer ?? null,
            model: compaction.model ?? null,
            cost_usd: compaction.cost ?? null,
            error: compaction.error ?? null,
            dependents: dependents.slice(0, MOST_IDS),
            created_at: timeText(compaction.createdAt),
            changed_at: timeText(compaction.changedAt),
          },
        }
      },
    )
    if (all.length === 0)
      return { data: { session_id: id, compactions: [] }, text: 'The session has no compactions.' }
    const scope = await countingFor(access.store, id)
    const names = new Names(scope, maxTokens)
    const { taken, next, text } = pageOf(scope, maxTokens, {
      items: shown,
      dataOf: ({ data }) => data,
      lineOf: ({ compaction, data: { actor, reason, created_at: at } }) => {
        const cause = `${actor === null ? '' : ` by ${names.name(actor)}`}${reason === null ? '' : `: ${names.name(reason)}`}`
        const figures = `${workOf(compaction)}; ${fromTo(compaction.tokensBefore, compaction.tokensAfter)}`
        return `${at} · ${names.name(kindName(compaction))} ${names.id(compaction.id)}, ${statusWords(compaction)}, ${compaction.trigger}${cause} · ${figures}`
      },
      cursorOf: placeOf,
    })
    return {
      data: {
        session_id: id,
        compactions: taken.map(({ data }) => data),
        ...(next !== undefined && { next_cursor: next }),
      },
      text,
    }
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
    'Compares what a model would have been sent at two moments of a session: the rows that appeared, disappeared or show another text, and the compactions that did it. Holds no text of messages; read_history returns it.',
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
    const { id } = await call.access.session(given.session_id)
    const from = await readMoment(call, id, given.from)
    if (from === undefined) throw invalid('from must be a past moment; the second one is now by default')
    const diff = await store.messages.diff(id, from, await readMoment(call, id, given.to))
    const digest = digestOf(id, pointOf(diff.from), pointOf(diff.to))
    const [first, compared] = readCursor(diffCursor, given.cursor) ?? [0, digest]
    if (compared !== digest)
      throw invalid(
        'the cursor is of other moments, or the session was changed since the page before; begin without a cursor',
      )
    const scope = await countingFor(store, id)
    const names = new Names(scope, call.maxTokens)
    const { taken, next, text } = pageOf(scope, call.maxTokens, {
      lead: [
        `${diff.rows.before} → ${counted(diff.rows.after, 'row')}, ${fromTo(diff.tokens.before, diff.tokens.after)}; ${counted(diff.changes.length, 'row')} differ.`,
      ],
      items: diff.changes.slice(first).map(changeOf),
      dataOf: (one) => one,
      lineOf: (one) =>
        `${one.change} · ${one.position ?? one.kind} · ${one.role} · ${names.id(one.message_id)}${one.compaction_id === null ? '' : ` · ${names.name(one.compaction_id)}`}`,
      cursorOf: (_last, shown) => [first + shown, digest],
    })
    return {
      data: {
        session_id: id,
        from: pointOf(diff.from),
        to: pointOf(diff.to),
        rows: diff.rows,
        tokens: diff.tokens,
        changes: [...taken],
        changes_in_all: diff.changes.length,
        ...(next !== undefined && { next_cursor: next }),
      },
      text,
    }
  },
})

function changeOf({
  change,
  id,
  kind,
  role,
  position,
  compactionId: by,
  parts = [],
}: ViewDiff['changes'][number]) {
  return {
    ...{ change, message_id: id, kind, role, position: position ?? null, compaction_id: by ?? null },
    parts: parts.slice(0, MOST_IDS).map(({ part, before, after }) => ({ part, before, after })),
  }
}

const forkShape = z.strictObject({
  session_id: z.string(),
  title: z.string().nullable().describe('its first 80 characters'),
  position: z.int().describe('the last position that the fork copied'),
  messages: z.int(),
  created_at: z.string(),
})

const listForks = tool({
  name: 'list_forks',
  title: 'List forks',
  description:
    'Lists the sessions that continue a session from one of its moments, oldest first, and the session that it is a fork of.',
  input: z.strictObject({ session_id: sessionId, cursor }),
  output: z.strictObject({
    session_id: z.string(),
    forked_from: z.strictObject({ session_id: z.string(), position: z.int() }).nullable(),
    forks: z.array(forkShape),
    next_cursor: nextCursor,
  }),
  async run({ access, maxTokens }, given) {
    const { store } = access
    const session = await access.session(given.session_id)
    const origin = session.forkedFrom
    // A session of another owner does not exist for this client.
    const isSeen = origin !== undefined && access.sees(await store.sessions.get(origin.sessionId))
    const forks = (await store.sessions.forks(session.id)).filter((fork) => access.sees(fork))
    const placeOf = (fork: string): string => digestOf(session.id, fork)
    const gone = 'another session, or its fork is gone'
    const shown = await Promise.all(
      itemsAfter(forks, given.cursor, ({ id }) => placeOf(id), gone).map(async (fork) => ({
        session_id: fork.id,
        title: fork.title === undefined ? null : shownTitle(fork.title),
        position: fork.forkedFrom!.position,
        messages: (await store.sessions.get(fork.id, { counts: true })).counts.messages,
        created_at: timeText(fork.createdAt),
      })),
    )
    const scope = await countingFor(store, session.id)
    const names = new Names(scope, maxTokens)
    const { taken, next, text } = pageOf(scope, maxTokens, {
      head: isSeen ? [`A fork of ${names.id(origin.sessionId)}, from position ${origin.position}.`] : [],
      items: shown,
      dataOf: (one) => one,
      lineOf: (one) =>
        `${names.id(one.session_id)} · ${one.title === null ? '' : `${names.name(one.title)} · `}from position ${one.position} · ${counted(one.messages, 'message')}`,
      cursorOf: (fork) => placeOf(fork.session_id),
    })
    return {
      data: {
        session_id: session.id,
        forked_from: isSeen ? { session_id: origin.sessionId, position: origin.position } : null,
        forks: [...taken],
        ...(next !== undefined && { next_cursor: next }),
      },
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
