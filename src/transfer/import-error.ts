import { isUndertextError, UndertextError } from '../errors.ts'
import type { ImportedConversation } from './import-report.ts'

/** What ends an import, with how many conversations are stored by then. */
export function withCount(
  error: unknown,
  file: string,
  signal: AbortSignal | undefined,
  done: readonly ImportedConversation[],
): unknown {
  const imported = done.filter(isStored).length
  if (isUndertextError(error, 'FILE_CHANGED')) return new UndertextError('FILE_CHANGED', { file, imported })
  const isAborted = signal?.aborted === true && isUndertextError(error)
  if (isAborted && (error.code === 'ABORTED' || error.code === 'IMPORT_ABORTED'))
    return new UndertextError('IMPORT_ABORTED', { file, imported })
  return error
}

function isStored({ status }: ImportedConversation): boolean {
  return status === 'imported' || status === 'extended' || status === 'unchanged'
}
