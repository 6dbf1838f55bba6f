import { isUndertextError } from '../errors.ts'
import { CliError, type CliFacts } from './cli-error.ts'
import { EXIT, EXIT_OF, type ExitCode } from './exit-codes.ts'
import { counted } from './output/figures.ts'

/** A failure as the program tells it. */
export type Failure = {
  readonly code: string
  readonly exit: ExitCode
  readonly message: string
  readonly facts: CliFacts | object
  readonly hint?: string
}

/** What to do, where a command can say more than the error's own sentence, which speaks to programs. */
const HINTS: { readonly [code in string]?: string } = {
  SESSION_NOT_FOUND: '`undertext sessions` lists them; @ is the newest.',
  COMPACTION_NOT_FOUND: '`undertext log SESSION` lists them; @ is the newest.',
  HAS_ACTIVE_DEPENDENTS: 'Undo those as well with --cascade; `undertext log SESSION` shows how they nest.',
  BRANCH_MOVED:
    'Undo it all the same with --both: the former messages show before those that were appended after it.',
  INPUT_NOT_VISIBLE: 'Put back what it builds on as well with --cascade.',
  STORE_TOO_OLD: '`undertext doctor --upgrade` brings the file up to this version.',
  STORE_READONLY:
    'SQLite keeps a log beside the file, even for reading: make both writable, or copy the file and name the copy with --db.',
  STORE_BUSY: 'Try again when that one is done.',
  STORE_CORRUPT: '`undertext doctor --deep` looks at the file, `undertext verify SESSION` at a session.',
  NOT_A_STORE: 'Name a store, or a new file, with --db PATH or UNDERTEXT_DB.',
  STORE_UNAVAILABLE: '`undertext doctor` says more.',
}

/** The sentences that speak of options of the API, as a command says them. */
const SENTENCES: { readonly [code in string]?: (facts: never) => string } = {
  SESSION_NOT_FOUND: ({ sessionId }: { sessionId: string }) =>
    sessionId === '@' ? 'There is no session yet.' : `There is no session ${JSON.stringify(sessionId)}.`,
  COMPACTION_NOT_FOUND: ({ sessionId, compactionId }: { sessionId: string; compactionId: string }) =>
    compactionId === '@'
      ? `Session ${JSON.stringify(sessionId)} has no compaction yet.`
      : `Session ${JSON.stringify(sessionId)} has no compaction and no run ${JSON.stringify(compactionId)}.`,
  STORE_READONLY: () => 'The store cannot be written to: its file, or the folder it is in, is read-only.',
  STORE_BUSY: ({ waitedMs }: { waitedMs: number }) =>
    `The store is busy: another program did not let go of it for ${waitedMs} ms, and nothing was written.`,
  STORE_CORRUPT: ({ detail }: { detail: string }) =>
    `The store is damaged (${detail}). Restore a copy of it.`,
  ABORTED: () => 'Interrupted; nothing was changed.',
  IMPORT_ABORTED: ({ file, imported }: { file: string; imported: number }) => {
    const what = file === '-' ? 'the standard input' : JSON.stringify(file)
    const stored =
      imported === 0 ? 'nothing of it was stored' : `${counted(imported, 'conversation')} of it stored`
    return `The import of ${what} was interrupted; ${stored}. Import it again: what is there is not added twice.`
  },
  // The name of a function in front of it says nothing here; that of a field does.
  INVALID_INPUT: ({ problems }: { problems: string }) =>
    `This cannot be: ${problems.replaceAll(/^[a-z][A-Za-z]+: (?!must )/gm, '')}`,
  // The documents do not come with the package.
  FILE_UNRECOGNISED: ({ file, looks }: { file: string; looks: string }) =>
    `${JSON.stringify(file)} is not recognised: it looks like ${looks}. \`undertext help import\` says what is.`,
  INPUT_NOT_VISIBLE: ({
    compactionId,
    why,
    missing,
  }: {
    compactionId: string
    why: string
    missing: readonly string[]
  }) =>
    `Compaction ${compactionId} cannot be put back now (${why})${missing.length > 0 ? `: ${missing.join(', ')}` : ''}.`,
  HAS_ACTIVE_DEPENDENTS: ({
    compactionId,
    dependents,
  }: {
    compactionId: string
    dependents: readonly string[]
  }) =>
    `Compaction ${compactionId} cannot be undone alone: others in force build on it (${dependents.join(', ')}).`,
}

/** What was thrown, as the program tells it: an error of ours by its code, whatever else as a defect. */
export function failureOf(error: unknown, isInterrupted: boolean): Failure {
  if (error instanceof CliError) {
    const { code, exit, message, facts, hint } = error
    return { code, exit, message, facts, ...(hint !== undefined && { hint }) }
  }
  if (isUndertextError(error)) {
    const { code, facts } = error
    const message = SENTENCES[code]?.(facts as never) ?? error.message
    const hint = HINTS[code]
    return { code, exit: EXIT_OF[code], message, facts, ...(hint !== undefined && { hint }) }
  }
  if (isInterrupted)
    return { code: 'INTERRUPTED', exit: EXIT.interrupted, message: 'Interrupted.', facts: {} }
  return systemFailure(error) ?? defect(error)
}

/** What the operating system says of a file. */
function systemFailure(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, path = '' } = error as NodeJS.ErrnoException
  const why = code === undefined ? undefined : WHY[code]
  if (code === undefined || why === undefined) return undefined
  const exit = code === 'ENOENT' ? EXIT.notFound : EXIT.unusable
  return {
    code,
    exit,
    message: `${path === '' ? 'A file' : path} ${why}.`,
    facts: path === '' ? {} : { path },
  }
}

const WHY: { readonly [code: string]: string } = {
  ENOENT: 'is not there',
  ENOTDIR: 'is not in a folder',
  EISDIR: 'is a folder',
  EACCES: 'may not be used',
  EPERM: 'may not be used',
  EROFS: 'is on a disk that cannot be written to',
  ENOSPC: 'cannot be written: the disk is full',
  EDQUOT: 'cannot be written: no more room is allowed',
  EFBIG: 'cannot be written: it would be larger than files may be',
  EIO: 'cannot be read or written: the disk or the network it is on fails',
  ENAMETOOLONG: 'has a name that is too long',
  ELOOP: 'is a link that leads to itself',
  EPIPE: 'was left by whoever read it, before its end',
  EEXIST: 'is there already',
}

function defect(error: unknown): Failure {
  const name = error instanceof Error ? error.name : typeof error
  return {
    code: 'DEFECT',
    exit: EXIT.defect,
    message: `This should not have happened (${name}). It is a defect of undertext.`,
    facts: { name },
    hint: 'UNDERTEXT_DEBUG=1 shows where it happened.',
  }
}
