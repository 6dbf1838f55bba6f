import { loadAiSdk } from '../load.ts'
import type { LoadOptions } from './options.ts'

/**
 * Holds messages to the AI SDK's own `validateUIMessages`. What it refuses is thrown as it throws it (`TypeValidationError`); what it answers
 * is not used, for it leaves out fields it does not know (`title` in ai 6), and saving that would look like a change.
 *
 * Throws `AI_SDK_UNAVAILABLE`.
 */
export async function validated(messages: readonly unknown[], options: LoadOptions): Promise<void> {
  const { tools, metadataSchema, dataSchemas, validate = true } = options
  // The AI SDK refuses an empty list; a new chat is one.
  if (!validate || messages.length === 0) return
  const { validateUIMessages } = await loadAiSdk()
  await validateUIMessages({
    messages: structuredClone(messages),
    ...(metadataSchema !== undefined && { metadataSchema }),
    ...(dataSchemas !== undefined && { dataSchemas }),
    ...(tools !== undefined && { tools }),
  })
}
