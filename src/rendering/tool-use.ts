import { canonicalJson } from '../messages/json.ts'
import type { Part, ToolCallPart, ToolResultPart } from '../messages/message.ts'
import { type CallRef, pairToolUse, type ToolUse, toolUseOf } from '../messages/pairing.ts'
import { CALL_ID_FORMS, type CallIdRule, wantsUniqueIds } from '../tokens/providers.ts'
import { resultAsParts } from './contents.ts'
import { type Draft, draftOf, type Note, redraft } from './draft.ts'

/**
 * Assigns call ids that a provider accepts: the original id if possible, else one made from it. An id depends
 * only on the calls before it, so that a longer history keeps the ids of a shorter one.
 */
class CallIds {
  readonly #rule: CallIdRule
  readonly #taken = new Set<string>()
  /** The number of ids made per stem. One counter per stem keeps the whole linear. */
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
    // Where ids may repeat, only a made id must not equal another.
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

/** The length of the stem that a number is appended to. */
const STEM_LENGTHS: { readonly [R in Exclude<CallIdRule, 'any'>]: number } = { words: 50, nine: 4, short: 30 }

/** An id of the required form, made of the original characters; the end is kept, since ids differ at their ends. */
function fitted(id: string, rule: Exclude<CallIdRule, 'any'>): string {
  if (rule === 'nine')
    return id
      .replace(/[^a-zA-Z0-9]/g, '')
      .slice(-9)
      .padStart(9, '0')
  return id.replace(/[^a-zA-Z0-9_-]/g, '_').slice(rule === 'short' ? -40 : -64) || 'call'
}

type AnswerRules = {
  readonly callIds: CallIdRule
  /** Whether calls at the very end are left without a result. */
  readonly keepWaiting: boolean
  /** The rows after the first summary or marker: their calls may be hidden. */
  readonly afterHidden: ReadonlySet<string>
}

/** The position of a part: the index of its draft and its own. */
type Place = { readonly row: number; readonly part: number }

/** A position as a map key. */
function keyOf({ row, part }: Place): string {
  return `${row}:${part}`
}

/**
 * What happens to a result: it is placed after the message of its call (`after`), within it (a tool the
 * provider ran itself), or it is a second result. A result without a fate has no call in the view; or it
 * differs from the result its call has, and its own call may be a hidden one with the same id: ids repeat, and
 * no answered call may be lost.
 */
type Fate = { readonly kind: 'after' | 'inside' | 'duplicate'; readonly call: CallRef }

/** Everything decided about calls and results before anything is moved. Maps are keyed by `keyOf`. */
type Answers = {
  readonly uses: readonly (ToolUse | undefined)[]
  /** The result of each answered call. */
  readonly resultOf: ReadonlyMap<string, Place>
  readonly fateOf: ReadonlyMap<string, Fate>
  /** The id of each call as the provider is sent it. */
  readonly idOf: ReadonlyMap<string, string>
  /** The message whose unanswered calls stay without a result; -1 for none. */
  readonly waitingRow: number
  /** The rank of each result among all parts shown. */
  readonly rankOf: ReadonlyMap<string, number>
  /** The rank of the last part shown of each draft, or of the last one before it. */
  readonly lastRankOf: readonly number[]
}

/** Pairs the calls and results of a history and decides what happens to each. */
function findAnswers(drafts: readonly Draft[], rules: AnswerRules, note: Note): Answers {
  const uses = drafts.map((draft) => toolUseOf(draft.parts))
  const { pairs, orphans } = pairToolUse(uses)
  const resultOf = new Map<string, Place>()
  const fateOf = new Map<string, Fate>()

  for (const { call, result } of pairs) {
    const inside = ranByProvider(drafts, call) && drafts[result.row]!.message.role === 'assistant'
    resultOf.set(keyOf(call), result)
    fateOf.set(keyOf(result), { kind: inside ? 'inside' : 'after', call })
  }
  for (const { result, duplicateOf } of orphans) {
    if (duplicateOf === undefined) continue
    const first = resultOf.get(keyOf(duplicateOf))
    const mayBeAnothers = rules.afterHidden.has(drafts[result.row]!.id)
    if (mayBeAnothers && first !== undefined && !saysTheSame(drafts, first, result)) continue
    fateOf.set(keyOf(result), { kind: 'duplicate', call: duplicateOf })
  }
  const idOf = nameCalls(drafts, uses, rules.callIds, note)
  const waitingRow = rules.keepWaiting ? findLastSpeaker(drafts, fateOf) : -1
  return { uses, resultOf, fateOf, idOf, waitingRow, ...rankParts(drafts, fateOf) }
}

/** Whether two results have equal content; blank texts are ignored. */
function saysTheSame(drafts: readonly Draft[], first: Place, second: Place): boolean {
  const [a, b] = [first, second].map(({ row, part }) => {
    const { output } = drafts[row]!.parts[part] as ToolResultPart
    const { type, value } = output
    const items =
      type === 'content' ? value.filter((item) => !('text' in item && item.text.trim() === '')) : value
    return canonicalJson([type, items])
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

/** The last message that holds more than paired results; those may follow it. */
function findLastSpeaker(drafts: readonly Draft[], fateOf: Answers['fateOf']): number {
  return drafts.findLastIndex(({ message, parts }, row) =>
    parts.some((part, index) => {
      if (part.type === 'tool-result') return !fateOf.has(keyOf({ row, part: index }))
      return part.type !== 'provider' || message.role !== 'tool'
    }),
  )
}

/**
 * Numbers what is shown, in stored order. A result is in place when its number follows that of the part shown
 * before it. Provider parts beside the results of a tool message move with those.
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

/** The text of an added result. It never changes, so that prompt caches stay valid. */
const NO_RESULT_TEXT = '[No result was recorded for this tool call]'

/** What arranging tool use works with. */
type ToolWork = { readonly drafts: readonly Draft[]; readonly answers: Answers; readonly note: Note }

/** A result to show, and its stored position; an added result has none. */
type ShownResult = { readonly part: ToolResultPart; readonly from?: Place }

/** Consecutive results from one message; added ones belong to the message of their calls. */
type ResultGroup = { readonly source: number; readonly results: ShownResult[] }

/** The results to show after a message, in the order of its calls. */
function resultsAfter({ drafts, answers, note }: ToolWork, row: number): readonly ResultGroup[] {
  const groups: ResultGroup[] = []
  const add = (source: number, result: ShownResult): void => {
    const last = groups.at(-1)
    if (last?.source === source) last.results.push(result)
    else groups.push({ source, results: [result] })
  }

  let rankBefore = answers.lastRankOf[row]!
  for (const { part, id } of answers.uses[row]?.calls ?? []) {
    const place = { row, part }
    const call = callAt(drafts, place)
    const from = answers.resultOf.get(keyOf(place))
    if (from === undefined) {
      if (call.providerExecuted || row === answers.waitingRow) continue
      note({ kind: 'result-added', messageId: drafts[row]!.id, toolCallId: id })
      add(row, { part: noResult(call, answers.idOf.get(keyOf(place)) ?? id) })
    } else if (answers.fateOf.get(keyOf(from))?.kind === 'after') {
      const { id: messageId, message } = drafts[from.row]!
      const rank = answers.rankOf.get(keyOf(from))!
      const inPlace = rank === rankBefore + 1 && (message.role === 'tool' || message.role === 'user')
      if (!inPlace) note({ kind: 'result-moved', messageId, toolCallId: id })
      rankBefore = rank
      add(from.row, { part: named(resultAt(drafts, from), place, answers), from })
    }
  }
  return groups
}

/**
 * The stored message, when these results are all it holds and are in its order; a tool message may also hold
 * provider parts.
 */
function wholeMessage(
  { drafts, answers }: ToolWork,
  row: number,
  results: readonly ShownResult[],
): Draft | undefined {
  const draft = drafts[row]!
  const { role } = draft.message
  const places = results.map(({ from }) => from?.part ?? -1)
  const ordered = places.every((place, index) => index === 0 || place > places[index - 1]!)
  if (!ordered || results.length !== answers.uses[row]?.results.length) return undefined
  if (role !== 'tool' && role !== 'user') return undefined
  if (draft.parts.some(({ type }) => type !== 'tool-result' && (type !== 'provider' || role !== 'tool')))
    return undefined

  const shown = new Map(results.map(({ part }, index) => [places[index], part]))
  const parts = draft.parts.map((part, index) => shown.get(index) ?? part)
  return redraft(draft, role, parts)
}

/** The call at a position that is known to hold one. */
function callAt(drafts: readonly Draft[], { row, part }: Place): ToolCallPart {
  return drafts[row]!.parts[part] as ToolCallPart
}

/** The result at a position that is known to hold one. */
function resultAt(drafts: readonly Draft[], { row, part }: Place): ToolResultPart {
  return drafts[row]!.parts[part] as ToolResultPart
}

/**
 * A call, or the result of the call at `place`, with the id the provider is sent; the same part when the id is
 * unchanged.
 */
function named<P extends ToolCallPart | ToolResultPart>(part: P, place: Place, { idOf }: Answers): P {
  const toolCallId = idOf.get(keyOf(place)) ?? part.toolCallId
  return toolCallId === part.toolCallId ? part : { ...part, toolCallId }
}

/** The result of a call without one. */
function noResult({ toolName }: ToolCallPart, toolCallId: string): ToolResultPart {
  return { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value: NO_RESULT_TEXT } }
}

/**
 * Places the results of every call directly after its message, in the order of the calls, and adds missing
 * ones. Second results are dropped; results without a call become text. Messages already in order stay as they
 * are.
 */
export function arrangeToolUse(drafts: readonly Draft[], rules: AnswerRules, note: Note): readonly Draft[] {
  const answers = findAnswers(drafts, rules, note)
  if (answers.uses.every((use) => use === undefined)) return drafts

  const work: ToolWork = { drafts, answers, note }
  const arranged: Draft[] = []
  /** Messages that were placed after their calls as a whole. */
  const placed = new Set<number>()

  for (const [row, draft] of drafts.entries()) {
    if (placed.has(row)) continue
    const { aside, own } = answers.uses[row] === undefined ? withoutToolUse(draft) : ownParts(work, row)
    if (aside.length > 0) arranged.push(draftOf(draft.id, { role: 'user', content: aside }))
    if (own.length > 0) addOwnParts(arranged, draft, own)
    for (const { source, results } of resultsAfter(work, row)) {
      const whole = wholeMessage(work, source, results)
      if (whole !== undefined) placed.add(source)
      const content = results.map(({ part }) => part)
      arranged.push(whole ?? draftOf(drafts[source]!.id, { role: 'tool', content }))
    }
  }
  return arranged
}

/** What a message shows at its own position; `aside` becomes a user message just before it. */
type OwnParts = { readonly aside: readonly Part[]; readonly own: readonly Part[] }

function withoutToolUse({ parts }: Draft): OwnParts {
  return { aside: [], own: parts }
}

/**
 * What a message keeps, with results that have no call as text; those of an assistant message go into a user
 * message before it.
 */
function ownParts({ drafts, answers, note }: ToolWork, row: number): OwnParts {
  const aside: Part[] = []
  const own: Part[] = []
  const { id: messageId, message, parts } = drafts[row]!

  for (const [index, part] of parts.entries()) {
    const place = { row, part: index }
    if (part.type === 'tool-call') {
      own.push(named(part, place, answers))
      for (const one of resultInside({ drafts, answers, note }, place)) own.push(one)
    } else if (part.type === 'tool-result') {
      const { toolCallId } = part
      const fate = answers.fateOf.get(keyOf(place))
      if (fate === undefined) {
        note({ kind: 'result-as-text', messageId, toolCallId })
        const content = message.role === 'assistant' ? aside : own
        for (const one of resultAsParts(part)) content.push(one)
      } else if (fate.kind === 'duplicate') {
        note({ kind: 'duplicate-dropped', messageId, toolCallId })
      } else if (fate.kind === 'inside' && fate.call.row === row) {
        own.push(named(part, fate.call, answers))
      }
    } else {
      own.push(part)
    }
  }
  const isStray = ({ type }: Part): boolean => type !== 'tool-result' && type !== 'provider'
  if (message.role === 'tool' && parts.some(isStray)) note({ kind: 'role-changed', messageId })
  return { aside, own }
}

/** The result to place directly after a call that the provider ran itself, within the assistant message. */
function resultInside(
  { drafts, answers, note }: ToolWork,
  place: { row: number; part: number },
): readonly Part[] {
  const call = callAt(drafts, place)
  const { toolCallId } = call
  const from = answers.resultOf.get(keyOf(place))
  if (from === undefined) {
    if (!call.providerExecuted || place.row === answers.waitingRow) return []
    note({ kind: 'result-added', messageId: drafts[place.row]!.id, toolCallId })
    return [noResult(call, answers.idOf.get(keyOf(place)) ?? toolCallId)]
  }
  if (from.row === place.row || answers.fateOf.get(keyOf(from))?.kind !== 'inside') return []
  note({ kind: 'result-moved', messageId: drafts[from.row]!.id, toolCallId })
  return [named(resultAt(drafts, from), place, answers)]
}

/**
 * Adds what a message keeps. User text beside results joins them again if they were just added, and text in a
 * tool message becomes a user message.
 */
function addOwnParts(arranged: Draft[], draft: Draft, own: readonly Part[]): void {
  const { role } = draft.message
  const before = arranged.at(-1)
  if (role === 'user' && before?.id === draft.id && before.message.role === 'tool') {
    arranged[arranged.length - 1] = redraft(draft, role, [...before.parts, ...own])
  } else {
    const spoken = role === 'tool' && own.some((part) => part.type !== 'provider')
    arranged.push(redraft(draft, spoken ? 'user' : role, own))
  }
}
