import { EXIT, type ExitCode } from './exit-codes.ts'

/** Failures of the command line alone; those of the store keep their own codes. */
const EXIT_OF_OWN = {
  /** An argument or an option that cannot be. */
  WRONG_USE: EXIT.wrongUse,
  /** There is no store, or no file, where one was named. */
  NOT_THERE: EXIT.notFound,
  /** A part of an id that several have. */
  AMBIGUOUS: EXIT.wrongUse,
  /** Somebody was asked and said no, or could not be asked. */
  DECLINED: EXIT.interrupted,
  /** Ctrl-C. */
  INTERRUPTED: EXIT.interrupted,
  /** A file holds what cannot be taken in. */
  BAD_DATA: EXIT.badData,
  /** A model or a network that did not answer. */
  FAILED: EXIT.failed,
} as const satisfies { readonly [code: string]: ExitCode }
type CliErrorCode = keyof typeof EXIT_OF_OWN

/** Numbers, names and ids that say more; never text of a conversation. */
export type CliFacts = { readonly [name: string]: string | number | boolean | readonly string[] }

/** A failure of a command, with a sentence for people and, where there is one, a hint of what to do. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: CliErrorCode
  readonly exit: ExitCode
  readonly facts: CliFacts
  readonly hint: string | undefined

  constructor(code: CliErrorCode, message: string, more: { facts?: CliFacts; hint?: string } = {}) {
    super(message)
    this.code = code
    this.exit = EXIT_OF_OWN[code]
    this.facts = more.facts ?? {}
    this.hint = more.hint
  }
}
