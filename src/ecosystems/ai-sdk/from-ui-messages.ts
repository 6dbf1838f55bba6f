import { invalid } from '../../errors.ts'
import type { NewMessage, Part } from '../../messages/message.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { isObject, listAt, stringAt } from '../wire.ts'
import { otherFields } from './checks.ts'
import { contentOf, markReasoned } from './parts.ts'
import { type UiRow, uiMetadata, worthKeeping } from './ui-layout.ts'
import { RowReader } from './ui-row-reader.ts'
import type { UIMessageLike } from './ui-types.ts'

/**
 * Messages of a chat (`UIMessage` of ai 5, 6 and 7) in the neutral form, ready to be appended. What a user says is one row; what an
 * assistant says is, for each step, a row with its texts and calls and a row with the results, as `convertToModelMessages` of the AI SDK
 * parts them: so models, pairing, pruning and figures see calls and results.
 *
 * All rows of a message name its id in `metadata['ai-sdk'].ui`, which also keeps how its parts were shown: order, states, titles, sources,
 * data, metadata. `toUIMessages` gives back what was read. A field that is `undefined` counts as absent, and values JSON cannot say come
 * back as JSON says them. Rows get no ids: a message that is edited keeps its own, and both versions stand in the log.
 *
 * Throws `INVALID_INPUT`, with the place and without the text, for what a `UIMessage` cannot be; with `lenient` such a part is kept unread.
 */
export function fromUIMessages(
  messages: readonly UIMessageLike[],
  options?: ConversionOptions,
): NewMessage[] {
  const conversion = new Conversion('ai-sdk UIMessage', options)
  return listAt(messages, 'messages').flatMap((message, index) => {
    conversion.at(index)
    const place = `[${index}]`
    const read = conversion.reading(message, place, () => rowsOfUIMessage(message, place, conversion))
    return Array.isArray(read) ? (read as NewMessage[]) : [{ role: 'user' as const, content: [read as Part] }]
  })
}

/** The rows of one message. Throws `INVALID_INPUT`. */
export function rowsOfUIMessage(given: unknown, place: string, conversion: Conversion): NewMessage[] {
  if (!isObject(given)) throw invalid(`${place}: must be an object`)
  const message = given as { readonly [field: string]: unknown }
  const id = stringAt(message.id, `${place}.id`)
  const { role } = message
  if (role !== 'system' && role !== 'user' && role !== 'assistant')
    throw invalid(`${place}.role: must be system, user or assistant`)
  const parts = listAt(message.parts, `${place}.parts`)
  const first = otherFields(message, ['id', 'role', 'parts'], place, conversion)
  const reader = new RowReader(role, conversion)
  for (const [index, part] of parts.entries()) reader.add(part, `${place}.parts[${index}]`)
  return reader.finish().map(({ role: speaker, content, parts: shown, steering }, index) => {
    const row: UiRow = {
      id,
      ...(index === 0 && { first }),
      ...(steering !== undefined && { steering }),
      ...(speaker !== 'tool' && worthKeeping(shown, content.length)),
    }
    return { role: speaker, content: contentOf(markReasoned(content)), metadata: uiMetadata(row) }
  })
}
