import { type Message, type Part, partsOf, type Role } from '../messages/message.ts'

/**
 * What a rendering changed:
 *
 * - `result-added`: a call had no result; one that says so was put behind it.
 * - `result-moved`: a result was put directly behind its call, in the order of the calls.
 * - `result-as-text`: a result whose call is not in the view became plain text.
 * - `duplicate-dropped`: a second result of an answered call was left out.
 * - `call-renamed`: a call and its result got an id the provider accepts.
 * - `call-as-text`: a call outside an assistant message became plain text.
 * - `reasoning-dropped`: reasoning with nothing behind it, or of somebody else than an assistant, was left out.
 * - `empty-message-dropped`, `empty-text-dropped`: left out since it says nothing.
 * - `foreign-part-dropped`: a part that only another provider reads was left out.
 * - `media-as-text`: an image or file of the assistant's became a word, where the provider takes none from it.
 * - `merged`: a message was joined to the one before it, or reasoning to the message it leads to.
 * - `role-changed`: a system message, or words in a tool message, became the user's.
 * - `block-dropped`: a provider's compaction block was left out, since what it stands for is shown, or a later one counts.
 * - `block-as-summary`: another provider's block in a message became a summary before it.
 * - `block-unreadable`: in place of a block that only another provider can read stands a text that says so.
 * - `moved-behind-block`: a message was put behind the block of a provider that ignores what stands before it.
 * - `user-added`, `assistant-added`: a short message was put in where the provider wants somebody to speak.
 */
export type MendKind =
  | 'result-added'
  | 'result-moved'
  | 'result-as-text'
  | 'duplicate-dropped'
  | 'call-renamed'
  | 'call-as-text'
  | 'reasoning-dropped'
  | 'empty-message-dropped'
  | 'empty-text-dropped'
  | 'foreign-part-dropped'
  | 'media-as-text'
  | 'merged'
  | 'role-changed'
  | 'block-dropped'
  | 'block-as-summary'
  | 'block-unreadable'
  | 'moved-behind-block'
  | 'user-added'
  | 'assistant-added'

/** One change of a rendering: ids only, never text of the conversation. */
export type Mend = {
  readonly kind: MendKind
  /** The message of the view it was made for; of an added one, the message it stands beside. */
  readonly messageId: string
  /** The id of the call as it is stored. */
  readonly toolCallId?: string
}

/** Takes note of a change. */
export type Note = (mend: Mend) => void

/** A message on its way to a provider, with the id of the message of the view it came from. */
export type Draft = { readonly id: string; readonly message: Message; readonly parts: readonly Part[] }

export function draftOf(id: string, message: Message): Draft {
  return { id, message, parts: partsOf(message) }
}

/** The draft with another role or other parts; itself, with its metadata, when nothing is different. */
export function redraft(draft: Draft, role: Role, parts: readonly Part[]): Draft {
  const same =
    role === draft.message.role &&
    parts.length === draft.parts.length &&
    parts.every((part, index) => part === draft.parts[index])
  return same ? draft : draftOf(draft.id, { role, content: parts })
}
