import { Argument, type Command, Option } from 'commander'
import { SOURCE_NAMES } from '../transfer/source.ts'
import type { Context } from './command.ts'
import {
  choice,
  EXPORT_FORMATS,
  listed,
  listedOf,
  PERMISSIONS,
  repeated,
  STAGES,
  share,
  systemFileOption,
  systemOption,
  wholeNumber,
} from './options.ts'

/*
 * The commands as `--help` shows them. An action is imported when its command runs, so that help and completion load neither the store,
 * nor zod, nor the database.
 */

type CliCommand = {
  readonly name: string
  /** The line in the list of commands. */
  readonly summary: string
  readonly description: string
  /** What each example does, by what is typed. */
  readonly examples: { readonly [typed: string]: string }
  /** Adds the arguments and the options. */
  declare(command: Command): Command
  /** Loads the action. It is called with the context, the arguments, the options and the command, and returns the exit code. */
  action(): Promise<(context: Context, ...given: never[]) => Promise<number>>
}

const SESSION = 'an id, the beginning or end of one, or @ for the session with the newest message'
const COMPACTION =
  'a compaction or a run, as `undertext log` shows it: an id, the beginning or end of one, or @ for the newest run'
const MOMENT =
  'the past: message:ID, before:ID, position:12, audit:7, time:2026-01-31T10:00:00Z, compaction:ID, before-compaction:ID or request:ID'

/** The commands in the order in which `--help` lists them. */
export const COMMANDS: readonly CliCommand[] = [
  {
    name: 'sessions',
    summary: 'list the sessions of the store',
    description:
      'Lists sessions, those with the newest messages first: how many messages each holds, how many of them a model would be sent, and about how many tokens that is.',
    examples: {
      sessions: 'the 50 newest',
      'sessions --search invoice': 'those with "invoice" in the title or the id',
      'sessions --archived --limit 10': 'the ten newest archived ones',
      "sessions --json | jq -r '.sessions[].id'": 'ids alone, for a script',
    },
    action: async () => (await import('./commands/sessions.ts')).listSessions,
    declare: (command) =>
      command
        .option('--owner <owner>', 'only sessions of this owner')
        .option('--archived', 'archived sessions instead of the others')
        .option('--search <text>', 'only sessions whose id or title contains this text, in any case')
        .option('--limit <count>', 'maximum number to list', wholeNumber(1), 50)
        .option('--after <session>', 'continue after this session, the last one of the previous list'),
  },
  {
    name: 'show',
    summary: 'show the messages of a session',
    description:
      'Shows what a model would be sent now: the view, with summaries, markers and replacements in place. With --full everything that is stored, hidden messages dimmed with the compaction that hides each.',
    examples: {
      'show @': 'the newest session, as a model would get it',
      'show billing --full --from 10 --to 20':
        'positions 10 to 20 of the session whose id begins with "billing", hidden ones too',
      'show @ --at position:40': 'the view as it was after message 40 was appended',
      'show @ --original --role tool --no-fold': 'what tools returned, before anything was shortened',
    },
    action: async () => (await import('./commands/show.ts')).showSession,
    declare: (command) =>
      command
        .argument('<session>', SESSION)
        .option('--full', 'everything that is stored, hidden rows too')
        .option('--original', 'the original in place of what replaces it')
        .option('--from <position>', 'from this position on', wholeNumber(1))
        .option('--to <position>', 'up to this position', wholeNumber(1))
        .option('--limit <count>', 'maximum number of rows, from the beginning', wholeNumber(1))
        .option('--tail <count>', 'show only the last N rows', wholeNumber(1))
        .addOption(choice('--role <role>', 'only rows of this role', ['system', 'user', 'assistant', 'tool']))
        .option('--at <moment>', MOMENT)
        .option('--no-fold', 'long tool outputs in full (always so where the output is no terminal)'),
  },
  {
    name: 'search',
    summary: 'search messages',
    description:
      'Finds messages of all sessions, best first: hidden ones, tool outputs and summaries too. The query is a question, a name, a path, an error message or any other text; a text in double quotes is a phrase. The first search of a store makes an index.',
    examples: {
      'search "where did we put the invoice template?"': 'a question',
      "search 'error TS2345' --role tool": 'an error message, in what tools returned',
      'search kettle --session @ --hidden': 'in the newest session, among what a compaction hides',
      "search kettle --json | jq '.hits[] | [.session, .position]'": 'the places alone, for a script',
    },
    action: async () => (await import('./commands/search.ts')).search,
    declare: (command) =>
      command
        .argument('<query>', 'what to look for')
        .option('--session <session>', `only this session: ${SESSION}`)
        .option('--owner <owner>', 'only sessions of this owner')
        .addOption(choice('--role <role>', 'only rows of this role', ['system', 'user', 'assistant', 'tool']))
        .option('--tool <name>', 'only calls and results of this tool; several, or several times', listed)
        .option('--from <time>', 'only from this day or time on, such as 2026-03-01 or 2026-03-01T12:00Z')
        .option('--to <time>', 'only up to this time, or to the end of this day')
        .option('--hidden', 'only rows that a compaction hides')
        .option('--visible', 'only rows of the view')
        .option('--limit <count>', 'maximum number to list', wholeNumber(1), 10)
        .option('--cursor <cursor>', 'continue after the previous list with the same query and options'),
  },
  {
    name: 'stats',
    summary: 'show how full the context of a session is',
    description:
      "Shows the next request's tokens by category against the model's limit, with marks at the compaction target, 60 % and the threshold, and the source of each figure. With --model for other models, several side by side.",
    examples: {
      'stats @': 'the newest session and its own model',
      'stats @ --model openai/gpt-4o --model anthropic/claude-sonnet-4-20250514': 'two models side by side',
      'stats @ --at before-compaction:@': 'how full it was before the newest run',
      "stats @ --json | jq '.models[0].usageRatio'": 'one figure, for a script',
    },
    action: async () => (await import('./commands/stats.ts')).showStats,
    declare: (command) =>
      command
        .argument('<session>', SESSION)
        .option('--model <provider/model>', 'for this model; several, or several times', listed)
        .addOption(systemOption(', so that it counts'))
        .addOption(systemFileOption(', so that it counts'))
        .option('--prompt <text>', 'the prompt about to be sent, so that it counts')
        .option('--tools <file>', 'a JSON file with a list of tool definitions, so that they count')
        .option('--max-tokens <tokens>', 'tokens to keep free for the answer', wholeNumber(0))
        .option('--at <moment>', MOMENT),
  },
  {
    name: 'compact',
    summary: 'make room in a session; shows the plan first',
    description:
      'Makes room: prunes old tool outputs, deduplicates file reads, summarizes, truncates, each only while the history is over the target. Nothing is destroyed, and all of it can be undone. On a terminal the plan is shown and you are asked before anything is written; elsewhere the compaction runs at once and reports its result.',
    examples: {
      'compact @ --dry-run': 'what would happen to each row of the newest session, and what it saves',
      'compact @': 'show the plan, ask, compact, and print the command that undoes it',
      'compact @ --stage prune,deduplicate': 'only tool outputs, no summary',
      'compact @ --summary-model anthropic/claude-haiku-4-5': 'a summary written by a model',
    },
    action: async () => (await import('./commands/compact.ts')).compact,
    declare: (command) =>
      command
        .argument('<session>', SESSION)
        .option('--dry-run', 'show the plan row by row and write nothing')
        .option('--full', 'with --dry-run on a terminal: the whole text of a summary too')
        .option('--target <share>', 'bring the request down to this share of the input (default 0.4)', share)
        .addOption(
          new Option('--target-tokens <tokens>', 'reduce the history to N tokens')
            .argParser(wholeNumber())
            .conflicts('target'),
        )
        .addOption(
          new Option('--stage <name>', 'only these stages, in this order (several with commas, or again)')
            .choices(STAGES)
            .argParser(listedOf(STAGES)),
        )
        .option('--model <provider/model>', 'the model whose context window applies (default: the session’s)')
        .option('--provider <name>', 'the provider whose window counts')
        .option(
          '--summary-model <model>',
          'let this model write the summary: provider/model by the AI SDK, or a name at --summary-url',
        )
        .option('--summary-url <address>', 'an OpenAI-compatible address for --summary-model')
        .option('--summary-package <name>', 'the package of the provider, if it is not @ai-sdk/PROVIDER')
        .option('--api-key-env <name>', 'the variable with the key for that address (default OPENAI_API_KEY)')
        .option('--summarize', 'with --dry-run: call the model now and show its summary (incurs cost)')
        .option('--reason <text>', 'why, for the audit'),
  },
  {
    name: 'log',
    summary: 'show what was done to a session, by whom and why',
    description:
      'Shows the audit as a timeline, newest run first: each compaction with its kind, what it hid and replaced, tokens before and after, who started it and why, what a summary cost, and when it was undone and redone. A compaction that others in force build on is indented below them.',
    examples: {
      'log @': 'the newest session',
      'log @ --limit 1': 'the last run alone, for example to undo it',
      "log @ --json | jq -r '.runs[].compactions[].id'": 'ids of all compactions, for a script',
    },
    action: async () => (await import('./commands/log.ts')).showLog,
    declare: (command) =>
      command
        .argument('<session>', SESSION)
        .option('--limit <count>', 'maximum number of runs, newest first', wholeNumber(1)),
  },
  {
    name: 'requests',
    summary: 'show what a model was sent',
    description:
      'Lists the recorded requests of a session: when, to which model, how much of the history, and where the answer is. With the number of a request, or the position of a message that it produced, shows what the model was sent: system prompt, tools and messages, rendered again and compared with the recorded hash.',
    examples: {
      'requests @': 'the requests of the newest session',
      'requests @ r12': 'what its twelfth request contained',
      'requests @ --answer 40': 'what the model saw when it wrote the message at position 40',
      "requests @ @ --json | jq '.request.messages'": 'the messages of the newest request, for a script',
    },
    action: async () => (await import('./commands/requests.ts')).showRequests,
    declare: (command) =>
      command
        .argument('<session>', SESSION)
        .argument('[request]', 'a request: its number (r12), its id, or @ for the newest')
        .addOption(
          new Option('--answer <position>', 'the request that produced the message at this position')
            .argParser(wholeNumber(1))
            .conflicts('after'),
        )
        .option('--limit <count>', 'maximum number to list', wholeNumber(1), 50)
        .option('--after <request>', 'continue after this request, the last one of the previous list')
        .option('--no-fold', 'long tool outputs in full (always so where the output is no terminal)'),
  },
  {
    name: 'diff',
    summary: 'show what a compaction changed in the view, or the difference of two moments',
    description:
      'With two moments, such as position:12 and now (the default of the second), it compares the views at these. With a compaction it compares the view without a compaction (or a run) and with it: removed rows with -, added rows with +, replaced texts with both. For one in force, compactions in force that build on it are left out of both sides, so that its own change is seen; --now includes them. For one that is undone: the view as it is, and as a redo would make it.',
    examples: {
      'diff @ @': 'what the newest run of the newest session did',
      'diff billing eb16c59c': 'one compaction, by the end of its id',
      'diff billing eb16c59c --now': 'and what was built on it since',
      'diff billing position:40 audit:7': 'the views at two moments',
    },
    action: async () => (await import('./commands/diff.ts')).showDiff,
    declare: (command) =>
      command
        .argument('<session>', SESSION)
        .argument('<from>', `${COMPACTION}; or a moment: position:12, audit:7, …`)
        .argument('[to]', 'the second moment (default: now)')
        .option('--now', 'compare with the view as it is now, with everything that builds on it')
        .option('--full', 'all texts in full, and rows that stay the same'),
  },
  {
    name: 'fork',
    summary: 'copy a session as it is, or as it was at a moment',
    description:
      'Makes a copy that continues on its own: the messages up to the moment, with the compactions that were in force then. The copy shares the stored contents, so it is small. A moment is a position (12: after message 12), before:ID or after:ID of a message, audit:NUMBER, or a time.',
    examples: {
      'fork @': 'the newest session as it is now',
      'fork billing --at position:12 --id billing-2': 'as it was after its message 12',
      'fork billing --at time:2026-05-01T12:00 --title "another way"': 'as it was at a time',
    },
    action: async () => (await import('./commands/fork.ts')).fork,
    declare: (command) =>
      command
        .argument('<session>', SESSION)
        .option('--at <moment>', `${MOMENT}; now if omitted`)
        .option('--id <id>', 'the id of the copy')
        .option('--title <title>', 'its title; that of the original if omitted')
        .option('--actor <name>', 'who, for the audit'),
  },
  {
    name: 'tree',
    summary: 'draw sessions with their forks',
    description:
      'Draws the session that a session was forked from in the end, with all forks below it; without a session all that have forks.',
    examples: { tree: 'all sessions with forks', 'tree billing': 'those of one family' },
    action: async () => (await import('./commands/fork.ts')).tree,
    declare: (command) => command.argument('[session]', `${SESSION}; all if omitted`),
  },
  {
    name: 'bring-back',
    summary: 'append the conclusion of a fork to its original',
    description:
      'Appends a message to the session that a fork was made of: the given text, or a summary of the messages of the fork since. The message names the fork.',
    examples: {
      'bring-back billing-2': 'with a summary',
      'bring-back billing-2 --text "The second way works."': 'with words of your own',
    },
    action: async () => (await import('./commands/fork.ts')).bringBack,
    declare: (command) =>
      command
        .argument('<fork>', SESSION)
        .option('--text <text>', 'the conclusion; a summary if omitted')
        .option('--reason <text>', 'why, for the audit')
        .option('--actor <name>', 'who, for the audit'),
  },
  {
    name: 'undo',
    summary: 'undo a compaction, or a whole run',
    description:
      'Takes a compaction out of force: the rows it hid are visible again, byte for byte, and the rows it inserted are hidden. The id of a run undoes all of it, and @ is the newest run. If others in force build on it, they are named and nothing is done (exit 4) unless --cascade undoes them too. A rewind after which messages were appended is undone with --both only: the former messages then come before the new ones.',
    examples: {
      'undo @ @': 'the newest run of the newest session',
      'undo billing eb16c59c': 'a compaction by the end of its id, as `undertext log` shows it',
      'undo @ eb16c59c --cascade --reason "the summary was wrong"':
        'with everything that builds on it, and why',
    },
    action: async () => (await import('./commands/undo.ts')).undo,
    declare: (command) =>
      command
        .argument('<session>', SESSION)
        .argument('<id>', COMPACTION)
        .option('--cascade', 'undo first what builds on it')
        .option('--both', 'undo a rewind although messages were appended after it')
        .option('--reason <text>', 'why, for the audit')
        .option('--actor <name>', 'who, for the audit'),
  },
  {
    name: 'redo',
    summary: 'redo a compaction that was undone',
    description:
      'Brings a compaction back in force, or exactly what the last undo of a run took out of force, including members of other runs that --cascade undid: the same rows, the stored summary, no model. If rows it covers are not visible, nothing is done (exit 4); --cascade first redoes what it builds on.',
    examples: {
      'redo @ @': 'the newest run of the newest session',
      'redo billing eb16c59c --cascade': 'a compaction, and what it builds on',
    },
    action: async () => (await import('./commands/undo.ts')).redo,
    declare: (command) =>
      command
        .argument('<session>', SESSION)
        .argument('<id>', COMPACTION)
        .option('--cascade', 'redo first what it builds on')
        .option('--reason <text>', 'why, for the audit')
        .option('--actor <name>', 'who, for the audit'),
  },
  {
    name: 'chat',
    summary: 'talk with a model, or with an echo; the session is kept',
    description:
      'A conversation at the terminal, kept in the store and held within the window. Without a session a new one begins; with one it continues. If the input is not a terminal, each of its lines is a prompt (a backslash at the end joins the next line) and the answers are written to the output. Without --provider, --url or --model the offline echo answers.',
    examples: {
      'chat --provider anthropic --model claude-sonnet-4-5':
        'a new session; needs the packages ai and @ai-sdk/anthropic',
      'chat --url http://localhost:11434/v1 --model llama3.2': 'a model on this machine',
      'chat @ --url http://localhost:11434/v1': 'continue the newest session with its model',
      'chat @ --message "And in Rust?" --provider openai': 'one turn, for scripts',
    },
    action: async () => (await import('./commands/chat.ts')).chat,
    declare: (command) =>
      command
        .argument('[session]', `the session to continue: ${SESSION}`)
        .option('--provider <name>', 'ask a provider of the AI SDK: anthropic, openai, google, mistral …')
        .option('--model <name>', 'which model; PROVIDER/MODEL names both')
        .option('--provider-package <name>', 'the package of that provider, if it is not @ai-sdk/PROVIDER')
        .option('--url <address>', 'ask an OpenAI-compatible address, such as http://localhost:11434/v1')
        .option('--api-key-env <name>', 'the variable with the key for --url (default OPENAI_API_KEY)')
        .option('--echo', 'ask no model: repeat each prompt; --model selects the window that counts')
        .option('--context-window <tokens>', 'the window of the model, if it is not known', wholeNumber(1))
        .option(
          '--compact-threshold <number>',
          'usage at which to compact, such as 0.5 or 50% (default 0.8)',
          share,
        )
        .option('--disable-compaction', 'no automatic compaction, and no remarks on usage')
        .option(
          '--summary-model <name>',
          'the model of the same provider that writes summaries; else offline',
        )
        .addOption(systemOption())
        .addOption(systemFileOption())
        .option('--max-tokens <tokens>', 'maximum tokens per answer', wholeNumber(1))
        .option('--title <text>', 'the title of a new session')
        .option('--message <text>', 'send this one prompt, print the answer, and end'),
  },
  {
    name: 'import',
    summary: 'import conversations from files and folders',
    description: `Imports sessions of Claude Code, pi, Cline and Roo Code, exports of ChatGPT and of Claude, transcripts of OpenAI's and Anthropic's APIs (JSON, JSONL), plain messages with a role and a content, and histories this program exported. The kind of a file is recognized from its content. Of a folder, and of all folders in it, what is recognized is imported; - is the standard input.

Each file is checked as a whole first; conversations with unreadable entries are skipped; the rest are imported. Re-importing a file adds nothing; if it has grown, only the new messages are added. Compactions that the agent made can be undone here.`,
    examples: {
      'import ~/.claude/projects': 'all sessions of Claude Code',
      'import conversations.json --branches': 'an export of ChatGPT or Claude, abandoned branches as well',
      'import run.jsonl --session nightly-7 --dry-run': 'what would be stored of one transcript',
      'import - --skip-bad < broken.jsonl': 'the standard input, all of it but the bad lines',
    },
    action: async () => (await import('./commands/import.ts')).importFiles,
    declare: (command) =>
      command
        .argument('<file...>', 'files, folders, or - for the standard input')
        .addOption(
          choice('--from <kind>', 'the kind of the files; of a folder, only such files', SOURCE_NAMES),
        )
        .option(
          '--session <id>',
          'the id of the session, for a file with one conversation; another id also imports it beside a session that has continued differently',
        )
        .option('--prefix <text>', 'put before the ids that the sessions get without it')
        .option('--skip-bad', 'store conversations without the places that cannot be read')
        .option('--branches', 'branches that a conversation has left become sessions of their own')
        .option('--no-follow', 'skip symbolic links in folders, so that nothing outside of them is read')
        .option('--dry-run', 'report what would be stored, and store nothing')
        .option('--owner <owner>', 'the owner of the sessions')
        .option('--reason <text>', 'why, for the audit'),
  },
  {
    name: 'export',
    summary: 'write sessions to a file: whole, as a model gets them, or to be read',
    description: `Writes sessions out. "history" is everything: each message, tag, compaction and line of the audit, a JSON object a line; \`undertext import\` makes the very same session of it. "markdown" and "html" are documents for people. The other formats write the view, what a model would be sent now, in the form of an API or a framework.

Without --format the extension of the file decides (.md, .html), else it is "history".`,
    examples: {
      'export @ -o backup.jsonl': 'the newest session, to be imported again',
      'export --all -o everything.jsonl': 'a backup of all sessions',
      'export @ -o talk.html': 'one page to be read in a browser',
      'export @ --format anthropic --rendered': 'what would be sent to Anthropic now',
    },
    action: async () => (await import('./commands/export.ts')).exportSessions,
    declare: (command) =>
      command
        .argument('[session...]', `sessions to export, each by ${SESSION}`)
        .option('--all', 'all sessions, archived ones too (format history)')
        .addOption(choice('--format <format>', 'what is written', EXPORT_FORMATS))
        .option('-o, --output <file>', 'write to this file; without, or with -, to the standard output')
        .option('--force', 'replace the file if it exists')
        .option('--lines', 'a JSON value a line instead of one document (formats of the view)')
        .option(
          '--rendered [provider]',
          'the view made valid for a provider, or for that of the format; name the session before it',
        )
        .option('--full', 'all messages of the log, hidden ones included (formats of the view)')
        .option('--at <moment>', `${MOMENT} (formats of the view)`)
        .addOption(
          choice(
            '--hidden <omit|show>',
            'hidden rows in documents (default: omit in markdown, show in html)',
            ['omit', 'show'],
          ),
        )
        .addOption(
          choice(
            '--images <inline|word>',
            'pictures in documents (default: a word in markdown, inline in html)',
            ['inline', 'word'],
          ),
        )
        .option('--cut-outputs <characters>', 'longest tool output in documents', wholeNumber(1)),
  },
  {
    name: 'move',
    summary: 'copy the whole store to another one, in a file or on a server',
    description: `Copies all sessions of the store, with everything that is stored of them, to another store: from a file to PostgreSQL, back, or between two of a kind. Each copy is read again, compared with its original and verified before it appears. The store is only read, and stays as it is.

The same command again continues after an interruption, and copies what has changed since. A session that is another one there, or that was changed there, is never overwritten: it is named, and the command exits with 4.`,
    examples: {
      'move --db chats.db --to postgres://app@db.example/chats': 'from a file to a server',
      'move --db postgres://app@db.example/chats --to chats.db': 'and back, to a new file',
      'move --to copy.db --json | jq .problems': 'the sessions that were not copied',
    },
    action: async () => (await import('./commands/move.ts')).move,
    declare: (command) =>
      command.requiredOption('--to <store>', 'the other store: a file, or a server: postgres://…'),
  },
  {
    name: 'verify',
    summary: 'check that sessions are sound, and repair them',
    description:
      'Checks tags, counters, sizes, pairs, contents and guards of a session, or of all of them. Exits with 1 if something is found. With --repair everything that can be recomputed is rebuilt; contents are never changed.',
    examples: {
      'verify @': 'the newest session',
      verify: 'all sessions, archived ones too',
      'verify billing --repair': 'and repair what can be repaired',
      'verify --json > findings.json': 'for a script; the exit code tells whether there are any',
    },
    action: async () => (await import('./commands/verify.ts')).verify,
    declare: (command) =>
      command
        .argument('[session]', `${SESSION}; all if omitted`)
        .option('--all', 'all sessions, archived ones too; the same as naming none')
        .option('--repair', 'rebuild tags, counters and sizes that do not agree with what is stored'),
  },
  {
    name: 'notes',
    summary: 'list, add and forget notes of a session or an owner',
    description:
      'Lists the notes that are recalled for a session, with those of its owner: of the newest session, unless --session or --owner names another. `notes add TEXT` stores one, in place of the one with the same --key; `notes forget ID` takes one out of use, and with --purge removes its text for good.',
    examples: {
      notes: 'the notes of the newest session, newest first',
      'notes --owner ann --search "which editor"': 'those of an owner that match best',
      'notes add "Deploys on Fridays." --owner ann --key deploys': 'adds one, or replaces it',
      'notes forget 1b2c3d4e --owner ann': 'takes it out of use; `notes --all` still lists it',
    },
    action: async () => (await import('./commands/notes.ts')).notes,
    declare: (command) =>
      command
        .addArgument(
          new Argument('[action]', 'what to do').choices(['list', 'add', 'forget']).default('list'),
        )
        .argument(
          '[text]',
          'the text of the note to add; the id of the note to forget, or its beginning or end',
        )
        .option('--session <session>', `the notes of a session: ${SESSION}`)
        .option('--owner <owner>', 'the notes of an owner')
        .option('--search <text>', 'only notes that match this text, the best first')
        .option('--key <key>', 'only notes of this key; with add, what it replaces')
        .option('--all', 'replaced and forgotten notes too')
        .option('--limit <count>', 'maximum number to list', wholeNumber(1), 50)
        .option('--source <message>', 'with add: the id of the message of the session that it is from')
        .option('--purge', 'with forget: remove the text for good, with the notes of its key before it')
        .option('--reason <text>', 'why, for the audit')
        .option('--actor <name>', 'who, for the audit'),
  },
  {
    name: 'mcp',
    summary: 'serve the store to an agent over MCP, on the standard input and output',
    description:
      'Serves the store to a client of the Model Context Protocol, such as Claude Code, which starts this command itself: tools that list sessions, search and read them, also as they were in the past, and transcripts as resources. It only reads, unless --allow names what a client may change. It ends with its input.',
    examples: {
      'mcp --db chats.db': 'read-only; docs/mcp.md shows how to add it to an agent',
      'mcp --allow import --watch ~/.claude/projects':
        'and import the sessions of Claude Code while they grow',
      'mcp --owner ann --allow compact,undo': 'only the sessions of one owner, which may be compacted',
    },
    action: async () => (await import('./commands/mcp.ts')).serveMcp,
    declare: (command) =>
      command
        .addOption(
          new Option('--allow <what>', 'what a client may change; several with commas, or several times')
            .choices(PERMISSIONS)
            .argParser(listedOf(PERMISSIONS)),
        )
        .option('--owner <owner>', 'only the sessions and notes of this owner exist for the client')
        .option(
          '--watch <folder>',
          'with --allow import: import its files, and again when they grow',
          repeated,
        )
        .option('--max-tokens <tokens>', 'maximum tokens per answer (default 2000)', wholeNumber(300)),
  },
  {
    name: 'purge',
    summary: 'remove a session for good',
    description:
      'Permanently removes a session and all it holds: messages, compactions, and images that no other session uses. A receipt of numbers remains. It is the only destructive command. On a terminal the id of the session must be typed; elsewhere --yes is needed, and with it the whole id, or @.',
    examples: {
      'purge old-chat': 'shows what will be removed, and asks',
      'purge old-chat --yes --reason "asked by its owner"': 'without asking',
    },
    action: async () => (await import('./commands/purge.ts')).purge,
    declare: (command) =>
      command
        .argument('<session>', SESSION)
        .addOption(choice('--forks <what>', 'what happens to forks; refused if omitted', ['keep', 'purge']))
        .option('--reason <text>', 'why, for the receipt')
        .option('--actor <name>', 'who, for the receipt'),
  },
  {
    name: 'doctor',
    summary: 'check the store, versions and settings',
    description:
      'Reports which store is used and why, the state of its file or server, which versions run, which optional packages are installed, what the settings are and where each comes from, and what the terminal can do. It works even if the store is missing, damaged or not a store at all, and exits with 1 if something is wrong.',
    examples: {
      doctor: 'start here if something looks wrong',
      'doctor --deep --db chats.db': 'is this file sound?',
      'doctor --json | jq \'.settings[] | select(.source != "default")\'': 'settings that were changed',
    },
    action: async () => (await import('./commands/doctor.ts')).doctor,
    declare: (command) =>
      command
        .option(
          '--deep',
          'read the whole file (pragma integrity_check); a minute for a gigabyte; not for a server',
        )
        .option('--upgrade', 'bring a store of an older version up to this one'),
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands in a shell',
    description:
      'Prints a script for a shell. With it the Tab key completes commands, options and their values, ids of sessions and compactions, and files.',
    examples: {
      'completion bash >> ~/.bashrc': 'bash, from the next shell on',
      'completion zsh > ~/.zfunc/_undertext': 'zsh, if ~/.zfunc is in fpath',
      'completion fish > ~/.config/fish/completions/undertext.fish': 'fish',
    },
    action: async () => (await import('./commands/completion.ts')).printScript,
    declare: (command) =>
      command.addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish'])),
  },
]

/** Runs an action in a context of its own. */
export type Runner = (action: (context: Context) => Promise<number>) => Promise<void>

/** Adds all commands to the program. */
export function addCommands(program: Command, run: Runner): void {
  const runs =
    (load: CliCommand['action']) =>
    (...given: unknown[]): Promise<void> =>
      run(async (context) => (await load())(context, ...(given as never[])))
  for (const { name, summary, description, examples, declare, action } of COMMANDS) {
    const command = program.command(name).summary(summary).description(description)
    declare(command).addHelpText('after', examplesText(examples)).action(runs(action))
  }
  // What the completion scripts call.
  program
    .command('__complete [words...]', { hidden: true })
    .action(runs(async () => (await import('./commands/completion.ts')).printCandidates))
}

function examplesText(examples: CliCommand['examples']): string {
  const lines = Object.entries(examples).map(([typed, does]) => `  $ undertext ${typed}\n      ${does}`)
  return `\nExamples:\n${lines.join('\n')}\n`
}
