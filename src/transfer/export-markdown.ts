import type { Code } from './document/blocks.ts'
import {
  type DocumentOptions,
  type DocumentSettings,
  time,
  visibleLine,
  visibleText,
} from './document/options.ts'
import { type PrintedRow, type Printer, printDocument } from './document/print.ts'
import {
  compactionFacts,
  compactionName,
  type DocumentStore,
  type Fact,
  headingOf,
  rowName,
  type SessionDocument,
  sessionFacts,
  sharesOf,
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
  return printDocument(MARKDOWN, store, sessionId, options)
}

/** Blocks are paragraphs of Markdown, without line breaks at their ends. */
const MARKDOWN: Printer = {
  verb: 'exportMarkdown',
  noun: 'document',
  defaults: { hidden: 'omit', images: 'word' },
  head: headMarkdown,
  gap: (words) => `\n*${words}.*\n`,
  row: rowMarkdown,
  end: (note) => (note === '' ? '' : `\n*${note}*\n`),
  separator: '\n\n',
  prose: messageMarkdown,
  code: codeMarkdown,
  picture: ({ mediaType, base64 }, words) => `![${inertLine(words)}](data:${mediaType};base64,${base64})`,
  media: (words, address) => `*${inertLine(words)}*${address === undefined ? '' : ` ${codeSpan(address)}`}`,
  // Blank lines around the content make it Markdown again. It cannot end the section: each `<` in it is escaped.
  folded: (_kind, summary, content) => `<details>\n<summary>${summary}</summary>\n\n${content}\n\n</details>`,
  labelled: (_kind, label, content) => `${label}\n\n${content}`,
  toolLabel: (words, { name, id }, failed) =>
    `**${words}${name === undefined ? '' : ` ${codeSpan(name)}`}** (${codeSpan(id)}${failed ? ', failed' : ''})`,
  resultSummary: (words, { name, id }, failed, length) => {
    const tool = name === undefined ? '' : ` <code>${inertLine(name)}</code>`
    return `<strong>${words}${tool}</strong> (<code>${inertLine(id)}</code>${failed ? ', failed' : ''}), ${length}`
  },
  line: inertLine,
  compaction: compactionName,
  replaced: (tool, words, shown, original) =>
    [`${tool ?? '**Part**'}, ${words}`, shown === '' ? '' : fencedMarkdown(shown, ''), original]
      .filter((text) => text !== '')
      .join('\n\n'),
}

function headMarkdown(document: SessionDocument, settings: DocumentSettings): string {
  const { stats, compactions } = document
  const facts = sessionFacts(document, settings.exportedAt).map((fact) => `- ${factMarkdown(fact)}`)
  const shares = stats === undefined ? [] : sharesOf(stats.sizes)
  const shared = shares.map(({ name, share }) => `${name} ${(share / 10).toFixed(1)} %`).join(', ')
  const lines = [`# ${inertText(visibleLine(headingOf(document, settings)))}`, '', ...facts]
  if (shared !== '') lines.push(`- **Of it:** ${shared}`)
  if (compactions.length > 0) lines.push('', '## Compactions')
  for (const one of compactions) {
    const { number, compaction } = one
    lines.push('', `**Compaction ${number}: ${compaction.kind}**, ${statusWords(compaction)}`, '')
    for (const fact of compactionFacts(one)) lines.push(`- ${factMarkdown(fact)}`)
  }
  return `${[...lines, '', '## Conversation'].join('\n')}\n`
}

function factMarkdown({ name, words, given }: Fact): string {
  const text = given === undefined ? '' : codeSpan(given)
  return `**${name}:** ${[words, text].filter((part) => part !== '').join(' ')}`
}

function rowMarkdown({ row, by, reason, blocks }: PrintedRow): string {
  const flags = [row.pinned ? ' · pinned' : '', reason === undefined ? '' : ' · hidden'].join('')
  const heading = `### ${rowName(row, by)} · ${time(row.createdAt)}${flags}`
  const origin = row.kind === 'message' || by === undefined ? [] : [`*Inserted by ${compactionName(by)}.*`]
  const whose = reason?.by === undefined ? '' : `: ${compactionName(reason.by)}`
  const hidden = reason === undefined ? [] : [`*Hidden, ${reason.why}${whose}.*`]
  const content = blocks.length > 0 ? blocks : ['*(empty)*']
  return `\n${[heading, ...origin, ...hidden, ...content].join('\n\n')}\n`
}

function codeMarkdown({ text, language, left }: Code): string {
  return fencedMarkdown(text, language) + (left === undefined ? '' : `\n\n*${left}.*`)
}

function fencedMarkdown(text: string, language: string): string {
  const shown = visibleText(text)
  const fence = fenceAround(shown)
  return `${fence}${language}\n${shown}${shown.endsWith('\n') ? '' : '\n'}${fence}`
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

function inertLine(text: string): string {
  return inertText(visibleLine(text))
}
