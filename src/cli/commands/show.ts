import { Option } from 'commander'
import type { ShowOptions } from '../actions/show.ts'
import { SESSION } from '../argument-words.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'
import { wholeNumber } from '../options.ts'

export const showCommand: CliCommand = {
  name: 'show',
  register: (program, run) =>
    program
      .command('show')
      .summary('show the messages of a session')
      .argument('<session>', SESSION)
      .description(
        'Shows what a model would be sent now: the view, with summaries, markers and replacements in place. With --full everything that is stored, hidden messages dimmed with the compaction that hides each.',
      )
      .option('--full', 'everything that is stored, hidden rows too')
      .option('--original', 'the original in place of what replaces it')
      .option('--from <position>', 'from this position on', wholeNumber(1))
      .option('--to <position>', 'up to this position', wholeNumber(1))
      .option('--limit <count>', 'at most so many rows, from the beginning', wholeNumber(1))
      .option('--tail <count>', 'only the last so many rows', wholeNumber(1))
      .addOption(
        new Option('--role <role>', 'only rows of this role').choices([
          'system',
          'user',
          'assistant',
          'tool',
        ]),
      )
      .option('--no-fold', 'long outputs of tools in full (elsewhere than on a terminal they always are)')
      .addHelpText(
        'after',
        examples([
          ['show @', 'the newest session, as a model would get it'],
          ['show @ --tail 6', 'its last six rows'],
          [
            'show billing --full --from 10 --to 20',
            'positions 10 to 20 of the session whose id begins with "billing", hidden ones too',
          ],
          ['show @ --original --role tool --no-fold', 'what tools answered, before anything was cut'],
        ]),
      )
      .action((session: string, options: ShowOptions) =>
        run(async (context) => (await import('../actions/show.ts')).showSession(context, session, options)),
      ),
}
