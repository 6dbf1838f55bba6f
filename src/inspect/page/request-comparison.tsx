import { useState } from 'preact/hooks'
import type { Compaction } from '../../storage/storage.ts'
import type { ComparedRequests, RequestComparison } from '../../store/requests/compare.ts'
import { type Loaded, useCall } from './api.ts'
import { CAUSE_WORDS, compactionWords, sharedBar, sharedWords, wholePercent } from './comparison-words.ts'
import { counted, duration, money, time, whole } from './format.ts'
import { useLast } from './hooks.ts'
import type { ListedRequest } from './recorded-requests.ts'
import { sessionLink } from './router.ts'
import { changeOf } from './sent-messages.ts'
import { Badge, Failed, Skeleton } from './ui.tsx'

/** More requests than these aren't offered in the select. */
const MAX_CHOICES = 200

type Props = {
  readonly sessionId: string
  readonly requestId: string
  readonly rows: readonly ListedRequest[]
  readonly compactions: readonly Compaction[]
  /** The comparison with the request before. */
  readonly first: Loaded<RequestComparison>
}

/** Where a request differs from an earlier one: that is where the cache was lost. */
export function Comparison({ sessionId, requestId, rows, compactions, first }: Props) {
  const [choice, setOther] = useState({ of: requestId, id: '' })
  const other = choice.of === requestId ? choice.id : ''
  const chosen = useCall('requests.compare', other === '' ? null : [sessionId, requestId, { with: other }])
  const loaded = other === '' ? first : chosen
  const value = useLast(loaded.value)
  const at = rows.findIndex(({ request }) => request.id === requestId)
  const earlier = rows.slice(Math.max(0, at - MAX_CHOICES), Math.max(0, at)).toReversed()
  return (
    <section class="request-comparison card" aria-label="Comparison" aria-busy={loaded.loading}>
      <header class="request-comparison-head">
        <h3>Compared with</h3>
        {earlier.length === 0 ? (
          <span class="dim">the request before</span>
        ) : (
          <select
            aria-label="The other request"
            value={other}
            onChange={(event) => setOther({ of: requestId, id: event.currentTarget.value })}
          >
            <option value="">the request before (#{earlier[0]!.no})</option>
            {earlier.slice(1).map(({ request, no }) => (
              <option key={request.id} value={request.id}>
                #{no}, {time(request.at)}, {request.model ?? request.provider}
              </option>
            ))}
          </select>
        )}
        {value?.before !== undefined && (
          <span class="dim">{duration(value.elapsedMs)} between the answers</span>
        )}
        {value?.before !== undefined && !value.matches && (
          <Badge
            kind="warn"
            title="At least one of them is compared as it can be rendered now, not as it was sent."
          >
            as rendered now
          </Badge>
        )}
      </header>
      {loaded.error !== undefined ? (
        <Failed error={loaded.error} retry={loaded.reload} />
      ) : value === undefined ? (
        <Skeleton lines={3} />
      ) : (
        <div class="request-comparison-body">
          <Causes comparison={value} />
          {value.before !== undefined && (
            <Compared sessionId={sessionId} comparison={value} compactions={compactions} />
          )}
        </div>
      )}
    </section>
  )
}

function Causes({ comparison: { causes, before } }: { readonly comparison: RequestComparison }) {
  if (causes.length === 0)
    return (
      <p>
        <Badge kind="good">cache kept</Badge> The request before is a prefix of this one, and nothing was
        lost.
      </p>
    )
  return (
    <ul class="request-causes">
      {causes.map((cause) => (
        <li key={cause}>
          <Badge kind={before === undefined ? 'plain' : 'warn'}>{CAUSE_WORDS[cause].title}</Badge>{' '}
          {CAUSE_WORDS[cause].text}
        </li>
      ))}
    </ul>
  )
}

function Compared({
  sessionId,
  comparison,
  compactions,
}: {
  readonly sessionId: string
  readonly comparison: ComparedRequests
  readonly compactions: readonly Compaction[]
}) {
  const { length, messages, firstChanged, lost, compactionIds } = comparison
  const { shared, rest, isAdded } = sharedBar(length)
  return (
    <>
      <div>
        <div
          class="request-shared"
          role="img"
          aria-label={`${wholePercent(shared)} of this request is the beginning of the one before`}
        >
          <span class="request-same" style={{ width: `${shared * 100}%` }} />
          <span class={isAdded ? 'request-added' : 'request-changed'} style={{ width: `${rest * 100}%` }} />
        </div>
        <p class="request-shared-words">
          <span>
            <span class="dot request-same" />
            <b>{wholePercent(shared)}</b> shared{' '}
            <span class="dim">
              {whole(length.shared)} of {whole(length.after)} characters, {whole(messages.same)} of{' '}
              {whole(messages.after)} messages
            </span>
          </span>
          <span>
            <span class={`dot ${isAdded ? 'request-added' : 'request-changed'}`} />
            {isAdded ? 'added' : 'changed'}{' '}
            <span class="dim">{whole(Math.max(0, length.after - length.shared))} characters</span>
          </span>
        </p>
        {/* The causes say that nothing before has changed. */}
        {(!isAdded || rest === 0) && <p class="dim small">{sharedWords(length)}</p>}
      </div>
      {lost !== undefined && (
        <p>
          <b class="warn-text">{counted(lost.tokens, 'token')}</b> could have been read from the cache and
          weren’t
          {lost.cost !== null && (
            <>
              , which cost <b class="warn-text">{money(lost.cost)}</b> more
            </>
          )}
          .
        </p>
      )}
      {firstChanged !== undefined && <FirstChanged change={firstChanged} />}
      {compactionIds.length > 0 && (
        <p class="request-compactions">
          <span class="dim">In between:</span>
          {compactionIds.slice(0, 12).map((id) => {
            const compaction = compactions.find((one) => one.id === id)
            return (
              <a key={id} href={sessionLink(sessionId, 'compactions', { compaction: id })}>
                {compaction === undefined ? id : compactionWords(compaction)}
              </a>
            )
          })}
          {compactionIds.length > 12 && <span class="dim">and {whole(compactionIds.length - 12)} more</span>}
        </p>
      )}
    </>
  )
}

const PART_WORDS = { tools: 'the tools', system: 'the system prompt' } as const

function FirstChanged({ change }: { readonly change: NonNullable<ComparedRequests['firstChanged']> }) {
  const { part, message, offset, before, after } = change
  const { same, removed, added, end } = changeOf(before, after)
  return (
    <figure class="request-first-change">
      <figcaption>
        First change: in{' '}
        <button
          type="button"
          class="link"
          onClick={() => document.querySelector('.sent-changed')?.scrollIntoView({ block: 'center' })}
        >
          {part === 'messages' ? `message ${(message ?? 0) + 1}` : PART_WORDS[part]}
        </button>
        , character {whole(offset + 1)} <span class="dim">of its JSON</span>
      </figcaption>
      <pre class="request-change">
        <span class="dim">{same}</span>
        {removed !== '' && <del>{removed}</del>}
        {added !== '' && <ins>{added}</ins>}
        <span class="dim">{end}</span>
      </pre>
      {after === '' && <p class="dim small">This request has no such message.</p>}
    </figure>
  )
}
