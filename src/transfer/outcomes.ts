import type { ErrorCode } from '../errors.ts'
import type { SessionImport } from '../history/import/import-types.ts'
import type { CheckedConversation } from './check-file.ts'
import type { ImportedCompactions, ImportedConversation } from './import-report.ts'

/** The reason for rejecting a conversation without any readable place. */
export const NOTHING_READ = 'nothing of it can be read'

/** Why a checked conversation is not stored; `undefined` when it is. */
export function refused(
  { messages, problemCount }: Pick<CheckedConversation, 'messages' | 'problemCount'>,
  skipBad: boolean,
): string | undefined {
  if (problemCount === 0) return undefined
  if (messages === 0) return NOTHING_READ
  if (skipBad) return undefined
  return problemCount === 1 ? 'one place cannot be read' : `${problemCount} places cannot be read`
}

/** The result of a conversation. */
export type Done =
  | (Pick<SessionImport, 'status' | 'messages' | 'existing' | 'compactions'> & Beside)
  | { readonly status: 'refused'; readonly why: string; readonly code?: ErrorCode }
  | { readonly status: 'empty' }
  | ({ readonly status: 'checked'; readonly messages: number; readonly existing: number } & Beside)

/** The fields of an entry besides the messages. */
type Beside = { readonly bookkeeping?: number; readonly visible?: number }

/** An entry of the report. */
export function outcomeOf(
  sessionId: string,
  checked: Omit<CheckedConversation, 'mark' | 'id' | 'otherwise'>,
  done: Done,
  skipBad = false,
): ImportedConversation {
  const { branchOf, problemCount, noteCount, problems, notes } = checked
  return {
    sessionId,
    ...(branchOf !== undefined && { branchOf }),
    status: done.status,
    messages: 'messages' in done ? done.messages : 0,
    existing: 'existing' in done ? done.existing : 0,
    bookkeeping: ('bookkeeping' in done ? done.bookkeeping : undefined) ?? 0,
    ...('visible' in done && done.visible !== undefined && { visible: done.visible }),
    compactions: compactionsOf('compactions' in done ? done.compactions : []),
    skipped: skipBad ? problemCount : 0,
    problemCount,
    noteCount,
    problems,
    notes,
    ...('why' in done && { why: done.why }),
    ...('code' in done && { code: done.code }),
  }
}

/** The maximum number of listed rejections of one conversation. */
const REFUSALS = 20

function compactionsOf(outcomes: SessionImport['compactions']): ImportedCompactions {
  const count = (status: string): number => outcomes.filter((each) => each.status === status).length
  const refusals = outcomes.flatMap(({ id, status, why }) =>
    status === 'refused' ? [{ id, why: why ?? 'it cannot be' }] : [],
  )
  return {
    applied: count('applied'),
    known: count('known'),
    refused: refusals.length,
    refusals: refusals.slice(0, REFUSALS),
  }
}
