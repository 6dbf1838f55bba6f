/*
 * Tools with which a model finds again what compaction hid: the entry `undertext/recall`.
 */

export type {
  RecallAnswer,
  RecalledNoteText,
  RecalledPassage,
  RecalledPiece,
} from './recall/answer.ts'
export {
  type AiSdkRecallTool,
  agentsTools,
  aiSdkTools,
  langchainTools,
} from './recall/frameworks.ts'
export { type LogNotesInput, logNotes } from './recall/log-notes.ts'
export {
  type MakeRoomAnswer,
  type MakeRoomDecision,
  type MakeRoomInput,
  type MakeRoomPolicy,
  makeRoom,
} from './recall/make-room.ts'
export { type OpenRowInput, openRow } from './recall/open-row.ts'
export { type ReadLogInput, readLog } from './recall/read-log.ts'
export type { RecallBounds, RecallScope } from './recall/scope.ts'
export { type SearchLogInput, searchLog } from './recall/search-log.ts'
export { type RecallTool, type RecallToolsOptions, recallTools } from './recall/tools.ts'
