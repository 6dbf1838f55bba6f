/* Opens what record.ts stored in a folder, compacts it and takes it back: `reopen.ts FOLDER`. Started by main.ts. */
import { statSync } from 'node:fs'
import { openStore } from '../../src/index.ts'
import { showAudit } from './audit-chapter.ts'
import { compact, showPreview } from './compaction-chapters.ts'
import { databaseIn, readHandover } from './handover.ts'
import { outcome, paint, print, tell } from './screen.ts'
import { showStats } from './stats-chapter.ts'
import { undoAndRedo } from './undo-chapter.ts'

async function reopen(folder: string): Promise<void> {
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
}

const [folder = '.'] = process.argv.slice(2)
await reopen(folder)
print()
if (outcome() === 0) tell('Nothing was lost, and nothing had to be rewritten.', paint.green)
else tell('Not everything claimed above holds.', paint.red)
print()
process.exitCode = outcome()
