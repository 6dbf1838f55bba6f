import { detached, headOf } from '../messages/characters.ts'
import { taken } from '../messages/check.ts'
import { partsOf, type StoredMessage } from '../messages/message.ts'
import { type Block, blocksOf, type Code, isLong, lengthOf } from './document/blocks.ts'
import {
  counted,
  type DocumentOptions,
  type DocumentSettings,
  documentSettings,
  time,
} from './document/options.ts'
import {
  compactionName,
  type DocumentCompaction,
  type DocumentStore,
  hasChanged,
  hiddenReason,
  insertedBy,
  readDocument,
  rowName,
  rowsOf,
  type SessionDocument,
  shownRows,
} from './document/session-document.ts'
import {
  addressHtml,
  codeHtml,
  escapedLine,
  messageHtml,
  PAGE_MIDDLE,
  pageEnd,
  pageHead,
} from './html/page-html.ts'

/**
 * Yields a session as one HTML page for people, in pieces to write in sequence: facts and sizes, the compactions with their audit, the
 * turns of the user, then the messages in the order of the log. The page loads nothing and works without its script, in light and dark
 * and on paper. Messages are read by pages, twice, so a long session needs no more memory than a short one.
 *
 * Hidden rows are dimmed and have the reason, with a link to the compaction that hides them; replaced parts include their original. With
 * `hidden: 'omit'` they are omitted. No text of the session becomes markup: fenced code, inline code and complete web URLs are formatted,
 * all else is text. Only PNG, JPEG, GIF and WebP are shown as pictures. Invisible characters are shown by symbol or number. The same
 * session yields the same bytes.
 *
 * The first piece throws `SESSION_NOT_FOUND`, and `INVALID_INPUT` for invalid options.
 */
export function exportHtml(
  store: DocumentStore,
  sessionId: string,
  options: DocumentOptions = {},
): AsyncGenerator<string> {
  return piecesOf(store, sessionId, taken(options))
}

async function* piecesOf(
  store: DocumentStore,
  sessionId: string,
  options: DocumentOptions,
): AsyncGenerator<string> {
  const settings = documentSettings(options, { hidden: 'show', images: 'inline' }, 'exportHtml')
  const document = await readDocument(store, sessionId)
  yield pageHead(document, settings)
  for await (const row of rowsOf(store, document.session)) {
    const turn = row.hidden && settings.hidden === 'omit' ? undefined : turnHtml(row)
    if (turn !== undefined) yield turn
  }
  yield PAGE_MIDDLE
  for await (const row of shownRows(store, document.session, settings))
    yield 'left' in row ? gapHtml(row.left) : rowHtml(row, document, settings)
  yield pageEnd((await hasChanged(store, document.session)) ? CHANGED : '')
}

const CHANGED =
  '<p class="gap">The session was changed while this page was written; it may be partly as before and partly as after.</p>\n'

function gapHtml(messages: number): string {
  return `<p class="gap">${counted(messages, 'message')} hidden here</p>\n`
}

/** The maximum characters of a turn in the table of turns. */
const TURN_LENGTH = 80

/** An entry of the table of turns; `undefined` for a row without a user's text. */
function turnHtml(row: StoredMessage): string | undefined {
  if (row.kind !== 'message' || row.role !== 'user') return undefined
  const said = partsOf(row).find((part) => part.type === 'text' && part.text.trim() !== '')
  if (said?.type !== 'text') return undefined
  const words = detached(headOf(said.text.trimStart(), TURN_LENGTH)).replace(/\s+/g, ' ')
  const gone = row.hidden ? ' class="gone"' : ''
  return `<li${gone}><a href="#m-${row.position}">${row.position} ${escapedLine(words)}</a></li>\n`
}

function rowHtml(row: StoredMessage, document: SessionDocument, settings: DocumentSettings): string {
  const by = insertedBy(row, document)
  const isMessage = row.kind === 'message'
  const place = isMessage ? `m-${row.position}` : `r-${by?.number ?? row.anchor}`
  const kind = `row ${isMessage ? row.role : 'inserted'}${row.hidden ? ' hidden' : ''}`
  const pinned = row.pinned ? ' <span class="flag">pinned</span>' : ''
  const blocks = blocksOf(row, settings).map((block) => blockHtml(block, document))
  const said = blocks.filter((block) => block !== '').join('\n')
  return `<article class="${kind}" id="${place}" aria-labelledby="${place}-name">
<header><h3 id="${place}-name"><a href="#${place}">${rowName(row, by)}</a></h3><time datetime="${machineTime(row.createdAt)}">${time(row.createdAt)}</time>${pinned}</header>
${originHtml(row, by, settings)}${reasonHtml(row, document)}${said === '' ? '<p class="label">(empty)</p>' : said}
</article>
`
}

function originHtml(
  { kind }: StoredMessage,
  by: DocumentCompaction | undefined,
  { hidden }: DocumentSettings,
): string {
  if (kind === 'message' || by === undefined) return ''
  const [first] = by.standsFor
  const rows =
    first === undefined || hidden === 'omit'
      ? ''
      : `, <a href="#m-${first[0]}">to the messages it replaces</a>`
  return `<p class="why">Inserted by ${linkTo(by)}${rows}</p>\n`
}

function reasonHtml(row: StoredMessage, document: SessionDocument): string {
  const reason = hiddenReason(row, document)
  if (reason === undefined) return ''
  const by = reason.by === undefined ? '' : `: ${linkTo(reason.by)}`
  return `<p class="why">Hidden, ${reason.why}${by}</p>\n`
}

function linkTo(by: DocumentCompaction): string {
  return `<a href="#c-${by.number}">${compactionName(by)}</a>`
}

function machineTime(ms: number): string {
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : ''
}

/** A block of a message as HTML. */
function blockHtml(block: Block, document: SessionDocument): string {
  switch (block.type) {
    case 'prose':
      return messageHtml(block.text)
    case 'reasoning':
      return folded('reasoning', 'Reasoning', messageHtml(block.text))
    case 'code':
      return codeWithRest(block)
    case 'picture': {
      const { mediaType, base64 } = block.picture
      return `<img src="data:${mediaType};base64,${base64}" alt="${escapedLine(block.words)}">`
    }
    case 'media': {
      const address = block.address === undefined ? '' : ` ${addressHtml(block.address)}`
      return `<p class="media">${escapedLine(block.words)}${address}</p>`
    }
    case 'call': {
      const { name, id, input } = block
      return `<div class="call"><p class="label">Calls ${code(name)} ${code(id, 'id')}</p>\n${codeWithRest(input)}</div>`
    }
    case 'result':
      return resultHtml(block, document)
    case 'provider': {
      const summary = `A part only ${escapedLine(block.provider)} reads`
      return folded('provider', summary, codeWithRest(block.data))
    }
    case 'replacement':
      return replacementHtml(block, document)
  }
}

function resultHtml(block: Block & { readonly type: 'result' }, document: SessionDocument): string {
  const failed = block.failed ? ' <strong class="failed">failed</strong>' : ''
  const label = `${resultName(block)}${failed}`
  const inner = block.output.map((item) => blockHtml(item, document)).join('\n')
  const kind = block.failed ? 'result error' : 'result'
  if (isLong(block.output)) return folded(kind, `${label} <span>${lengthOf(block.output)}</span>`, inner)
  return `<div class="${kind}"><p class="label">${label}</p>\n${inner}</div>`
}

function resultName({ name, id }: { readonly name: string | undefined; readonly id: string }): string {
  return `Result${name === undefined ? '' : ` of ${code(name)}`} ${code(id, 'id')}`
}

function replacementHtml(block: Block & { readonly type: 'replacement' }, document: SessionDocument): string {
  const by = document.byId.get(block.compactionId)
  const whose = by === undefined ? 'a compaction' : `<a href="#c-${by.number}">${compactionName(by)}</a>`
  const instead = block.shown === '' ? 'left out' : 'shown differently'
  const what = block.tool === undefined ? 'Part' : resultName(block.tool)
  const said = `<p class="label">${what} ${instead} by ${whose}, in place of ${block.size}</p>`
  const shown = block.shown === '' ? '' : `\n${codeHtml(block.shown)}`
  const inner = block.original.map((item) => blockHtml(item, document)).join('\n')
  const original = block.original.length === 0 ? '' : `\n${folded('original', 'The original', inner)}`
  return `<div class="replaced">${said}${shown}${original}</div>`
}

function codeWithRest({ text, left }: Code): string {
  return codeHtml(text) + (left === undefined ? '' : `\n<p class="label">${left}</p>`)
}

function folded(kind: string, summary: string, inner: string): string {
  return `<details class="${kind}"><summary>${summary}</summary>\n${inner}\n</details>`
}

function code(text: string, kind?: 'id'): string {
  return `<code${kind === undefined ? '' : ` class="${kind}"`}>${escapedLine(text)}</code>`
}
