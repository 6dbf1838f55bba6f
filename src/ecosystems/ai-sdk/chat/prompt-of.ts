import { partsOf } from '../../../messages/message.ts'
import type { PreparedRequest } from '../../../requests/prepared.ts'
import type { SdkModelMessage } from '../model-types.ts'
import type { SdkVersion } from '../sdk-types.ts'
import { toModelMessages } from '../to-model-messages.ts'

/**
 * A prepared request as `streamText` takes it. System messages (an application's own, a summary) go behind the system prompt where they
 * stand in front, and are a user's further on: among `messages` ai 7 refuses them, and ai 6 warns. Source: `standardizePrompt` of both.
 */
export function promptOf(
  { system, messages }: PreparedRequest,
  version: SdkVersion,
): { readonly system?: string; readonly messages: SdkModelMessage[] } {
  const start = messages.findIndex(({ role }) => role !== 'system')
  const front = messages.slice(0, start === -1 ? messages.length : start)
  const said = front
    .flatMap((message) => partsOf(message))
    .flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []))
  const whole = [...(system === undefined ? [] : [system]), ...said]
  const rest = messages
    .slice(front.length)
    .map((message) => (message.role === 'system' ? { ...message, role: 'user' as const } : message))
  return {
    ...(whole.length > 0 && { system: whole.join('\n\n') }),
    messages: toModelMessages(rest, { version }),
  }
}
