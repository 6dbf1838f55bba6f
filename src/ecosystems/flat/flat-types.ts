/*
 * The flat form of seed 003, the type `ChatMessage`, in and out: a text with a role, calls and results of tools as messages of their
 * own (`tool_call`, `tool_result`), tags of compactions as fields. One flat message becomes one neutral message, and what was
 * read comes out again as it was.
 *
 * `id` and `metadata` are those of the neutral message. What that has no place for is kept under the name `flat`. In the
 * metadata:
 *
 * - `fields`: the further fields of the message, the tags of compactions among them;
 * - `metadata`: the metadata, when it was empty or used the name `flat` itself;
 * - `role`: the role, when it was another of the same meaning; `parts`: that the content was a list of neutral parts;
 * - `id`: an id a session could not have.
 *
 * In the options of a call or a result:
 *
 * - `content`: the text beside a call's arguments; null, or `absent` under `shape`, when there was none at all;
 * - `from`: where a call's arguments stood, when it was not `args`; `args` and `input`: what stood there besides;
 * - `tool`: what was given when that names no tool, null when nothing was; `toolCallId`: the same of an id, and an id of which no
 *   call is known; `id`: the id that a call was made known by, or a result was joined to.
 *
 * The neutral message goes first: an output or an input changed since is what is written.
 */

/** The name under which this form keeps its own things. */
export const FLAT = 'flat'

/** Fields that compactions write on a message, in this form and on the rows of a store. */
export const TAGS = [
  'condenseId',
  'condenseParent',
  'truncationId',
  'truncationParent',
  'isTruncationMarker',
  'retiredBy',
] as const

/** A call's arguments written as its text, as this form may have them. */
export const FROM_CONTENT = 'content'
