import type { Part, ToolCallPart, ToolResultPart } from '../messages/message.ts'
import { type AnswerRules, type Answers, findAnswers, keyOf, type Place } from './answers.ts'
import { resultAsParts } from './contents.ts'
import { type Draft, draftOf, type Note, redraft } from './draft.ts'

/** What a model reads in place of a result that is not there. Stable, so that prompt caches hold. */
const NO_RESULT_TEXT = '[No result was recorded for this tool call]'

/** What arranging tool use works with. */
type ToolWork = { readonly drafts: readonly Draft[]; readonly answers: Answers; readonly note: Note }

/** A result to be shown, and where it is stored; one that was made up is stored nowhere. */
type ShownResult = { readonly part: ToolResultPart; readonly from?: Place }

/** Results that follow each other and come from one message; made up ones from that of their calls. */
type ResultGroup = { readonly source: number; readonly results: ShownResult[] }

/** The results that belong behind a message, in the order of its calls. */
function resultsBehind({ drafts, answers, note }: ToolWork, row: number): readonly ResultGroup[] {
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
    } else if (answers.fateOf.get(keyOf(from))?.kind === 'behind') {
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
 * The stored message some results make up, when they are all it holds and stand in its order; in a tool message
 * there may be parts only a provider reads beside them.
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

/** The call at a place where one is known to stand. */
function callAt(drafts: readonly Draft[], { row, part }: Place): ToolCallPart {
  return drafts[row]!.parts[part] as ToolCallPart
}

/** The result at a place where one is known to stand. */
function resultAt(drafts: readonly Draft[], { row, part }: Place): ToolResultPart {
  return drafts[row]!.parts[part] as ToolResultPart
}

/** A call, or a result of the call at `place`, under the id the provider is given; itself when that is its own. */
function named<P extends ToolCallPart | ToolResultPart>(part: P, place: Place, { idOf }: Answers): P {
  const toolCallId = idOf.get(keyOf(place)) ?? part.toolCallId
  return toolCallId === part.toolCallId ? part : { ...part, toolCallId }
}

/** The result of a call nobody answered. */
function noResult({ toolName }: ToolCallPart, toolCallId: string): ToolResultPart {
  return { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value: NO_RESULT_TEXT } }
}

/**
 * Puts the results of every call directly behind its message, in the order of the calls, and answers calls that
 * have no result. Second results are left out; results without a call become text. Messages that are right
 * already stay as they are.
 */
export function arrangeToolUse(drafts: readonly Draft[], rules: AnswerRules, note: Note): readonly Draft[] {
  const answers = findAnswers(drafts, rules, note)
  if (answers.uses.every((use) => use === undefined)) return drafts

  const work: ToolWork = { drafts, answers, note }
  const arranged: Draft[] = []
  /** Messages that were put behind their calls whole. */
  const placed = new Set<number>()

  for (const [row, draft] of drafts.entries()) {
    if (placed.has(row)) continue
    const { aside, own } = answers.uses[row] === undefined ? withoutToolUse(draft) : ownParts(work, row)
    if (aside.length > 0) arranged.push(draftOf(draft.id, { role: 'user', content: aside }))
    if (own.length > 0) addOwnParts(arranged, draft, own)
    for (const { source, results } of resultsBehind(work, row)) {
      const whole = wholeMessage(work, source, results)
      if (whole !== undefined) placed.add(source)
      const content = results.map(({ part }) => part)
      arranged.push(whole ?? draftOf(drafts[source]!.id, { role: 'tool', content }))
    }
  }
  return arranged
}

/** What a message shows at its own place; `aside` is what a user says just before. */
type OwnParts = { readonly aside: readonly Part[]; readonly own: readonly Part[] }

function withoutToolUse({ parts }: Draft): OwnParts {
  return { aside: [], own: parts }
}

/** What a message keeps, with results that have no call as text; those of an assistant's message stand aside. */
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
        const said = message.role === 'assistant' ? aside : own
        for (const one of resultAsParts(part)) said.push(one)
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

/** The result that must be put right behind a call the provider ran itself, within the assistant's message. */
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
 * Adds what a message keeps. Words a user said beside results join those again when they were just put in, and
 * words that stood in a tool message become the user's.
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
