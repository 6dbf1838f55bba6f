import { type ErrorCode, type Failures, isUndertextError } from '../core/errors.ts'
import { counted } from './output/figures.ts'
import { commandLine } from './output/ids.ts'

/** The exit codes. `undertext --help` and docs/cli.md list them. */
export const EXIT = {
  done: 0,
  no: 1,
  wrongUse: 2,
  notFound: 3,
  refused: 4,
  unusable: 5,
  badData: 6,
  failed: 7,
  defect: 70,
  interrupted: 130,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Returned by a command that runs until it is interrupted, which is then not a failure. */
export const UNTIL_INTERRUPTED = -1

/** One line for each, for people. */
export const EXIT_MEANINGS: { readonly [code in ExitCode]: string } = {
  0: 'done',
  1: 'no: verify or a check found a problem, scan found credentials, or a compaction or an import had nothing to do',
  2: 'wrong usage',
  3: 'not found: a store, session, message, compaction or file',
  4: 'rejected because of the state of the session: later compactions depend on it, another program was faster, a plan is out of date, or a move skipped it',
  5: "the store can't be used: busy, full, damaged, of another version, or not a store",
  6: 'bad data in a file',
  7: 'a model, a tokenizer or the network failed',
  70: 'a bug in undertext',
  130: 'interrupted, or declined',
}

/** Failures of the command line only; the store's failures keep their own codes. */
const OWN_EXITS = {
  /** An argument or option that is not valid. */
  WRONG_USE: EXIT.wrongUse,
  /** A named store or file does not exist. */
  NOT_THERE: EXIT.notFound,
  /** Part of an id that matches several ids. */
  AMBIGUOUS: EXIT.wrongUse,
  /** A question was answered with no, or could not be asked. */
  DECLINED: EXIT.interrupted,
  /** Ctrl-C. */
  INTERRUPTED: EXIT.interrupted,
  /** A file has contents that cannot be used. */
  BAD_DATA: EXIT.badData,
  /** A model or the network did not answer. */
  FAILED: EXIT.failed,
} as const satisfies { readonly [code: string]: ExitCode }

/** Numbers, names and ids that explain a failure; never text of a conversation. */
type Facts = { readonly [name: string]: string | number | boolean | readonly string[] }

/** A failure of a command: a sentence for people, and a hint of what to do. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: keyof typeof OWN_EXITS
  readonly exit: ExitCode
  readonly facts: Facts
  readonly hint: string | undefined

  constructor(
    code: keyof typeof OWN_EXITS,
    message: string,
    { facts = {}, hint }: { facts?: Facts; hint?: string } = {},
  ) {
    super(message)
    this.code = code
    this.exit = OWN_EXITS[code]
    this.facts = facts
    this.hint = hint
  }
}

/** A failure as the program reports it. */
export type Failure = {
  readonly code: string
  readonly exit: ExitCode
  readonly message: string
  readonly facts: object
  readonly hint?: string | undefined
}

/** Returns the command's option for a field of the API, such as `--max-tokens` for `maxTokens`. */
export type FlagOf = (field: string) => string | undefined

/** The exit code of an error of the package, and a command's message about it. */
type Words<C extends ErrorCode> = {
  readonly exit: ExitCode
  /** Replaces the error's own message, which is written for programs and may name options of the API. */
  readonly sentence?: (facts: Failures[C], flagOf: FlagOf) => string
  /** What to do: the command and its options. */
  readonly hint?: string | ((facts: Failures[C]) => string | undefined)
}

/**
 * The exit code and the message of the program, by error. A message that names a function or an option of the API needs a sentence here.
 */
export const ENDINGS: { readonly [C in ErrorCode]: Words<C> } = {
  // A function's name before the problem is useless here; a field's name isn't.
  INVALID_INPUT: {
    exit: EXIT.wrongUse,
    sentence: ({ problems }, flagOf) => {
      const ofFields = problems.replaceAll(/^[a-z][A-Za-z]+(?:\.[A-Za-z]+)?: (?!must )/gm, '')
      return `Invalid input: ${ofFields.replaceAll(/^[a-z]\w*(?=[:.[])/gm, (field) => flagOf(field) ?? field)}`
    },
  },
  SESSION_NOT_FOUND: {
    exit: EXIT.notFound,
    sentence: ({ sessionId }) =>
      sessionId === '@' ? 'There are no sessions yet.' : `There is no session ${JSON.stringify(sessionId)}.`,
    hint: '`undertext sessions` lists them; @ is the newest.',
  },
  SESSION_EXISTS: {
    exit: EXIT.refused,
    sentence: ({ sessionId }) => `Session ${JSON.stringify(sessionId)} already exists.`,
    hint: 'Choose another id.',
  },
  SESSION_AMBIGUOUS: {
    exit: EXIT.refused,
    sentence: ({ sessionId }) => `Several owners have a session ${JSON.stringify(sessionId)}.`,
    hint: 'Set UNDERTEXT_OWNER to one of them; `undertext sessions` lists the owners.',
  },
  OWNER_REQUIRED: {
    exit: EXIT.wrongUse,
    sentence: () => 'Set UNDERTEXT_OWNER to the owner of the sessions.',
  },
  MESSAGE_NOT_FOUND: { exit: EXIT.notFound },
  TOOL_CALL_NOT_FOUND: {
    exit: EXIT.notFound,
    sentence: ({ sessionId, callId, position }) =>
      `Session ${JSON.stringify(sessionId)} has no tool call ${JSON.stringify(callId)}${position === undefined ? '' : ` with a message at position ${position}`}.`,
  },
  COMPACTION_NOT_FOUND: {
    exit: EXIT.notFound,
    sentence: ({ sessionId, compactionId }) =>
      compactionId === '@'
        ? `Session ${JSON.stringify(sessionId)} hasn't been compacted.`
        : `Session ${JSON.stringify(sessionId)} has no compaction or run ${JSON.stringify(compactionId)}.`,
    hint: '`undertext log SESSION` lists them; @ is the newest.',
  },
  POSITION_CONFLICT: { exit: EXIT.refused },
  APPROVAL_STORED: {
    exit: EXIT.refused,
    sentence: ({ sessionId, toolCallIds }) =>
      `In session ${JSON.stringify(sessionId)}, another request stored the approval of ${counted(toolCallIds.length, 'tool call')}.`,
  },
  TURN_IN_PROGRESS: {
    exit: EXIT.refused,
    sentence: ({ sessionId, turnId }) =>
      `Another turn (${turnId}) of session ${JSON.stringify(sessionId)} is under way.`,
  },
  TURN_LOST: { exit: EXIT.refused },
  IDEMPOTENCY_CONFLICT: { exit: EXIT.refused },
  MESSAGE_ID_TAKEN: { exit: EXIT.refused },
  STALE_PLAN: { exit: EXIT.refused },
  ILLEGAL_BOUNDARY: { exit: EXIT.refused },
  PENDING_TOOL_CALLS: { exit: EXIT.refused },
  HAS_ACTIVE_DEPENDENTS: {
    exit: EXIT.refused,
    sentence: ({ compactionId, dependents }) =>
      `Compaction ${compactionId} can't be undone alone: others in force build on it (${dependents.join(', ')}).`,
    hint: ({ sessionId, compactionId }) =>
      `Undo those as well with \`${commandLine('undo --cascade', sessionId, compactionId)}\`; \`${commandLine('log', sessionId)}\` shows how they nest.`,
  },
  HAS_FORKS: {
    exit: EXIT.refused,
    sentence: ({ sessionId, forks }) =>
      `Session ${JSON.stringify(sessionId)} has ${counted(forks.length, 'fork')}, which need${forks.length === 1 ? 's' : ''} its messages: ${named(forks)}.`,
    hint: ({ sessionId }) =>
      `\`${commandLine('purge --forks keep', sessionId)}\` keeps the messages that they need; --forks purge purges them too.`,
  },
  BRANCH_MOVED: {
    exit: EXIT.refused,
    sentence: ({ compactionId, messageId }) =>
      `Messages were appended after rewind ${compactionId}, beginning with ${JSON.stringify(messageId)}.`,
    hint: ({ sessionId, compactionId }) =>
      `Undo it anyway with \`${commandLine('undo --both', sessionId, compactionId)}\`: the former messages then come before those that were appended after it.`,
  },
  CONTENT_RETIRED: {
    exit: EXIT.refused,
    sentence: ({ compactionId, messages, parts }) =>
      `The view would show ${counted(messages, 'message')} of which retention removed ${counted(parts, 'part')} while compaction ${compactionId} kept ${messages === 1 ? 'it' : 'them'} out of the view.`,
    hint: ({ sessionId, compactionId }) =>
      `\`${commandLine('undo --show-retired', sessionId, compactionId)}\` undoes it anyway and shows what stayed of them.`,
  },
  INPUT_NOT_VISIBLE: {
    exit: EXIT.refused,
    sentence: ({ compactionId, why, missing }) =>
      `Compaction ${compactionId} can't be redone now (${why})${missing.length > 0 ? `: ${missing.join(', ')}` : ''}.`,
    hint: ({ sessionId, compactionId }) =>
      `Redo the compactions that it builds on as well with \`${commandLine('redo --cascade', sessionId, compactionId)}\`.`,
  },
  STAGE_FAILED: { exit: EXIT.defect },
  COMPACTION_IN_PROGRESS: { exit: EXIT.refused },
  CIRCUIT_OPEN: {
    exit: EXIT.refused,
    sentence: ({ sessionId, failures, error }) =>
      `Session ${JSON.stringify(sessionId)} isn't compacted in the background for now: its last ${failures} automatic runs failed (${error}).`,
    hint: ({ sessionId }) => `\`${commandLine('compact', sessionId)}\` still compacts it.`,
  },
  JOB_NOT_FOUND: {
    exit: EXIT.notFound,
    sentence: ({ jobId }) => `There is no job ${JSON.stringify(jobId)}.`,
  },
  REQUEST_NOT_FOUND: {
    exit: EXIT.notFound,
    sentence: ({ sessionId, request }) =>
      request === '@'
        ? `Session ${JSON.stringify(sessionId)} has no recorded request.`
        : `Session ${JSON.stringify(sessionId)} has no recorded request ${JSON.stringify(request)}.`,
    hint: '`undertext requests SESSION` lists them; @ is the newest.',
  },
  NOTE_NOT_FOUND: {
    exit: EXIT.notFound,
    sentence: ({ noteId }) => `There is no note ${JSON.stringify(noteId)}.`,
    hint: '`undertext notes --all --session SESSION` lists them, or with --owner those of an owner.',
  },
  ABORTED: { exit: EXIT.interrupted, sentence: () => 'Interrupted; nothing was changed.' },
  ESTIMATOR_UNKNOWN: {
    exit: EXIT.unusable,
    sentence: ({ sessionId, estimator }) =>
      `Session ${JSON.stringify(sessionId)} was counted with ${JSON.stringify(estimator)}, which isn't available here.`,
    hint: 'If it is a tokenizer, install gpt-tokenizer beside undertext. A custom estimator works only in the application that defines it.',
  },
  TOKENIZER_UNAVAILABLE: { exit: EXIT.failed },
  IN_TRANSACTION: {
    exit: EXIT.defect,
    sentence: () => 'A transaction of the store was already open. This is a bug in undertext.',
  },
  STORE_CLOSED: { exit: EXIT.defect, sentence: () => 'The store is closed. This is a bug in undertext.' },
  STORE_READONLY: {
    exit: EXIT.unusable,
    sentence: ({ detail }) =>
      detail === undefined
        ? "The store can't be written to: its file, or the folder it is in, is read-only."
        : `The store can't be written to. ${detail}.`,
    hint: ({ detail }) =>
      detail?.includes('SQLite') === false
        ? undefined
        : 'SQLite keeps a log beside the file, even for reading: make both writable, or copy the file and name the copy with --db.',
  },
  STORE_TOO_NEW: { exit: EXIT.unusable },
  STORE_TOO_OLD: {
    exit: EXIT.unusable,
    hint: '`undertext doctor --upgrade` brings the store up to this version.',
  },
  STORE_CORRUPT: {
    exit: EXIT.unusable,
    sentence: ({ detail }) => `The store is damaged (${detail}). Restore a backup.`,
    hint: '`undertext verify SESSION` checks a session, and `undertext doctor --deep` checks a file.',
  },
  INTERNAL_ERROR: { exit: EXIT.defect },
  STORE_BUSY: {
    exit: EXIT.unusable,
    sentence: ({ waitedMs, detail }) =>
      detail !== undefined
        ? `The store is busy. ${detail} for ${waitedMs} ms, and nothing was written.`
        : `The store is busy: another program didn't release it for ${waitedMs} ms, and nothing was written.`,
    hint: 'Try again when the other program has finished.',
  },
  STORE_FULL: { exit: EXIT.unusable },
  STORE_UNAVAILABLE: {
    exit: EXIT.unusable,
    sentence: ({ location, detail }) => `The store ${JSON.stringify(location)} can't be used: ${detail}`,
    hint: ({ advice }) =>
      advice === undefined
        ? '`undertext doctor` explains why.'
        : {
            KEEP_FORKS: 'The owner of the tables can purge it: `undertext purge --forks keep SESSION`.',
            UNPREPARED: 'For a pooler in transaction mode, add ?prepare=false to the address.',
          }[advice],
  },
  NOT_A_STORE: {
    exit: EXIT.unusable,
    sentence: ({ location, detail }) => `${JSON.stringify(location)} isn't an undertext store: ${detail}`,
    hint: 'Name a store, a new file, or another schema of a server (?schema=NAME) with --db or UNDERTEXT_DB.',
  },
  CONNECTION_UNSUITABLE: {
    exit: EXIT.unusable,
    sentence: ({ detail }) => `This connection can't be used for a store: ${detail}`,
  },
  DRIVER_UNSUPPORTED: { exit: EXIT.unusable },
  DRIVER_UNAVAILABLE: { exit: EXIT.unusable },
  CONTEXT_BUDGET_EXCEEDED: { exit: EXIT.refused },
  REQUEST_REFUSED: {
    exit: EXIT.refused,
    sentence: ({ sessionId, provider, kind, path }) =>
      `The provider ${JSON.stringify(provider)} rejects a request of session ${JSON.stringify(sessionId)} because of its content: ${kind}${path === undefined ? '' : ` at ${path}`}. Repairs didn't help.`,
    hint: ({ sessionId }) =>
      `\`${commandLine('log', sessionId)}\` lists the repairs; another model may accept the conversation.`,
  },
  REQUEST_INVALID: { exit: EXIT.refused },
  REDACTION_FAILED: {
    exit: EXIT.failed,
    sentence: ({ error }) => `Texts couldn't be redacted (${error}), so nothing was written.`,
  },
  REDACTION_REFUSED: {
    exit: EXIT.refused,
    sentence: ({ message, part }) =>
      `Part ${part} of message ${message} has a text to redact, but is signed or encrypted by its provider; nothing was written.`,
  },
  OUTPUT_NOT_SAVED: {
    exit: EXIT.failed,
    sentence: ({ reason, originalSize }) =>
      `A tool output of ${originalSize} bytes could not be saved (${reason}), so it wasn't truncated either.`,
  },
  FILES_ABORTED: { exit: EXIT.interrupted },
  MODEL_CALL_FAILED: {
    exit: EXIT.failed,
    sentence: ({ summarizer, error }) =>
      `The summarizer ${JSON.stringify(summarizer)} could not call its model (${error}).`,
    hint: 'Check the name of the model, its address and its key.',
  },
  AI_SDK_UNAVAILABLE: { exit: EXIT.failed },
  CLAUDE_AGENT_SDK_UNAVAILABLE: { exit: EXIT.failed },
  SUMMARIZER_FAILED: { exit: EXIT.failed },
  STRATEGY_FAILED: { exit: EXIT.failed },
  OPERATION_CONFLICT: { exit: EXIT.refused },
  HISTORY_DIVERGED: { exit: EXIT.refused },
  IMPORT_DIVERGED: { exit: EXIT.refused },
  HISTORY_REFUSED: { exit: EXIT.badData },
  IMPORT_ABORTED: {
    exit: EXIT.interrupted,
    sentence: ({ file, imported }) => {
      const what = file === '-' ? 'the standard input' : JSON.stringify(file)
      const stored = imported === 0 ? 'none of it was stored' : `${counted(imported, 'conversation')} stored`
      return `The import of ${what} was interrupted; ${stored}. Import it again: nothing is added twice.`
    },
  },
  FILE_UNREADABLE: { exit: EXIT.notFound },
  FILE_UNRECOGNIZED: {
    exit: EXIT.badData,
    sentence: ({ file, looks }) =>
      `${JSON.stringify(file)} isn't recognized: it looks like ${looks}. \`undertext help import\` lists the recognized kinds.`,
  },
  FILE_CHANGED: { exit: EXIT.refused },
  FILE_EXISTS: {
    exit: EXIT.wrongUse,
    sentence: ({ file }) => `${JSON.stringify(file)} already exists.`,
    hint: '`undertext backup --force` replaces it, and so does `undertext restore --force`.',
  },
  FILE_UNWRITABLE: { exit: EXIT.unusable },
  BACKUP_ABORTED: { exit: EXIT.interrupted, sentence: () => 'Interrupted; nothing was written.' },
  NOT_SUPPORTED: {
    exit: EXIT.wrongUse,
    sentence: ({ engine, page }) => `A store on ${engine} is copied by tools of the server: see ${page}.`,
    hint: '`undertext move --to FILE` copies its sessions to a file, each as of one moment.',
  },
}

/** Ids that a sentence names. */
const NAMED_IDS = 20

function named(ids: readonly string[]): string {
  const more = ids.length > NAMED_IDS ? ` and ${ids.length - NAMED_IDS} more` : ''
  return ids.slice(0, NAMED_IDS).join(', ') + more
}

/** What is wrong with a file, by the system's error code. */
const SYSTEM_ERRORS: { readonly [code: string]: string } = {
  ENOENT: "doesn't exist",
  ENOTDIR: "has a parent that isn't a folder",
  EISDIR: 'is a folder',
  EACCES: "can't be accessed: permission denied",
  EPERM: "can't be accessed: operation not permitted",
  EROFS: 'is on a read-only disk',
  ENOSPC: "can't be written: the disk is full",
  EDQUOT: "can't be written: the quota is used up",
  EFBIG: "can't be written: it would exceed the maximum file size",
  EIO: "can't be read or written: its disk or network failed",
  ENAMETOOLONG: 'has a name that is too long',
  ELOOP: 'is a link that leads to itself',
  EPIPE: 'was closed by its reader before the end',
  EEXIST: 'already exists',
}

/** The failure to report for a thrown value: known errors by their code, all others as a defect. */
export function failureOf(error: unknown, isInterrupted: boolean, flagOf: FlagOf = () => undefined): Failure {
  if (error instanceof CliError) {
    const { code, exit, message, facts, hint } = error
    return { code, exit, message, facts, hint }
  }
  if (isUndertextError(error)) {
    const { code, facts } = error
    const { exit, sentence, hint } = ENDINGS[code] as Words<ErrorCode>
    const message = sentence === undefined ? error.message : sentence(facts, flagOf)
    return { code, exit, message, facts, hint: typeof hint === 'function' ? hint(facts) : hint }
  }
  if (isInterrupted)
    return { code: 'INTERRUPTED', exit: EXIT.interrupted, message: 'Interrupted.', facts: {} }
  const { code = '', path } = (error instanceof Error ? error : {}) as NodeJS.ErrnoException
  const problem = SYSTEM_ERRORS[code]
  if (problem !== undefined)
    return {
      code,
      exit: code === 'ENOENT' ? EXIT.notFound : EXIT.unusable,
      message: `${path || 'A file'} ${problem}.`,
      facts: path ? { path } : {},
    }
  const name = error instanceof Error ? error.name : typeof error
  return {
    code: 'DEFECT',
    exit: EXIT.defect,
    message: `Unexpected error (${name}). This is a bug in undertext.`,
    facts: { name },
    hint: 'UNDERTEXT_DEBUG=1 shows where it happened.',
  }
}
