import { Option } from 'commander'
import { EXPORT_FORMATS, type ExportCommandOptions } from '../actions/export-format.ts'
import { SESSION } from '../argument-words.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'
import { wholeNumber } from '../options.ts'

export const exportCommand: CliCommand = {
  name: 'export',
  register: (program, run) =>
    program
      .command('export')
      .summary('write sessions to a file: whole, as a model gets them, or to be read')
      .description(
        `Writes sessions out. "history" is everything: each message, tag, compaction and line of the audit, a JSON object a line; \`undertext import\` makes the very same session of it. "markdown" and "html" are documents for people. The other formats write the view, what a model would be sent now, in the form of an API or a framework.

Without --format the end of the file's name decides (.md, .html), else it is "history".`,
      )
      .argument('[session...]', `sessions to export, each by ${SESSION}`)
      .option('--all', 'all sessions, archived ones too (format history)')
      .addOption(new Option('--format <format>', 'what is written').choices(EXPORT_FORMATS))
      .option('-o, --output <file>', 'write to this file; without, or with -, to the standard output')
      .option('--force', 'replace the file when it is there')
      .option('--lines', 'a JSON value a line instead of one document (formats of the view)')
      .option(
        '--rendered [provider]',
        'the view made valid for a provider, or for that of the format; name the session before it',
      )
      .option('--full', 'all messages of the log, hidden ones included (formats of the view)')
      .addOption(
        new Option(
          '--hidden <omit|show>',
          'hidden rows in documents (default: omit in markdown, show in html)',
        ).choices(['omit', 'show']),
      )
      .addOption(
        new Option(
          '--images <inline|word>',
          'pictures in documents (default: a word in markdown, inline in html)',
        ).choices(['inline', 'word']),
      )
      .option(
        '--cut-outputs <characters>',
        "leave out the rest of longer tools' outputs in documents",
        wholeNumber(1),
      )
      .addHelpText(
        'after',
        examples([
          ['export @ -o backup.jsonl', 'the newest session, to be imported again'],
          ['export --all -o everything.jsonl', 'a backup of all sessions'],
          ['export @ -o talk.html', 'one page to be read in a browser'],
          ['export @ --format anthropic --rendered', 'what would be sent to Anthropic now'],
        ]),
      )
      .action((sessions: string[], options: ExportCommandOptions) =>
        run(async (context) =>
          (await import('../actions/export.ts')).exportSessions(context, sessions, options),
        ),
      ),
}
