import { invalid, UndertextError } from '../../errors.ts'
import { isIterable } from '../../messages/check.ts'
import { checkMessages } from '../../messages/check-messages.ts'
import { isObject } from '../../messages/json.ts'
import type { ImportEvent, ImportEvents } from './import-event.ts'
import type { CheckedImport } from './import-types.ts'

/**
 * The events from their beginning, each looked at before it is handed on; what stands in a compaction and in fields is checked where they
 * are made. Every event of an import comes through here, so here an import is given up. Throws `INVALID_INPUT`, `ABORTED` and what the
 * events throw.
 */
export async function* checkedEvents(
  events: ImportEvents,
  sessionId: string,
  { signal }: Pick<CheckedImport, 'signal'>,
): AsyncGenerator<ImportEvent> {
  const refuseAborted = (): void => {
    if (signal?.aborted) throw new UndertextError('ABORTED', { sessionId })
  }
  const list: unknown = typeof events === 'function' ? events() : events
  if (!isIterable<ImportEvent>(list)) throw invalid('importSession: events must be iterable')
  for await (const event of list) {
    refuseAborted()
    if (!isObject(event) || typeof event.type !== 'string')
      throw invalid('importSession: an event is no event')
    if (event.type === 'message') checkMessages([event.message], 'importSession: message')
    else if (event.type !== 'fields' && event.type !== 'compaction')
      throw invalid('importSession: an event has a type that is none')
    yield event
  }
  refuseAborted()
}
