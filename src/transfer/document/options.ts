import { z } from 'zod'
import { check, nameSchema } from '../../core/messages/check.ts'
import type { PositionRange } from '../../core/messages/message.ts'
import { onOneLine, withUnseenShown } from '../../core/messages/unseen.ts'

/** Options of documents for people. */
export const documentSchema = z.strictObject({
  /**
   * Hidden rows: `omit` leaves a note in their place, `show` includes them with the reason. Default: `omit` in Markdown, `show` in HTML.
   */
  hidden: z.enum(['omit', 'show']).optional(),
  /** Images: inline, or a word with their size. Default: a word in Markdown, inline in HTML. */
  images: z.enum(['inline', 'word']).optional(),
  /** The maximum number of characters of a tool's output; the rest is omitted with a note. Default: no limit. */
  cutOutputs: z.int().positive().optional(),
  /** The title. Default: the session's title, or if it has none, its id. */
  title: nameSchema.optional(),
  /**
   * The time of the export, shown in the document, in milliseconds since 1970. Default: none, so that the same session yields the same
   * bytes.
   */
  exportedAt: z.int().min(-8.64e15).max(8.64e15).optional(),
})

/** Options of `exportMarkdown` and `exportHtml`. */
export type DocumentOptions = z.input<typeof documentSchema>

/** The options with the defaults of one format. */
export type DocumentSettings = z.output<typeof documentSchema> &
  Required<Pick<DocumentOptions, 'hidden' | 'images'>>

/** Checks options and applies the defaults of one format. Throws `INVALID_INPUT`. */
export function documentSettings(
  options: DocumentOptions,
  defaults: Pick<DocumentSettings, 'hidden' | 'images'>,
  verb: string,
): DocumentSettings {
  const checked = check(documentSchema, options, verb)
  return { ...checked, hidden: checked.hidden ?? defaults.hidden, images: checked.images ?? defaults.images }
}

/** Returns an integer with thousands separators: `12,345`. */
export function figure(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** Returns a number with a noun: `1 message`, `3 messages`. */
export function counted(count: number, word: string): string {
  return `${figure(count)} ${word}${count === 1 ? '' : 's'}`
}

/** Returns a time in UTC, to the second, so that the bytes don't depend on the time zone. */
export function time(ms: number): string {
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) return 'at an invalid time'
  return `${new Date(ms).toISOString().slice(0, -5).replace('T', ' ')} UTC`
}

/** Returns a size for people: `612 bytes`, `34 KB`, `1.2 MB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return counted(bytes, 'byte')
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} KB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

/*
 * Positions in documents and on the terminal have no thousands separators, because a position identifies a message and can be copied into a
 * command.
 */

/** `3`, `3–41, 44`. */
function positionList(ranges: readonly PositionRange[]): string {
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ')
}

/** `position 3`, `positions 3–41, 44`. */
export function positionWords(ranges: readonly PositionRange[]): string {
  const isOne = ranges.length === 1 && ranges[0]![0] === ranges[0]![1]
  return `${isOne ? 'position' : 'positions'} ${positionList(ranges)}`
}

/**
 * Returns a text without invisible characters: control characters become symbols (`␛`), directional and invisible characters and lone
 * surrogates become numbers (`⟨U+202E⟩`). Line breaks and tabs are kept; CRLF becomes LF. The result is well-formed.
 */
export function visibleText(text: string): string {
  return withUnseenShown(text, (code) => `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`)
}

/** Like `visibleText`, on one line: line breaks and tabs are shown too. */
export function visibleLine(text: string): string {
  return onOneLine(visibleText(text))
}
