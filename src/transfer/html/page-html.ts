import { createHash } from 'node:crypto'
import { figure, time } from '../document/figures.ts'
import type { DocumentSettings } from '../document/options.ts'
import { statusWords } from '../document/reasons.ts'
import type { DocumentCompaction, SessionDocument } from '../document/session-document.ts'
import { compactionFacts, type Fact, sessionFacts, sharesOf } from '../document/summary-words.ts'
import { escapedLine } from './message-html.ts'
import { PAGE_SCRIPT } from './page-script.ts'
import { PAGE_STYLE } from './page-style.ts'

/** Everything but this style and this script is refused by the browser, whatever else should stand in the page; pictures are data. */
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

/** The page up to the table of its turns. */
export function pageHead(document: SessionDocument, settings: DocumentSettings): string {
  const { session } = document
  const title = escapedLine(settings.title ?? session.title ?? session.id)
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

/** From the table of turns to the conversation. */
export const PAGE_MIDDLE = `</ol>
</nav>
</aside>
<main id="conversation" tabindex="-1" aria-label="Conversation">
`

/** The end of the page. `note` is what is said behind the conversation. */
export function pageEnd(note: string): string {
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
<ul class="legend" aria-label="What the tokens are of">
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
  // Rows of a compaction that is not in force are hidden.
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
  const said = given === undefined ? [] : [`<code>${escapedLine(given)}</code>`]
  const own = position !== undefined && isLinked ? `<a href="#m-${position}">${words}</a>` : words
  const content = [...(words === '' ? [] : [own]), ...said].join(' ')
  return `<dt>${name}</dt><dd>${content}</dd>`
}
