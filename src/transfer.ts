/*
 * Conversations from files and into files: the entry `undertext/transfer`.
 */

export type {
  MoveCode,
  MovedSession,
  MoveProblem,
  MoveReport,
} from './history/move-store.ts'
export type { LongNames } from './storage/storage.ts'
export type { DocumentOptions } from './transfer/document/options.ts'
export type { DocumentStore } from './transfer/document/session-document.ts'
export { exportHtml } from './transfer/export-html.ts'
export { exportMarkdown } from './transfer/export-markdown.ts'
export {
  type ExportViewOptions,
  exportView,
  type ViewStore,
} from './transfer/export-view.ts'
export type {
  HistoryLine,
  HistoryLines,
  HistoryProblem,
  RefusedHistory,
} from './transfer/history-lines.ts'
export {
  type CheckedHistory,
  checkHistory,
  historyLines,
  type RestoredHistory,
  type RestoreFromOptions,
  restoreFrom,
} from './transfer/history-lines.ts'
export { type ImportStreamOptions, importFile, importStream } from './transfer/import-file.ts'
export type {
  ImportedCompactions,
  ImportedConversation,
  ImportFileOptions,
  ImportNote,
  ImportProblem,
  ImportProgress,
  ImportReport,
  ImportStatus,
  ImportStore,
  ImportTotals,
} from './transfer/import-report.ts'
export { type Line, readLines } from './transfer/lines.ts'
export { type MoveOptions, moveStore } from './transfer/move-store.ts'
export { type NoteEvent, SOURCE_NAMES, type SourceName } from './transfer/source.ts'
export type { ViewFormat } from './transfer/view-formats.ts'
export { VIEW_FORMATS } from './transfer/view-formats.ts'
