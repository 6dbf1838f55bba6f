import { isSilent } from '../core/messages/message.ts'
import { messageProblem } from '../core/messages/message-check.ts'
import type { MessageEvent } from '../store/history/import/import-types.ts'
import { inConversations } from './history-lines.ts'
import {
  type CheckedConversation,
  type Importing,
  type ImportNote,
  type ImportProblem,
  MAX_LISTED,
} from './import-report.ts'
import type { ConversationEvent, FileInput, PlacedMessage, Source, SourceEvent } from './source.ts'

type Open = {
  -readonly [K in Exclude<keyof CheckedConversation, 'problems' | 'notes'>]: CheckedConversation[K]
} & {
  readonly problems: ImportProblem[]
  readonly notes: ImportNote[]
}

/** Reads a file to its end and collects what is in it, by conversation. */
export async function checkFile(
  source: Source,
  { input, options, onMessages }: Importing,
): Promise<CheckedConversation[]> {
  const checked = new Conversations(input, onMessages)
  for await (const event of inConversations(source.read(input, options))) checked.take(event)
  return checked.end()
}

class Conversations {
  readonly #input: FileInput
  readonly #onMessages: (count: number) => void
  readonly #done: CheckedConversation[] = []
  #open: Open | undefined
  #messages = 0
  #problems = 0
  #notes = 0

  constructor(input: FileInput, onMessages: (count: number) => void) {
    this.#input = input
    this.#onMessages = onMessages
  }

  take(event: SourceEvent): void {
    if (event.type === 'conversation') this.#begin(event)
    else if (event.type === 'problem') this.#problem({ ...event.at, why: event.why })
    else if (event.type === 'note') this.#note({ ...event.at, kind: event.kind, why: event.why })
    else if (event.type === 'message') this.#message(event)
  }

  end(): CheckedConversation[] {
    if (this.#open !== undefined) this.#close()
    return this.#done
  }

  #begin({ id, otherwise, branchOf }: ConversationEvent): void {
    if (this.#open !== undefined) this.#close()
    this.#open = {
      id,
      otherwise,
      branchOf,
      messages: 0,
      sent: 0,
      unread: undefined,
      problemCount: 0,
      noteCount: 0,
      problems: [],
      notes: [],
      mark: '',
    }
  }

  #message(event: PlacedMessage): void {
    const why = storable(event)
    if (why !== undefined) {
      this.#problem({ ...event.at, why })
      return
    }
    this.#open!.messages += 1
    if (!isSilent(event.message)) this.#open!.sent += 1
    this.#open!.unread ??= event.unread
    this.#onMessages(++this.#messages)
  }

  #note(note: ImportNote): void {
    const here = this.#open!
    here.noteCount += 1
    if (++this.#notes <= MAX_LISTED) here.notes.push(note)
  }

  #problem(problem: ImportProblem): void {
    const here = this.#open!
    here.problemCount += 1
    if (++this.#problems <= MAX_LISTED) here.problems.push(problem)
  }

  #close(): void {
    const open = this.#open!
    open.mark = this.#input.mark()
    this.#done.push(open)
    this.#open = undefined
  }
}

/** A description of a file of which no message can be read; `undefined` for any other. */
export function unreadableLook(
  { title }: Pick<Source, 'title'>,
  conversations: readonly CheckedConversation[],
): string | undefined {
  const unread = conversations.find((one) => one.unread !== undefined)?.unread
  if (unread === undefined || conversations.some(({ sent }) => sent > 0)) return undefined
  const fields = unread.length === 0 ? '' : `; they have the fields ${unread.join(', ')}`
  return `${title}, but none of its messages can be read${fields}`
}

/** Why the store would reject a message, or `undefined`. */
export function storable({ message }: MessageEvent): string | undefined {
  const problem = messageProblem(message)
  if (problem === undefined) return undefined
  return problem.startsWith('.') ? `message${problem}` : `message ${problem}`
}
