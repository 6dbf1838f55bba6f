import { UndertextError } from '../../errors.ts'
import { View } from '../../model/view.ts'
import type { Estimators, Snapshot } from '../storage.ts'
import { loadLeans, loadPreviews } from './compactions.ts'
import type { Connection } from './connection.ts'
import { readSession, type StoredSession } from './sessions.ts'
import { readIndex } from './view-index.ts'

/** What planning works on, of one moment; `undefined` for an unknown session. Throws `ESTIMATOR_UNKNOWN`. */
export function readSnapshot(
  connection: Connection,
  id: string,
  provider: string,
  estimators: Estimators,
): (Snapshot & { readonly session: StoredSession }) | undefined {
  return connection.read('compactSession', () => {
    const session = readSession(connection, id)
    return (
      session && {
        session,
        view: viewIndex(connection, session, provider, estimators),
        nextOrdinal: session.inserted + 1,
      }
    )
  })
}

/** The index of the view, within the caller's transaction. */
export function viewIndex(
  connection: Connection,
  session: StoredSession,
  provider: string,
  estimators: Estimators,
): View {
  const estimator = estimators.byName.get(session.estimator)
  if (estimator === undefined) {
    throw new UndertextError('ESTIMATOR_UNKNOWN', { sessionId: session.id, estimator: session.estimator })
  }
  return new View(
    readIndex(connection, session),
    estimator,
    provider,
    session.visibleSizes,
    undefined,
    loadLeans(connection, session.no),
    loadPreviews(connection, session.no),
  )
}
