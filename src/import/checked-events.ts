import { invalid, isIterable } from '../core/check.ts'
import { checkMessages } from '../core/check-messages.ts'
import { isObject } from '../core/json.ts'
import type { ImportEvent, ImportEvents } from './import-event.ts'

/**
 * The events from their beginning, each looked at before it is handed on; what stands in a compaction and in fields is checked where they
 * are made. Throws `INVALID_INPUT` and what the events throw.
 */
export async function* checkedEvents(events: ImportEvents): AsyncGenerator<ImportEvent> {
  const list: unknown = typeof events === 'function' ? events() : events
  if (!isIterable<ImportEvent>(list)) throw invalid('importSession: events must be iterable')
  for await (const event of list) {
    if (!isObject(event) || typeof event.type !== 'string')
      throw invalid('importSession: an event is no event')
    if (event.type === 'message') checkMessages([event.message], 'importSession: message')
    else if (event.type !== 'fields' && event.type !== 'compaction')
      throw invalid('importSession: an event has a type that is none')
    yield event
  }
}
