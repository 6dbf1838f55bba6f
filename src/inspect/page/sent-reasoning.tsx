import type { ReasoningPart } from '../../core/messages/message.ts'
import { useCall } from './api.ts'
import { time } from './format.ts'
import { sentWords, whyNotSent } from './reasoning-words.ts'
import { sessionLink } from './router.ts'
import { useRequests } from './use-requests.ts'

/** Whether the newest recorded request contains a block of reasoning, and if not, why. Read when the block is opened. */
export function SentReasoning({
  part,
  position,
  context: { sessionId, version },
}: {
  readonly part: ReasoningPart
  readonly position: number | undefined
  readonly context: { readonly sessionId: string; readonly version: string }
}) {
  const requests = useRequests(sessionId, version)
  const newest = requests.isDone ? requests.items.at(-1) : undefined
  const request = useCall('requests.get', newest === undefined ? null : [sessionId, newest.id])
  if (requests.isDone && newest === undefined) return null
  if (request.error !== undefined || requests.error !== undefined) return null
  return (
    <p class="small dim">
      {newest === undefined || request.value === undefined ? (
        'Looking in the newest request …'
      ) : (
        <>
          {sentWords(part, position, request.value)}{' '}
          <a href={sessionLink(sessionId, 'requests', { request: newest.id })}>
            the newest request, {time(newest.at)}
          </a>
          {whyNotSent(part, position, request.value)}
        </>
      )}
    </p>
  )
}
