/** A text of the user or of another speaker with its position; a long text has only its beginning and end. */
export type Utterance = {
  readonly by: 'user' | 'assistant'
  /** The name of an agent, a console or a person, where several speak beside the user; undefined for the user. */
  readonly speaker?: string | undefined
  readonly text: string
  readonly at: number
  /** The position in the log, where it is known. */
  readonly position?: number | undefined
  /** A user's text without quoted, pasted or forwarded text; an assistant's whole text. */
  readonly own: string
  /** Of the assistant: whether the same message calls tools. */
  readonly hasCalls?: boolean
  /** Of what a user answered through a tool: to which call. */
  readonly reply?: string
}
/** The beginning of `reply` for the reason of a refusal. */
export const REFUSED = 'refused: '

/** A request of the user and everything before the next one. */
export type Exchange = {
  readonly request: Utterance
  readonly replies: readonly Utterance[]
  /** The subjects of its commits. */
  readonly commits: readonly string[]
}

/** The line of a request in the course of the task, and the outcome in it. */
export type CourseLine = { readonly text: string; readonly outcome: string }
