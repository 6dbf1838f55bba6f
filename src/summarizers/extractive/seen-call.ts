import type { Call } from '../calls.ts'

/** What is kept of an old call, so that its input and output need not be. */
export type KeptOfCall = {
  readonly label: string
  /** The line of its result that tells what went wrong, and its name beside that. */
  readonly problem: { readonly line: string; readonly label: string } | undefined
  readonly isCommand: boolean
  readonly commit: string | undefined
  /** What a file says of itself that the call wrote as a whole. */
  readonly about: string | undefined
  readonly writings: readonly Writing[]
  readonly todo: readonly TodoItem[]
}

/** A call with its input and output, or with what is kept of them. */
export type SeenCall = Call & { readonly kept?: KeptOfCall }

/** An item of a list of tasks that a tool keeps. */
export type TodoItem = {
  readonly text: string
  readonly isDone: boolean
  readonly isActive: boolean
}

/** A text with boxes, what it stands in for, and where. */
export type Writing = {
  readonly text: string
  readonly old: string
  readonly at: number
  readonly where?: string
  readonly isWhole: boolean
}
