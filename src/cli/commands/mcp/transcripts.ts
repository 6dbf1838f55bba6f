import { createHash, type Hash } from 'node:crypto'
import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { encodeCursor } from '../../../core/cursor.ts'
import { invalid, isUndertextError } from '../../../core/errors.ts'
import { codePointStart, headOf } from '../../../core/messages/characters.ts'
import { defined } from '../../../core/messages/json.ts'
import { shownTitle } from '../../../core/messages/title.ts'
import { truncateToTokenBudget } from '../../../core/tokens/truncate-text.ts'
import type { ListedSession, Session } from '../../../storage/storage.ts'
import { framed } from '../../../store/recall/render.ts'
import type { Store } from '../../../store/store.ts'
import { exportMarkdown } from '../../../transfer/document/markdown.ts'
import { counted } from '../../output/figures.ts'
import { safeLine } from '../../output/safe-text.ts'
import { countingFor, failed, placeOf, readCursor, sessionPlace, timeText } from './answer.ts'
import type { Access } from './tool.ts'

/* Transcripts as resources: Markdown documents by the exporter of the command line, in pages. */

const PREFIX = 'undertext://sessions/'
const TEMPLATE = `${PREFIX}{session_id}{?offset,digest}`
const MARKDOWN = 'text/markdown'
/** A longer encoded id is not repeated in the link to the next page. */
const MAX_ID_LENGTH = 200
/** Sessions of one page of the list. */
const PAGE = 100

/** Characters of a name in the list. */
const MAX_NAME_LENGTH = 400

const listCursor = z.tuple([z.boolean(), sessionPlace.nullable()])

/** Registers the list, the template and the reading of transcripts. */
export function addTranscripts({ server }: McpServer, access: Access, maxTokens: number): void {
  const bounds = { store: access.store, maxTokens }
  server.registerCapabilities({ resources: { listChanged: true } })
  server.setRequestHandler('resources/list', ({ params }) =>
    reporting(bounds, params?.cursor ?? 'the list', () => listPage(access, params?.cursor)),
  )
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      {
        name: 'transcript',
        title: 'Transcript of a session',
        description:
          'A session as a Markdown document, in pages: the end of each page names the next one. Hidden messages are counted, not shown.',
        uriTemplate: TEMPLATE,
        mimeType: MARKDOWN,
      },
    ],
  }))
  server.setRequestHandler('resources/read', ({ params: { uri } }) =>
    reporting(bounds, uri, async () => ({
      contents: [{ uri, mimeType: MARKDOWN, text: await readPage(access, uri, maxTokens) }],
    })),
  )
}

async function listPage(access: Access, cursor: string | undefined) {
  let [archived, after] = readCursor(listCursor, cursor) ?? [false, null]
  if (after !== null) await access.session(after.id)
  const found: ListedSession[] = []
  let next: string | undefined
  for (;;) {
    const limit = PAGE - found.length
    const page = await access.store.sessions.list({
      ...defined({ owner: access.owner, archived, limit: limit + 1 }),
      ...(after !== null && { after }),
    })
    for (const session of page.slice(0, limit)) found.push(session)
    after = placeOf(found.at(-1)!)
    if (page.length > limit) {
      next = encodeCursor([archived, after])
      break
    }
    if (archived) break
    archived = true
    after = null
    if (found.length === PAGE) {
      next = encodeCursor([true, null])
      break
    }
  }
  const resources = []
  for (const session of found) resources.push(await resourceOf(access.store, session))
  return { resources, ...(next !== undefined && { nextCursor: next }) }
}

async function resourceOf(store: Store, { id, title, updatedAt, archivedAt }: Session) {
  const { messages } = (await store.sessions.get(id, { counts: true })).counts
  return {
    uri: PREFIX + encodeURIComponent(id),
    name: safeLine(headOf(id, MAX_NAME_LENGTH)),
    ...(title !== undefined && { title: safeLine(shownTitle(title)) }),
    description: `${counted(messages, 'message')}${archivedAt === undefined ? '' : ', archived'}`,
    mimeType: MARKDOWN,
    annotations: { lastModified: timeText(updatedAt) },
  }
}

async function readPage(access: Access, uri: string, maxTokens: number): Promise<string> {
  const [, name = '', start = '0', before] =
    /^undertext:\/\/sessions\/([^/?#]+)(?:\?offset=(\d{1,15})&digest=([\w-]{16}))?$/.exec(uri) ?? []
  const { id } = await access.session(decoded(name, uri))
  const address = PREFIX + encodeURIComponent(id)
  const offset = Number(start)
  // Text that certainly doesn't fit isn't collected.
  const enough = maxTokens * 16
  // The document has figures at its beginning, so another state of the session is another document with other places.
  const passed = createHash('sha256')
  let [text, at, isWhole] = ['', 0, true]
  for await (const piece of exportMarkdown(access.store, id)) {
    const from = Math.min(piece.length, Math.max(0, offset - at))
    at += piece.length
    passed.update(piece.slice(0, from), 'utf16le')
    text += piece.slice(from)
    if (text.length > enough) {
      isWhole = false
      break
    }
  }
  if (before !== undefined && (at < offset || digest(passed.copy()) !== before))
    throw invalid(`the session has changed since the previous page; start again at ${address}`)
  const scope = await countingFor(access.store, id)
  const { estimator, provider } = scope
  for (let room = maxTokens; ; ) {
    const { text: page } = truncateToTokenBudget(text, room, provider, { estimator, ending: '' })
    const shown = page === '' ? text.slice(0, codePointStart(text, Math.min(2, text.length))) : page
    const query = `?offset=${offset + shown.length}&digest=${digest(passed.copy().update(shown, 'utf16le'))}`
    const whole =
      isWhole && shown.length === text.length
        ? framed(shown)
        : `${framed(shown)}\nThe transcript continues: read ${address.length > MAX_ID_LENGTH ? `the address of the session with ${query}` : address + query}`
    const over = scope.tokensOf(whole) - maxTokens
    if (over <= 0 || page === '') return whole
    room = Math.min(room, scope.tokensOf(shown)) - over
  }
}

function digest(hash: Hash): string {
  return hash.digest('base64url').slice(0, 16)
}

function decoded(name: string, uri: string): string {
  try {
    if (name !== '') return decodeURIComponent(name)
  } catch {
    // It isn't an encoded id.
  }
  throw new ResourceNotFoundError(uri)
}

type Bounds = { readonly store: Store; readonly maxTokens: number }

/** Runs a request; a failure becomes an error of the protocol without text of a conversation. */
async function reporting<T>(bounds: Bounds, uri: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    if (isUndertextError(error, 'SESSION_NOT_FOUND')) throw new ResourceNotFoundError(uri)
    const [content] = (await failed(error, false, bounds)).content
    const message = content?.type === 'text' ? content.text : 'It failed.'
    const isWrong = isUndertextError(error, 'INVALID_INPUT')
    throw new ProtocolError(
      isWrong ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
      message,
    )
  }
}
