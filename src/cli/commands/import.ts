import { Option } from 'commander'
import { SOURCE_NAMES } from '../../transfer/source.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'
import type { ImportCommandOptions } from '../import/import-run.ts'

export const importCommand: CliCommand = {
  name: 'import',
  register: (program, run) =>
    program
      .command('import')
      .summary('bring conversations in from files and folders')
      .description(
        `Brings in sessions of Claude Code, pi and Roo Code, exports of ChatGPT and of Claude, transcripts of OpenAI's and Anthropic's APIs (JSON, JSONL), plain messages with a role and a content, and histories this program exported. What kind a file is, is seen from what stands in it. Of a folder, and of all folders in it, what is recognised is imported; - is the standard input.

Each file is checked as a whole first; a conversation with a bad place is not stored, the others are. The same file again adds nothing, a file that has grown adds its end. Compactions that the agent had made can be undone here.`,
      )
      .argument('<file...>', 'files, folders, or - for the standard input')
      .addOption(
        new Option(
          '--from <kind>',
          'what the files are, instead of looking; of a folder, only such files',
        ).choices(SOURCE_NAMES),
      )
      .option(
        '--session <id>',
        'the id of the session, for a file with one conversation; another id also imports it beside a session that has gone on differently',
      )
      .option('--prefix <text>', 'put before the ids that the sessions get without it')
      .option('--skip-bad', 'store conversations without the places that cannot be read')
      .option('--branches', 'branches that a conversation has left become sessions of their own')
      .option('--no-follow', 'pass over symbolic links in folders, so that nothing outside of them is read')
      .option('--dry-run', 'say what would be stored, and store nothing')
      .option('--owner <owner>', 'whose the sessions are')
      .option('--reason <text>', 'why, for the audit')
      .addHelpText(
        'after',
        examples([
          ['import ~/.claude/projects', 'all sessions of Claude Code'],
          [
            'import conversations.json --branches',
            'an export of ChatGPT or Claude, abandoned branches as well',
          ],
          ['import run.jsonl --session nightly-7 --dry-run', 'what would become of one transcript'],
          ['import - --skip-bad < broken.jsonl', 'what is piped in, all of it but the bad lines'],
        ]),
      )
      .action((files: string[], options: ImportCommandOptions) =>
        run(async (context) => (await import('../actions/import.ts')).importFiles(context, files, options)),
      ),
}
