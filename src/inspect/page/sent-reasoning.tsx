import type { ReasoningPart } from '../../core/messages/message.ts'
import { useCall } from './api.ts'
import { time } from './format.ts'
import { sentWords, whyNotSent } from './reasoning-words.ts'
import { sessionLink } from './router.ts'

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
  const requests = useCall('requests.list', [sessionId, { limit: 1, order: 'backward' }], version)
  const newest = requests.value?.[0]
  const request = useCall('requests.get', newest === undefined ? null : [sessionId, newest.id])
  if (requests.value !== undefined && newest === undefined) return null
  const error = requests.error ?? request.error
  if (error !== undefined) return <p class="small dim">{error.message}</p>
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
