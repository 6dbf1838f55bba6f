import { z } from 'zod'
import { invalid } from '../errors.ts'
import { check } from '../messages/check.ts'
import { compositeStage } from '../stages/composite.ts'
import { isStage } from '../stages/registry.ts'
import type { CompositeStage, Stage } from '../stages/stage.ts'
import { split } from './options.ts'
import type { Item } from './passage.ts'
import { type ArrayRun, type RunOptions, runStageOnItems, targetOf, tokensIn } from './run-strategy.ts'
import { stageFrom } from './stage-from.ts'
import {
  type Passing,
  passingOf,
  type Strategy,
  type StrategyStep,
  stepFrom,
  strategyOf,
  strategyShape,
  summaryShape,
} from './strategy.ts'
import { isUserStrategy, passUserStrategy, stageNameOf, type UserStrategy } from './user-strategy.ts'

/** What a composite may be made of: our strategies, stages, and strategies of your own. */
export type CompositePart = Strategy | Stage | UserStrategy

const optionsSchema = z.strictObject({
  /** Applied in this order. */
  stages: z.array(z.custom<CompositePart>(isPart, 'must be a strategy or a stage')),
  ...strategyShape,
  ...summaryShape,
})
export type CompositeOptions = z.input<typeof optionsSchema>

/**
 * Several strategies as one (seed 000): each in its turn, only while the messages take more than `maxTokens`, counted
 * again by the composite's estimator after each. The thresholds of those within do not matter, save that a composite
 * within goes by its own. What they leave over is left to whoever comes next.
 *
 * Recommended order: cheap ones first, so clearing, then dropping, then summarizing (checklist S0-47).
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function composite(options: CompositeOptions): Strategy<CompositeStage> {
  const checked = check(optionsSchema, options, 'composite')
  const [{ stages }, face] = split(checked, ['stages'])
  const { maxTokens } = checked
  const stage = compositeStage(stages.map(stageFrom), maxTokens === undefined ? {} : { budget: maxTokens })
  return strategyOf(stage, face, { passing: chain(stages), needsTarget: true })
}

function chain(parts: readonly CompositePart[]): Passing {
  return async (items, run, options) => {
    const target = targetOf(run)
    const steps: StrategyStep[] = []
    let left = items
    for (const part of parts) {
      if (tokensIn(left, options, run.what) <= target) break
      const after = await passPart(part, left, { ...run, target }, options)
      steps.push(stepFrom(nameOf(part), left, after, options))
      left = after
    }
    return { items: left, steps }
  }
}

async function passPart(
  part: CompositePart,
  items: readonly Item[],
  run: ArrayRun,
  options: RunOptions,
): Promise<readonly Item[]> {
  const own = passingOf(part)
  if (own !== undefined) {
    // A composite has a threshold of its own, whatever it stands in.
    const target = isComposite(part) ? (part.budget ?? run.target) : run.target
    return (await own(items, { ...run, target }, options)).items
  }
  if (isStage(part)) return runStageOnItems(items, part, run, options)
  if (isUserStrategy(part)) return passUserStrategy(items, part, run.target)
  throw invalid(`${run.what}: no strategy`)
}

function isComposite(part: CompositePart): part is CompositeStage {
  return 'stages' in part
}

function nameOf(part: CompositePart): string {
  return isStage(part) ? part.name : stageNameOf(part)
}

function isPart(value: unknown): boolean {
  return isStage(value) || isUserStrategy(value)
}
