import type { CliCommand } from './command.ts'
import { chatCommand } from './commands/chat.ts'
import { compactCommand } from './commands/compact.ts'
import { completionCommand } from './commands/completion.ts'
import { diffCommand } from './commands/diff.ts'
import { doctorCommand } from './commands/doctor.ts'
import { exportCommand } from './commands/export.ts'
import { importCommand } from './commands/import.ts'
import { logCommand } from './commands/log.ts'
import { purgeCommand } from './commands/purge.ts'
import { sessionsCommand } from './commands/sessions.ts'
import { showCommand } from './commands/show.ts'
import { statsCommand } from './commands/stats.ts'
import { redoCommand, undoCommand } from './commands/undo.ts'
import { verifyCommand } from './commands/verify.ts'

/** All commands, in the order `--help` lists them. */
export const COMMANDS: readonly CliCommand[] = [
  sessionsCommand,
  showCommand,
  statsCommand,
  compactCommand,
  logCommand,
  diffCommand,
  undoCommand,
  redoCommand,
  chatCommand,
  importCommand,
  exportCommand,
  verifyCommand,
  purgeCommand,
  doctorCommand,
  completionCommand,
]
