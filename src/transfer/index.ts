/* Conversations from files and into files: the entry point `undertext/transfer`. */

export { exportHtml } from './document/html.ts'
export { exportMarkdown } from './document/markdown.ts'
export type { DocumentOptions } from './document/options.ts'
export type { DocumentStore } from './document/session-document.ts'
export { exportOwner } from './export-owner.ts'
export {
  type ExportViewOptions,
  exportView,
  type ViewStore,
} from './export-view.ts'
export type {
  HistoryLine,
  HistoryLines,
  HistoryProblem,
  RefusedHistory,
} from './history-lines.ts'
export {
  type CheckedHistory,
  checkHistory,
  historyLines,
  type RestoredHistory,
  type RestoreFromOptions,
  restoreFrom,
} from './history-lines.ts'
export { type ImportStreamOptions, importFile, importStream } from './import-file.ts'
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
} from './import-report.ts'
export { type Line, readLines } from './lines.ts'
export type {
  MoveCode,
  MovedSession,
  MoveProblem,
  MoveReport,
} from './move-store.ts'
export { type MoveOptions, moveStore } from './move-store.ts'
export { type NoteEvent, SOURCE_NAMES, type SourceName } from './source.ts'
export type { ViewFormat } from './view-formats.ts'
export { VIEW_FORMATS } from './view-formats.ts'
