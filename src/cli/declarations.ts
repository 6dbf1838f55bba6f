import { SOURCE_NAMES } from '../transfer/source.ts'
import {
  against,
  type Declared,
  EXPORT_FORMATS,
  flag,
  listed,
  needed,
  number,
  type OptionsOf,
  oneOf,
  optionally,
  PERMISSIONS,
  ROLES,
  read,
  repeated,
  STAGES,
  severalOf,
  share,
  short,
  systemPrompt,
  text,
  unless,
  withDefault,
} from './options.ts'

/*
 * The operands and options of each command, and its help text. Nothing here loads the store, zod or the database, so that help and
 * completion are quick.
 */

type Declaration = {
  /** The line in the list of commands. */
  readonly summary: string
  readonly description: string
  /** The effect of each example, by the words that are typed. */
  readonly examples: { readonly [typed: string]: string }
  /** The operands after the name, in order. */
  readonly operands?: { readonly [written: string]: string | Choice }
  /** By the name under which the action receives it: `dryRun` is `--dry-run`. */
  readonly options: { readonly [name: string]: Declared<unknown> }
}

/** An operand with few values. */
type Choice = { readonly about: string; readonly choices: readonly string[]; readonly default?: string }

const SESSION = 'an id, the beginning or end of one, or @ for the session with the newest message'
const COMPACTION =
  'a compaction or a run, as `undertext log` shows it: an id, the beginning or end of one, or @ for the newest run'
const MOMENT =
  'as of a moment: message:ID, before:ID, position:12, audit:7, time:2026-01-31T10:00:00Z, compaction:ID, before-compaction:ID or request:ID'

/** The commands in the order in which `--help` lists them. */
export const DECLARATIONS = {
  sessions: {
    summary: 'list the sessions of the store',
    description:
      'Lists sessions, those with the newest messages first: the number of messages in each, the number of rows that a model would be sent, and their approximate tokens.',
    examples: {
      sessions: 'the 50 newest',
      'sessions --search invoice': 'those with "invoice" in the title or the id',
      'sessions --archived --limit 10': 'the ten newest archived ones',
      "sessions --json | jq -r '.sessions[].id'": 'ids alone, for a script',
    },
    options: {
      owner: text('owner', 'only sessions of this owner'),
      archived: flag('archived sessions instead of the others'),
      search: text('text', 'only sessions whose id or title contains this text, in any case'),
      limit: withDefault(50, number('count', 'maximum number to list')),
      after: text('session', 'continue after this session, the last one of the previous list'),
    },
  },
  show: {
    summary: 'show the messages of a session',
    description:
      'Shows what a model would be sent now: the view, with summaries, markers and replacements in place. With --full, shows everything stored: hidden messages are dimmed, with the compaction that hides each.',
    examples: {
      'show @': 'the newest session, as a model would get it',
      'show billing --full --from 10 --to 20':
        'positions 10 to 20 of the session whose id begins with "billing", including hidden ones',
      'show @ --at position:40': 'the view as it was after message 40 was appended',
      'show @ --original --role tool --no-fold': 'what tools returned, before anything was shortened',
    },
    operands: { '<session>': SESSION },
    options: {
      full: flag('everything stored, including hidden rows'),
      original: flag('the original text instead of its replacement'),
      from: number('position', 'from this position on'),
      to: number('position', 'up to this position'),
      limit: number('count', 'maximum number of rows, from the beginning'),
      tail: number('count', 'show only the last N rows'),
      role: oneOf('role', 'only rows of this role', ROLES),
      at: text('moment', MOMENT),
      fold: unless("long tool outputs in full (always if the output isn't a terminal)"),
    },
  },
  search: {
    summary: 'search messages',
    description:
      'Finds messages in all sessions, best matches first, including hidden messages, tool outputs and summaries. The query is a question, a name, a path, an error message or any other text; text in double quotes is a phrase. The first search of a store builds an index.',
    examples: {
      'search "where did we put the invoice template?"': 'a question',
      "search 'error TS2345' --role tool": 'an error message, in tool outputs',
      'search kettle --session @ --hidden': 'in the newest session, only hidden messages',
      "search kettle --json | jq '.hits[] | [.session, .position]'": 'the places alone, for a script',
    },
    operands: { '<query>': 'what to look for' },
    options: {
      session: text('session', `only this session: ${SESSION}`),
      owner: text('owner', 'only sessions of this owner'),
      role: oneOf('role', 'only rows of this role', ROLES),
      tool: read(
        'name',
        'only calls and results of this tool (several with commas, or repeat the option)',
        listed,
      ),
      from: text('time', 'only from this day or time on, such as 2026-03-01 or 2026-03-01T12:00Z'),
      to: text('time', 'only up to this time, or to the end of this day'),
      hidden: flag('only rows that a compaction hides'),
      visible: flag('only rows of the view'),
      limit: withDefault(10, number('count', 'maximum number to list')),
      cursor: text('cursor', 'continue after the previous list with the same query and options'),
    },
  },
  stats: {
    summary: 'show how full the context of a session is',
    description:
      "Shows the next request's tokens by category against the model's limit, with marks at the compaction target, 60 % and the threshold, and the source of each figure. With --model, shows other models, several side by side.",
    examples: {
      'stats @': 'the newest session, for its own model',
      'stats @ --model openai/gpt-4o --model anthropic/claude-sonnet-4-20250514': 'two models side by side',
      'stats @ --at before-compaction:@': 'how full it was before the newest run',
      "stats @ --json | jq '.models[0].usageRatio'": 'one figure, for a script',
    },
    operands: { '<session>': SESSION },
    options: {
      model: read('provider/model', 'for this model (several with commas, or repeat the option)', listed),
      ...systemPrompt(', to be counted'),
      prompt: text('text', 'the next prompt, to be counted'),
      tools: text('file', 'a JSON file with a list of tool definitions, to be counted'),
      maxTokens: number('tokens', 'tokens to keep free for the answer', 0),
      at: text('moment', MOMENT),
    },
  },
  compact: {
    summary: 'compact a session; shows the plan first',
    description:
      'Makes room: prunes old tool outputs, deduplicates file reads, summarizes, truncates, each only while the history is over the target. Nothing is destroyed, and all of it can be undone. On a terminal, it shows the plan and asks before writing anything; elsewhere, the compaction runs at once and reports its result.',
    examples: {
      'compact @ --dry-run': 'what would happen to each row of the newest session, and what it saves',
      'compact @': 'show the plan, ask, compact, and print the command that undoes it',
      'compact @ --stage prune,deduplicate': 'only tool outputs, no summary',
      'compact @ --summary-model anthropic/claude-haiku-4-5': 'a summary written by a model',
    },
    operands: { '<session>': SESSION },
    options: {
      dryRun: flag('show the plan row by row and write nothing'),
      full: flag('with --dry-run on a terminal: the whole text of a summary too'),
      target: read('share', 'reduce the request to this share of the available input (default 0.4)', share),
      targetTokens: against('target', number('tokens', 'reduce the history to N tokens', 0)),
      stage: severalOf(
        'name',
        'only these stages, in this order (several with commas, or repeat the option)',
        STAGES,
      ),
      model: text('provider/model', 'the model whose context window applies (default: the session’s)'),
      provider: text('name', 'the provider whose context window applies'),
      summaryModel: text(
        'model',
        'the model that writes the summary: provider/model through the AI SDK, or a model at --summary-url',
      ),
      summaryUrl: text('address', 'an OpenAI-compatible address for --summary-model'),
      summaryPackage: text('name', "the package of the provider, if it isn't @ai-sdk/PROVIDER"),
      apiKeyEnv: text('name', 'the variable with the key for that address (default OPENAI_API_KEY)'),
      summarize: flag('with --dry-run: call the model now and show its summary (incurs cost)'),
      reason: text('text', 'the reason, for the audit'),
    },
  },
  log: {
    summary: 'show what was done to a session, by whom and why',
    description:
      'Shows the audit as a timeline, newest run first: each compaction with its kind, what it hid and replaced, tokens before and after, who started it and why, what a summary cost, and when it was undone and redone. A compaction that others in force build on is indented below them.',
    examples: {
      'log @': 'the newest session',
      'log @ --limit 1': 'the last run alone, for example to undo it',
      "log @ --json | jq -r '.runs[].compactions[].id'": 'ids of all compactions, for a script',
    },
    operands: { '<session>': SESSION },
    options: {
      limit: number('count', 'maximum number of runs, newest first'),
    },
  },
  requests: {
    summary: 'show what a model was sent',
    description:
      'Lists the recorded requests of a session: the time, the model, the size of the history, and the position of the answer. With the number of a request, or the position of a message that it produced, shows what the model was sent: system prompt, tools and messages, rendered again and compared with the recorded hash.',
    examples: {
      'requests @': 'the requests of the newest session',
      'requests @ r12': 'what its twelfth request contained',
      'requests @ --answer 40': 'what the model saw when it wrote the message at position 40',
      "requests @ @ --json | jq '.request.messages'": 'the messages of the newest request, for a script',
    },
    operands: {
      '<session>': SESSION,
      '[request]': 'a request: its number (r12), its id, or @ for the newest',
    },
    options: {
      answer: against('after', number('position', 'the request that produced the message at this position')),
      limit: withDefault(50, number('count', 'maximum number to list')),
      after: text('request', 'continue after this request, the last one of the previous list'),
      fold: unless("long tool outputs in full (always if the output isn't a terminal)"),
    },
  },
  diff: {
    summary: 'show how a compaction changed the view, or the difference between two moments',
    description:
      'With two moments, such as position:12 and now (the default for the second), compares the views at these moments. With a compaction (or a run), compares the view without and with it: removed rows with -, added rows with +, replaced texts with both. If it is in force, compactions that build on it are left out of both sides, to show only its own change; --now includes them. If it is undone, compares the current view with the view after a redo.',
    examples: {
      'diff @ @': 'what the newest run of the newest session did',
      'diff billing eb16c59c': 'one compaction, by the end of its id',
      'diff billing eb16c59c --now': 'including everything built on it since',
      'diff billing position:40 audit:7': 'the views at two moments',
    },
    operands: {
      '<session>': SESSION,
      '<from>': `${COMPACTION}; or a moment: position:12, audit:7, …`,
      '[to]': 'the second moment (default: now)',
    },
    options: {
      now: flag('compare with the view as it is now, with everything that builds on it'),
      full: flag('all texts in full, and rows that stay the same'),
    },
  },
  fork: {
    summary: 'copy a session as it is, or as it was at a moment',
    description:
      'Makes a copy that continues on its own: the messages up to the moment, with the compactions that were in force then. The copy shares the stored contents, so it is small. A moment is a position (12: after message 12), before:ID or after:ID of a message, audit:NUMBER, or a time.',
    examples: {
      'fork @': 'the newest session as it is now',
      'fork billing --at position:12 --id billing-2': 'as it was after its message 12',
      'fork billing --at time:2026-05-01T12:00 --title "another way"': 'as it was at a time',
    },
    operands: { '<session>': SESSION },
    options: {
      at: text('moment', `${MOMENT}; now if omitted`),
      id: text('id', 'the id of the copy'),
      title: text('title', 'the title of the copy (default: the title of the original)'),
      actor: text('name', 'the actor, for the audit'),
    },
  },
  tree: {
    summary: 'draw sessions with their forks',
    description:
      'Draws the root of a session, from which it was forked directly or indirectly, with all forks below. Without a session, draws all sessions that have forks.',
    examples: { tree: 'all sessions with forks', 'tree billing': 'the family of one session' },
    operands: { '[session]': `${SESSION}; all if omitted` },
    options: {},
  },
  'bring-back': {
    summary: 'append the conclusion of a fork to its original',
    description:
      'Appends a message to the original of a fork: the given text, or a summary of the fork’s own messages. The message names the fork.',
    examples: {
      'bring-back billing-2': 'with a summary',
      'bring-back billing-2 --text "The second way works."': 'with words of your own',
    },
    operands: { '<fork>': SESSION },
    options: {
      text: text('text', 'the conclusion; a summary if omitted'),
      reason: text('text', 'the reason, for the audit'),
      actor: text('name', 'the actor, for the audit'),
    },
  },
  undo: {
    summary: 'undo a compaction, or a whole run',
    description:
      'Takes a compaction out of force: the rows it hid are visible again, byte for byte, and the rows it inserted are hidden. The id of a run undoes all of it, and @ is the newest run. If other compactions in force build on it, they are named and nothing is done (exit 4); --cascade undoes them too. If messages were appended after a rewind, only --both undoes it: the former messages then come before the new ones.',
    examples: {
      'undo @ @': 'the newest run of the newest session',
      'undo billing eb16c59c': 'a compaction by the end of its id, as `undertext log` shows it',
      'undo @ eb16c59c --cascade --reason "the summary was wrong"':
        'with everything that builds on it, and why',
    },
    operands: { '<session>': SESSION, '<id>': COMPACTION },
    options: {
      cascade: flag('first undo the compactions that build on it'),
      both: flag('undo a rewind even if messages were appended after it'),
      showRetired: flag('undo it even if retention removed something that would be shown again'),
      reason: text('text', 'the reason, for the audit'),
      actor: text('name', 'the actor, for the audit'),
    },
  },
  redo: {
    summary: 'redo a compaction that was undone',
    description:
      "Puts a compaction back in force, or everything that the last undo of a run took out of force, including compactions of other runs that --cascade undid. It restores the same rows and the stored summary, and calls no model. If rows that it covers aren't visible, nothing is done (exit 4); --cascade first redoes the compactions that it builds on.",
    examples: {
      'redo @ @': 'the newest run of the newest session',
      'redo billing eb16c59c --cascade': 'a compaction, and those that it builds on',
    },
    operands: { '<session>': SESSION, '<id>': COMPACTION },
    options: {
      cascade: flag('first redo the compactions that it builds on'),
      showRetired: flag('redo it even if retention removed something that would be shown again'),
      reason: text('text', 'the reason, for the audit'),
      actor: text('name', 'the actor, for the audit'),
    },
  },
  chat: {
    summary: 'chat with a model or an offline echo, and store the session',
    description:
      "A conversation at the terminal, kept in the store and within the context window. Without a session, a new one begins. If the input isn't a terminal, each of its lines is a prompt (a backslash at the end joins the next line) and the answers are written to the output. Without --provider, --url or --model the offline echo answers.",
    examples: {
      'chat --provider anthropic --model claude-sonnet-4-5':
        'a new session; needs the packages ai and @ai-sdk/anthropic',
      'chat --url http://localhost:11434/v1 --model llama3.2': 'a model on this machine',
      'chat @ --url http://localhost:11434/v1': 'continue the newest session with its model',
      'chat @ --message "And in Rust?" --provider openai': 'one turn, for scripts',
    },
    operands: { '[session]': `the session to continue: ${SESSION}` },
    options: {
      provider: text('name', 'ask a provider of the AI SDK: anthropic, openai, google, mistral …'),
      model: text('name', 'the model; PROVIDER/MODEL names both'),
      providerPackage: text('name', "the package of that provider, if it isn't @ai-sdk/PROVIDER"),
      url: text('address', 'ask an OpenAI-compatible address, such as http://localhost:11434/v1'),
      apiKeyEnv: text('name', 'the variable with the key for --url (default OPENAI_API_KEY)'),
      echo: flag('call no model: repeat each prompt; --model selects the context window'),
      contextWindow: number('tokens', "the window of the model, if it isn't known"),
      compactThreshold: read('number', 'usage at which to compact, such as 0.5 or 50% (default 0.8)', share),
      disableCompaction: flag('no automatic compaction, and no notices about usage'),
      summaryModel: text('name', 'the model of the same provider that writes summaries (default: no model)'),
      ...systemPrompt(),
      maxTokens: number('tokens', 'maximum tokens per answer'),
      title: text('text', 'the title of a new session'),
      message: text('text', 'send this one prompt, print the answer, and end'),
    },
  },
  import: {
    summary: 'import conversations from files and folders',
    description: `Imports sessions of Claude Code, pi, Cline and Roo Code, exports of ChatGPT and of Claude, transcripts of OpenAI's and Anthropic's APIs (JSON, JSONL), plain messages with a role and a content, and histories this program exported. The kind of a file is recognized from its content. In a folder and its subfolders, all recognized files are imported; - is the standard input.

Each file is first checked as a whole: conversations with unreadable entries are skipped, and the rest are imported. Re-importing a file adds nothing; if it has grown, only the new messages are added. Compactions that the agent made can be undone here.`,
    examples: {
      'import ~/.claude/projects': 'all sessions of Claude Code',
      'import conversations.json --branches': 'an export of ChatGPT or Claude, abandoned branches as well',
      'import run.jsonl --session nightly-7 --dry-run': 'what would be stored of one transcript',
      'import - --skip-bad < broken.jsonl': 'the standard input, without the bad lines',
    },
    operands: { '<file...>': 'files, folders, or - for the standard input' },
    options: {
      from: oneOf('kind', 'the kind of the files; in a folder, only files of this kind', SOURCE_NAMES),
      session: text(
        'id',
        'the session id, for a file with one conversation; with a new id, a conversation whose session has diverged is imported too',
      ),
      prefix: text('text', 'a prefix for the ids of the imported sessions'),
      skipBad: flag('store conversations without their unreadable entries'),
      branches: flag('also import abandoned branches, as separate sessions'),
      follow: unless('skip symbolic links in folders, so that nothing outside of them is read'),
      dryRun: flag('report what would be stored, and store nothing'),
      owner: text('owner', 'the owner of the sessions'),
      reason: text('text', 'the reason, for the audit'),
    },
  },
  export: {
    summary: 'write sessions to a file: complete, as sent to a model, or as a document',
    description: `Writes sessions out. "history" is everything: each message, tag, compaction and line of the audit, one JSON object per line; \`undertext import\` restores exactly the same session from it. "markdown" and "html" are documents for people. The other formats write the view, which is what a model would be sent now, in the form of an API or a framework.

Without --format the extension of the file decides (.md, .html), else it is "history".`,
    examples: {
      'export @ -o backup.jsonl': 'the newest session, to be imported again',
      'export --all -o everything.jsonl': 'a backup of all sessions',
      'export @ -o talk.html': 'one page to be read in a browser',
      'export @ --format anthropic --rendered': 'what would be sent to Anthropic now',
    },
    operands: { '[session...]': `sessions to export, each by ${SESSION}` },
    options: {
      all: flag('all sessions, archived ones too (format history)'),
      format: oneOf('format', 'the format to write', EXPORT_FORMATS),
      output: short('o', text('file', 'the file to write (default, or with -: the standard output)')),
      force: flag('replace the file if it exists'),
      lines: flag('one JSON value per line instead of one document (formats of the view)'),
      rendered: optionally(
        'provider',
        'make the view valid for this provider (default: the provider of the format); put the session before this option',
      ),
      full: flag('all messages of the log, hidden ones included (formats of the view)'),
      at: text('moment', `${MOMENT} (formats of the view)`),
      hidden: oneOf('omit|show', 'hidden rows in documents (default: omit in markdown, show in html)', [
        'omit',
        'show',
      ]),
      images: oneOf('inline|word', 'pictures in documents (default: a word in markdown, inline in html)', [
        'inline',
        'word',
      ]),
      cutOutputs: number('characters', 'the maximum length of a tool output in documents'),
    },
  },
  move: {
    summary: 'copy the whole store to another one, in a file or on a server',
    description: `Copies all sessions of the store, with everything stored about them, to another store: from a file to PostgreSQL, back, or between two stores of the same kind. Each copy is read again, compared with its original and verified before it appears. The store is only read, and stays as it is.

Running the same command again continues after an interruption and copies later changes. A session that is a different one there, or that was changed there, is never overwritten: it is named, and the command exits with 4.`,
    examples: {
      'move --db chats.db --to postgres://app@db.example/chats': 'from a file to a server',
      'move --db postgres://app@db.example/chats --to chats.db': 'and back, to a new file',
      'move --to copy.db --json | jq .problems': "the sessions that weren't copied",
    },
    options: {
      to: needed(text('store', 'the target: a file, or a server (postgres://…)')),
    },
  },
  backup: {
    summary: 'copy the store to a file while other programs write to it',
    description:
      'Copies the whole store, as of one moment, to a file that is a store itself: `undertext --db FILE` opens it. The file appears when it is complete. A store on a server is copied by the tools of the server (docs/backup.md).',
    examples: {
      'backup chats-backup.db': 'a new file',
      'backup /mnt/backups/chats.db --force --json': 'replaces the previous one, for a script',
      'restore --check chats-backup.db': 'is it sound?',
    },
    operands: { '<file>': 'the file to write' },
    options: { force: flag('replace the file if it exists') },
  },
  restore: {
    summary: 'check a backup or an archive, and restore it',
    description:
      'Checks a file of `undertext backup` or `undertext export`: the file itself, then each of its sessions. If everything is sound, a backup is copied to where --db says, and the sessions of an archive are imported into the store. With --check, nothing is written. Exits with 1, and restores nothing, if a problem is found.',
    examples: {
      'restore --check chats-backup.db': 'is this backup sound?',
      'restore chats-backup.db --db chats.db': 'copies it to a new store',
      'restore everything.jsonl': 'imports the sessions of an archive',
    },
    operands: { '<file>': 'the backup or the archive' },
    options: {
      check: flag('only check the file, and write nothing'),
      force: flag('replace the store if there is one'),
    },
  },
  verify: {
    summary: 'check that sessions are sound, and repair them',
    description:
      'Checks tags, counters, sizes, pairs, contents and guards of a session, or of all of them. Exits with 1 if there are findings. With --repair, everything that can be recomputed is rebuilt; contents are never changed.',
    examples: {
      'verify @': 'the newest session',
      verify: 'all sessions, archived ones too',
      'verify billing --repair': 'and repair what can be repaired',
      'verify --json > findings.json': 'for a script; the exit code is 1 if there are findings',
    },
    operands: { '[session]': `${SESSION}; all if omitted` },
    options: {
      all: flag('all sessions, archived ones too (the default)'),
      repair: flag('rebuild tags, counters and sizes that do not match the stored contents'),
    },
  },
  scan: {
    summary: 'report credentials in what is stored',
    description:
      'Reports the messages, summaries, notes and requests of a session, or of all of them, in which credentials are stored: their kinds, numbers and places, never the credentials. Exits with 1 if there are any. Nothing is changed.',
    examples: {
      scan: 'all sessions, archived ones too, and the notes of their owners',
      'scan @': 'the newest session',
      'scan --owner ann': 'the sessions and notes of an owner',
      'scan --json > found.json': 'for a script; the exit code is 1 if there are credentials',
    },
    operands: { '[session]': `${SESSION}; all if omitted` },
    options: { owner: text('owner', 'only the sessions and notes of this owner') },
  },
  notes: {
    summary: 'list, add and forget notes of a session or an owner',
    description:
      'Lists the notes that are recalled for a session, including the notes of its owner: for the newest session, unless --session or --owner is given. `notes add TEXT` stores a note and replaces the note with the same --key; `notes forget ID` takes a note out of use, and with --purge permanently removes its text.',
    examples: {
      notes: 'the notes of the newest session, newest first',
      'notes --owner ann --search "which editor"': 'the best matches among the notes of an owner',
      'notes add "Deploys on Fridays." --owner ann --key deploys': 'adds one, or replaces it',
      'notes forget 1b2c3d4e --owner ann': 'takes it out of use; `notes --all` still lists it',
    },
    operands: {
      '[action]': { about: 'what to do', choices: ['list', 'add', 'forget'], default: 'list' },
      '[text]': 'the text of the note to add; the id of the note to forget, or its beginning or end',
    },
    options: {
      session: text('session', `the notes of a session: ${SESSION}`),
      owner: text('owner', 'the notes of an owner'),
      search: text('text', 'only notes that match this text, the best first'),
      key: text('key', 'only notes with this key; with add, replaces the note with this key'),
      all: flag('replaced and forgotten notes too'),
      limit: withDefault(50, number('count', 'maximum number to list')),
      source: text('message', 'with add: the id of the message that the note comes from'),
      purge: flag('with forget: permanently remove its text, and earlier notes with its key'),
      reason: text('text', 'the reason, for the audit'),
      actor: text('name', 'the actor, for the audit'),
    },
  },
  inspect: {
    summary: 'open the store in a browser',
    description:
      'Serves a page that shows the sessions, what the model saw at each answer, how the context grew, and what each compaction did and cost; it previews, applies and undoes compactions. Only this machine can open it, with the address that is printed, which contains a key. On a terminal, the browser opens. Ctrl-C ends it.',
    examples: {
      inspect: 'all sessions, in the browser',
      'inspect @ --readonly': 'the newest session, without changing anything',
      'inspect --owner ann --port 4000 --no-open': 'only the sessions of one owner, at a fixed port',
    },
    operands: { '[session]': SESSION },
    options: {
      port: number('number', 'the port (default: a free one)', 0),
      readonly: flag('show the store without changing it'),
      owner: text('owner', 'only the sessions and notes of this owner'),
      open: unless('do not open the browser'),
    },
  },
  mcp: {
    summary: 'serve the store to an agent over MCP, on the standard input and output',
    description:
      'Serves the store to a client of the Model Context Protocol, such as Claude Code, which starts this command itself: tools that list, search and read sessions, including their past states, and transcripts as resources. It is read-only unless --allow permits changes, and ends when its input ends.',
    examples: {
      'mcp --db chats.db': 'read-only; docs/mcp.md shows how to add it to an agent',
      'mcp --allow import --watch ~/.claude/projects':
        'and import the sessions of Claude Code while they grow',
      'mcp --owner ann --allow compact,undo': 'only the sessions of one owner, which may be compacted',
    },
    options: {
      allow: severalOf(
        'what',
        'what a client may change (several with commas, or repeat the option)',
        PERMISSIONS,
      ),
      owner: text('owner', 'only the sessions and notes of this owner exist for the client'),
      watch: read(
        'folder',
        'with --allow import: import the files of this folder, and again when they grow',
        repeated,
      ),
      maxTokens: number('tokens', 'maximum tokens per answer (default 2000)', 300),
    },
  },
  purge: {
    summary: 'permanently remove a session',
    description:
      'Permanently removes a session and all it holds: messages, compactions, and images that no other session uses. Only a receipt of counts remains. On a terminal, you type the id of the session to confirm; elsewhere, pass --yes and the whole id, or @.',
    examples: {
      'purge old-chat': 'shows what will be removed, and asks',
      'purge old-chat --yes --reason "asked by its owner"': 'without asking',
    },
    operands: { '<session>': SESSION },
    options: {
      forks: oneOf('what', 'what happens to forks; required if there are any', ['keep', 'purge']),
      reason: text('text', 'the reason, for the receipt'),
      actor: text('name', 'the actor, for the receipt'),
    },
  },
  'purge-text': {
    summary: 'permanently remove a text, such as a secret',
    description:
      'Permanently removes a text from a session and its forks, from all that belongs to an owner, or from the whole store: messages, summaries, replaced texts, notes, recorded requests and the search index. The text is never an argument, because arguments stay in the history of the shell: it is asked for, piped in, or read from a file.',
    examples: {
      'purge-text --all --dry-run': 'asks for the text, and counts where it is',
      'purge-text billing --replacement "[key]"': 'from one session and its forks',
      'purge-text --all --yes --file leaked-key.txt --reason "leaked key"': 'without asking',
    },
    operands: { '[session]': SESSION },
    options: {
      owner: text('owner', 'all sessions and notes of this owner'),
      all: flag('the whole store'),
      file: text('path', 'a file with the text, without its last line break'),
      regex: flag('the text is a regular expression of JavaScript'),
      replacement: text('text', 'what is stored instead (default: [removed])'),
      dryRun: flag('count the text without removing it'),
      reason: text('text', 'the reason, for the audit'),
      actor: text('name', 'the actor, for the audit'),
    },
  },
  retention: {
    summary: 'permanently remove content by age and size',
    description:
      "Applies the rules of retention: those of the store's settings, of each session, and of a file (JSON). What is visible, pinned or required by something visible stays unless a rule says otherwise; what is removed leaves a tombstone. It works in short steps, so other programs can write meanwhile. Without --yes it first shows what would be removed, and asks.",
    examples: {
      'retention --dry-run --rules rules.json': 'what the rules of a file would remove',
      'retention --yes --rules rules.json --seconds 60': 'removes for at most a minute, from a nightly job',
      'retention billing --rules rules.json': 'in one session only',
    },
    operands: { '[session]': SESSION },
    options: {
      rules: text('path', 'a file with rules, which precede those of the store'),
      owner: text('owner', 'only sessions of this owner'),
      dryRun: flag('show what would be removed without removing it'),
      seconds: number('count', 'stop after this time; the output then has a cursor'),
      cursor: text('cursor', 'continue where an earlier call stopped'),
      clearFiles: flag('rewrite the files at the end, which blocks other programs meanwhile'),
      reason: text('text', 'the reason, for the audit'),
      actor: text('name', 'the actor, for the audit'),
    },
  },
  doctor: {
    summary: 'check the store, versions and settings',
    description:
      'Reports which store is used and why, the state of its file or server, which versions run, which optional packages are installed, the settings and the source of each, and the capabilities of the terminal. It works even if the store is missing, damaged or not a store at all, and exits with 1 if something is wrong.',
    examples: {
      doctor: 'start here if something looks wrong',
      'doctor --deep --db chats.db': 'is this file sound?',
      'doctor --json | jq \'.settings[] | select(.source != "default")\'': 'settings that were changed',
    },
    options: {
      deep: flag(
        'check the whole file (pragma integrity_check): about a minute per gigabyte; not for a server',
      ),
      upgrade: flag('upgrade a store of an older version'),
    },
  },
  completion: {
    summary: 'print a script that completes commands in a shell',
    description:
      'Prints a script for a shell. With it, the Tab key completes commands, options and their values, ids of sessions and compactions, and files.',
    examples: {
      'completion bash >> ~/.bashrc': 'bash, from the next shell on',
      'completion zsh > ~/.zfunc/_undertext': 'zsh, if ~/.zfunc is in fpath',
      'completion fish > ~/.config/fish/completions/undertext.fish': 'fish',
    },
    operands: { '<shell>': { about: 'the shell', choices: ['bash', 'zsh', 'fish'] } },
    options: {},
  },
} satisfies { readonly [name: string]: Declaration }

/** The options with which the action of a command is called. */
export type Given<N extends keyof typeof DECLARATIONS> = OptionsOf<(typeof DECLARATIONS)[N]['options']>
