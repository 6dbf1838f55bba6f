import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { isNotFound, isUndertextError, UndertextError, withOriginal } from '../../core/errors.ts'
import { check, functionSchema, nameSchema, taken } from '../../core/messages/check.ts'
import { defined, isObject } from '../../core/messages/json.ts'
import type { Session, ListedSession as SessionInList } from '../../storage/storage.ts'
import { storeSchema, unlessUnknown } from '../../store/arguments.ts'
import { ownedStore } from '../owned-store.ts'
import { withRetries } from '../retry.ts'
import type {
  FoldSessionSummary,
  ListedSession,
  SessionKey,
  SessionStoreEntry,
  SessionSummaryEntry,
  TranscriptStore,
} from './entry.ts'
import {
  CLAUDE_AGENT_SDK,
  deletionMark,
  keepIn,
  keyOfSession,
  messagesOf,
  ownerOf,
  type Transcript,
  transcriptOf,
} from './entry.ts'
import { appendNew, DELETED, type DeletionMark, mtimeOf, readTranscript, summaryOf } from './transcript.ts'

let loaded: Promise<FoldSessionSummary> | undefined

/**
 * Loads the SDK's `foldSessionSummary` once. Rejects with `CLAUDE_AGENT_SDK_UNAVAILABLE` when the SDK is
 * missing, broken, or a version without it; `originalErrorOf` returns the cause.
 */
function loadFold(): Promise<FoldSessionSummary> {
  loaded ??= load()
  return loaded
}

async function load(): Promise<FoldSessionSummary> {
  let module: Record<string, unknown>
  try {
    // A literal name inside this `try`: bundlers then include the SDK where it is installed, and still build where it is not.
    module = (await import('@anthropic-ai/claude-agent-sdk')) as Record<string, unknown>
  } catch (error) {
    const isMissing = isNotFound(error)
    const detail = isMissing ? 'it is not installed.' : 'it cannot be loaded.'
    throw withOriginal(new UndertextError('CLAUDE_AGENT_SDK_UNAVAILABLE', { detail }), error)
  }
  const { foldSessionSummary } = module
  if (typeof foldSessionSummary !== 'function') {
    const detail = 'the installed version has no foldSessionSummary.'
    throw new UndertextError('CLAUDE_AGENT_SDK_UNAVAILABLE', { detail })
  }
  return foldSessionSummary as FoldSessionSummary
}

const optionsSchema = z.strictObject({
  /** The store of the transcripts. The caller closes it. */
  store: storeSchema<TranscriptStore>(
    'append',
    'forOwner',
    'getMessages',
    'sessions',
    'rewind',
    'undoCompaction',
  ),
  /** The actor of deletions and restores, for the audit. Default: none. */
  actor: nameSchema.optional(),
  /**
   * The SDK's function. Default: the function of the installed `@anthropic-ai/claude-agent-sdk`, loaded when summaries are first requested.
   */
  foldSessionSummary: functionSchema<FoldSessionSummary>().optional(),
})
/** Options of `undertextSessionStore`. */
export type SessionStoreOptions = z.input<typeof optionsSchema>

/** Page size of `sessions.list`. */
const PAGE = 1_000
/** How often a deletion is retried after a concurrent append. */
const MAX_TRIES = 10

/**
 * Returns a session store that keeps transcripts of the Claude Agent SDK: pass it as `sessionStore` to `query` and to the SDK's functions
 * for sessions. Each transcript is a session of the store, named after its key, owned by its project; each entry is a message.
 *
 * Throws `INVALID_INPUT` for invalid options.
 */
export function undertextSessionStore(options: SessionStoreOptions): UndertextSessionStore {
  return new UndertextSessionStore(options)
}

/** The SDK's `SessionStore`, backed by a store. Created by `undertextSessionStore`. */
export class UndertextSessionStore {
  readonly #store: TranscriptStore
  /** The actor for the audit, if there is one. */
  readonly #authorship: { readonly actor?: string }
  readonly #fold: FoldSessionSummary | undefined
  /** The last pending write of each transcript: entries are written in the order of the calls. */
  readonly #last = new Map<string, Promise<void>>()

  constructor(options: SessionStoreOptions) {
    const { store, actor, foldSessionSummary } = check(optionsSchema, options, 'undertextSessionStore')
    this.#store = store
    this.#authorship = defined({ actor })
    this.#fold = foldSessionSummary
  }

  /**
   * Appends entries to a transcript in order, all or none. An entry whose `uuid` is already stored is left out. A deleted or archived
   * session is listed again. An empty batch writes nothing.
   *
   * Rejects with `INVALID_INPUT` for an invalid key or entry, naming the place (`entries[3].type`), and with the store's errors. Then no
   * entry of the batch is written.
   */
  async append(key: SessionKey, entries: readonly SessionStoreEntry[]): Promise<void> {
    const transcript = transcriptOf(key)
    const given = taken(entries)
    const messages = messagesOf(given, transcript.isMain)
    if (messages.length === 0) return
    const { id, owner } = transcript
    const store = ownedStore(this.#store, owner)
    await this.#inOrder(id, async () => {
      const session = await this.#ensure(transcript)
      const model = session.model === undefined ? modelIn(given) : undefined
      if (model !== undefined) await store.sessions.update(id, { model })
      await appendNew(store, transcript, session, messages)
      const now = await store.sessions.get(id)
      // Without visible rows, it was deleted again meanwhile.
      if (now.archivedAt !== undefined && !(await isHidden(store, now)))
        await store.sessions.archive(id, false)
    })
  }

  /**
   * Returns all entries of a transcript in order, deep-equal to the appended ones, whatever compactions of the store hide; `null` for a key
   * that was never written or was deleted.
   */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const { id, owner } = transcriptOf(key)
    const read = await unlessUnknown(readTranscript(ownedStore(this.#store, owner), id))
    return read === undefined || read.entries.length === 0 ? null : read.entries.map(({ entry }) => entry)
  }

  /** Returns the sessions of a project that are neither deleted nor archived, newest first, with the time of the last append. */
  async listSessions(projectKey: string): Promise<ListedSession[]> {
    const listed = await this.#transcripts(ownerOf(projectKey), false)
    return listed.flatMap(({ key, isMain, session }) =>
      isMain ? [{ sessionId: key.sessionId, mtime: mtimeOf(session) }] : [],
    )
  }

  /**
   * Returns the SDK's summaries of the sessions that `sessions.list` lists. Entries appended since the last call
   * are read and folded in, including those of other writers. Rejects with `CLAUDE_AGENT_SDK_UNAVAILABLE` if no
   * `foldSessionSummary` was given and none can be loaded.
   */
  async listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const owner = ownerOf(projectKey)
    const fold = this.#fold ?? (await loadFold())
    const summaries: SessionSummaryEntry[] = []
    for (const { session, ...transcript } of await this.#transcripts(owner, false))
      if (transcript.isMain)
        summaries.push(await summaryOf(ownedStore(this.#store, owner), transcript, session, fold))
    return summaries
  }

  /** Returns the subpaths of the further transcripts of a session. */
  async listSubkeys(key: { readonly projectKey: string; readonly sessionId: string }): Promise<string[]> {
    const { id, owner } = transcriptOf({ projectKey: key.projectKey, sessionId: key.sessionId })
    const listed = await this.#transcripts(owner, false)
    return listed.flatMap(({ key: { subpath }, id: own }) =>
      subpath !== undefined && own.startsWith(`${id}/`) ? [subpath] : [],
    )
  }

  /**
   * Hides a whole transcript, and with a session's own transcript those of its subagents; nothing is removed. Each is one compaction of
   * kind `manual` with the parameter `why: 'deleted'`, which `restore` undoes. A key that was never written changes nothing.
   */
  async delete(key: SessionKey): Promise<void> {
    const transcript = transcriptOf(key)
    const deletion = randomUUID()
    const store = ownedStore(this.#store, transcript.owner)
    for (const { id, session } of await this.#family(transcript)) {
      // Archived and without visible rows: it is deleted already.
      if (session.archivedAt !== undefined && (await isHidden(store, session))) continue
      await this.#inOrder(id, () => this.#delete(store, id, deletion))
    }
  }

  /**
   * Undoes the latest deletion of a transcript, and of the transcripts deleted with it. Returns whether there
   * was one. Entries appended since stay, after the restored ones. `redoCompaction` of the store deletes again.
   *
   * Rejects with `HAS_ACTIVE_DEPENDENTS` if a compaction builds on the rows that the deletion hid.
   */
  async restore(key: SessionKey): Promise<boolean> {
    const transcript = transcriptOf(key)
    const family = await this.#family(transcript)
    const store = ownedStore(this.#store, transcript.owner)
    let deletion: string | undefined
    for (const { id } of family) {
      const mark = await lastDeletion(store, id)
      deletion ??= mark?.deletion
      if (mark?.compactionId === undefined || mark.deletion !== deletion) continue
      await store.undoCompaction(id, mark.compactionId, { both: true, ...this.#authorship })
      if ((await lastDeletion(store, id)) === undefined) await keepIn(store, id, { deleted: false })
      await store.sessions.archive(id, false)
    }
    return deletion !== undefined
  }

  async #delete(store: TranscriptStore, id: string, deletion: string): Promise<void> {
    await keepIn(store, id, { deleted: true })
    await withRetries(MAX_TRIES, ['POSITION_CONFLICT'], async () => {
      const { position } = await store.append(id, [deletionMark(deletion)])
      await store.rewind(id, {
        ...{ from: 'start', keepCompactions: true, expectedPosition: position },
        ...{ reason: 'SessionStore.delete', params: DELETED, ...this.#authorship },
      })
      await store.sessions.archive(id)
      // Entries were appended before it was archived: they make it a session again.
      const { messageCount } = await store.sessions.get(id)
      if (messageCount > position) await store.sessions.archive(id, false)
    })
  }

  /** A stored transcript, deleted or not, followed by those of its subagents if it is a session's own. */
  async #family({ id, owner, isMain }: Transcript): Promise<readonly Listed[]> {
    const all = [...(await this.#transcripts(owner, false)), ...(await this.#transcripts(owner, true))]
    const further = isMain ? all.filter((one) => one.id.startsWith(`${id}/`)) : []
    return [...all.filter((one) => one.id === id), ...further]
  }

  /** The transcripts of a project that are not empty, newest first. */
  async #transcripts(owner: string, archived: boolean): Promise<Listed[]> {
    const listed: Listed[] = []
    let after: SessionInList | undefined
    do {
      const sessions: SessionInList[] = await ownedStore(this.#store, owner).sessions.list({
        ...{ archived, limit: PAGE },
        ...defined({ after }),
      })
      for (const session of sessions) {
        const key = keyOfSession(session.id)
        if (key === undefined || session.messageCount === 0) continue
        listed.push({ key, id: session.id, owner, isMain: key.subpath === undefined, session })
      }
      after = sessions.length < PAGE ? undefined : sessions.at(-1)
    } while (after !== undefined)
    return listed
  }

  async #ensure({ id, key, owner }: Transcript): Promise<Session> {
    const store = ownedStore(this.#store, owner)
    const session = await unlessUnknown(store.sessions.get(id))
    if (session !== undefined) return session
    const metadata = { [CLAUDE_AGENT_SDK]: { key: { ...key } } }
    try {
      return await store.sessions.create({ id, provider: 'anthropic', metadata })
    } catch (error) {
      if (!isUndertextError(error, 'SESSION_EXISTS')) throw error
      return store.sessions.get(id)
    }
  }

  async #inOrder(id: string, write: () => Promise<void>): Promise<void> {
    const before = this.#last.get(id)
    // An earlier write may have failed; its caller receives that error.
    const done = before === undefined ? write() : before.then(write, write)
    this.#last.set(id, done)
    try {
      await done
    } finally {
      if (this.#last.get(id) === done) this.#last.delete(id)
    }
  }
}

/** The model of the newest answer. For a synthetic answer, Claude Code records the model `<synthetic>`. */
function modelIn(entries: readonly SessionStoreEntry[]): string | undefined {
  for (const { type, message } of entries.toReversed()) {
    const model = type === 'assistant' && isObject(message) ? message.model : undefined
    if (nameSchema.safeParse(model).success && model !== '<synthetic>') return model as string
  }
  return undefined
}

type Listed = Transcript & { readonly session: Session }

/** Whether no row of a session is visible. `visibleCount` doesn't count silent rows, and most entries are silent. */
async function isHidden(
  store: Pick<TranscriptStore, 'getMessages'>,
  { id, visibleCount }: Pick<Session, 'id' | 'visibleCount'>,
): Promise<boolean> {
  return visibleCount === 0 && (await store.getMessages(id, { visible: true })).length === 0
}

async function lastDeletion(store: TranscriptStore, id: string): Promise<DeletionMark | undefined> {
  const read = await unlessUnknown(readTranscript(store, id))
  return read?.marks.findLast(({ compactionId }) => compactionId !== undefined)
}
