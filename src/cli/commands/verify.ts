import type { VerifyCommandOptions } from '../actions/verify.ts'
import { SESSION } from '../argument-words.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'

export const verifyCommand: CliCommand = {
  name: 'verify',
  register: (program, run) =>
    program
      .command('verify')
      .summary('check that sessions are sound, and repair them')
      .argument('[session]', `${SESSION}; all when none is named`)
      .description(
        'Checks tags, counters, sizes, pairs, contents and guards of a session, or of all of them. Exits with 1 when something is found. With --repair what can be worked out anew is rebuilt; contents are never touched.',
      )
      .option('--all', 'all sessions, archived ones too; the same as naming none')
      .option('--repair', 'rebuild tags, counters and sizes that do not agree with what is stored')
      .addHelpText(
        'after',
        examples([
          ['verify @', 'the newest session'],
          ['verify', 'all sessions, archived ones too'],
          ['verify billing --repair', 'and mend what can be mended'],
          ['verify --json > findings.json', 'for a script; the exit code says whether there are any'],
        ]),
      )
      .action((session: string | undefined, options: VerifyCommandOptions) =>
        run(async (context) => (await import('../actions/verify.ts')).verify(context, session, options)),
      ),
}
