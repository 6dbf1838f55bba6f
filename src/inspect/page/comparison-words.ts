import type { Compaction } from '../../storage/storage.ts'
import type { CacheCause } from '../../store/requests/compare.ts'
import { kindWords, triggerWords } from './compaction-runs.ts'
import { percent } from './format.ts'

/* What the comparison of two requests says, in words. */

/** Why a cache couldn't be read, or wasn't. */
export const CAUSE_WORDS: {
  readonly [cause in CacheCause]: { readonly title: string; readonly text: string }
} = {
  first: { title: 'First request', text: 'No request was recorded before it, so nothing can be compared.' },
  model: { title: 'Another model', text: 'Each model has its own cache.' },
  tools: {
    title: 'Other tools',
    text: 'Definitions of tools come first in a request: if they change, nothing after them can be read from the cache.',
  },
  system: {
    title: 'Another system prompt',
    text: 'It comes before all messages: if it changes, no message can be read from the cache.',
  },
  compaction: {
    title: 'Compaction',
    text: 'A compaction changed the history. From its first change on, the cache can’t be read.',
  },
  undo: {
    title: 'Undo',
    text: 'A compaction was undone, so the history changed where it had been in force.',
  },
  rewind: { title: 'Rewind', text: 'The conversation was rewound, and continued from an earlier message.' },
  rendering: {
    title: 'Another rendering',
    text: 'The same messages were rendered for another provider, with other settings, or by another version.',
  },
  changed: {
    title: 'Changed messages',
    text: 'Messages differ for another reason: the result of an open call arrived, a text was purged, or the application changed them.',
  },
  expired: {
    title: 'Expired',
    text: 'The request before is a prefix of this one, but more time passed than the provider is certain to keep its cache.',
  },
  unknown: {
    title: 'Not known',
    text: 'The request before is a prefix of this one, and little time passed. A provider may drop its cache at any time.',
  },
}

/** The name of a compaction in a sentence, and who began it, unless the name says so. */
export function compactionWords(compaction: Compaction): string {
  const name = kindWords(compaction)
  return compaction.kind === 'manual' || compaction.kind === 'provider'
    ? name
    : `${name}, ${triggerWords(compaction)}`
}

/** A share in percent, rounded down: 100% is all of it. */
export const wholePercent = (share: number): string => percent(Math.floor(share * 100 + 1e-9) / 100)

/** Says what two requests share. */
export function sharedWords(shared: {
  readonly before: number
  readonly after: number
  readonly shared: number
}): string {
  if (shared.shared === shared.before)
    return shared.shared === shared.after
      ? 'Both are the same.'
      : 'The request before is a prefix of this one: all of it could be read from the cache.'
  return 'Only what both share at their beginning could be read from the cache.'
}

/** The parts of a request's bar, as shares of the longer one: what is shared, and what follows it. */
export function sharedBar({
  before,
  after,
  shared,
}: {
  readonly before: number
  readonly after: number
  readonly shared: number
}): { readonly shared: number; readonly rest: number; readonly isAdded: boolean } {
  const whole = Math.max(1, after)
  return {
    shared: Math.min(1, shared / whole),
    rest: Math.max(0, (after - shared) / whole),
    isAdded: shared === before,
  }
}
