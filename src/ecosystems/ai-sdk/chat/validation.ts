import { invalid, standingFor, type UndertextError } from '../../../errors.ts'
import { isObject } from '../../../messages/json.ts'
import { loadAiSdk } from '../load.ts'
import type { LoadOptions } from './options.ts'

/**
 * Holds messages to the AI SDK's own `validateUIMessages`. What it returns is not used, for it leaves out fields it does not know
 * (`title` in ai 6), and saving that would look like a change. Its error carries the whole message, so it is not passed on:
 * `originalErrorOf` returns it.
 *
 * Throws `INVALID_INPUT`, `AI_SDK_UNAVAILABLE`.
 */
export async function validated(
  messages: readonly unknown[],
  options: LoadOptions,
  what: string,
): Promise<void> {
  const { tools, metadataSchema, dataSchemas, validate = true } = options
  // The AI SDK refuses an empty list; a new chat is one.
  if (!validate || messages.length === 0) return
  const { validateUIMessages } = await loadAiSdk()
  try {
    await validateUIMessages({
      messages: structuredClone(messages),
      ...(metadataSchema !== undefined && { metadataSchema }),
      ...(dataSchemas !== undefined && { dataSchemas }),
      ...(tools !== undefined && { tools }),
    })
  } catch (error) {
    throw refusedMessage(error, what)
  }
}

function refusedMessage(error: unknown, what: string): UndertextError {
  const place = placeOf(error)
  const sentence = `${what}: ${place === '' ? 'a message' : `messages${place}`} is refused by validateUIMessages of the AI SDK; originalErrorOf returns its error, which quotes the message`
  return standingFor(invalid(sentence), error)
}

/** Fields of a UI message; any other name in a path may be somebody's text. */
const FIELDS: ReadonlySet<unknown> = new Set([
  'id',
  'role',
  'parts',
  'metadata',
  'type',
  'text',
  'state',
  'input',
  'output',
  'data',
  'toolCallId',
])

/** Where the first fault is, as far as numbers and fields of a message say it. */
function placeOf(error: unknown): string {
  const cause = isObject(error) ? error.cause : undefined
  const issue = isObject(cause) && Array.isArray(cause.issues) ? cause.issues[0] : undefined
  const path: unknown[] = isObject(issue) && Array.isArray(issue.path) ? issue.path : []
  let place = ''
  for (const step of path) {
    if (typeof step !== 'number' && !FIELDS.has(step)) break
    place += typeof step === 'number' ? `[${step}]` : `.${step}`
  }
  return place
}
