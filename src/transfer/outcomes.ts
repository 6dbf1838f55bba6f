import type { ErrorCode } from '../errors.ts'
import type { SessionImport } from '../history/import/import-types.ts'
import type { CheckedConversation } from './check-file.ts'
import type { ImportedCompactions, ImportedConversation } from './import-report.ts'

/** Why a conversation is refused whose every place is bad: there is no rest that could be stored. */
export const NOTHING_READ = 'nothing of it can be read'

/** Why nothing of a conversation is stored, for what the check found; `undefined` when it is. */
export function refused(
  { messages, problemCount }: Pick<CheckedConversation, 'messages' | 'problemCount'>,
  skipBad: boolean,
): string | undefined {
  if (problemCount === 0) return undefined
  if (messages === 0) return NOTHING_READ
  if (skipBad) return undefined
  return problemCount === 1 ? 'one place cannot be read' : `${problemCount} places cannot be read`
}

/** What was done with a conversation. */
export type Done =
  | (Pick<SessionImport, 'status' | 'messages' | 'existing' | 'compactions'> & Beside)
  | { readonly status: 'refused'; readonly why: string; readonly code?: ErrorCode }
  | { readonly status: 'empty' }
  | ({ readonly status: 'checked'; readonly messages: number; readonly existing: number } & Beside)

/** What is told beside the messages. */
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

/** Most refusals of one conversation that are told one by one. */
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
