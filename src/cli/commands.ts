import type { CliCommand } from './command.ts'
import { exportCommand } from './commands/export.ts'
import { importCommand } from './commands/import.ts'
import { sessionsCommand } from './commands/sessions.ts'

/** All commands, in the order `--help` lists them. */
export const COMMANDS: readonly CliCommand[] = [
  sessionsCommand,
  // `compact` and `chat` (another part of this work) have their places here.
  importCommand,
  exportCommand,
]
