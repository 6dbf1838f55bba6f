import type { SessionsOptions } from '../actions/sessions.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'
import { wholeNumber } from '../options.ts'

export const sessionsCommand: CliCommand = {
  name: 'sessions',
  register: (program, run) =>
    program
      .command('sessions')
      .summary('list the sessions of the store')
      .description(
        'Lists sessions, newest first: how many messages each holds, how many of them a model would be sent, and about how many tokens that is.',
      )
      .option('--owner <owner>', 'only sessions of this owner')
      .option('--archived', 'archived sessions instead of the others')
      .option('--search <text>', 'only sessions whose id or title holds this text, in any case')
      .option('--limit <count>', 'at most so many', wholeNumber(1), 50)
      .option('--after <session>', 'go on behind this session, the last of a list before')
      .addHelpText(
        'after',
        examples([
          ['sessions', 'the 50 newest'],
          ['sessions --search invoice', 'those with "invoice" in the title or the id'],
          ['sessions --archived --limit 10', 'the ten archived ones that are newest'],
          ["sessions --json | jq -r '.sessions[].id'", 'ids alone, for a script'],
        ]),
      )
      .action((options: SessionsOptions) =>
        run(async (context) => (await import('../actions/sessions.ts')).listSessions(context, options)),
      ),
}
