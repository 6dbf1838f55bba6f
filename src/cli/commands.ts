import { Argument, Option } from 'commander'
import { SOURCE_NAMES } from '../transfer/source.ts'
import type { DiffOptions } from './actions/diff.ts'
import type { DoctorOptions } from './actions/doctor.ts'
import type { LogOptions } from './actions/log.ts'
import type { PurgeOptions } from './actions/purge.ts'
import type { SessionsOptions } from './actions/sessions.ts'
import type { ShowOptions } from './actions/show.ts'
import type { StatsCommandOptions } from './actions/stats.ts'
import type { VerifyCommandOptions } from './actions/verify.ts'
import { COMPACTION, SESSION } from './argument-words.ts'
import type { CliCommand } from './command.ts'
import { chatCommand } from './commands/chat.ts'
import { compactCommand } from './commands/compact.ts'
import { exportCommand } from './commands/export.ts'
import { redoCommand, undoCommand } from './commands/undo.ts'
import { examples } from './examples.ts'
import type { ImportCommandOptions } from './import/import-run.ts'
import { listed, wholeNumber } from './options.ts'
import { systemFileOption, systemOption } from './system-prompt.ts'

const importCommand: CliCommand = {
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
        run(async (context) => (await import('./actions/import.ts')).importFiles(context, files, options)),
      ),
}

const showCommand: CliCommand = {
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
        run(async (context) => (await import('./actions/show.ts')).showSession(context, session, options)),
      ),
}

const statsCommand: CliCommand = {
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
        run(async (context) => (await import('./actions/stats.ts')).showStats(context, session, options)),
      ),
}

const completionCommand: CliCommand = {
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
        run(async (context) => (await import('./actions/completion.ts')).printScript(context, shell)),
      )
    program
      .command('__complete [words...]', { hidden: true })
      .action((words: readonly string[]) =>
        run(async (context) =>
          (await import('./actions/completion.ts')).printCandidates(context, program, words),
        ),
      )
  },
}

const sessionsCommand: CliCommand = {
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
        run(async (context) => (await import('./actions/sessions.ts')).listSessions(context, options)),
      ),
}

const verifyCommand: CliCommand = {
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
        run(async (context) => (await import('./actions/verify.ts')).verify(context, session, options)),
      ),
}

const diffCommand: CliCommand = {
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
        run(async (context) => (await import('./actions/diff.ts')).showDiff(context, session, id, options)),
      ),
}

const logCommand: CliCommand = {
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
        run(async (context) => (await import('./actions/log.ts')).showLog(context, session, options)),
      ),
}

const purgeCommand: CliCommand = {
  name: 'purge',
  register: (program, run) =>
    program
      .command('purge')
      .summary('remove a session for good')
      .argument('<session>', SESSION)
      .description(
        'Removes a session and all it holds for good, the one command that destroys: messages, compactions, and images nobody else refers to. A receipt of numbers stays. On a terminal the id of the session must be typed; elsewhere --yes is needed, and with it the whole id, or @.',
      )
      .option('--reason <text>', 'why, for the receipt')
      .option('--actor <name>', 'who, for the receipt')
      .addHelpText(
        'after',
        examples([
          ['purge old-chat', 'says what will go, and asks'],
          ['purge old-chat --yes --reason "asked by its owner"', 'without asking'],
        ]),
      )
      .action((session: string, options: PurgeOptions) =>
        run(async (context) => (await import('./actions/purge.ts')).purge(context, session, options)),
      ),
}

const doctorCommand: CliCommand = {
  name: 'doctor',
  register: (program, run) =>
    program
      .command('doctor')
      .summary('look at the store file, versions and settings')
      .description(
        'Tells which store is used and why, how its file is, which versions run, which optional packages are there, what the settings are and where each comes from, and what the terminal can do. It works where the store is missing, damaged or none, and exits with 1 when something is wrong.',
      )
      .option('--deep', 'read the whole file (pragma integrity_check); a minute for a gigabyte')
      .option('--upgrade', 'bring a store of an older version up to this one')
      .addHelpText(
        'after',
        examples([
          ['doctor', 'when something is odd, begin here'],
          ['doctor --deep --db chats.db', 'is this file sound?'],
          ['doctor --json | jq \'.settings[] | select(.source != "default")\'', 'settings somebody changed'],
        ]),
      )
      .action((options: DoctorOptions) =>
        run(async (context) => (await import('./actions/doctor.ts')).doctor(context, options)),
      ),
}

/** All commands, in the order `--help` lists them. */
export const COMMANDS: readonly CliCommand[] = [
  sessionsCommand,
  showCommand,
  statsCommand,
  compactCommand,
  logCommand,
  diffCommand,
  undoCommand,
  redoCommand,
  chatCommand,
  importCommand,
  exportCommand,
  verifyCommand,
  purgeCommand,
  doctorCommand,
  completionCommand,
]
