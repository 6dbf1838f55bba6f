import { isObject } from '../messages/json.ts'
import type { Part } from '../messages/message.ts'
import { type Draft, type Note, redraft } from './draft.ts'

/*
 * Calls of Anthropic's own tools and their results, which are blocks of the same response. A stop leaves a call without its result, and a
 * history with one is refused ("tool use was found without a corresponding … block").
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

/** Drops such calls without a result, and results without a call. Calls of a response that is not finished stay. */
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
