import type { CheckedConfig } from '../config/compaction.ts'
import { canonicalJson } from '../messages/json.ts'
import { isStage } from '../stages/registry.ts'

/** Whether two requests are the same. One that carries a signal, tools or a function is like no other. */
export function isSameRequest(a: CheckedConfig, b: CheckedConfig): boolean {
  const plain = ({ summarizer: _, stages: __, signal, toolDefinitions, ...rest }: CheckedConfig) =>
    signal === undefined && toolDefinitions === undefined && typeof rest.prunePlaceholder !== 'function'
      ? canonicalJson(rest)
      : undefined
  return (
    a.summarizer === b.summarizer &&
    isSameComposition(a.stages ?? [], b.stages ?? []) &&
    plain(a) !== undefined &&
    plain(a) === plain(b)
  )
}

type Composition = NonNullable<CheckedConfig['stages']>

/** Stages of the application's own are compared as objects: what their functions do, nobody can tell. */
function isSameComposition(a: Composition, b: Composition): boolean {
  const isSame = (one: Composition[number], at: number): boolean => {
    const other = b[at]
    if (isStage(one) || isStage(other)) return one === other
    return canonicalJson(one) === canonicalJson(other)
  }
  return a.length === b.length && a.every(isSame)
}
