/*
 * Transcripts by the names of sessions. A key of the SDK becomes `claude-agent-sdk/<projectKey>/<sessionId>`, with
 * `/<subpath>` behind it for a subagent's. Each piece is written so that any text can be read back.
 */

import { invalid } from '../../errors.ts'
import { MAX_NAME_LENGTH } from '../../messages/check.ts'
import { isObject } from '../../messages/json.ts'
import type { SessionKey } from './types.ts'

/** The name under which everything of this adapter is kept: ids of sessions, metadata. */
export const CLAUDE_AGENT_SDK = 'claude-agent-sdk'

/** A transcript and where it is kept. */
export type Transcript = {
  readonly key: SessionKey
  /** The session of the store. */
  readonly id: string
  /** Its owner: the project. */
  readonly owner: string
  /** Whether it is a session's own transcript, and no subagent's. */
  readonly isMain: boolean
}

/** What cannot stand in a name, or divides names: NUL, slashes, halves of surrogate pairs, and the sign of escapes. */
const ESCAPED = /[\0%/]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g
const EMPTY = '%'

/** Any text as a name: what cannot stand in one as `%` and the four hexadecimal digits of its UTF-16 unit. */
export function encodeName(text: string): string {
  if (text === '') return EMPTY
  return text.replace(ESCAPED, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The text of a name: `decodeName(encodeName(text))` is the text. */
export function decodeName(name: string): string {
  if (name === EMPTY) return ''
  return name.replace(/%([0-9a-f]{4})/g, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)))
}

/** Reads a key. Throws `INVALID_INPUT` for one that names no transcript, or is longer than a name can be. */
export function transcriptOf(key: unknown): Transcript {
  if (!isObject(key)) throw invalid('key: must be an object')
  const { projectKey, sessionId, subpath } = key
  if (typeof projectKey !== 'string') throw invalid('key.projectKey: must be a string')
  if (typeof sessionId !== 'string' || sessionId === '')
    throw invalid('key.sessionId: must be a text, not empty')
  if (subpath !== undefined && (typeof subpath !== 'string' || subpath === ''))
    throw invalid('key.subpath: must be a text, not empty, or absent')
  const owner = ownerOf(projectKey)
  const id = idOf(projectKey, sessionId, subpath)
  if (id.length > MAX_NAME_LENGTH)
    throw invalid(`key: must not be longer than ${MAX_NAME_LENGTH} characters in all`)
  const named = { projectKey, sessionId, ...(subpath !== undefined && { subpath }) }
  return { key: named, id, owner, isMain: subpath === undefined }
}

/** The owner of a project's sessions. Throws `INVALID_INPUT`. */
export function ownerOf(projectKey: unknown): string {
  if (typeof projectKey !== 'string') throw invalid('projectKey: must be a string')
  const owner = encodeName(projectKey)
  if (owner.length > MAX_NAME_LENGTH)
    throw invalid(`projectKey: must not be longer than ${MAX_NAME_LENGTH} characters`)
  return owner
}

function idOf(projectKey: string, sessionId: string, subpath: string | undefined): string {
  const names = [projectKey, sessionId, ...(subpath === undefined ? [] : [subpath])]
  return [CLAUDE_AGENT_SDK, ...names.map(encodeName)].join('/')
}

/** The key of a session of the store; `undefined` for one that holds no transcript. */
export function keyOfSession(id: string): SessionKey | undefined {
  const [head, projectKey, sessionId, subpath, ...more] = id.split('/')
  if (head !== CLAUDE_AGENT_SDK || projectKey === undefined || sessionId === undefined || more.length > 0)
    return undefined
  return {
    projectKey: decodeName(projectKey),
    sessionId: decodeName(sessionId),
    ...(subpath !== undefined && { subpath: decodeName(subpath) }),
  }
}
