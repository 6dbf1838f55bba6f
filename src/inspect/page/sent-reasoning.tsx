import { type Part, partsOf, type ReasoningPart } from '../../core/messages/message.ts'
import type { RenderedRequest } from '../../store/requests/recorded.ts'
import { useCall } from './api.ts'
import { time } from './format.ts'
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
          {whyNot(part, position, request.value)}
        </>
      )}
    </p>
  )
}

type Sent = Pick<
  RenderedRequest,
  'messages' | 'position' | 'provider' | 'model' | 'changed' | 'answerPositions'
>

/** Whether a request contains a block. */
export function isSent(part: ReasoningPart, { messages }: Pick<Sent, 'messages'>): boolean {
  const key = keyOf(part)
  return messages.some((message) =>
    partsOf(message as { content: string | readonly Part[] }).some(
      (one) => one.type === 'reasoning' && keyOf(one) === key,
    ),
  )
}

/** Blocks without a readable text differ in their signatures. */
function keyOf({ text, providerOptions }: ReasoningPart): string {
  return text === '' ? JSON.stringify(providerOptions ?? null) : text
}

function sentWords(part: ReasoningPart, position: number | undefined, request: Sent): string {
  if (position !== undefined && position > request.position) return 'Made after'
  return isSent(part, request) ? 'Sent in' : 'Not sent in'
}

function whyNot(part: ReasoningPart, position: number | undefined, request: Sent): string {
  if ((position !== undefined && position > request.position) || isSent(part, request)) return ''
  const { provider, model, changed } = request
  const makers = Object.keys(part.providerOptions ?? {}).filter((name) => name !== 'undertext')
  if (makers.length > 0 && !makers.includes(provider))
    return `: it was signed for ${makers.join(', ')}, and the request went to ${[provider, model].filter(Boolean).join(' / ')}.`
  if (changed !== undefined) return ': the system prompt or the tools had changed since it was made.'
  if (makers.length === 0) return ': it has no signature.'
  return ': its turn was over, or something before it had changed since it was made.'
}
