import { errorName, isUndertextError } from '../../errors.ts'
import type { NewMessage } from '../../messages/message.ts'
import type { PreparedRequest } from '../../requests/prepared.ts'
import type { RecordedResponse } from '../../requests/record.ts'
import type { Call } from './middleware-call.ts'
import { storedMessage } from './prompt.ts'
import { type Answer, messageOfAnswer, stopReasonIn, usageIn } from './response.ts'
import { readSession } from './session-reading.ts'
import type { CheckedOptions } from './undertext-options.ts'

/** How often an answer is recorded anew when somebody else appended meanwhile; after that it goes behind whatever is there. */
const MOST_TRIES = 5

/** Stores what was new of the prompt and the answer, all or nothing. */
export async function recordAnswer(call: Call, request: PreparedRequest, answer: Answer): Promise<void> {
  const { store, options, id, provider } = call
  const said = messageOfAnswer(answer, provider)
  const messages = said === undefined ? [] : [said]
  const usage = usageIn(answer, provider)
  const stopReason = stopReasonIn(answer.finishReason)
  let { fresh, position } = call
  for (let tries = 1; ; tries++) {
    if (fresh.length === 0 && messages.length === 0) return
    let result: RecordedResponse
    try {
      result = await store.recordResponse(id, {
        messages,
        prompt: fresh.map(storedMessage),
        request,
        ...(usage !== undefined && { usage }),
        ...(stopReason !== undefined && { stopReason }),
        ...(tries < MOST_TRIES && { expectedPosition: position }),
      })
    } catch (error) {
      if (isUndertextError(error, 'POSITION_CONFLICT') && tries < MOST_TRIES) {
        // Somebody appended meanwhile, perhaps the very prompt.
        ;({ fresh, position } = await readSession(store, id, call.prompt, options.history))
        continue
      }
      // What failed behind the append, noting the usage say, must not have it all told, and stored, once more.
      if (await isStored(call, messages, position + fresh.length + messages.length)) return
      if (options.onRecordError === undefined) throw error
      options.onRecordError(error, { sessionId: id, prompt: fresh.map(storedMessage), messages })
      return
    }
    tellRecorded(options, result)
    return
  }
}

/** Whether prompt and answer stand at the end of the log, up to this position at least. */
async function isStored(
  { store, id, prompt }: Call,
  said: readonly NewMessage[],
  position: number,
): Promise<boolean> {
  try {
    const read = await readSession(store, id, [...prompt, ...said], 'whole')
    return read.position >= position && read.fresh.length === 0 && read.beyond.length === 0
  } catch {
    // It cannot be told: the caller learns what failed first.
    return false
  }
}

/** The answer is stored: what a callback throws must not look as if it were not. */
function tellRecorded({ onRecorded }: CheckedOptions, result: RecordedResponse): void {
  try {
    onRecorded?.(result)
  } catch (error) {
    process.emitWarning(`undertext: onRecorded threw ${errorName(error)}`, {
      type: 'UndertextWarning',
      code: 'UNDERTEXT_LISTENER',
    })
  }
}

/** After a call without a whole answer the session is as it was before, or has the prompt where that is wanted. */
export async function giveUp({ store, options, id, fresh, position, aside }: Call): Promise<void> {
  const prompt = fresh.map(storedMessage)
  try {
    if (!options.keepPromptOnFailure) {
      if (aside !== undefined) await store.undoCompaction(id, aside)
    } else if (prompt.length > 0) await store.append(id, prompt, { expectedPosition: position })
  } catch (error) {
    // The caller learns why the call failed, which weighs more.
    options.onRecordError?.(error, { sessionId: id, prompt, messages: [] })
  }
}
