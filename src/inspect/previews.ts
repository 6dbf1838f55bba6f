import { randomUUID } from 'node:crypto'
import { isObject } from '../core/messages/json.ts'
import { CompactionPreview } from '../store/compaction/result.ts'
import type { Store } from '../store/store.ts'
import { Refusal } from './security.ts'

/** Previews that are kept, and the messages of their views together: a view of a long session is large. The newest always stays. */
const MAX_PREVIEWS = 50
const MAX_MESSAGES = 200_000

/** Previews that the page was sent, until it applies one. JSON can't carry them, because a preview is applied as the object that it is. */
export class Previews {
  /** Oldest first. */
  readonly #kept = new Map<string, { readonly store: Store; readonly preview: CompactionPreview }>()

  /** Keeps a preview; returns its id. */
  add(store: Store, preview: CompactionPreview): string {
    const id = randomUUID()
    this.#kept.set(id, { store, preview })
    let messages = 0
    for (const [key, kept] of [...this.#kept].toReversed()) {
      messages += kept.preview.messages.length
      if (key !== id && messages > MAX_MESSAGES) this.#kept.delete(key)
    }
    for (const key of this.#kept.keys()) {
      if (this.#kept.size <= MAX_PREVIEWS) break
      this.#kept.delete(key)
    }
    return id
  }

  /** Returns a preview of a session in a store. Throws `PREVIEW_GONE`. */
  find(store: Store, sessionId: unknown, id: string): CompactionPreview {
    const kept = this.#kept.get(id)
    if (kept === undefined || kept.store !== store || kept.preview.sessionId !== sessionId)
      throw new Refusal(
        'PREVIEW_GONE',
        410,
        'This preview is no longer kept; nothing was changed. Preview it again.',
      )
    return kept.preview
  }
}

/** Returns the id of a preview in the arguments of `compactSession`. */
export function previewIdIn(config: unknown): string | undefined {
  if (!isObject(config) || !Object.hasOwn(config, 'previewId')) return undefined
  return typeof config.previewId === 'string' ? config.previewId : ''
}

export function isPreview(value: unknown): value is CompactionPreview {
  return value instanceof CompactionPreview
}
