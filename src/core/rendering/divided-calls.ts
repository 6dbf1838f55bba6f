import type { Part, ToolCallPart } from '../messages/message.ts'
import { isApplicationCall } from '../messages/message.ts'
import { type Draft, draftOf, type Note } from './draft.ts'

/**
 * Divides messages with more calls than the provider accepts in one: each of the new messages is followed by the results of its calls. Takes
 * arranged tool use, where results directly follow the message of their calls.
 */
export function withDividedCalls(
  drafts: readonly Draft[],
  mostCalls: number | undefined,
  note: Note,
): readonly Draft[] {
  if (mostCalls === undefined || !drafts.some((draft) => callsOf(draft.parts).length > mostCalls))
    return drafts
  const divided: Draft[] = []
  for (let at = 0; at < drafts.length; at++) {
    const draft = drafts[at]!
    if (callsOf(draft.parts).length <= mostCalls) {
      divided.push(draft)
      continue
    }
    let next = at + 1
    while (drafts[next]?.message.role === 'tool') next++
    for (const part of dividedUse(draft, drafts.slice(at + 1, next), mostCalls)) divided.push(part)
    note({ kind: 'calls-divided', messageId: draft.id })
    at = next - 1
  }
  return divided
}

/** A message with calls and the messages with their results, in groups with at most so many calls. */
function dividedUse(draft: Draft, results: readonly Draft[], mostCalls: number): Draft[] {
  const groups = partsInGroups(draft.parts, mostCalls)
  // Ids may repeat: the results are in the order of the calls.
  const groupsOf = new Map<string, number[]>()
  for (const [group, parts] of groups.entries())
    for (const { toolCallId } of callsOf(parts)) {
      const known = groupsOf.get(toolCallId)
      if (known === undefined) groupsOf.set(toolCallId, [group])
      else known.push(group)
    }
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

/** The parts of a message in groups, each of which but the last ends with its last call. */
function partsInGroups(parts: readonly Part[], mostCalls: number): Part[][] {
  const groups: Part[][] = [[]]
  let calls = 0
  for (const part of parts) {
    if (isApplicationCall(part) && calls++ === mostCalls) {
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
