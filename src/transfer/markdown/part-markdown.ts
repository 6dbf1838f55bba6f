import { type Block, type Code, isLong, lengthOf } from '../document/blocks.ts'
import { fenceAround, longestRun } from '../document/code-blocks.ts'
import type { SessionDocument } from '../document/session-document.ts'
import { compactionName } from '../document/summary-words.ts'
import { visibleLine, visibleText } from '../document/visible-text.ts'
import { inertText, messageMarkdown } from './message-markdown.ts'

/** A block of a message as paragraphs of Markdown, without line breaks at its ends. */
export function blockMarkdown(block: Block, document: SessionDocument): string {
  switch (block.type) {
    case 'prose':
      return messageMarkdown(block.text)
    case 'reasoning':
      return folded('Reasoning', messageMarkdown(block.text))
    case 'code':
      return codeMarkdown(block)
    case 'picture': {
      const { mediaType, base64 } = block.picture
      return `![${inertText(visibleLine(block.words))}](data:${mediaType};base64,${base64})`
    }
    case 'media': {
      const words = `*${inertText(visibleLine(block.words))}*`
      return block.address === undefined ? words : `${words} ${codeSpan(block.address)}`
    }
    case 'call':
      return `**Calls ${codeSpan(block.name)}** (${codeSpan(block.id)})\n\n${codeMarkdown(block.input)}`
    case 'result':
      return resultMarkdown(block, document)
    case 'provider':
      return folded(`A part only ${html(block.provider)} reads`, codeMarkdown(block.data))
    case 'replacement':
      return replacementMarkdown(block, document)
  }
}

function resultMarkdown(block: Block & { readonly type: 'result' }, document: SessionDocument): string {
  const inner = block.output.map((item) => blockMarkdown(item, document)).join('\n\n')
  const failed = block.failed ? ', failed' : ''
  if (isLong(block.output)) {
    const name = block.name === undefined ? '' : ` of <code>${html(block.name)}</code>`
    const id = `<code>${html(block.id)}</code>`
    return folded(`<strong>Result${name}</strong> (${id}${failed}), ${lengthOf(block.output)}`, inner)
  }
  return `**${resultName(block.name)}** (${codeSpan(block.id)}${failed})\n\n${inner}`
}

function resultName(name: string | undefined): string {
  return `Result${name === undefined ? '' : ` of ${codeSpan(name)}`}`
}

function replacedName(tool: (Block & { readonly type: 'replacement' })['tool']): string {
  return tool === undefined ? '**Part**' : `**${resultName(tool.name)}** (${codeSpan(tool.id)})`
}

function replacementMarkdown(
  block: Block & { readonly type: 'replacement' },
  document: SessionDocument,
): string {
  const by = document.byId.get(block.compactionId)
  const whose = by === undefined ? 'a compaction' : compactionName(by)
  const instead = block.shown === '' ? 'left out' : 'shown differently'
  const said = `${replacedName(block.tool)}, ${instead} by ${whose}, in place of ${block.size}`
  const shown = block.shown === '' ? [] : [fencedMarkdown(block.shown, '')]
  const inner = block.original.map((item) => blockMarkdown(item, document)).join('\n\n')
  const original = block.original.length === 0 ? [] : [folded('The original', inner)]
  return [said, ...shown, ...original].join('\n\n')
}

function codeMarkdown({ text, language, left }: Code): string {
  return fencedMarkdown(text, language) + (left === undefined ? '' : `\n\n*${left}.*`)
}

function fencedMarkdown(text: string, language: string): string {
  const shown = visibleText(text)
  const fence = fenceAround(shown)
  return `${fence}${language}\n${shown}${shown.endsWith('\n') ? '' : '\n'}${fence}`
}

/** What is folded stands between blank lines, so that it is read as Markdown and cannot end the fold: `<` of others is escaped. */
function folded(summary: string, inner: string): string {
  return `<details>\n<summary>${summary}</summary>\n\n${inner}\n\n</details>`
}

/** A name or an id on a line, as code: its fence is longer than any run within, and `<` is written as itself between lines of fences alone. */
export function codeSpan(text: string): string {
  const shown = visibleLine(text).trim()
  if (shown === '') return '*(empty)*'
  if (shown.includes('<')) return `<code>${inertText(shown)}</code>`
  const fence = '`'.repeat(longestRun(shown) + 1)
  const space = shown.startsWith('`') || shown.endsWith('`') ? ' ' : ''
  return `${fence}${space}${shown}${space}${fence}`
}

function html(text: string): string {
  return inertText(visibleLine(text))
}
