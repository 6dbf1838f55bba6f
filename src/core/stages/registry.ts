import { z } from 'zod'
import { check, invalid } from '../check.ts'
import { cut } from './cut.ts'
import { deduplicate } from './deduplicate.ts'
import { dropReasoning } from './drop-reasoning.ts'
import { prune } from './prune.ts'
import type { Stage } from './stage.ts'
import { summarize } from './summarize.ts'
import { truncate } from './truncate.ts'

/*
 * Stages by name, so that a composition can be written in a configuration and stored with a session. Each entry makes
 * a stage of the options that stand beside its name.
 */

const noOptions = z.strictObject({})

/** A stage as configurations write it: its name, or its name and options: `{ stage: 'sliding_window', last: 20 }`. */
export type StageSpec = string | { readonly stage: string; readonly [option: string]: unknown }

type Maker = (options: Record<string, unknown>, what: string) => Stage

function without(stage: Stage): Maker {
  return (options, what) => {
    check(noOptions, options, what)
    return stage
  }
}

const MAKERS: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ['prune', without(prune)],
  ['deduplicate', without(deduplicate)],
  ['summarize', without(summarize)],
  ['truncate', without(truncate)],
  ['cut', without(cut)],
  ['drop_reasoning', dropReasoning],
])

/** Names that a configuration may use for a stage. */
export const STAGE_NAMES: readonly string[] = [...MAKERS.keys()]

/** Makes a stage of what a configuration says. Throws `INVALID_INPUT` for an unknown name or option. */
export function createStage(spec: StageSpec, what = 'createStage'): Stage {
  const { stage, ...options } = typeof spec === 'string' ? { stage: spec } : spec
  const maker = MAKERS.get(stage)
  if (maker === undefined) throw invalid(`${what}: stage must be one of ${STAGE_NAMES.join(', ')}`)
  return maker(options, what)
}

/** Whether something is a stage of the application's own: a name, and a function that plans. */
export function isStage(value: unknown): value is Stage {
  if (typeof value !== 'object' || value === null) return false
  const { name, plan, summaries, stages } = value as Record<string, unknown>
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_]{0,63}$/.test(name)) return false
  if (Array.isArray(stages)) return plan === undefined && summaries === undefined && stages.every(isStage)
  return (typeof plan === 'function') !== (typeof summaries === 'function')
}
