import type { CompactionEvent, ImportEvent } from '../history/import/import-event.ts'
import type { PositionRange } from '../messages/message.ts'
import type { SourceEvent } from './source.ts'
import { storable } from './storable.ts'

/**
 * Takes the events of one conversation and gives those that are stored: without notes, problems and messages the store would refuse. What
 * compactions cover is counted anew without the latter.
 */
export class StoredEvents {
  /** Ordinals of the messages that are left out, in order. */
  readonly #left: number[] = []
  #ordinal = 0

  take(event: SourceEvent): ImportEvent | undefined {
    switch (event.type) {
      case 'fields':
        return event
      case 'message':
        this.#ordinal += 1
        if (storable(event) === undefined) return event
        this.#left.push(this.#ordinal)
        return undefined
      case 'compaction':
        return this.#left.length === 0 ? event : this.#recounted(event)
      default:
        return undefined
    }
  }

  #recounted(event: CompactionEvent): CompactionEvent {
    const covers = event.compaction.covers.flatMap(([from, to]): PositionRange[] => {
      const first = from - this.#leftBefore(from)
      const last = to - this.#leftBefore(to + 1)
      return first <= last ? [[first, last]] : []
    })
    return { ...event, compaction: { ...event.compaction, covers } }
  }

  /** How many of the messages before an ordinal are left out. */
  #leftBefore(ordinal: number): number {
    let count = 0
    while (count < this.#left.length && this.#left[count]! < ordinal) count += 1
    return count
  }
}
