import type { CliCommand } from './command.ts'
import { sessionsCommand } from './commands/sessions.ts'

/** All commands, in the order `--help` lists them. */
export const COMMANDS: readonly CliCommand[] = [
  sessionsCommand,
  // `compact` and `chat` (another part of this work), `import` and `export` have their places here.
]
