import type { CliCommand } from './command.ts'
import { chatCommand } from './commands/chat.ts'
import { compactCommand } from './commands/compact.ts'
import { sessionsCommand } from './commands/sessions.ts'

/** All commands, in the order `--help` lists them. */
export const COMMANDS: readonly CliCommand[] = [
  sessionsCommand,
  compactCommand,
  chatCommand,
  // `import` and `export` have their places here.
]
