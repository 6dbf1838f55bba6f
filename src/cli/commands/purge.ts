import type { PurgeOptions } from '../actions/purge.ts'
import { SESSION } from '../argument-words.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'

export const purgeCommand: CliCommand = {
  name: 'purge',
  register: (program, run) =>
    program
      .command('purge')
      .summary('remove a session for good')
      .argument('<session>', SESSION)
      .description(
        'Removes a session and all it holds for good, the one command that destroys: messages, compactions, and images nobody else refers to. A receipt of numbers stays. On a terminal the id of the session must be typed; elsewhere --yes is needed, and with it the whole id, or @.',
      )
      .option('--reason <text>', 'why, for the receipt')
      .option('--actor <name>', 'who, for the receipt')
      .addHelpText(
        'after',
        examples([
          ['purge old-chat', 'says what will go, and asks'],
          ['purge old-chat --yes --reason "asked by its owner"', 'without asking'],
        ]),
      )
      .action((session: string, options: PurgeOptions) =>
        run(async (context) => (await import('../actions/purge.ts')).purge(context, session, options)),
      ),
}
