import { type Block, type Code, isLong, lengthOf } from '../document/blocks.ts'
import type { SessionDocument } from '../document/session-document.ts'
import { compactionName } from '../document/summary-words.ts'
import { addressHtml, codeHtml, escapedLine, messageHtml } from './message-html.ts'

/** A block of a message as HTML. */
export function blockHtml(block: Block, document: SessionDocument): string {
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
