/* Tools with which a model retrieves what compaction hid: the entry `undertext/recall`. */

export type { RecallAnswer, RecalledNoteText, RecalledPassage, RecalledPiece } from './data.ts'
export { type LogNotesInput, logNotes } from './log-notes.ts'
export {
  type MakeRoomAnswer,
  type MakeRoomDecision,
  type MakeRoomInput,
  type MakeRoomPolicy,
  makeRoom,
} from './make-room.ts'
export { type OpenRowInput, openRow } from './open-row.ts'
export { type ReadLogInput, readLog } from './read-log.ts'
export type { RecallRemark } from './remarks.ts'
export type { RecallBounds, RecallScope } from './scope.ts'
export { type SearchLogInput, searchLog } from './search-log.ts'
export {
  type AiSdkRecallTool,
  agentsTools,
  aiSdkTools,
  langchainTools,
  type RecallTool,
  type RecallToolsOptions,
  recallTools,
} from './tools.ts'
