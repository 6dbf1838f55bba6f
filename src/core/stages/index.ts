/* The entry point `undertext/stages`: stages of a compaction, and compositions of them. */

export { type HierarchicalOptions, hierarchicalSummaries } from './hierarchical-summaries.ts'
export {
  PROTECTED_CLASSES,
  type PriorityStageOptions,
  type ProtectedClass,
  priorityStage,
} from './priority.ts'
export { createStage, isStage, STAGE_NAMES, type StageSpec } from './registry.ts'
export type { Stage } from './stage.ts'
