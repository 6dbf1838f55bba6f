import { type CallRef, pairToolUse, type ToolUse, toolUseOf } from '../messages/call-results.ts'
import { canonicalJson, isObject, listIn } from '../messages/json.ts'
import {
  isApplicationCall,
  type Part,
  partsOf,
  type ToolCallPart,
  type ToolResultPart,
  type ViewMessage,
} from '../messages/message.ts'
import { CALL_ID_FORMS, type CallIdRule, wantsUniqueIds } from '../tokens/providers.ts'
import { resultAsParts } from './contents.ts'
import { type Draft, draftOf, type Note, redraft } from './draft.ts'

/**
 * Assigns call ids that a provider accepts: the original id if possible, otherwise one made from it. An id depends only on earlier calls,
 * so that a longer history keeps the ids of a shorter one.
 */
class CallIds {
  readonly #rule: CallIdRule
  readonly #taken = new Set<string>()
  /** The number of ids made per stem. One counter per stem keeps the total time linear. */
  readonly #made = new Map<string, number>()

  constructor(rule: CallIdRule) {
    this.#rule = rule
  }

  next(id: string): string {
    if (this.#rule === 'any') return id
    const fits = CALL_ID_FORMS[this.#rule].test(id)
    const fitting = fits ? id : fitted(id, this.#rule)
    const chosen = this.#taken.has(fitting) ? this.#another(fitting, this.#rule) : fitting
    // If ids may repeat, only a made id must be unique.
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

/** The length of the stem to which a number is appended. */
const STEM_LENGTHS: { readonly [R in Exclude<CallIdRule, 'any'>]: number } = {
  words: 50,
  nine: 4,
  short: 30,
  filled: 50,
}

/** Returns an id of the required form, made of the original characters. The end is kept, because ids differ at their ends. */
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
  /** Whether to leave calls at the very end without a result. */
  readonly keepWaiting: boolean
  /** The rows after the first summary or marker: their calls may be hidden. */
  readonly afterHidden: ReadonlySet<string>
}

/** A call of a draft. */
type Call = {
  readonly kind: 'call'
  /** The index of the call's draft. */
  readonly row: number
  readonly part: ToolCallPart
  /** The id of the call as sent to the provider. */
  readonly sentId: string
  result?: Result
}

/** A result of a draft. */
type Result = {
  readonly kind: 'result'
  readonly row: number
  /** The index of the result in its draft. */
  readonly index: number
  readonly part: ToolResultPart
  /** The call of the result, if the result is placed after the message of its call or within it. */
  call?: Call
  /**
   * Where the result goes: after the message of its call (`after`), within that message (`inside`, for a provider-run tool), or nowhere,
   * because it is a second result (`duplicate`). A result without a fate has no call in the view; or it differs from its call's result
   * and may belong to a hidden call with the same id: ids repeat, and no answered call may be lost.
   */
  fate?: 'after' | 'inside' | 'duplicate'
  /** Its rank among all shown parts. */
  rank: number
}

/** All decisions about calls and results, made before anything is moved. */
type ToolWork = {
  readonly drafts: readonly Draft[]
  /** The calls and results among the parts of each draft, at the indexes of the parts. */
  readonly slots: readonly (readonly (Call | Result | undefined)[])[]
  /** The index of the message whose calls may stay without a result; -1 if there is none. */
  readonly waitingRow: number
  /** For each draft, the rank of the last shown part up to and including it. */
  readonly lastRankOf: readonly number[]
  readonly note: Note
}

/** Pairs the calls and results of a history and decides where each goes. */
function readToolUse(
  drafts: readonly Draft[],
  uses: readonly (ToolUse | undefined)[],
  rules: AnswerRules,
  note: Note,
): ToolWork {
  const ids = new CallIds(rules.callIds)
  const slots = drafts.map(({ id: messageId, parts }, row) =>
    parts.map((part, index): Call | Result | undefined => {
      if (part.type === 'tool-result') return { kind: 'result', row, index, part, rank: -1 }
      if (part.type !== 'tool-call') return undefined
      const { toolCallId } = part
      const sentId = ids.next(toolCallId)
      if (sentId !== toolCallId) note({ kind: 'call-renamed', messageId, toolCallId })
      return { kind: 'call', row, part, sentId }
    }),
  )
  const callAt = ({ row, part }: CallRef): Call => slots[row]![part] as Call
  const resultAt = ({ row, part }: CallRef): Result => slots[row]![part] as Result

  const { pairs, orphans } = pairToolUse(uses)
  for (const pair of pairs) {
    const [call, result] = [callAt(pair.call), resultAt(pair.result)]
    const isInside = call.part.providerExecuted === true && drafts[result.row]!.message.role === 'assistant'
    call.result = result
    result.call = call
    result.fate = isInside ? 'inside' : 'after'
  }
  for (const { result: place, duplicateOf } of orphans) {
    if (duplicateOf === undefined) continue
    const [first, result] = [callAt(duplicateOf).result, resultAt(place)]
    const mayBelongElsewhere = rules.afterHidden.has(drafts[result.row]!.id)
    if (mayBelongElsewhere && first !== undefined && contentOf(first) !== contentOf(result)) continue
    result.fate = 'duplicate'
  }
  const waitingRow = rules.keepWaiting ? findLastSpeaker(drafts, slots) : -1
  return { drafts, slots, waitingRow, lastRankOf: rankParts(drafts, slots), note }
}

/** Returns the content of a result for comparisons; blank texts are ignored. */
function contentOf({ part }: Result): string {
  const { type, value } = part.output
  const items =
    type === 'content' ? value.filter((item) => !('text' in item && item.text.trim() === '')) : value
  return canonicalJson([type, items])
}

/** Returns the index of the last message with content other than paired results, which may follow it. */
function findLastSpeaker(drafts: readonly Draft[], slots: ToolWork['slots']): number {
  return drafts.findLastIndex(({ message, parts }, row) =>
    parts.some((part, index) => {
      const slot = slots[row]![index]
      if (slot?.kind === 'result') return slot.fate === undefined
      return part.type !== 'provider' || message.role !== 'tool'
    }),
  )
}

/**
 * Numbers the shown parts in stored order, and returns the rank of the last part of each draft. A result is in place if its number
 * follows that of the part shown before it. Provider parts beside the results of a tool message move with them.
 */
function rankParts(drafts: readonly Draft[], slots: ToolWork['slots']): number[] {
  let next = 0
  return drafts.map(({ message, parts }, row) => {
    const isAmongResults = message.role === 'tool' && slots[row]!.some((slot) => slot?.kind === 'result')
    for (const [index, part] of parts.entries()) {
      const slot = slots[row]![index]
      if (part.type === 'provider' && isAmongResults) continue
      if (slot?.kind === 'result') {
        if (slot.fate === 'duplicate') continue
        slot.rank = next
      }
      next++
    }
    return next - 1
  })
}

/** The text of an added result. It never changes, so that prompt caches stay valid. */
const NO_RESULT_TEXT = '[No result was recorded for this tool call]'

/** A result to show, and its index in its stored message; an added result has no index. */
type ShownResult = { readonly part: ToolResultPart; readonly index?: number }

/** Consecutive results from one message; added results belong to the message of their calls. */
type ResultGroup = { readonly source: number; readonly results: ShownResult[] }

/** Returns the results to show after a message, in the order of its calls. */
function resultsAfter(work: ToolWork, row: number): readonly ResultGroup[] {
  const { drafts, note } = work
  const groups: ResultGroup[] = []
  const add = (source: number, result: ShownResult): void => {
    const last = groups.at(-1)
    if (last?.source === source) last.results.push(result)
    else groups.push({ source, results: [result] })
  }

  let rankBefore = work.lastRankOf[row]!
  for (const call of work.slots[row]!) {
    if (call?.kind !== 'call') continue
    const { result } = call
    if (result?.fate === 'after') {
      const { id: messageId, message } = drafts[result.row]!
      const inPlace = result.rank === rankBefore + 1 && (message.role === 'tool' || message.role === 'user')
      if (!inPlace) note({ kind: 'result-moved', messageId, toolCallId: call.part.toolCallId })
      rankBefore = result.rank
      add(result.row, { part: withId(result.part, call), index: result.index })
    } else if (!call.part.providerExecuted) {
      const part = missingResult(work, call)
      if (part !== undefined) add(row, { part })
    }
  }
  return groups
}

/** Returns the result to add to a call; `undefined` if the call has a result or waits for one. */
function missingResult({ drafts, waitingRow, note }: ToolWork, call: Call): ToolResultPart | undefined {
  const { row, part, sentId, result } = call
  if (result !== undefined || row === waitingRow) return undefined
  note({ kind: 'result-added', messageId: drafts[row]!.id, toolCallId: part.toolCallId })
  const output = { type: 'error-text', value: NO_RESULT_TEXT } as const
  return { type: 'tool-result', toolCallId: sentId, toolName: part.toolName, output }
}

/** Returns the stored message if it contains only these results, in this order; a tool message may also contain provider parts. */
function wholeMessage(
  { drafts, slots }: ToolWork,
  row: number,
  results: readonly ShownResult[],
): Draft | undefined {
  const draft = drafts[row]!
  const { role } = draft.message
  const places = results.map(({ index = -1 }) => index)
  const ordered = places.every((place, index) => index === 0 || place > places[index - 1]!)
  const held = slots[row]!.filter((slot) => slot?.kind === 'result')
  if (!ordered || results.length !== held.length) return undefined
  if (role !== 'tool' && role !== 'user') return undefined
  if (draft.parts.some(({ type }) => type !== 'tool-result' && (type !== 'provider' || role !== 'tool')))
    return undefined

  const shown = new Map(results.map(({ part }, index) => [places[index], part]))
  const parts = draft.parts.map((part, index) => shown.get(index) ?? part)
  return redraft(draft, role, parts)
}

/** Returns a call, or its result, with the id that is sent; the same part if the id is unchanged. */
function withId<P extends ToolCallPart | ToolResultPart>(part: P, { sentId }: Call): P {
  return sentId === part.toolCallId ? part : { ...part, toolCallId: sentId }
}

/**
 * Places the results of every call directly after its message, in the order of the calls, and adds missing results. Second results are
 * dropped; results without a call become text. Messages that are already in order stay unchanged.
 */
export function arrangeToolUse(drafts: readonly Draft[], rules: AnswerRules, note: Note): readonly Draft[] {
  const uses = drafts.map((draft) => toolUseOf(draft.parts))
  if (uses.every((use) => use === undefined)) return drafts

  const work = readToolUse(drafts, uses, rules, note)
  const arranged: Draft[] = []
  /** Messages that were placed as a whole after their calls. */
  const placed = new Set<number>()

  for (const [row, draft] of drafts.entries()) {
    if (placed.has(row)) continue
    const { aside, own } = uses[row] === undefined ? { aside: [], own: draft.parts } : ownParts(work, row)
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

/**
 * Returns the parts that a message keeps at its own position, with results without a call as text. For an assistant message these texts
 * are `aside`, to be added as a user message just before it.
 */
function ownParts(
  work: ToolWork,
  row: number,
): { readonly aside: readonly Part[]; readonly own: readonly Part[] } {
  const { drafts, slots, note } = work
  const aside: Part[] = []
  const own: Part[] = []
  const { id: messageId, message, parts } = drafts[row]!

  for (const [index, part] of parts.entries()) {
    const slot = slots[row]![index]
    if (slot === undefined) {
      own.push(part)
    } else if (slot.kind === 'call') {
      own.push(withId(slot.part, slot))
      const inside = resultInside(work, slot)
      if (inside !== undefined) own.push(inside)
    } else if (slot.fate === undefined) {
      note({ kind: 'result-as-text', messageId, toolCallId: slot.part.toolCallId })
      const content = message.role === 'assistant' ? aside : own
      for (const one of resultAsParts(slot.part)) content.push(one)
    } else if (slot.fate === 'duplicate') {
      note({ kind: 'duplicate-dropped', messageId, toolCallId: slot.part.toolCallId })
    } else if (slot.fate === 'inside' && slot.call?.row === row) {
      own.push(withId(slot.part, slot.call))
    }
  }
  const isStray = ({ type }: Part): boolean => type !== 'tool-result' && type !== 'provider'
  if (message.role === 'tool' && parts.some(isStray)) note({ kind: 'role-changed', messageId })
  return { aside, own }
}

/** Returns the result to place directly after a provider-run call, within the assistant message. */
function resultInside(work: ToolWork, call: Call): ToolResultPart | undefined {
  const { part, result } = call
  if (result === undefined) return part.providerExecuted ? missingResult(work, call) : undefined
  if (result.row === call.row || result.fate !== 'inside') return undefined
  const { id: messageId } = work.drafts[result.row]!
  work.note({ kind: 'result-moved', messageId, toolCallId: part.toolCallId })
  return withId(result.part, call)
}

/**
 * Adds the parts that a message keeps. User text beside results is joined with them again if they were just added, and text in a tool
 * message becomes a user message.
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

/*
 * Calls of Anthropic's own tools, whose results are blocks of the same response. A stop leaves a call without its result, and the
 * provider refuses a history with such a call ("tool use was found without a corresponding … block").
 */

type HostedUse = { readonly kind: 'call' | 'result'; readonly id: string }

const CALLS: ReadonlySet<unknown> = new Set(['server_tool_use', 'mcp_tool_use'])

function hostedUseOf(part: Part): HostedUse | undefined {
  if (part.type !== 'provider' || !isObject(part.data)) return undefined
  const { type, id, tool_use_id: callId } = part.data
  if (CALLS.has(type)) return typeof id === 'string' ? { kind: 'call', id } : undefined
  const isResult = typeof type === 'string' && type.endsWith('_tool_result')
  return isResult && typeof callId === 'string' ? { kind: 'result', id: callId } : undefined
}

/** Drops such calls without a result, and such results without a call. Calls of an unfinished response stay. */
export function withoutPartedUse(drafts: readonly Draft[], note: Note): readonly Draft[] {
  const ends = { call: new Map<string, number>(), result: new Map<string, number>() }
  for (const [row, { parts }] of drafts.entries()) {
    for (const part of parts) {
      const use = part.type === 'provider' ? hostedUseOf(part) : undefined
      // A result belongs to the first call with its id, and a call to the last result.
      if (use !== undefined && !(use.kind === 'call' && ends.call.has(use.id)))
        ends[use.kind].set(use.id, row)
    }
  }
  if (ends.call.size === 0 && ends.result.size === 0) return drafts
  const lastWords = drafts.findLastIndex(({ message }) => message.role !== 'tool')
  const isKept = ({ kind, id }: HostedUse, row: number): boolean => {
    if (kind === 'result') return (ends.call.get(id) ?? Number.POSITIVE_INFINITY) <= row
    return row === lastWords || (ends.result.get(id) ?? -1) >= row
  }
  return drafts.flatMap((draft, row) => {
    const parts = draft.parts.filter((part) => {
      const use = hostedUseOf(part)
      const keeps = use === undefined || isKept(use, row)
      if (!keeps) note({ kind: 'hosted-use-dropped', messageId: draft.id })
      return keeps
    })
    return parts.length === 0 && draft.parts.length > 0 ? [] : [redraft(draft, draft.message.role, parts)]
  })
}

/**
 * Divides messages that have more calls than the provider accepts in one message; each new message is followed by the results of its
 * calls. Requires arranged tool use, in which results directly follow the message of their calls.
 */
export function withDividedCalls(
  drafts: readonly Draft[],
  maxCalls: number | undefined,
  note: Note,
): readonly Draft[] {
  if (maxCalls === undefined || !drafts.some((draft) => callsOf(draft.parts).length > maxCalls)) return drafts
  const divided: Draft[] = []
  for (let at = 0; at < drafts.length; at++) {
    const draft = drafts[at]!
    if (callsOf(draft.parts).length <= maxCalls) {
      divided.push(draft)
      continue
    }
    let next = at + 1
    while (drafts[next]?.message.role === 'tool') next++
    for (const part of dividedUse(draft, drafts.slice(at + 1, next), maxCalls)) divided.push(part)
    note({ kind: 'calls-divided', messageId: draft.id })
    at = next - 1
  }
  return divided
}

/** Divides a message with calls, and the messages with their results, into groups of at most `maxCalls` calls. */
function dividedUse(draft: Draft, results: readonly Draft[], maxCalls: number): Draft[] {
  const groups = partsInGroups(draft.parts, maxCalls)
  // Ids may repeat, but results are in the order of the calls.
  const groupsOf = new Map<string, number[]>()
  for (const [group, parts] of groups.entries())
    for (const { toolCallId } of callsOf(parts)) listIn(groupsOf, toolCallId).push(group)
  const answers = groups.map((): Draft[] => [])
  for (const result of results) {
    const own = groups.map((): Part[] => [])
    for (const part of result.parts) {
      const group = part.type === 'tool-result' ? groupsOf.get(part.toolCallId)?.shift() : undefined
      own[group ?? 0]!.push(part)
    }
    for (const [group, content] of own.entries()) {
      if (content.length === 0) continue
      const isWhole = content.length === result.parts.length
      answers[group]!.push(isWhole ? result : draftOf(result.id, { role: 'tool', content }))
    }
  }
  return groups.flatMap((content, group) => [
    draftOf(draft.id, { role: 'assistant', content }),
    ...answers[group]!,
  ])
}

/** Returns the parts of a message in groups; each group except the last ends with its last call. */
function partsInGroups(parts: readonly Part[], maxCalls: number): Part[][] {
  const groups: Part[][] = [[]]
  let calls = 0
  for (const part of parts) {
    if (isApplicationCall(part) && calls++ === maxCalls) {
      groups.push([])
      calls = 1
    }
    groups.at(-1)!.push(part)
  }
  return groups
}

function callsOf(parts: readonly Part[]): ToolCallPart[] {
  return parts.filter(isApplicationCall)
}

/** Returns the name of the tool whose result is in the message at a position. */
type NameOf = (callId: string, position: number) => Promise<string | undefined>

/**
 * Returns a view in which results without a name and without a visible call have the name of their tool: they are rendered as text, and
 * the name shows the model what the text is. A rewind may have hidden the call before its result came. `nameOf` is only called for such
 * results.
 */
export async function withToolNames(
  view: readonly ViewMessage[],
  nameOf: NameOf,
): Promise<readonly ViewMessage[]> {
  let named: ViewMessage[] | undefined
  for (const { result } of pairToolUse(view.map(({ content }) => toolUseOf(content))).orphans) {
    const row = (named ?? view)[result.row]!
    const part = partsOf(row)[result.part] as ToolResultPart
    if (part.toolName !== undefined || row.position === undefined) continue
    const toolName = await nameOf(part.toolCallId, row.position)
    if (toolName === undefined) continue
    named ??= [...view]
    named[result.row] = { ...row, content: partsOf(row).with(result.part, { ...part, toolName }) }
  }
  return named ?? view
}
