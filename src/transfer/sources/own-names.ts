import { createHash } from 'node:crypto'
import { canonicalJson } from '../../messages/json.ts'
import type { NewMessage } from '../../messages/message.ts'
import { messageProblem } from '../../messages/message-check.ts'

/** The ids and keys that messages of one conversation bring along: within a session each names one message. */
export class OwnNames {
  readonly #ids = new Set<string>()
  readonly #bodies = new Map<string, string>()

  /** Takes the names of the next message. Answers why it cannot have them, or `undefined`. The same body under one key is the same message. */
  take(message: NewMessage): string | undefined {
    const { id, idempotencyKey: key } = message
    // What else is wrong with a message is said by whoever stores it.
    if ((id === undefined && key === undefined) || messageProblem(message) !== undefined) return undefined
    const body = key === undefined ? undefined : bodyOf(message)
    const known = key === undefined ? undefined : this.#bodies.get(key)
    if (known !== undefined)
      return known === body ? undefined : 'message.idempotencyKey: another message before it has this key'
    if (id !== undefined && this.#ids.has(id)) return 'message.id: another message before it has this id'
    if (id !== undefined) this.#ids.add(id)
    if (key !== undefined) this.#bodies.set(key, body!)
    return undefined
  }
}

function bodyOf({ role, content, metadata = {} }: NewMessage): string {
  return createHash('sha256')
    .update(canonicalJson([role, content, metadata]))
    .digest('base64url')
}
