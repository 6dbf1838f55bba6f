import { check } from '../core/check.ts'
import { extendSession } from './extend-session.ts'
import { importNew } from './import-new.ts'
import {
  type ImportEvents,
  type ImportHost,
  type ImportOptions,
  importSchema,
  type SessionImport,
} from './import-types.ts'
import { discardDead } from './staging.ts'

/** See `importSession` of the store. */
export async function importSession(
  host: ImportHost,
  sessionId: string,
  events: ImportEvents,
  options: ImportOptions,
): Promise<SessionImport> {
  const checked = check(importSchema, options, 'importSession')
  await discardDead(host.storage)
  const there = await host.storage.session(sessionId)
  if (there !== undefined) return extendSession(host, there, events, checked)
  return importNew(host, sessionId, events, checked)
}
