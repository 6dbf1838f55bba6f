import type { Transition } from './moment.ts'

/** An event of the audit that changed whether a compaction is in force. */
export type TransitionEvent = {
  readonly id: string
  readonly event: Transition['event']
  /** Whether it is the preview of a large output, or a rewind; only known if it was created or redone. */
  readonly isPreview: boolean
  readonly isRewind: boolean
  /** Whether a rewind, or the undo or redo of one, undid or redid this compaction too. */
  readonly isConsequence: boolean
}

/** The reasons for which a view differs from an earlier one. */
type ViewCause = 'compaction' | 'undo' | 'rewind'

const CAUSES = ['compaction', 'undo', 'rewind'] as const satisfies readonly ViewCause[]

/**
 * Returns the compactions of events, in order, and the reasons for which the view differs after them. A compaction that is in force both
 * before and after the events, or neither, is no reason. Previews are left out: they are in force as soon as their messages exist.
 */
export function effectsOf(events: readonly TransitionEvent[]): {
  readonly compactionIds: readonly string[]
  readonly causes: readonly ViewCause[]
} {
  const shown = events.filter(({ isPreview }) => !isPreview)
  const ends = new Map<string, { readonly first: TransitionEvent; readonly last: TransitionEvent }>()
  for (const one of shown) ends.set(one.id, { first: ends.get(one.id)?.first ?? one, last: one })
  const found = new Set(
    [...ends.values()].flatMap(({ first, last }) => {
      const wasInForce = first.event === 'undone'
      const isInForce = last.event !== 'undone'
      return wasInForce === isInForce || last.isConsequence ? [] : [causeOf(last)]
    }),
  )
  return { compactionIds: [...ends.keys()], causes: CAUSES.filter((cause) => found.has(cause)) }
}

function causeOf({ event, isRewind }: TransitionEvent): ViewCause {
  if (event === 'undone') return 'undo'
  return isRewind ? 'rewind' : 'compaction'
}
