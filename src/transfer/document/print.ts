import { taken } from '../../core/messages/check.ts'
import type { StoredMessage } from '../../core/messages/message.ts'
import { sessionRows, spokenRows } from '../session-rows.ts'
import { type Block, blocksOf, type Code, isLong, lengthOf, type Picture } from './blocks.ts'
import { counted, type DocumentOptions, type DocumentSettings, documentSettings } from './options.ts'
import {
  type DocumentCompaction,
  type DocumentStore,
  type HiddenReason,
  hasChanged,
  hiddenReason,
  insertedBy,
  readDocument,
  type SessionDocument,
} from './session-document.ts'

/** A row of the log with everything that a document shows of it. */
export type PrintedRow = {
  readonly row: StoredMessage
  /** The compaction that inserted it. */
  readonly by: DocumentCompaction | undefined
  /** Why it is hidden. */
  readonly reason: HiddenReason | undefined
  /** Its blocks, printed. */
  readonly blocks: readonly string[]
  readonly settings: DocumentSettings
}

export type ToolName = { readonly name: string | undefined; readonly id: string }

/** One format of a document. Every method escapes foreign text. */
export type Printer = {
  readonly verb: string
  readonly noun: string
  readonly defaults: Pick<DocumentSettings, 'hidden' | 'images'>
  head(document: SessionDocument, settings: DocumentSettings): string
  /** A table of contents before the conversation: the entry of each row, and the text after the last. */
  readonly contents?: { entry(row: StoredMessage): string; readonly end: string }
  gap(words: string): string
  row(row: PrintedRow): string
  /** Returns the end of the document; `note` is a last sentence, or empty. */
  end(note: string): string
  /** Text between blocks. */
  readonly separator: string
  prose(text: string): string
  code(code: Code): string
  picture(picture: Picture, words: string): string
  media(words: string, address: string | undefined): string
  /** Returns a collapsible section; `summary` is already printed. */
  folded(kind: string, summary: string, content: string): string
  labeled(kind: string, label: string, content: string): string
  /** `Result of read c1 failed`. */
  toolLabel(words: string, tool: ToolName, failed: boolean): string
  /** Like `toolLabel`, as the summary of a collapsible section. */
  resultSummary(words: string, tool: ToolName, failed: boolean, length: string): string
  /** Foreign text on one line. */
  line(text: string): string
  compaction(by: DocumentCompaction): string
  replaced(tool: string | undefined, words: string, shown: string, original: string): string
}

/** Prints a session. The options are copied before the first piece is requested. */
export function printDocument(
  printer: Printer,
  store: DocumentStore,
  sessionId: string,
  options: DocumentOptions,
): AsyncGenerator<string> {
  return printedPieces(printer, store, sessionId, taken(options))
}

async function* printedPieces(
  printer: Printer,
  store: DocumentStore,
  sessionId: string,
  options: DocumentOptions,
): AsyncGenerator<string> {
  const settings = documentSettings(options, printer.defaults, printer.verb)
  const document = await readDocument(store, sessionId)
  const { session } = document
  const isShown = (row: StoredMessage): boolean => !row.hidden || settings.hidden === 'show'
  const rows = (): AsyncIterable<StoredMessage> => spokenRows(sessionRows(store, session, { shown: true }))
  yield printer.head(document, settings)
  if (printer.contents !== undefined) {
    for await (const row of rows()) if (isShown(row)) yield printer.contents.entry(row)
    yield printer.contents.end
  }
  let left = 0
  const gap = (): string => {
    const words = `${counted(left, 'message')} hidden here`
    left = 0
    return printer.gap(words)
  }
  for await (const row of rows()) {
    if (!isShown(row)) {
      // Hidden summaries and markers aren't counted, because they aren't messages.
      if (row.kind === 'message') left++
      continue
    }
    if (left > 0) yield gap()
    const by = insertedBy(row, document)
    const reason = hiddenReason(row, document)
    const blocks = blocksOf(row, settings).map((block) => printBlock(block, printer, document))
    yield printer.row({ row, by, reason, settings, blocks: blocks.filter((block) => block !== '') })
  }
  if (left > 0) yield gap()
  const isChanged = await hasChanged(store, session)
  yield printer.end(
    isChanged
      ? `The session was changed while this ${printer.noun} was written; it may mix the states before and after the change.`
      : '',
  )
}

function printBlock(block: Block, printer: Printer, document: SessionDocument): string {
  const print = (blocks: readonly Block[]): string =>
    blocks.map((inner) => printBlock(inner, printer, document)).join(printer.separator)
  switch (block.type) {
    case 'prose':
      return printer.prose(block.text)
    case 'reasoning':
      return printer.folded('reasoning', 'Reasoning', printer.prose(block.text))
    case 'added':
      return printer.folded(
        'added',
        'Added by the client',
        printer.code({ type: 'code', text: block.text, language: '', left: undefined }),
      )
    case 'code':
      return printer.code(block)
    case 'picture':
      return printer.picture(block.picture, block.words)
    case 'media':
      return printer.media(block.words, block.address)
    case 'call':
      return printer.labeled('call', printer.toolLabel('Calls', block, false), printer.code(block.input))
    case 'result': {
      const kind = block.failed ? 'result error' : 'result'
      const words = resultWords(block)
      const content = print(block.output)
      if (!isLong(block.output))
        return printer.labeled(kind, printer.toolLabel(words, block, block.failed), content)
      const summary = printer.resultSummary(words, block, block.failed, lengthOf(block.output))
      return printer.folded(kind, summary, content)
    }
    case 'provider':
      return printer.folded(
        'provider',
        `A part that only ${printer.line(block.provider)} reads`,
        printer.code(block.data),
      )
    case 'replacement': {
      const by = document.byId.get(block.compactionId)
      const whose = by === undefined ? 'a compaction' : printer.compaction(by)
      const instead = block.shown === '' ? 'left out' : 'shown differently'
      const tool = block.tool && printer.toolLabel(resultWords(block.tool), block.tool, false)
      const words = `${instead} by ${whose}, in place of ${block.size}`
      const original =
        block.original.length === 0 ? '' : printer.folded('original', 'The original', print(block.original))
      return printer.replaced(tool, words, block.shown, original)
    }
  }
}

function resultWords({ name }: ToolName): string {
  return name === undefined ? 'Result' : 'Result of'
}
