import type { StatsCommandOptions } from '../actions/stats.ts'
import { SESSION } from '../argument-words.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'
import { listed, wholeNumber } from '../options.ts'
import { systemFileOption, systemOption } from '../system-prompt.ts'

export const statsCommand: CliCommand = {
  name: 'stats',
  register: (program, run) =>
    program
      .command('stats')
      .summary('show how full the context of a session is')
      .argument('<session>', SESSION)
      .description(
        'Shows the tokens of the next request by category, beside what its model takes: a bar with marks at the target of a compaction, at 60 % and where compaction is due, and where each figure comes from. With --model for other models, several side by side.',
      )
      .option('--model <provider/model>', 'for this model; several, or several times', listed)
      .addOption(systemOption(', so that it counts'))
      .addOption(systemFileOption(', so that it counts'))
      .option('--prompt <text>', 'the prompt about to be sent, so that it counts')
      .option('--tools <file>', 'a JSON file with a list of tool definitions, so that they count')
      .option('--max-tokens <tokens>', 'tokens asked for in the answer; they are kept free', wholeNumber(0))
      .addHelpText(
        'after',
        examples([
          ['stats @', 'the newest session and its own model'],
          [
            'stats @ --model openai/gpt-4o --model anthropic/claude-sonnet-4-20250514',
            'two models side by side',
          ],
          [
            'stats @ --system-file prompt.txt --max-tokens 8000',
            'with a system prompt and 8,000 tokens for the answer',
          ],
          ["stats @ --json | jq '.models[0].usageRatio'", 'one figure, for a script'],
        ]),
      )
      .action((session: string, options: StatsCommandOptions) =>
        run(async (context) => (await import('../actions/stats.ts')).showStats(context, session, options)),
      ),
}
