import { taken } from '../messages/check.ts'
import type { StoredMessage } from '../messages/message.ts'
import { type Block, blocksOf, type Code, isLong, lengthOf } from './document/blocks.ts'
import {
  counted,
  type DocumentOptions,
  type DocumentSettings,
  documentSettings,
  time,
  visibleLine,
  visibleText,
} from './document/options.ts'
import {
  compactionFacts,
  compactionName,
  type DocumentStore,
  type Fact,
  hasChanged,
  hiddenReason,
  insertedBy,
  readDocument,
  rowName,
  type SessionDocument,
  sessionFacts,
  sharesOf,
  shownRows,
  statusWords,
} from './document/session-document.ts'
import { fenceAround, inertText, longestRun, messageMarkdown } from './markdown/message-markdown.ts'

/**
 * Yields a session as a Markdown document for people, in pieces to write in sequence: title, facts, compactions, then the messages in the
 * order of the log. Messages are read by pages, so a long session needs no more memory than a short one.
 *
 * Hidden rows are omitted with a note in their place; with `hidden: 'show'` they are shown with the reason, and replaced parts with their
 * original. The Markdown of messages is kept; raw HTML in it is shown as text, its headings move below those of the document, its code is
 * closed, images become links. Invisible characters are shown by symbol or number. The same session yields the same bytes.
 *
 * The first piece throws `SESSION_NOT_FOUND`, and `INVALID_INPUT` for invalid options.
 */
export function exportMarkdown(
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
  const settings = documentSettings(options, { hidden: 'omit', images: 'word' }, 'exportMarkdown')
  const document = await readDocument(store, sessionId)
  yield headMarkdown(document, settings)
  for await (const row of shownRows(store, document.session, settings))
    yield 'left' in row ? leftOut(row.left) : rowMarkdown(row, document, settings)
  if (await hasChanged(store, document.session))
    yield '\n*The session was changed while this document was written; it may be partly as before and partly as after.*\n'
}

function leftOut(messages: number): string {
  return `\n*${counted(messages, 'message')} hidden here.*\n`
}

function headMarkdown(document: SessionDocument, settings: DocumentSettings): string {
  const { session, stats, compactions } = document
  const title = settings.title ?? session.title ?? session.id
  const facts = sessionFacts(document, settings.exportedAt).map((fact) => `- ${factMarkdown(fact)}`)
  const shares = stats === undefined ? [] : sharesOf(stats.sizes)
  const shared = shares.map(({ name, share }) => `${name} ${(share / 10).toFixed(1)} %`).join(', ')
  const lines = [`# ${inertText(visibleLine(title))}`, '', ...facts]
  if (shared !== '') lines.push(`- **Of it:** ${shared}`)
  if (compactions.length > 0) lines.push('', '## Compactions')
  for (const one of compactions) {
    const { number, compaction } = one
    lines.push('', `**Compaction ${number}: ${compaction.kind}**, ${statusWords(compaction)}`, '')
    lines.push(...compactionFacts(one).map((fact) => `- ${factMarkdown(fact)}`))
  }
  return `${[...lines, '', '## Conversation'].join('\n')}\n`
}

function factMarkdown({ name, words, given }: Fact): string {
  const said = given === undefined ? '' : codeSpan(given)
  return `**${name}:** ${[words, said].filter((part) => part !== '').join(' ')}`
}

function rowMarkdown(row: StoredMessage, document: SessionDocument, settings: DocumentSettings): string {
  const reason = hiddenReason(row, document)
  const by = insertedBy(row, document)
  const flags = [row.pinned ? ' · pinned' : '', reason === undefined ? '' : ' · hidden'].join('')
  const heading = `### ${rowName(row, by)} · ${time(row.createdAt)}${flags}`
  const origin = row.kind === 'message' || by === undefined ? [] : [`*Inserted by ${compactionName(by)}.*`]
  const whose = reason?.by === undefined ? '' : `: ${compactionName(reason.by)}`
  const hidden = reason === undefined ? [] : [`*Hidden, ${reason.why}${whose}.*`]
  const blocks = blocksOf(row, settings).map((block) => blockMarkdown(block, document))
  const said = blocks.filter((block) => block !== '')
  return `\n${[heading, ...origin, ...hidden, ...(said.length > 0 ? said : ['*(empty)*'])].join('\n\n')}\n`
}

/** A block of a message as paragraphs of Markdown, without line breaks at its ends. */
function blockMarkdown(block: Block, document: SessionDocument): string {
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

/** Folded text is between blank lines, so that it is read as Markdown, and cannot end the fold, because foreign `<` is escaped. */
function folded(summary: string, inner: string): string {
  return `<details>\n<summary>${summary}</summary>\n\n${inner}\n\n</details>`
}

/** A name or an id as inline code: its fence is longer than any run inside, and `<` is literal only between fences. */
function codeSpan(text: string): string {
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
