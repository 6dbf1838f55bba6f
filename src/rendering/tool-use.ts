import type { Part } from '../messages/message.ts'
import { type AnswerRules, findAnswers, keyOf } from './answers.ts'
import { resultAsParts } from './contents.ts'
import { type Draft, draftOf, type Note, redraft } from './draft.ts'
import { callAt, named, noResult, resultAt, resultsBehind, type ToolWork, wholeMessage } from './results.ts'

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
