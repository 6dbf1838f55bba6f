import type { DiffOptions } from '../actions/diff.ts'
import { COMPACTION, SESSION } from '../argument-words.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'

export const diffCommand: CliCommand = {
  name: 'diff',
  register: (program, run) =>
    program
      .command('diff')
      .summary('show what a compaction changed in the view')
      .argument('<session>', SESSION)
      .argument('<id>', COMPACTION)
      .description(
        'Compares the view without a compaction (or a run) and with it: rows that went with -, rows that came with +, replaced texts with both. Of one in force, what others in force built on it is left out of both sides, so that it alone is seen; --now takes them in. Of one that is undone: the view as it is, and as a redo would make it.',
      )
      .option('--now', 'compare with the view as it is now, with all that builds on it')
      .option('--full', 'all texts in full, and rows that stay the same')
      .addHelpText(
        'after',
        examples([
          ['diff @ @', 'what the newest run of the newest session did'],
          ['diff billing eb16c59c', 'one compaction, by the end of its id'],
          ['diff billing eb16c59c --now', 'and what was made of it since'],
        ]),
      )
      .action((session: string, id: string, options: DiffOptions) =>
        run(async (context) => (await import('../actions/diff.ts')).showDiff(context, session, id, options)),
      ),
}
