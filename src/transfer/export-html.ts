import { detached, shownTitle } from '../core/messages/characters.ts'
import { typedText } from '../core/messages/client-markup.ts'
import { partsOf, type StoredMessage } from '../core/messages/message.ts'
import type { Code } from './document/blocks.ts'
import { type DocumentOptions, time } from './document/options.ts'
import { type PrintedRow, type Printer, printDocument, type ToolName } from './document/print.ts'
import {
  compactionName,
  type DocumentCompaction,
  type DocumentStore,
  rowName,
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
  return printDocument(HTML, store, sessionId, options)
}

const HTML: Printer = {
  verb: 'exportHtml',
  noun: 'page',
  defaults: { hidden: 'show', images: 'inline' },
  head: pageHead,
  contents: { entry: turnHtml, end: PAGE_MIDDLE },
  gap: gapHtml,
  row: rowHtml,
  end: (note) => pageEnd(note === '' ? '' : gapHtml(note)),
  separator: '\n',
  prose: messageHtml,
  code: codeWithRest,
  picture: ({ mediaType, base64 }, words) =>
    `<img src="data:${mediaType};base64,${base64}" alt="${escapedLine(words)}">`,
  media: (words, address) =>
    `<p class="media">${escapedLine(words)}${address === undefined ? '' : ` ${addressHtml(address)}`}</p>`,
  folded: (kind, summary, content) =>
    `<details class="${kind}"><summary>${summary}</summary>\n${content}\n</details>`,
  labelled: (kind, label, content) => `<div class="${kind}"><p class="label">${label}</p>\n${content}</div>`,
  toolLabel,
  resultSummary: (words, tool, failed, length) => `${toolLabel(words, tool, failed)} <span>${length}</span>`,
  line: escapedLine,
  compaction: linkTo,
  replaced: (tool, words, shown, original) => {
    const label = `<p class="label">${tool ?? 'Part'} ${words}</p>`
    const texts = [label, shown === '' ? '' : codeHtml(shown), original].filter((text) => text !== '')
    return `<div class="replaced">${texts.join('\n')}</div>`
  },
}

function gapHtml(words: string): string {
  return `<p class="gap">${words}</p>\n`
}

/** An entry of the table of turns; empty for a row without a user's text. */
function turnHtml(row: StoredMessage): string {
  if (row.kind !== 'message' || row.role !== 'user') return ''
  const texts = partsOf(row).flatMap((one) =>
    one.type === 'text' && one.text.trim() !== '' ? [one.text] : [],
  )
  if (texts.length === 0) return ''
  // What a client added is not the user's words, but it is better than nothing.
  const text = texts.map(typedText).find((typed) => typed !== '') ?? texts[0]!
  const words = detached(shownTitle(text))
  const gone = row.hidden ? ' class="gone"' : ''
  return `<li${gone}><a href="#m-${row.position}">${row.position} ${escapedLine(words)}</a></li>\n`
}

function rowHtml({ row, by, reason, blocks, settings }: PrintedRow): string {
  const isMessage = row.kind === 'message'
  const place = isMessage ? `m-${row.position}` : `r-${by?.number ?? row.anchor}`
  const kind = `row ${isMessage ? row.role : 'inserted'}${row.hidden ? ' hidden' : ''}`
  const pinned = row.pinned ? ' <span class="flag">pinned</span>' : ''
  const content = blocks.join('\n') || '<p class="label">(empty)</p>'
  return `<article class="${kind}" id="${place}" aria-labelledby="${place}-name">
<header><h3 id="${place}-name"><a href="#${place}">${rowName(row, by)}</a></h3><time datetime="${machineTime(row.createdAt)}">${time(row.createdAt)}</time>${pinned}</header>
${isMessage || by === undefined ? '' : originHtml(by, settings.hidden === 'show')}${reasonHtml(reason)}${content}
</article>
`
}

function originHtml(by: DocumentCompaction, isLinked: boolean): string {
  const [first] = by.positions
  const rows =
    first === undefined || !isLinked ? '' : `, <a href="#m-${first[0]}">to the messages it replaces</a>`
  return `<p class="why">Inserted by ${linkTo(by)}${rows}</p>\n`
}

function reasonHtml(reason: PrintedRow['reason']): string {
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

function toolLabel(words: string, { name, id }: ToolName, failed: boolean): string {
  const tool = name === undefined ? '' : ` <code>${escapedLine(name)}</code>`
  const error = failed ? ' <strong class="failed">failed</strong>' : ''
  return `${words}${tool} <code class="id">${escapedLine(id)}</code>${error}`
}

function codeWithRest({ text, left }: Code): string {
  return codeHtml(text) + (left === undefined ? '' : `\n<p class="label">${left}</p>`)
}
