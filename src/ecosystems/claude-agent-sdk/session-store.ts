import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { isNotFound, isUndertextError, standingFor, UndertextError } from '../../errors.ts'
import { check, nameSchema, taken } from '../../messages/check.ts'
import type { Session } from '../../storage/storage.ts'
import { storeSchema, unlessUnknown } from '../../store/arguments.ts'
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
import { mtimeOf, summaryOf } from './summary.ts'
import { appendNew, DELETED, type DeletionMark, readTranscript } from './transcript.ts'
import type {
  FoldSessionSummary,
  ListedSession,
  SessionKey,
  SessionStoreEntry,
  SessionSummaryEntry,
  TranscriptStore,
} from './types.ts'

let loaded: Promise<FoldSessionSummary> | undefined

/**
 * The SDK's `foldSessionSummary`, loaded when it is first needed. Rejects with `CLAUDE_AGENT_SDK_UNAVAILABLE` when the SDK is missing,
 * broken, or a version without it; `originalErrorOf` has why.
 */
function loadFold(): Promise<FoldSessionSummary> {
  loaded ??= load()
  return loaded
}

async function load(): Promise<FoldSessionSummary> {
  let module: Record<string, unknown>
  try {
    // By its name and inside this `try`: a bundler then brings it along where it is installed, and builds where it is not.
    module = (await import('@anthropic-ai/claude-agent-sdk')) as Record<string, unknown>
  } catch (error) {
    const isMissing = isNotFound(error)
    const detail = isMissing ? 'it is not installed.' : 'it cannot be loaded.'
    throw standingFor(new UndertextError('CLAUDE_AGENT_SDK_UNAVAILABLE', { detail }), error)
  }
  const { foldSessionSummary } = module
  if (typeof foldSessionSummary !== 'function') {
    const detail = 'the version that is installed has no foldSessionSummary.'
    throw new UndertextError('CLAUDE_AGENT_SDK_UNAVAILABLE', { detail })
  }
  return foldSessionSummary as FoldSessionSummary
}

const optionsSchema = z.strictObject({
  store: storeSchema<TranscriptStore>('append', 'getMessages', 'listSessions', 'rewind', 'undoCompaction'),
  actor: nameSchema.optional(),
  foldSessionSummary: z
    .custom<FoldSessionSummary>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})

/** What `undertextSessionStore` is told. */
export type SessionStoreOptions = {
  /** Where transcripts are kept. It stays the caller's: closing it is not done here. */
  readonly store: TranscriptStore
  /** Who deletes and restores, in the audit. Default: none named. */
  readonly actor?: string
  /** The SDK's own. Default: that of the installed `@anthropic-ai/claude-agent-sdk`, loaded when summaries are first asked for. */
  readonly foldSessionSummary?: FoldSessionSummary
}

/** Ends of pages of `listSessions`. */
const PAGE = 1_000
/** How often a deletion is tried anew because somebody appended meanwhile. */
const MOST_TRIES = 10

/**
 * Keeps transcripts of the Claude Agent SDK in a store: pass it as `sessionStore` to `query` and to the SDK's functions for
 * sessions. Each transcript is a session of the store, named after its key, owned by its project; each entry a message.
 *
 * Throws `INVALID_INPUT` for options that cannot be.
 */
export function undertextSessionStore(options: SessionStoreOptions): UndertextSessionStore {
  return new UndertextSessionStore(options)
}

/** The SDK's `SessionStore` over a store. Made by `undertextSessionStore`. */
export class UndertextSessionStore {
  readonly #store: TranscriptStore
  readonly #actor: string | undefined
  readonly #fold: FoldSessionSummary | undefined
  /** What was asked for last of each transcript that something is being written to: entries go in as they were handed over. */
  readonly #last = new Map<string, Promise<void>>()

  constructor(options: SessionStoreOptions) {
    const { store, actor, foldSessionSummary } = check(optionsSchema, options, 'undertextSessionStore')
    this.#store = store
    this.#actor = actor
    this.#fold = foldSessionSummary
  }

  /**
   * Adds entries at the end of a transcript, all or none, in order. An entry whose `uuid` is there already is left out. A session
   * that was deleted or archived is listed again. An empty batch writes nothing.
   *
   * Rejects with `INVALID_INPUT` for a key or an entry that cannot be, naming the place (`entries[3].type`), and with
   * the store's errors; then nothing of the batch is written.
   */
  async append(key: SessionKey, entries: readonly SessionStoreEntry[]): Promise<void> {
    const transcript = transcriptOf(key)
    const messages = messagesOf(taken(entries), transcript.isMain)
    if (messages.length === 0) return
    await this.#inOrder(transcript.id, async () => {
      await appendNew(this.#store, transcript, await this.#ensure(transcript), messages)
      const { owner, archivedAt, visibleCount } = await this.#store.getSession(transcript.id)
      if (owner === undefined) await this.#store.updateSession(transcript.id, { owner: transcript.owner })
      // With nothing to be seen, it was deleted again meanwhile.
      if (archivedAt !== undefined && visibleCount > 0) await this.#store.archiveSession(transcript.id, false)
    })
  }

  /**
   * All entries of a transcript, deep-equal to what was appended, in order, whatever compactions of the store hide.
   * `null` for a key that was never written or was deleted.
   */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const { id } = transcriptOf(key)
    const read = await unlessUnknown(readTranscript(this.#store, id))
    return read === undefined || read.entries.length === 0 ? null : read.entries.map(({ entry }) => entry)
  }

  /** The sessions of a project that are neither deleted nor archived, newest first, and when something was last appended to each. */
  async listSessions(projectKey: string): Promise<ListedSession[]> {
    const listed = await this.#transcripts(ownerOf(projectKey), false)
    return listed.flatMap(({ key, isMain, session }) =>
      isMain ? [{ sessionId: key.sessionId, mtime: mtimeOf(session) }] : [],
    )
  }

  /**
   * The SDK's summaries of the sessions that `listSessions` names. What was appended since the last time is read and
   * folded in, so it does not matter who appended it. Rejects with `CLAUDE_AGENT_SDK_UNAVAILABLE` where no
   * `foldSessionSummary` was given and none can be loaded.
   */
  async listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const owner = ownerOf(projectKey)
    const fold = this.#fold ?? (await loadFold())
    const summaries: SessionSummaryEntry[] = []
    for (const { session, ...transcript } of await this.#transcripts(owner, false))
      if (transcript.isMain) summaries.push(await summaryOf(this.#store, transcript, session, fold))
    return summaries
  }

  /** The subpaths of a session's further transcripts. */
  async listSubkeys(key: { readonly projectKey: string; readonly sessionId: string }): Promise<string[]> {
    const { id, owner } = transcriptOf({ projectKey: key.projectKey, sessionId: key.sessionId })
    const listed = await this.#transcripts(owner, false)
    return listed.flatMap(({ key: { subpath }, id: own }) =>
      subpath !== undefined && own.startsWith(`${id}/`) ? [subpath] : [],
    )
  }

  /**
   * Hides a transcript whole, and with a session's own those of its subagents: nothing is removed. Each is one compaction of kind
   * `manual` with the reason `SessionStore.delete`, which `restore` undoes. A key that was never written changes nothing.
   */
  async delete(key: SessionKey): Promise<void> {
    const transcript = transcriptOf(key)
    const deletion = randomUUID()
    for (const { id, session } of await this.#family(transcript)) {
      // Archived, with nothing to be seen: it is deleted already.
      if (session.archivedAt !== undefined && session.visibleCount === 0) continue
      await this.#inOrder(id, () => this.#delete(id, deletion))
    }
  }

  /**
   * Takes the latest deletion of a transcript back, and of what was deleted with it. Answers whether there was one. Entries that were
   * appended since stay, behind those that come back. `redoCompaction` of the store deletes again.
   *
   * Rejects with `HAS_ACTIVE_DEPENDENTS` when a compaction builds on what the deletion hid.
   */
  async restore(key: SessionKey): Promise<boolean> {
    const transcript = transcriptOf(key)
    const family = await this.#family(transcript)
    let deletion: string | undefined
    for (const { id } of family) {
      const mark = await this.#lastDeletion(id)
      deletion ??= mark?.deletion
      if (mark?.compactionId === undefined || mark.deletion !== deletion) continue
      await this.#store.undoCompaction(id, mark.compactionId, { both: true, ...this.#authorship() })
      if ((await this.#lastDeletion(id)) === undefined) await keepIn(this.#store, id, { deleted: false })
      await this.#store.archiveSession(id, false)
    }
    return deletion !== undefined
  }

  async #delete(id: string, deletion: string): Promise<void> {
    await keepIn(this.#store, id, { deleted: true })
    for (let tries = 1; ; tries++) {
      const { position } = await this.#store.append(id, [deletionMark(deletion)])
      try {
        const authorship = { ...this.#authorship(), reason: DELETED }
        await this.#store.rewind(id, {
          from: 'start',
          keepCompactions: true,
          expectedPosition: position,
          ...authorship,
        })
        await this.#store.archiveSession(id)
        // Somebody went on before it was archived: the new entries are a session again.
        const { messageCount } = await this.#store.getSession(id)
        if (messageCount > position) await this.#store.archiveSession(id, false)
        return
      } catch (error) {
        if (!isUndertextError(error, 'POSITION_CONFLICT') || tries === MOST_TRIES) throw error
      }
    }
  }

  async #lastDeletion(id: string): Promise<DeletionMark | undefined> {
    const read = await unlessUnknown(readTranscript(this.#store, id))
    return read?.marks.findLast(({ compactionId }) => compactionId !== undefined)
  }

  /** A transcript that is there, deleted or not, and behind a session's own those of its subagents. */
  async #family({ id, owner, isMain }: Transcript): Promise<readonly Listed[]> {
    const all = [...(await this.#transcripts(owner, false)), ...(await this.#transcripts(owner, true))]
    const further = isMain ? all.filter((one) => one.id.startsWith(`${id}/`)) : []
    return [...all.filter((one) => one.id === id), ...further]
  }

  /** A project's transcripts that hold anything, newest first. */
  async #transcripts(owner: string, archived: boolean): Promise<Listed[]> {
    const listed: Listed[] = []
    let after: string | undefined
    do {
      const sessions = await this.#store.listSessions({
        owner,
        archived,
        limit: PAGE,
        ...(after && { after }),
      })
      for (const session of sessions) {
        const key = keyOfSession(session.id)
        if (key === undefined || session.messageCount === 0) continue
        listed.push({ key, id: session.id, owner, isMain: key.subpath === undefined, session })
      }
      after = sessions.length < PAGE ? undefined : sessions.at(-1)?.id
    } while (after !== undefined)
    return listed
  }

  async #ensure({ id, key, owner }: Transcript): Promise<Session> {
    const session = await unlessUnknown(this.#store.getSession(id))
    if (session !== undefined) return session
    const metadata = { [CLAUDE_AGENT_SDK]: { key: { ...key } } }
    try {
      return await this.#store.createSession({ id, owner, provider: 'anthropic', metadata })
    } catch (error) {
      if (!isUndertextError(error, 'SESSION_EXISTS')) throw error
      return this.#store.getSession(id)
    }
  }

  #authorship(): { readonly actor?: string } {
    return this.#actor === undefined ? {} : { actor: this.#actor }
  }

  async #inOrder(id: string, write: () => Promise<void>): Promise<void> {
    const before = this.#last.get(id)
    // What went before may have failed; that is told to whoever asked for it.
    const done = before === undefined ? write() : before.then(write, write)
    this.#last.set(id, done)
    try {
      await done
    } finally {
      if (this.#last.get(id) === done) this.#last.delete(id)
    }
  }
}

type Listed = Transcript & { readonly session: Session }
