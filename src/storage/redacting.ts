import { createHash } from 'node:crypto'
import { UndertextError } from '../core/errors.ts'
import { defined, parsedJson, stringifyJson } from '../core/messages/json.ts'
import type { Message } from '../core/messages/message.ts'
import type {
  AuditRecord,
  CompactionRecord,
  HistoryHead,
  ReplacementRecord,
  RequestRecord,
  RowRecord,
} from './records/records.ts'
import { withBytes, withoutBytes } from './records/row-fields.ts'
import { Counts, type Redaction } from './redaction.ts'
import { type NewRequest, type Pieces, REQUEST_TEXTS, type RequestTexts } from './requests.ts'
import type {
  Authorship,
  Background,
  RestoredRow,
  Restoring,
  SessionFields,
  Storage,
  StoreRecord,
} from './storage.ts'

/*
 * The waist of redaction: a storage whose methods redact their arguments. Every write of a store passes here, and the table below must
 * decide about every method, so a method that is added later can't forget it.
 */

/** For each method: that its arguments hold no text of a conversation, or how they are redacted. */
type Rules<T> = {
  readonly [K in keyof T]-?: T[K] extends (...parameters: infer P) => unknown
    ? 'no text' | ((redaction: Redaction, ...parameters: P) => readonly [...P])
    : Rules<T[K]>
}

const NO_TEXT = 'no text'

const RULES: Rules<Omit<Storage, 'redaction' | 'seenBy'>> = {
  createSession: (redaction, id, fields, estimator) => [id, fieldsOf(redaction, fields), estimator],
  session: NO_TEXT,
  stats: NO_TEXT,
  countMessages: NO_TEXT,
  listSessions: NO_TEXT,
  estimatorNames: NO_TEXT,
  newestSession: NO_TEXT,
  beginImport: (redaction, request) => [{ ...request, fields: fieldsOf(redaction, request.fields) }],
  finishImport: (redaction, importId, id, { fields, audit, ...times }) => [
    importId,
    id,
    {
      ...times,
      fields: fields && fieldsOf(redaction, fields),
      ...defined({ audit: audit && { ...audit, detail: redaction.json(audit.detail) } }),
    },
  ],
  discardImport: NO_TEXT,
  importsInProgress: NO_TEXT,
  // A repeated message is compared with what was stored of it.
  knownMessages: (redaction, id, messages) => [id, redaction.messages(messages)],
  updateSession: (redaction, id, fields) => [
    id,
    { ...fieldsOf(redaction, fields), ...defined({ updatedAt: fields.updatedAt }) },
  ],
  archiveSession: NO_TEXT,
  fork: (redaction, id, request) => [id, { ...request, title: redaction.json(request.title) }],
  bringBack: (redaction, id, message, how) => [id, redaction.message(message), by(redaction, how)],
  forks: NO_TEXT,
  purgeSession: (redaction, id, request) => [id, by(redaction, request)],
  append: (redaction, id, messages, expectedPosition, previewing, also, turn) => [
    id,
    redaction.messages(messages),
    expectedPosition,
    previewing,
    also,
    turn,
  ],
  rewind: (redaction, id, request, previewing) => [
    id,
    { ...request, append: redaction.messages(request.append), run: by(redaction, request.run) },
    previewing,
  ],
  rewound: NO_TEXT,
  messages: NO_TEXT,
  view: NO_TEXT,
  toolOutput: NO_TEXT,
  toolCalls: NO_TEXT,
  expand: NO_TEXT,
  sources: NO_TEXT,
  pin: (redaction, id, messageIds, pinned, authorship) => [id, messageIds, pinned, by(redaction, authorship)],
  requireMessages: NO_TEXT,
  snapshot: NO_TEXT,
  contents: NO_TEXT,
  metadata: NO_TEXT,
  shownTexts: NO_TEXT,
  commit: (redaction, snapshot, run, lease) => [
    snapshot,
    {
      ...by(redaction, run),
      steps: run.steps.map((step) => ({ ...step, plan: checkedPlan(redaction, step.plan) })),
    },
    lease,
  ],
  leaseInTheWay: NO_TEXT,
  takeLease: NO_TEXT,
  renewLease: NO_TEXT,
  releaseLease: NO_TEXT,
  noteAttempt: (redaction, snapshot, run, attempt) => [snapshot, by(redaction, run), attempt],
  noteAnswer: NO_TEXT,
  endAttempts: (redaction, snapshot, run, ended) => [snapshot, by(redaction, run), ended],
  undo: (redaction, id, target, request) => [id, target, by(redaction, request)],
  redo: (redaction, id, target, request) => [id, target, by(redaction, request)],
  undoWhile: (redaction, id, request, passes) => [id, by(redaction, request), passes],
  compactions: NO_TEXT,
  auditLog: NO_TEXT,
  readings: NO_TEXT,
  recordUsage: (redaction, id, usage) => [
    id,
    { ...usage, request: usage.request && requestOf(redaction, usage.request) },
  ],
  present: NO_TEXT,
  recordRequest: (redaction, id, request) => [id, requestOf(redaction, request)],
  recordAnswer: NO_TEXT,
  requests: NO_TEXT,
  request: NO_TEXT,
  reasoning: NO_TEXT,
  cutParts: NO_TEXT,
  usage: NO_TEXT,
  costs: NO_TEXT,
  cachedTokens: NO_TEXT,
  learnLimit: NO_TEXT,
  forgetLimit: NO_TEXT,
  limits: NO_TEXT,
  verify: NO_TEXT,
  reestimate: NO_TEXT,
  close: NO_TEXT,
  backup: NO_TEXT,
  // Owners, and texts that are removed.
  owned: { count: NO_TEXT, key: NO_TEXT, erase: NO_TEXT },
  removals: { purgeText: NO_TEXT, purgeNotes: NO_TEXT, noteOwners: NO_TEXT, clearFiles: NO_TEXT },
  retention: { step: NO_TEXT, retire: NO_TEXT, discard: NO_TEXT, release: NO_TEXT },
  turns: {
    take: NO_TEXT,
    active: NO_TEXT,
    renew: NO_TEXT,
    flush: (redaction, id, turnId, messages) => [id, turnId, redaction.messages(messages)],
    drop: NO_TEXT,
    claim: NO_TEXT,
    end: NO_TEXT,
  },
  jobs: {
    enqueue: (redaction, id, job, hurry) => [
      id,
      { ...job, request: { ...job.request, config: redaction.json(job.request.config) } },
      hurry,
    ],
    claim: NO_TEXT,
    renew: NO_TEXT,
    end: NO_TEXT,
    cancel: NO_TEXT,
    job: NO_TEXT,
    open: NO_TEXT,
    list: NO_TEXT,
    waiting: NO_TEXT,
  },
  circuits: { circuit: NO_TEXT, fail: NO_TEXT, tryOnce: NO_TEXT, reset: NO_TEXT, spending: NO_TEXT },
  searching: { unindexed: NO_TEXT, countUnindexed: NO_TEXT, index: NO_TEXT, find: NO_TEXT },
  notes: {
    remember: (redaction, scope, note, authorship) => {
      const counts = new Counts()
      const { text, metadata } = note
      const redacted = { text: redaction.text(text, counts), metadata: redaction.json(metadata, counts) }
      return [
        scope,
        { ...note, ...redacted, ...(!counts.isEmpty && { redacted: counts.found }) },
        by(redaction, authorship),
      ]
    },
    list: NO_TEXT,
    forget: (redaction, id, request) => [id, by(redaction, request)],
  },
  histories: {
    head: NO_TEXT,
    rows: NO_TEXT,
    reserve: NO_TEXT,
    writeRows: (redaction, restoring, rows) => [
      redactedRestoring(redaction, restoring),
      rows.map((row) => redactedRow(row, redaction)),
    ],
    writeAudit: (redaction, restoring, entries) => [
      redactedRestoring(redaction, restoring),
      entries.map((entry) => redactedEntry(redaction, entry)),
    ],
    writeCompactions: (redaction, restoring, from, compactions, undoneWith) => [
      redactedRestoring(redaction, restoring),
      from,
      compactions.map((one) => redactedCompaction(redaction, one)),
      undoneWith,
    ],
    settle: (redaction, restoring) => [redactedRestoring(redaction, restoring)],
    sessions: NO_TEXT,
    publish: (redaction, restoring, copied) => [
      redactedRestoring(redaction, restoring),
      copied && { ...copied, background: redactedBackground(redaction, copied.background) },
    ],
    mark: NO_TEXT,
    writeMark: NO_TEXT,
    storeRecords: NO_TEXT,
    writeStoreRecords: (redaction, table, records) => [
      table,
      table === 'notes' ? records.map((record) => redactedNote(redaction, record)) : records,
    ],
  },
  past: {
    point: NO_TEXT,
    view: NO_TEXT,
    messages: NO_TEXT,
    stats: NO_TEXT,
    diff: NO_TEXT,
    timeline: NO_TEXT,
  },
}

/** Returns a storage that redacts what is written to it. */
export function redacting<S extends Storage>(storage: S, redaction: Redaction): S {
  return {
    ...wrapped(storage as unknown as Methods, RULES as unknown as LooseRules, redaction),
    seenBy: (seen: string | null) => redacting(storage.seenBy(seen), redaction),
    redaction,
  } as unknown as S
}

type Methods = { readonly [name: string]: Methods | ((...parameters: unknown[]) => unknown) }
type LooseRules = {
  readonly [name: string]:
    | string
    | LooseRules
    | ((redaction: Redaction, ...parameters: unknown[]) => unknown[])
}

function wrapped(methods: Methods, rules: LooseRules, redaction: Redaction): Methods {
  const made = Object.entries(methods).map(([name, method]) => {
    const rule = rules[name]
    if (typeof method === 'object' && typeof rule === 'object')
      return [name, wrapped(method, rule, redaction)] as const
    if (typeof method !== 'function' || typeof rule !== 'function') return [name, method] as const
    return [name, (...parameters: unknown[]) => method(...rule(redaction, ...parameters))] as const
  })
  return Object.fromEntries(made)
}

function fieldsOf(redaction: Redaction, { title, config, metadata, ...names }: SessionFields): SessionFields {
  return { ...names, ...defined(redaction.json({ title, config, metadata })) }
}

function by<T extends Authorship>(redaction: Redaction, authorship: T): T {
  const { reason } = authorship
  return reason === undefined ? authorship : { ...authorship, reason: redaction.text(reason) }
}

type Plan = Parameters<Storage['commit']>[1]['steps'][number]['plan']

/**
 * The sizes of a plan are those of its texts, so these were redacted before. Throws `REDACTION_FAILED` if one was not, rather than to store
 * it.
 */
function checkedPlan(redaction: Redaction, plan: Plan): Plan {
  const texts = [
    ...plan.replace.map(({ text }) => text),
    ...(plan.insert === undefined ? [] : [plan.insert.text]),
  ]
  if (texts.some((text) => redaction.text(text) !== text) || changesContent(redaction, plan.insert?.content))
    throw new UndertextError('REDACTION_FAILED', { error: 'UNREDACTED_PLAN' })
  return {
    ...plan,
    params: redaction.json(plan.params),
    ...(plan.insert && { insert: { ...plan.insert, metadata: redaction.json(plan.insert.metadata) } }),
  }
}

function changesContent(redaction: Redaction, content: Message['content'] | undefined): boolean {
  if (content === undefined) return false
  const message: Message = { role: 'assistant', content }
  return redaction.message(message) !== message
}

/** Each text of a request is JSON, or messages as lines of JSON. */
function requestOf(redaction: Redaction, request: NewRequest): NewRequest {
  const texts = Object.fromEntries(
    REQUEST_TEXTS.map((name) => [name, request[name] && redactedPieces(redaction, request[name])]),
  ) as RequestTexts<Pieces | undefined>
  return { ...request, ...texts }
}

/** A text may continue in the next piece, so all pieces become one if it changes. */
function redactedPieces(redaction: Redaction, pieces: Pieces): Pieces {
  const text = Buffer.concat(pieces.map(({ bytes }) => bytes)).toString('utf8')
  const redacted = redactedLines(redaction, text)
  if (redacted === text) return pieces
  const bytes = Buffer.from(redacted, 'utf8')
  return [{ hash: createHash('sha256').update(bytes).digest(), bytes }]
}

function redactedLines(redaction: Redaction, text: string): string {
  const lines = text.split('\n').map((line) => {
    const value = line === '' ? undefined : parsedJson(line)
    if (value === undefined) return line
    const redacted = redaction.json(value)
    return redacted === value ? line : stringifyJson(redacted)
  })
  return lines.join('\n')
}

/** The parts of a restore refer to one head, which is redacted once. */
const heads = new WeakMap<HistoryHead, HistoryHead>()

function redactedRestoring(redaction: Redaction, restoring: Restoring): Restoring {
  const head = heads.get(restoring.head) ?? redactedHead(redaction, restoring.head)
  heads.set(restoring.head, head)
  return { ...restoring, head }
}

/** Returns the records before the rows of a history as they may be stored. */
export function redactedHead(redaction: Redaction, head: HistoryHead): HistoryHead {
  const { session, compactions, audit, notes } = head
  const { title, config, metadata } = session
  return {
    ...head,
    session: { ...session, ...defined(redaction.json({ title, config, metadata })) },
    compactions: compactions.map((one) => redactedCompaction(redaction, one)),
    audit: audit.map((entry) => redactedEntry(redaction, entry)),
    notes: notes.map((note) => ({
      ...note,
      text: redaction.text(note.text),
      ...defined({ metadata: redaction.json(note.metadata) }),
    })),
    ...redactedRequests(redaction, head),
  }
}

function redactedCompaction(redaction: Redaction, record: CompactionRecord): CompactionRecord {
  const { reason, params } = record
  return { ...record, ...defined({ reason: redaction.json(reason), params: redaction.json(params) }) }
}

function redactedEntry(redaction: Redaction, entry: AuditRecord): AuditRecord {
  return { ...entry, ...defined({ detail: redaction.json(entry.detail) }) }
}

function redactedRequests(
  redaction: Redaction,
  { pieces, requests }: HistoryHead,
): Pick<HistoryHead, 'pieces' | 'requests'> {
  const kept = new Map(pieces.map((piece) => [piece.sha256, piece] as const))
  const used = new Map<string, HistoryHead['pieces'][number]>()
  const redacted = (hashes: readonly string[] | undefined): readonly string[] | undefined => {
    const texts = hashes?.map((hash) => kept.get(hash)?.text)
    if (hashes === undefined || texts === undefined || texts.includes(undefined)) return hashes
    const text = texts.join('')
    const changed = redactedLines(redaction, text)
    const list = changed === text ? hashes.map((hash) => kept.get(hash)!) : [pieceOf(changed)]
    for (const piece of list) used.set(piece.sha256, piece)
    return list.map(({ sha256 }) => sha256)
  }
  const made = requests.map((request): RequestRecord => {
    const { system, tools, prompt, files } = request
    return {
      ...request,
      ...defined({
        system: redacted(system),
        tools: redacted(tools),
        prompt: redacted(prompt),
        files: redacted(files),
      }),
    } as RequestRecord
  })
  return { pieces: [...used.values()], requests: made }
}

function pieceOf(text: string): HistoryHead['pieces'][number] {
  return { type: 'piece', sha256: createHash('sha256').update(text, 'utf8').digest('hex'), text }
}

/** The request of a job is JSON. */
function redactedBackground(redaction: Redaction, { jobs, circuit }: Background): Background {
  const redacted = jobs.map((job) =>
    job.request === undefined ? job : { ...job, request: redactedLines(redaction, job.request) },
  )
  return { jobs: redacted, circuit }
}

function redactedRow({ row, replacements }: RestoredRow, redaction: Redaction): RestoredRow {
  return {
    row: redactedRecord(redaction, row),
    replacements: replacements.map((one) => redactedRecord(redaction, one)),
  }
}

/** Returns a row or a replacement of a history as it may be stored. */
export function redactedRecord<R extends RowRecord | ReplacementRecord>(redaction: Redaction, record: R): R {
  if (record.type === 'replacement')
    return record.text === null ? record : { ...record, text: redaction.text(record.text) }
  const row: RowRecord = record
  const content = withBytes(row.content as Message['content'], row.bytes ?? [])
  if (content === undefined) return record
  const { role, metadata } = row
  const message: Message = { role, content, ...defined({ metadata }) }
  const redacted = redaction.message(message)
  if (redacted === message) return record
  const { content: stored, bytes } = withoutBytes(redacted.content)
  return {
    ...record,
    content: stored,
    ...defined({ metadata: redacted.metadata }),
    ...(row.bytes !== undefined && { bytes }),
  }
}

function redactedNote(redaction: Redaction, record: StoreRecord): StoreRecord {
  const { text, metadata } = record
  const given = typeof metadata === 'string' ? parsedJson(metadata) : undefined
  return {
    ...record,
    ...(typeof text === 'string' && { text: redaction.text(text) }),
    ...(given !== undefined && { metadata: stringifyJson(redaction.json(given)) }),
  }
}
