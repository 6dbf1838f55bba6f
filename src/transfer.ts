/*
 * Conversations from files: the entry `undertext/transfer`.
 */

export { importFile } from './transfer/import-file.ts'
export type { ImportFileOptions, ImportProgress } from './transfer/import-options.ts'
export type {
  ImportedCompactions,
  ImportedConversation,
  ImportNote,
  ImportProblem,
  ImportReport,
  ImportStatus,
  ImportTotals,
} from './transfer/import-report.ts'
export { SOURCE_NAMES, type SourceName } from './transfer/source.ts'
export type { ImportStore } from './transfer/write-file.ts'
