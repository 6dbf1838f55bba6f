import type { LogOptions } from '../actions/log.ts'
import { SESSION } from '../argument-words.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'
import { wholeNumber } from '../options.ts'

export const logCommand: CliCommand = {
  name: 'log',
  register: (program, run) =>
    program
      .command('log')
      .summary('show what was done to a session, by whom and why')
      .argument('<session>', SESSION)
      .description(
        'Shows the audit as a timeline, newest run first: each compaction with its kind, what it hid and replaced, tokens before and after, who asked and why, what a summary cost, and when it was undone and put back. A compaction that others in force build on is indented beneath them.',
      )
      .option('--limit <count>', 'at most so many runs, the newest', wholeNumber(1))
      .addHelpText(
        'after',
        examples([
          ['log @', 'the newest session'],
          ['log @ --limit 1', 'the last run alone, for example to undo it'],
          ["log @ --json | jq -r '.runs[].compactions[].id'", 'ids of all compactions, for a script'],
        ]),
      )
      .action((session: string, options: LogOptions) =>
        run(async (context) => (await import('../actions/log.ts')).showLog(context, session, options)),
      ),
}
