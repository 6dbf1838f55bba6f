import { statSync } from 'node:fs'
import { openStore } from '../../src/index.ts'
import { showAudit } from './audit-chapter.ts'
import { compact, showPreview } from './compaction-chapters.ts'
import { databaseIn, readHandover } from './handover.ts'
import { brokenClaims, paint, print, tell } from './screen.ts'
import { showStats } from './stats-chapter.ts'
import { undoAndRedo } from './undo-chapter.ts'

/** Opens what another process recorded: stats, preview, compaction, audit, undo. */
export async function reopen(folder: string): Promise<void> {
  const handover = readHandover(folder)
  const { sessionId } = handover
  const fileBytes = statSync(databaseIn(folder)).size
  await using store = await openStore(databaseIn(folder))
  const before = await showStats(store, { ...handover, fileBytes })
  const preview = await showPreview(store, handover, before)
  if (preview === undefined) return
  const result = await compact(store, preview, before)
  await showAudit(store, sessionId, result)
  await undoAndRedo(store, sessionId, before, result)
  print()
  const broken = brokenClaims()
  if (broken > 0) tell(`${broken} of the claims above did not hold.`, paint.red)
  else tell('Nothing was lost, and nothing had to be rewritten.', paint.green)
  print()
}
