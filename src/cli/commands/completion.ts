import { Argument } from 'commander'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'

export const completionCommand: CliCommand = {
  name: 'completion',
  register: (program, run) => {
    program
      .command('completion')
      .summary('print a script that completes commands in a shell')
      .description(
        'Prints a script for a shell. With it the Tab key completes commands, options and their values, ids of sessions and compactions, and files.',
      )
      .addArgument(new Argument('<shell>', 'whose script').choices(['bash', 'zsh', 'fish']))
      .addHelpText(
        'after',
        examples([
          ['completion bash >> ~/.bashrc', 'bash, from the next shell on'],
          ['completion zsh > ~/.zfunc/_undertext', 'zsh, where ~/.zfunc stands in fpath'],
          ['completion fish > ~/.config/fish/completions/undertext.fish', 'fish'],
        ]),
      )
      .action((shell: 'bash' | 'zsh' | 'fish') =>
        run(async (context) => (await import('../actions/completion.ts')).printScript(context, shell)),
      )
    program
      .command('__complete [words...]', { hidden: true })
      .action((words: readonly string[]) =>
        run(async (context) =>
          (await import('../actions/completion.ts')).printCandidates(context, program, words),
        ),
      )
  },
}
