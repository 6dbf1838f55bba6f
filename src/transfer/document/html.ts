import { createHash } from 'node:crypto'
import { detached } from '../../core/messages/characters.ts'
import { typedText } from '../../core/messages/client-markup.ts'
import { partsOf, type StoredMessage } from '../../core/messages/message.ts'
import { shownTitle } from '../../core/messages/title.ts'
import type { Code } from './blocks.ts'
import { codeBlockAt, fencedPieces } from './markdown.ts'
import {
  type DocumentOptions,
  type DocumentSettings,
  figure,
  time,
  visibleLine,
  visibleText,
} from './options.ts'
import { type PrintedRow, type Printer, printDocument, type ToolName } from './print.ts'
import {
  compactionFacts,
  compactionName,
  type DocumentCompaction,
  type DocumentStore,
  type Fact,
  headingOf,
  rowName,
  type SessionDocument,
  sessionFacts,
  sharesOf,
  statusWords,
} from './session-document.ts'

/**
 * Yields a session as one HTML page for people, in pieces to write in sequence: facts and sizes, the compactions with their audit, the
 * user's turns, then the messages in log order. The page loads nothing, and works without its script, in light and dark mode and on paper.
 * Messages are read in pages, twice, so a long session needs no more memory than a short one.
 *
 * Hidden rows are dimmed and show the reason, with a link to the compaction that hides them; replaced parts include their original. With
 * `hidden: 'omit'` they are omitted. No text of the session becomes markup: only fenced code, inline code and complete web URLs are
 * formatted. Only PNG, JPEG, GIF and WebP are shown as pictures. Invisible characters are shown as symbols or numbers. The same session
 * yields the same bytes.
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

/** The page between the table of turns and the conversation. */
const PAGE_MIDDLE = `</ol>
</nav>
</aside>
<main id="conversation" tabindex="-1" aria-label="Conversation">
`

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
  labeled: (kind, label, content) => `<div class="${kind}"><p class="label">${label}</p>\n${content}</div>`,
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

/** Returns the entry of a row in the table of turns; empty if the row has no user text. */
function turnHtml(row: StoredMessage): string {
  if (row.kind !== 'message' || row.role !== 'user') return ''
  const texts = partsOf(row).flatMap((one) =>
    one.type === 'text' && one.text.trim() !== '' ? [one.text] : [],
  )
  if (texts.length === 0) return ''
  // Text added by a client isn't the user's, but it is better than nothing.
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

/*
 * Foreign text as HTML. All of it is escaped. Its only elements are fenced code, inline code, bold lines for headings, and links to
 * complete web URLs. It can't determine the name of an element, the scheme of a URL, or any attribute except such a URL.
 */

/** Returns a text, without invisible characters, as the content of an element or of a quoted attribute. */
function escaped(text: string): string {
  return entities(visibleText(text))
}

/** Like `escaped`, on one line. */
function escapedLine(text: string): string {
  return entities(visibleLine(text))
}

function entities(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

export function messageHtml(text: string): string {
  const lines = visibleText(text).split('\n')
  const blocks: string[] = []
  let words: string[] = []
  const flush = (): void => {
    const text = words.join('\n').replace(/^\n+/, '').trimEnd()
    if (text !== '') blocks.push(`<div class="prose" dir="auto">${text}</div>`)
    words = []
  }
  for (let at = 0; at < lines.length; ) {
    const block = codeBlockAt(lines, at)
    if (block === undefined) {
      words.push(lineHtml(lines[at]!))
      at++
      continue
    }
    flush()
    blocks.push(codeHtml(block.lines.join('\n')))
    at = block.next
  }
  flush()
  return blocks.join('\n')
}

/** Verbatim text in its own box, which can be scrolled with the keyboard too. */
function codeHtml(text: string): string {
  return `<pre tabindex="0"><code>${escaped(text)}</code></pre>`
}

function lineHtml(line: string): string {
  const html = fencedPieces(line)
    .map(({ text, fence }) =>
      fence === undefined ? wordsHtml(text) : `<code>${entities(text.trim())}</code>`,
    )
    .join('')
  return /^ {0,3}#{1,6} /.test(line) ? `<strong>${html}</strong>` : html
}

const ADDRESS = /https?:\/\/[\p{L}\p{N}%&'()*+,./:;=?@_~#!-]*[\p{L}\p{N}%&*+/=@_~#-]/giu

function wordsHtml(text: string): string {
  let html = ''
  let at = 0
  for (const { index, 0: address } of text.matchAll(ADDRESS)) {
    html += `${entities(text.slice(at, index))}${linkHtml(address)}`
    at = index + address.length
  }
  return html + entities(text.slice(at))
}

function linkHtml(address: string): string {
  const safe = entities(address)
  return `<a href="${safe}" rel="noopener noreferrer nofollow">${safe}</a>`
}

/** Returns a URL as a link if it is a web address without invisible characters; otherwise as text. */
function addressHtml(address: string): string {
  const [whole] = address.match(ADDRESS) ?? []
  return whole === address ? linkHtml(address) : escapedLine(address)
}

/** The style of the page. Colors have a contrast of at least 4.5 to 1 against their backgrounds, in light and dark mode. */
const PAGE_STYLE = `
:root { color-scheme: light dark;
  --ground: #fbfaf8; --paper: #ffffff; --ink: #1d1d1f; --soft: #5c5c66; --line: #dcd9d2; --code: #f3f1ec; --link: #0b57a4;
  --user: #0b57a4; --assistant: #7a3e9d; --tool: #2f6b3a; --system: #6b5300; --inserted: #9a3b12; --failed: #b3261e;
  --text: #3b76c4; --reasoning: #8d5bb0; --toolCalls: #c48a1a; --toolResults: #3f8f52; --media: #b34a72; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #16161a; --paper: #1f1f25; --ink: #ececf0; --soft: #a9a9b5; --line: #3a3a44; --code: #2a2a32; --link: #86b8f2;
  --user: #86b8f2; --assistant: #cfa2ea; --tool: #8fcf9c; --system: #dcc06a; --inserted: #f0a683; --failed: #ff9b92; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
a { color: var(--link); } :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem; }
.page { display: grid; grid-template-columns: 20rem minmax(0, 1fr); gap: 2rem; max-width: 84rem; margin: 0 auto; padding: 1.5rem; }
.page > header { grid-column: 1 / -1; } h1 { margin: 0 0 .75rem; font-size: 1.7rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .1rem .75rem; margin: 0; font-size: .875rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
header dl { grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .3rem 1.5rem; } header dl div { display: flex; gap: .5rem; } header dt { white-space: nowrap; }
.bar { display: block; width: 100%; height: .8rem; margin: 1rem 0 .4rem; border-radius: .4rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 0; padding: 0; list-style: none; font-size: .8125rem; color: var(--soft); }
.legend svg { width: .7rem; height: .7rem; margin-right: .35rem; }
.text { fill: var(--text); } .reasoning { fill: var(--reasoning); } .toolCalls { fill: var(--toolCalls); }
.toolResults { fill: var(--toolResults); } .media { fill: var(--media); }
aside { font-size: .875rem; position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem); overflow: auto; }
aside section, aside nav { margin-bottom: 1.5rem; }
.tools { display: grid; gap: .5rem; margin-bottom: 1.5rem; } .tools label { display: block; }
.tools input[type=search], .tools button { width: 100%; font: inherit; padding: .35rem .6rem; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: .4rem; }
.scripted { display: none; } .js .scripted { display: block; }
.timeline, .turns { list-style: none; margin: 0; padding: 0; }
.timeline > li { border-left: 3px solid var(--inserted); padding: .1rem 0 .6rem .75rem; } .timeline > li.past { border-color: var(--line); color: var(--soft); }
.timeline p { margin: .15rem 0; } .timeline dl { font-size: .8125rem; margin: .3rem 0; }
.turns a { display: block; padding: .15rem 0; text-decoration: none; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } .turns a:hover { text-decoration: underline; }
.turns .gone a { color: var(--soft); }
.row { background: var(--paper); border: 1px solid var(--line); border-left: 4px solid var(--soft); border-radius: .5rem; padding: .75rem 1rem; margin-bottom: 1rem; scroll-margin-top: 1rem; }
.row:target, .timeline > li:target { box-shadow: 0 0 0 3px var(--link); }
.row > header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .75rem; margin-bottom: .4rem; }
h3 { margin: 0; font-size: .95rem; } h3 a { color: inherit; text-decoration: none; } time, .flag, .why, .label, .media { font-size: .8125rem; color: var(--soft); }
.row.user { border-left-color: var(--user); } .user h3 { color: var(--user); } .row.assistant { border-left-color: var(--assistant); } .assistant h3 { color: var(--assistant); }
.row.tool { border-left-color: var(--tool); } .tool h3 { color: var(--tool); } .row.system { border-left-color: var(--system); } .system h3 { color: var(--system); }
.row.inserted { border-left-color: var(--inserted); border-style: dashed; border-left-style: solid; } .inserted h3 { color: var(--inserted); }
.row.hidden { background: transparent; color: var(--soft); border-style: dotted; border-left-style: solid; }
.flag { border: 1px solid var(--line); border-radius: 1rem; padding: 0 .5rem; } .why { margin: 0 0 .5rem; }
.gap { text-align: center; color: var(--soft); font-size: .875rem; }
body:has(#show-hidden:not(:checked)) .row.hidden:not(:target) { display: none; } .row.filtered { display: none; }
.prose { white-space: pre-wrap; overflow-wrap: anywhere; margin: .4rem 0; }
code, .prose, .media { unicode-bidi: isolate; } code, pre { font: .84em/1.5 ui-monospace, monospace; } .prose code, .label code, summary code { background: var(--code); border-radius: .25rem; padding: .05rem .3rem; }
pre { background: var(--code); border-radius: .4rem; padding: .6rem .8rem; margin: .4rem 0; overflow: auto; max-height: 40rem; } pre code { font-size: .84rem; }
.label { margin: .4rem 0 .2rem; } .label code, summary code { color: var(--ink); } .label .id, summary .id { color: var(--soft); }
details { margin: .4rem 0; } summary { cursor: pointer; font-size: .8125rem; color: var(--soft); } .failed { color: var(--failed); }
.reasoning > .prose { color: var(--soft); border-left: 2px solid var(--line); padding-left: .75rem; } img { max-width: 100%; height: auto; border-radius: .4rem; }
@media (max-width: 60rem) { .page { grid-template-columns: minmax(0, 1fr); gap: 1rem; padding: 1rem; } aside { position: static; max-height: none; } .turns { max-height: 14rem; overflow: auto; } }
@media print { body { background: none; font-size: 11pt; } .page { display: block; max-width: none; padding: 0; } .tools, nav { display: none; } aside { position: static; max-height: none; }
  .row { background: none; break-inside: auto; } pre { max-height: none; white-space: pre-wrap; overflow-wrap: anywhere; } h3, .label { break-after: avoid; } }
`

/** Optional conveniences: filtering by text, opening and closing all folds, and open folds on paper. */
const PAGE_SCRIPT = `
(() => {
  const root = document.documentElement
  const rows = [...document.querySelectorAll('.row')]
  const filter = document.getElementById('filter')
  const count = document.getElementById('count')
  const all = document.getElementById('all')
  const folds = () => document.querySelectorAll('main details')
  const setFolds = (open) => { for (const fold of folds()) fold.open = open }
  const apply = () => {
    const wanted = filter.value.toLowerCase()
    let found = 0
    for (const row of rows) {
      const fits = wanted === '' || row.textContent.toLowerCase().includes(wanted)
      row.classList.toggle('filtered', !fits)
      if (fits) found++
    }
    count.textContent = wanted === '' ? '' : found + ' of ' + rows.length
  }
  let waiting
  filter.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(apply, 120) })
  all.addEventListener('click', () => {
    const open = all.getAttribute('aria-pressed') !== 'true'
    setFolds(open)
    all.setAttribute('aria-pressed', String(open))
    all.textContent = open ? 'Fold everything' : 'Unfold everything'
  })
  addEventListener('beforeprint', () => setFolds(true))
  root.classList.add('js')
})()
`

/** The browser rejects everything in the page except this style, this script, and pictures as data. */
const POLICY = [
  "default-src 'none'",
  `style-src '${hashOf(PAGE_STYLE)}'`,
  `script-src '${hashOf(PAGE_SCRIPT)}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}`
}

function pageHead(document: SessionDocument, settings: DocumentSettings): string {
  const title = escapedLine(headingOf(document, settings))
  const facts = sessionFacts(document, settings.exportedAt)
    .map((fact) => `<div>${factHtml(fact, false)}</div>`)
    .join('\n')
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<a class="skip" href="#conversation">Skip to the conversation</a>
<div class="page">
<header>
<h1 dir="auto">${title}</h1>
<dl>
${facts}
</dl>
${barHtml(document)}</header>
<aside aria-label="About this conversation">
<div class="tools">
${settings.hidden === 'show' ? '<label><input type="checkbox" id="show-hidden" checked> Show hidden messages</label>\n' : ''}<div class="scripted"><label for="filter">Only messages with</label><input type="search" id="filter"> <output id="count" for="filter"></output></div>
<div class="scripted"><button type="button" id="all" aria-pressed="false">Unfold everything</button></div>
</div>
${timelineHtml(document, settings)}<nav aria-labelledby="turns">
<h2 id="turns">Turns</h2>
<ol class="turns">
`
}

/** Returns the end of the page. `note` is the text after the conversation. */
function pageEnd(note: string): string {
  return `${note}</main>
</div>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`
}

function barHtml({ stats }: SessionDocument): string {
  const shares = stats === undefined ? [] : sharesOf(stats.sizes)
  if (shares.length === 0) return ''
  let x = 0
  const parts = shares.map(({ key, share }) => {
    const part = `<rect class="${key}" x="${x}" y="0" width="${share}" height="10"/>`
    x += share
    return part
  })
  const legend = shares.map(
    ({ key, name, share }) =>
      `<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="${key}" width="10" height="10"/></svg>${name} ${(share / 10).toFixed(1)} %</li>`,
  )
  return `<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">${parts.join('')}</svg>
<ul class="legend" aria-label="Tokens by category">
${legend.join('\n')}
</ul>
`
}

function timelineHtml({ compactions }: SessionDocument, settings: DocumentSettings): string {
  if (compactions.length === 0) return ''
  const items = compactions.map((one) => compactionHtml(one, settings)).join('\n')
  return `<section aria-labelledby="compactions">
<h2 id="compactions">Compactions</h2>
<ol class="timeline">
${items}
</ol>
</section>
`
}

function compactionHtml(one: DocumentCompaction, { hidden }: DocumentSettings): string {
  const { number, compaction } = one
  const isActive = compaction.status === 'active'
  const facts = compactionFacts(one).map((fact) => factHtml(fact, hidden === 'show'))
  // Rows of an inactive compaction are hidden.
  const isThere = compaction.insertedIds.length > 0 && (isActive || hidden === 'show')
  const inserted = isThere ? `\n<p><a href="#r-${number}">What it inserted</a></p>` : ''
  const who = compaction.actor === undefined ? '' : `, ${escapedLine(compaction.actor)}`
  const why = compaction.reason === undefined ? '' : `\n<p>${escapedLine(compaction.reason)}</p>`
  return `<li id="c-${number}"${isActive ? '' : ' class="past"'}>
<p><strong>${number} ${compaction.kind}</strong> ${statusWords(compaction)}</p>
<p>${time(compaction.createdAt)}${who}</p>
<p>${figure(compaction.tokensBefore)} → ${figure(compaction.tokensAfter)} tokens</p>${why}${inserted}
<details><summary>Audit</summary>
<dl>
${facts.join('\n')}
</dl>
</details>
</li>`
}

function factHtml({ name, words, given, position }: Fact, isLinked: boolean): string {
  const names = given === undefined ? [] : [`<code>${escapedLine(given)}</code>`]
  const own = position !== undefined && isLinked ? `<a href="#m-${position}">${words}</a>` : words
  const content = [...(words === '' ? [] : [own]), ...names].join(' ')
  return `<dt>${name}</dt><dd>${content}</dd>`
}
