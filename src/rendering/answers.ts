import { canonicalJson } from '../messages/json.ts'
import type { ToolCallPart, ToolResultPart } from '../messages/message.ts'
import { type CallRef, pairToolUse, type ToolUse, toolUseOf } from '../messages/pairing.ts'
import { CALL_ID_FORMS, type CallIdRule, wantsUniqueIds } from '../tokens/providers.ts'
import type { Draft, Note } from './draft.ts'

/**
 * Gives out ids of calls a provider accepts: the call's own where that will do, else one made of it. What an id
 * becomes depends on the calls before it only, so that a longer history keeps the ids of a shorter one.
 */
class CallIds {
  readonly #rule: CallIdRule
  readonly #taken = new Set<string>()
  /** How many ids were made on each stem. One count for all ids of a stem keeps the whole linear. */
  readonly #made = new Map<string, number>()

  constructor(rule: CallIdRule) {
    this.#rule = rule
  }

  /** The id for the next call. */
  next(id: string): string {
    if (this.#rule === 'any') return id
    const fits = CALL_ID_FORMS[this.#rule].test(id)
    const fitting = fits ? id : fitted(id, this.#rule)
    const chosen = this.#taken.has(fitting) ? this.#another(fitting, this.#rule) : fitting
    // Where ids may repeat, only one that was made must not be another's.
    if (!fits || wantsUniqueIds(this.#rule)) this.#taken.add(chosen)
    return chosen
  }

  #another(id: string, rule: Exclude<CallIdRule, 'any'>): string {
    const stem = id.slice(0, STEM_LENGTHS[rule])
    for (let n = (this.#made.get(stem) ?? 1) + 1; ; n++) {
      const candidate = rule === 'nine' ? `${stem}${n.toString(36).padStart(5, '0')}` : `${stem}_${n}`
      if (this.#taken.has(candidate)) continue
      this.#made.set(stem, n)
      return candidate
    }
  }
}

/** How much of an id stays when it gets a number. */
const STEM_LENGTHS: { readonly [R in Exclude<CallIdRule, 'any'>]: number } = { words: 50, nine: 4, short: 30 }

/** An id of the form a rule wants, made of what the id has; ends are kept, since ids differ at their ends. */
function fitted(id: string, rule: Exclude<CallIdRule, 'any'>): string {
  if (rule === 'nine')
    return id
      .replace(/[^a-zA-Z0-9]/g, '')
      .slice(-9)
      .padStart(9, '0')
  return id.replace(/[^a-zA-Z0-9_-]/g, '_').slice(rule === 'short' ? -40 : -64) || 'call'
}

export type AnswerRules = {
  readonly callIds: CallIdRule
  /** Whether calls at the very end are left waiting. */
  readonly keepWaiting: boolean
  /** The rows behind what stands for hidden messages, calls perhaps. */
  readonly behindHidden: ReadonlySet<string>
}

/** Where a part stands: the index of its draft and its own. */
export type Place = { readonly row: number; readonly part: number }

/** A place as a key of a map. */
export function keyOf({ row, part }: Place): string {
  return `${row}:${part}`
}

/**
 * What becomes of a result: it stands behind the message of its call, or inside it (a tool the provider ran itself), or is a second
 * one. A result without a fate has no call in the view; or it says something else than the result its call has, and its own call
 * may be a hidden one of the same id: ids repeat, and nothing that was answered is to be lost.
 */
type Fate = { readonly kind: 'behind' | 'inside' | 'duplicate'; readonly call: CallRef }

/** Everything that is settled about calls and results before anything is moved. Maps go by `keyOf`. */
export type Answers = {
  readonly uses: readonly (ToolUse | undefined)[]
  /** The result of each answered call. */
  readonly resultOf: ReadonlyMap<string, Place>
  readonly fateOf: ReadonlyMap<string, Fate>
  /** The id each call has for the provider. */
  readonly idOf: ReadonlyMap<string, string>
  /** The message whose unanswered calls are left waiting, -1 for none. */
  readonly waitingRow: number
  /** Where each result stands in the order of everything that is shown. */
  readonly rankOf: ReadonlyMap<string, number>
  /** The rank of the last part shown of each draft, or of the last one before it. */
  readonly lastRankOf: readonly number[]
}

/** Pairs the calls and results of a history and settles what becomes of each. */
export function findAnswers(drafts: readonly Draft[], rules: AnswerRules, note: Note): Answers {
  const uses = drafts.map((draft) => toolUseOf(draft.parts))
  const { pairs, orphans } = pairToolUse(uses)
  const resultOf = new Map<string, Place>()
  const fateOf = new Map<string, Fate>()

  for (const { call, result } of pairs) {
    const inside = ranByProvider(drafts, call) && drafts[result.row]!.message.role === 'assistant'
    resultOf.set(keyOf(call), result)
    fateOf.set(keyOf(result), { kind: inside ? 'inside' : 'behind', call })
  }
  for (const { result, duplicateOf } of orphans) {
    if (duplicateOf === undefined) continue
    const first = resultOf.get(keyOf(duplicateOf))
    const mayBeAnothers = rules.behindHidden.has(drafts[result.row]!.id)
    if (mayBeAnothers && first !== undefined && !saysTheSame(drafts, first, result)) continue
    fateOf.set(keyOf(result), { kind: 'duplicate', call: duplicateOf })
  }
  const idOf = nameCalls(drafts, uses, rules.callIds, note)
  const waitingRow = rules.keepWaiting ? findLastSpeaker(drafts, fateOf) : -1
  return { uses, resultOf, fateOf, idOf, waitingRow, ...rankParts(drafts, fateOf) }
}

/** Whether two results say the same; empty texts say nothing. */
function saysTheSame(drafts: readonly Draft[], first: Place, second: Place): boolean {
  const [a, b] = [first, second].map(({ row, part }) => {
    const { output } = drafts[row]!.parts[part] as ToolResultPart
    const { type, value } = output
    const said =
      type === 'content' ? value.filter((item) => !('text' in item && item.text.trim() === '')) : value
    return canonicalJson([type, said])
  })
  return a === b
}

function ranByProvider(drafts: readonly Draft[], { row, part }: Place): boolean {
  return (drafts[row]!.parts[part] as ToolCallPart).providerExecuted === true
}

function nameCalls(
  drafts: readonly Draft[],
  uses: Answers['uses'],
  rule: CallIdRule,
  note: Note,
): Map<string, string> {
  const ids = new CallIds(rule)
  const idOf = new Map<string, string>()
  for (const [row, use] of uses.entries()) {
    for (const { part, id } of use?.calls ?? []) {
      const name = ids.next(id)
      idOf.set(keyOf({ row, part }), name)
      if (name !== id) note({ kind: 'call-renamed', messageId: drafts[row]!.id, toolCallId: id })
    }
  }
  return idOf
}

/** The last message that is more than results of calls; theirs may stand behind it. */
function findLastSpeaker(drafts: readonly Draft[], fateOf: Answers['fateOf']): number {
  return drafts.findLastIndex(({ message, parts }, row) =>
    parts.some((part, index) => {
      if (part.type === 'tool-result') return !fateOf.has(keyOf({ row, part: index }))
      return part.type !== 'provider' || message.role !== 'tool'
    }),
  )
}

/**
 * Numbers what is shown, in stored order. A result is where it belongs when its number follows that of the part
 * shown before it. What only a provider reads beside results of a tool message goes along with those.
 */
function rankParts(
  drafts: readonly Draft[],
  fateOf: Answers['fateOf'],
): Pick<Answers, 'rankOf' | 'lastRankOf'> {
  const rankOf = new Map<string, number>()
  let next = 0
  const lastRankOf = drafts.map(({ message, parts }, row) => {
    const ridesAlong = message.role === 'tool' && parts.some((part) => part.type === 'tool-result')
    for (const [index, part] of parts.entries()) {
      const key = keyOf({ row, part: index })
      if (part.type === 'provider' && ridesAlong) continue
      if (part.type === 'tool-result') {
        if (fateOf.get(key)?.kind === 'duplicate') continue
        rankOf.set(key, next)
      }
      next++
    }
    return next - 1
  })
  return { rankOf, lastRankOf }
}
