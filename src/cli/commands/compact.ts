import { Option } from 'commander'
import type { CompactActionOptions } from '../actions/compact.ts'
import { SESSION } from '../argument-words.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'
import { listedOf, share, wholeNumber } from '../options.ts'

/** Stages that a name alone says: the others need options. Written out, for the registry is slow to load for a help text. */
export const STAGES = [
  'prune',
  'deduplicate',
  'summarize',
  'truncate',
  'cut',
  'hierarchical_summaries',
  'sliding_window',
  'sliding_window_with_summary',
  'priority_based',
  'drop_reasoning',
]

export const compactCommand: CliCommand = {
  name: 'compact',
  register: (program, run) =>
    program
      .command('compact')
      .summary('make room in a session; shows the plan first')
      .description(
        'Makes room: prunes old tool outputs, deduplicates file reads, summarizes, truncates, each only while the history is over the target. Nothing is destroyed, and all of it can be undone. On a terminal the plan is shown and you are asked before anything is written; elsewhere it is done and told.',
      )
      .argument('<session>', SESSION)
      .option('--dry-run', 'show the plan row by row and write nothing')
      .option('--full', 'with --dry-run on a terminal: the whole text of a summary too')
      .option(
        '--target <share>',
        'bring the request down to this share of the available input (default 0.4)',
        share,
      )
      .addOption(
        new Option('--target-tokens <tokens>', 'bring the history down to so many tokens')
          .argParser(wholeNumber())
          .conflicts('target'),
      )
      .addOption(
        new Option('--stage <name>', 'only these stages, in this order (several with commas, or again)')
          .choices(STAGES)
          .argParser(listedOf(STAGES)),
      )
      .option('--model <provider/model>', 'the model whose window counts (default: the session\u2019s)')
      .option('--provider <name>', 'the provider whose window counts')
      .option(
        '--summary-model <model>',
        'let this model write the summary: provider/model by the AI SDK, or a name at --summary-url',
      )
      .option('--summary-url <address>', 'an OpenAI-compatible address for --summary-model')
      .option(
        '--summary-package <name>',
        'the package of the AI SDK\u2019s provider, if it is not @ai-sdk/PROVIDER',
      )
      .option(
        '--api-key-env <name>',
        'the environment variable with the key for --summary-url (default OPENAI_API_KEY)',
      )
      .option(
        '--summarize',
        'with --dry-run: ask the model for the summary now and show it; it costs what it costs',
      )
      .option('--reason <text>', 'kept in the audit')
      .addHelpText(
        'after',
        examples([
          ['compact @ --dry-run', 'what would happen to each row of the newest session, and what it saves'],
          ['compact @', 'show the plan, ask, do it, and say how to take it back'],
          ['compact @ --stage prune,deduplicate', 'only tool outputs, no summary'],
          ['compact @ --summary-model anthropic/claude-haiku-4-5', 'a summary written by a model'],
        ]),
      )
      .action((session: string, options: CompactActionOptions) =>
        run(async (context) => (await import('../actions/compact.ts')).compact(context, session, options)),
      ),
}
