import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { isUndertextError } from '../../../errors.ts'
import { codePointStart } from '../../../messages/characters.ts'
import type { Session } from '../../../storage/storage.ts'
import { truncateToTokenBudget } from '../../../tokens/truncate-text.ts'
import { exportMarkdown } from '../../../transfer/export-markdown.ts'
import { counted } from '../../output/figures.ts'
import { safeLine } from '../../output/safe-text.ts'
import type { Access } from './access.ts'
import { decodeCursor, encodeCursor, failed, framed, timeText } from './answer.ts'

/* Transcripts as resources: Markdown documents by the exporter of the command line, in pages. */

const PREFIX = 'undertext://sessions/'
const TEMPLATE = `${PREFIX}{session_id}{?offset}`
const MARKDOWN = 'text/markdown'
/** Sessions of one page of the list. */
const PAGE = 100

const listCursor = z.tuple([z.boolean(), z.string().nullable()])

/** Registers the list, the template and the reading of transcripts. */
export function addTranscripts({ server }: McpServer, access: Access, maxTokens: number): void {
  server.registerCapabilities({ resources: { listChanged: true } })
  server.setRequestHandler('resources/list', ({ params }) =>
    reported(params?.cursor ?? 'the list', () => listPage(access, params?.cursor)),
  )
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      {
        name: 'transcript',
        title: 'Transcript of a session',
        description:
          'A session as a Markdown document, in pages: the end of each page names the offset of the next one. Hidden messages are counted, not shown.',
        uriTemplate: TEMPLATE,
        mimeType: MARKDOWN,
      },
    ],
  }))
  server.setRequestHandler('resources/read', ({ params: { uri } }) =>
    reported(uri, async () => ({
      contents: [{ uri, mimeType: MARKDOWN, text: await readPage(access, uri, maxTokens) }],
    })),
  )
}

async function listPage(access: Access, cursor: string | undefined) {
  let [archived, after] = decodeCursor(listCursor, cursor) ?? [false, null]
  if (after !== null) await access.session(after)
  const found: Session[] = []
  let next: string | undefined
  for (;;) {
    const limit = PAGE - found.length
    const page = await access.store.listSessions({
      ...{ owner: access.owner, archived, limit: limit + 1 },
      ...(after !== null && { after }),
    })
    for (const session of page.slice(0, limit)) found.push(session)
    after = found.at(-1)?.id ?? null
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
  return { resources: found.map(resourceOf), ...(next !== undefined && { nextCursor: next }) }
}

function resourceOf({ id, title, messageCount, updatedAt, archivedAt }: Session) {
  return {
    uri: PREFIX + encodeURIComponent(id),
    name: safeLine(id),
    ...(title !== undefined && { title: safeLine(title) }),
    description: `${counted(messageCount, 'message')}${archivedAt === undefined ? '' : ', archived'}`,
    mimeType: MARKDOWN,
    annotations: { lastModified: timeText(updatedAt) },
  }
}

async function readPage(access: Access, uri: string, maxTokens: number): Promise<string> {
  const [, name = '', start = '0'] =
    /^undertext:\/\/sessions\/([^/?#]+)(?:\?offset=(\d{1,15}))?$/.exec(uri) ?? []
  const { id } = await access.session(decoded(name, uri))
  const offset = Number(start)
  // Text that certainly does not fit is not collected.
  const enough = maxTokens * 16
  let [text, passed, isWhole] = ['', 0, true]
  for await (const piece of exportMarkdown(access.store, id)) {
    const from = Math.max(0, offset - passed)
    passed += piece.length
    if (from < piece.length) text += piece.slice(codePointStart(piece, from))
    if (text.length > enough) {
      isWhole = false
      break
    }
  }
  const { text: page } = truncateToTokenBudget(text, maxTokens, undefined, { ending: '' })
  if (isWhole && page.length === text.length) return framed(page)
  const next = `${PREFIX}${encodeURIComponent(id)}?offset=${offset + page.length}`
  return `${framed(page)}\nThe transcript continues: read ${next}`
}

function decoded(name: string, uri: string): string {
  try {
    if (name !== '') return decodeURIComponent(name)
  } catch {
    // It is no encoding of an id.
  }
  throw new ResourceNotFoundError(uri)
}

/** Runs a request; a failure becomes an error of the protocol without text of a conversation. */
async function reported<T>(uri: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    if (isUndertextError(error, 'SESSION_NOT_FOUND')) throw new ResourceNotFoundError(uri)
    const [content] = failed(error, false).content
    const message = content?.type === 'text' ? content.text : 'It failed.'
    const isWrong = isUndertextError(error, 'INVALID_INPUT')
    throw new ProtocolError(
      isWrong ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
      message,
    )
  }
}
