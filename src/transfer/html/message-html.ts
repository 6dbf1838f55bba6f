import { codeBlockAt, piecesOf } from '../document/code-blocks.ts'
import { visibleLine, visibleText } from '../document/options.ts'

/*
 * What somebody wrote, as HTML. All of it is escaped; the only elements made of it are blocks of code between fences, code within a
 * line, bold lines for headings, and links to addresses of the web that stand there in full. No part of it becomes the name of
 * an element, an attribute other than such an address, or the scheme of an address.
 */

/** Any text as the content of an element or of a quoted attribute, with nothing invisible in it. */
function escaped(text: string): string {
  return entities(visibleText(text))
}

/** The same on one line. */
export function escapedLine(text: string): string {
  return entities(visibleLine(text))
}

function entities(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** The words of a message. */
export function messageHtml(text: string): string {
  const lines = visibleText(text).split('\n')
  const blocks: string[] = []
  let words: string[] = []
  const flush = (): void => {
    const said = words.join('\n').replace(/^\n+/, '').trimEnd()
    if (said !== '') blocks.push(`<div class="said" dir="auto">${said}</div>`)
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

/** Text as it stands, in a box that scrolls by itself, also by keys. */
export function codeHtml(text: string): string {
  return `<pre tabindex="0"><code>${escaped(text)}</code></pre>`
}

function lineHtml(line: string): string {
  const html = piecesOf(line)
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

/** An address as a link when it is one of the web and says nothing invisible, else as text. */
export function addressHtml(address: string): string {
  const [whole] = address.match(ADDRESS) ?? []
  return whole === address ? linkHtml(address) : escapedLine(address)
}
