import type { ToolCallPart, ToolResultPart } from '../messages/message.ts'
import { type Answers, keyOf, type Place } from './answers.ts'
import { type Draft, type Note, redraft } from './draft.ts'

/** What a model reads in place of a result that is not there. Stable, so that prompt caches hold. */
export const NO_RESULT_TEXT = '[No result was recorded for this tool call]'

/** What arranging tool use works with. */
export type ToolWork = { readonly drafts: readonly Draft[]; readonly answers: Answers; readonly note: Note }

/** A result to be shown, and where it is stored; one that was made up is stored nowhere. */
type ShownResult = { readonly part: ToolResultPart; readonly from?: Place }

/** Results that follow each other and come from one message; made up ones from that of their calls. */
export type ResultGroup = { readonly source: number; readonly results: ShownResult[] }

/** The results that belong behind a message, in the order of its calls. */
export function resultsBehind({ drafts, answers, note }: ToolWork, row: number): readonly ResultGroup[] {
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
export function wholeMessage(
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
export function callAt(drafts: readonly Draft[], { row, part }: Place): ToolCallPart {
  return drafts[row]!.parts[part] as ToolCallPart
}

/** The result at a place where one is known to stand. */
export function resultAt(drafts: readonly Draft[], { row, part }: Place): ToolResultPart {
  return drafts[row]!.parts[part] as ToolResultPart
}

/** A call, or a result of the call at `place`, under the id the provider is given; itself when that is its own. */
export function named<P extends ToolCallPart | ToolResultPart>(part: P, place: Place, { idOf }: Answers): P {
  const toolCallId = idOf.get(keyOf(place)) ?? part.toolCallId
  return toolCallId === part.toolCallId ? part : { ...part, toolCallId }
}

/** The result of a call nobody answered. */
export function noResult({ toolName }: ToolCallPart, toolCallId: string): ToolResultPart {
  return { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value: NO_RESULT_TEXT } }
}
