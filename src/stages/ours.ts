import type { Stage } from './stage.ts'

/*
 * Which stages are this package's own. What they plan is taken as it is, figures included: working out what thousands of
 * placeholders save would mean reading every output again. What anybody else plans is worked out anew.
 */

const OURS = new WeakSet<object>()

/** Marks a stage as ours, by its function: a copy with another function is none. */
export function ours<S extends Stage>(stage: S): S {
  if ('plan' in stage) OURS.add(stage.plan)
  return stage
}

export function isOurs(stage: Stage): boolean {
  return 'plan' in stage && OURS.has(stage.plan)
}
