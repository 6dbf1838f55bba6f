import type { Part, ToolCallPart, ToolResultPart } from '../message.ts'
import type { CallIdRule } from '../providers.ts'
import { type Answers, findAnswers, keyOf, type Place, partAt } from './answers.ts'
import { resultAsParts } from './contents.ts'
import { type Draft, draftOf, type Note, redraft } from './draft.ts'

/** What a model reads in place of a result that is not there. Stable, so that prompt caches hold. */
export const NO_RESULT_TEXT = '[No result was recorded for this tool call]'

export type ToolUseRules = { readonly callIds: CallIdRule; readonly answerPending: boolean }

/**
 * Puts the results of every call directly behind its message, in the order of the calls, and answers calls that
 * have no result. Second results are left out; results without a call become text. Messages that are right
 * already stay as they are.
 */
export function arrangeToolUse(drafts: readonly Draft[], rules: ToolUseRules, note: Note): readonly Draft[] {
  const answers = findAnswers(drafts, rules.callIds, note)
  if (answers.uses.every((use) => use === undefined)) return drafts

  const arranged: Draft[] = []
  /** Messages that were shown whole as the results of a call. */
  const shown = new Set<number>()
  /** The last message made of some of a stored message's results. */
  let partial: { readonly row: number; readonly draft: Draft } | undefined

  for (const [row, draft] of drafts.entries()) {
    if (shown.has(row)) continue
    if (answers.uses[row] === undefined) {
      arranged.push(draft)
      continue
    }
    const { role } = draft.message
    const { aside, own } = ownParts(drafts, row, answers, rules, note)
    if (aside.length > 0) arranged.push(draftOf(draft.id, { role: 'user', content: aside }))

    if (role === 'user' && partial?.row === row && arranged.at(-1) === partial.draft && own.length > 0) {
      arranged[arranged.length - 1] = redraft(draft, 'user', [...partial.draft.parts, ...own])
    } else if (own.length > 0) {
      const spoken = role === 'tool' && own.some((part) => part.type !== 'provider')
      arranged.push(redraft(draft, spoken ? 'user' : role, own))
    }
    for (const { source, results } of resultsBehind(drafts, row, answers, rules, note)) {
      const whole = source === undefined ? undefined : wholeMessage(drafts, source, results, answers)
      if (source !== undefined && whole !== undefined) {
        shown.add(source)
        arranged.push(whole)
        continue
      }
      const made = draftOf((drafts[source ?? row] ?? draft).id, {
        role: 'tool',
        content: results.map(({ part }) => part),
      })
      if (source !== undefined) partial = { row: source, draft: made }
      arranged.push(made)
    }
  }
  return arranged
}

/** What a message keeps, with its results that have no call as text; an assistant's of those stand aside. */
function ownParts(
  drafts: readonly Draft[],
  row: number,
  answers: Answers,
  { answerPending }: ToolUseRules,
  note: Note,
): { readonly aside: readonly Part[]; readonly own: readonly Part[] } {
  const aside: Part[] = []
  const own: Part[] = []
  const { id: messageId, message, parts } = drafts[row] as Draft
  let strayWords = false

  for (const [index, part] of parts.entries()) {
    const place = { row, part: index }
    if (part.type === 'tool-call') {
      own.push(named(part, place, answers))
      const result = answers.resultOf.get(keyOf(place))
      if (result === undefined && part.providerExecuted && (answerPending || row !== answers.pendingRow)) {
        note({ kind: 'result-added', messageId, toolCallId: part.toolCallId })
        own.push(noResult(part, part.toolCallId))
      } else if (result !== undefined && result.row !== row && fateAt(result, answers)?.kind === 'inside') {
        note({
          kind: 'result-moved',
          messageId: drafts[result.row]?.id ?? messageId,
          toolCallId: part.toolCallId,
        })
        own.push(partAt<ToolResultPart>(drafts, result))
      }
    } else if (part.type === 'tool-result') {
      const fate = fateAt(place, answers)
      if (fate === undefined) {
        note({ kind: 'result-as-text', messageId, toolCallId: part.toolCallId })
        const target = message.role === 'assistant' ? aside : own
        target.push(...resultAsParts(part))
      } else if (fate.kind === 'duplicate') {
        note({ kind: 'duplicate-dropped', messageId, toolCallId: part.toolCallId })
      } else if (fate.kind === 'inside' && fate.call.row === row) {
        own.push(part)
      }
    } else {
      strayWords ||= message.role === 'tool' && part.type !== 'provider'
      own.push(part)
    }
  }
  if (strayWords) note({ kind: 'role-changed', messageId })
  return { aside, own }
}

/** Results that follow each other in one stored message, or were made up. */
type Group = {
  readonly source: number | undefined
  readonly results: { readonly part: ToolResultPart; readonly from?: Place }[]
}

/** The results that belong behind a message, in the order of its calls. */
function resultsBehind(
  drafts: readonly Draft[],
  row: number,
  answers: Answers,
  { answerPending }: ToolUseRules,
  note: Note,
): readonly Group[] {
  const groups: Group[] = []
  const add = (source: number | undefined, result: Group['results'][number]): void => {
    const last = groups.at(-1)
    if (last !== undefined && last.source === source) last.results.push(result)
    else groups.push({ source, results: [result] })
  }

  let rankBefore = answers.lastRankOf[row] ?? -1
  for (const { part, id } of answers.uses[row]?.calls ?? []) {
    const call = partAt<ToolCallPart>(drafts, { row, part })
    const from = answers.resultOf.get(keyOf({ row, part }))
    if (from === undefined) {
      if (call.providerExecuted || (!answerPending && row === answers.pendingRow)) continue
      note({ kind: 'result-added', messageId: drafts[row]?.id ?? '', toolCallId: id })
      add(undefined, { part: noResult(call, answers.idOf.get(keyOf({ row, part })) ?? id) })
    } else if (fateAt(from, answers)?.kind === 'behind') {
      const rank = answers.rankOf.get(keyOf(from)) ?? -1
      const source = drafts[from.row] as Draft
      const carried = source.message.role === 'tool' || source.message.role === 'user'
      if (rank !== rankBefore + 1 || !carried)
        note({ kind: 'result-moved', messageId: source.id, toolCallId: id })
      rankBefore = rank
      add(from.row, { part: named(partAt<ToolResultPart>(drafts, from), { row, part }, answers), from })
    }
  }
  return groups
}

/**
 * The stored message some results make up, when they are all it holds and stand in its order; in a tool message
 * there may be parts only a provider reads beside them.
 */
function wholeMessage(
  drafts: readonly Draft[],
  row: number,
  results: Group['results'],
  answers: Answers,
): Draft | undefined {
  const draft = drafts[row] as Draft
  const { role } = draft.message
  const ordered = results.every(
    ({ from }, index) => index === 0 || (from?.part ?? 0) > (results[index - 1]?.from?.part ?? 0),
  )
  if (!ordered || results.length !== answers.uses[row]?.results.length) return undefined
  if (role !== 'tool' && role !== 'user') return undefined
  if (!draft.parts.every(({ type }) => type === 'tool-result' || (type === 'provider' && role === 'tool')))
    return undefined

  const shown = new Map(results.map(({ part, from }) => [from?.part, part]))
  return redraft(
    draft,
    role,
    draft.parts.map((part, index) => shown.get(index) ?? part),
  )
}

function fateAt(place: Place, answers: Answers): ReturnType<Answers['fateOf']['get']> {
  return answers.fateOf.get(keyOf(place))
}

/** A call, or a result of the call at `place`, under the id the provider is given; itself when that is its own. */
function named<P extends ToolCallPart | ToolResultPart>(part: P, place: Place, { idOf }: Answers): P {
  const toolCallId = idOf.get(keyOf(place)) ?? part.toolCallId
  return toolCallId === part.toolCallId ? part : { ...part, toolCallId }
}

function noResult({ toolName }: ToolCallPart, toolCallId: string): ToolResultPart {
  return { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value: NO_RESULT_TEXT } }
}
