import type { Artifacts } from './artifacts.ts'
import type { Exchange, Utterance } from './exchanges.ts'
import type { Names } from './names.ts'

/** A failed call: its label, the line that describes the error, how often it failed, and whether it succeeded later. */
export type Failure = {
  readonly label: string
  readonly line: string
  /** The command line, of a call that ran one; the files, of a call that reads or writes them. */
  readonly command: string | undefined
  readonly paths: readonly string[]
  at: number
  count: number
  isOpen: boolean
  /** Whether a similar command succeeded later: the same with more arguments, or other tests after tests. */
  isOvercome: boolean
}

/** A line with a check box. `where`: the file that contains it; `by`: the speaker of the message that contains it. */
export type Box = Pick<TodoItem, 'text' | 'isDone'> & {
  readonly where?: string | undefined
  readonly by?: Utterance['by']
}

/** What is known of a conversation after its messages were read once. */
export type Conversation = {
  readonly texts: readonly Utterance[]
  /** The paths of files with rules that a client put into the context. */
  readonly ruleFiles: readonly string[]
  readonly replies: readonly Utterance[]
  readonly exchanges: readonly Exchange[]
  /** The subjects of all commits. */
  readonly commits: readonly string[]
  /** Texts of summaries among the messages, oldest first. */
  readonly summaries: readonly string[]
  /** The message of the last call, -1 without calls. */
  readonly lastCallAt: number
  /** What the newest calls after a message did, in a few words: `8 files written, last: bash \`npm test\` ok`; empty without any. */
  readonly latest: (after: number) => string
  /** The newest failures, oldest first. */
  readonly failures: readonly Failure[]
  /** Whether several people talk with each other: nobody is the user. */
  readonly isGroupTalk: boolean
  /** The last list of tasks that a tool received or showed, with later changes, and the message of the last change, -1 without one. */
  readonly todo: readonly TodoItem[]
  readonly todoAt: number
  /** Whether that list was given as a whole: it replaces every earlier one. */
  readonly isTodoWhole: boolean
  /** The states of tasks that were set by id, with empty texts where only the change is known. */
  readonly todoById: ReadonlyMap<string, TodoItem>
  readonly boxes: readonly Box[]
  /** The directory that commands change to most often, and the branch of the last checkout. */
  readonly directory: string | undefined
  readonly branch: string | undefined
  readonly artifacts: Artifacts
  readonly names: Names
  /** The number of messages. */
  readonly count: number
}

/** An item of a tool's list of tasks. */
export type TodoItem = {
  readonly id?: string | undefined
  readonly text: string
  readonly isDone: boolean
  readonly isActive: boolean
}
