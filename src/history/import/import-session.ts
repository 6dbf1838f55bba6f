import { isUndertextError } from '../../errors.ts'
import { check } from '../../messages/check.ts'
import { extendSession, lookThrough } from './extend-session.ts'
import type { ImportEvent, ImportEvents } from './import-event.ts'
import { importNew } from './import-new.ts'
import { type ImportHost, type ImportOptions, importSchema, type SessionImport } from './import-types.ts'
import { discardDead, underName } from './staging.ts'

/** See `importSession` of the store. */
export async function importSession(
  host: ImportHost,
  sessionId: string,
  given: ImportEvents,
  options: ImportOptions,
): Promise<SessionImport> {
  // A list can be gone through twice, too.
  const events = Array.isArray(given) ? () => given as readonly ImportEvent[] : given
  const checked = check(importSchema, options, 'importSession')
  if (checked.dryRun) return lookThrough(host, sessionId, events, checked)
  await discardDead(host.storage)
  const there = await host.storage.session(sessionId)
  if (there !== undefined) return extendSession(host, there, events, checked)
  try {
    return await importNew(host, sessionId, events, checked)
  } catch (error) {
    // Somebody made it meanwhile; perhaps of the same file.
    const made = isUndertextError(error, 'SESSION_EXISTS') && typeof events === 'function'
    const session = made ? await host.storage.session(sessionId) : undefined
    if (session === undefined) throw underName(error, sessionId)
    return extendSession(host, session, events, checked)
  }
}
