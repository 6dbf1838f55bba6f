import type { ComponentChildren } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import type { Message, PositionRange } from '../../core/messages/message.ts'
import type { Moment } from '../../core/model/moment.ts'
import type { Compaction, Session } from '../../storage/storage.ts'
import type { RenderedRequest } from '../../store/requests/recorded.ts'
import type { PlacedMedia } from '../verbs.ts'
import { call, useCall } from './api.ts'
import { wholePercent } from './comparison-words.ts'
import { bytes, counted, fullTime, money, whole } from './format.ts'
import { inputOf, type ListedRequest, sumOf } from './recorded-requests.ts'
import { Comparison } from './request-comparison.tsx'
import { RequestLog } from './request-log.tsx'
import { sessionLink } from './router.ts'
import {
  lengthOf,
  type Origin,
  originsOf,
  type Piece,
  piecesOf,
  rangesOf,
  rangeWords,
  shownOf,
  toolName,
} from './sent-messages.ts'
import { attempt, Badge, copy, Empty, Fact, Id, Show } from './ui.tsx'

/* A request as it was sent, beside the log at that moment. */

type DetailProps = {
  readonly session: Session
  readonly request: RenderedRequest & { readonly shortened?: number }
  readonly row: ListedRequest | undefined
  readonly rows: readonly ListedRequest[]
  readonly compactions: readonly Compaction[]
  readonly older: (() => void) | undefined
  readonly newer: (() => void) | undefined
}

export function RequestDetail({
  session,
  request: given,
  row,
  rows,
  compactions,
  older,
  newer,
}: DetailProps) {
  const { id } = session
  const [wholeId, setWhole] = useState('')
  const isWhole = wholeId === given.id
  const whole = useCall('requests.get', isWhole ? [id, given.id] : null, undefined, { whole: true })
  const request = (isWhole ? whole.value : undefined) ?? given
  const at: Moment = { request: given.id }
  const comparison = useCall('requests.compare', [id, given.id])
  const firstChanged = comparison.value?.before === undefined ? undefined : comparison.value.firstChanged
  const isShortened = request === given && hasShortened(given)
  const answer = row?.request.answerPositions ?? request.answerPositions
  return (
    <article class="request" aria-label={`Request ${row?.no ?? ''}`}>
      <header class="request-head">
        <h2>
          Request {row === undefined ? '' : row.no}
          {row !== undefined && <span class="dim"> of {rows.length}</span>}
        </h2>
        <button type="button" disabled={older === undefined} onClick={older} title="The request before ([)">
          ← <span class="wide-only">Before</span>
        </button>
        <button type="button" disabled={newer === undefined} onClick={newer} title="The request after (])">
          <span class="wide-only">After</span> →
        </button>
        <span class="spring" />
        {answer !== undefined && (
          <a href={sessionLink(id, 'conversation', { message: answer[0] })}>Answer {rangeWords([answer])}</a>
        )}
        {/* The chart has a point for each answer, and the prompt is stored between the moment and the answer. */}
        <a href={sessionLink(id, 'context', { position: answer?.[0] ?? request.position + 1 })}>
          Context at this moment
        </a>
        <button
          type="button"
          onClick={() =>
            void attempt(async () => {
              const all = await call('requests.get', [id, given.id], { whole: true })
              await copy(JSON.stringify(all, null, 2), 'Copied the request as JSON.')
            })
          }
        >
          Copy as JSON
        </button>
      </header>
      <Facts request={request} row={row} />
      <Comparison
        sessionId={id}
        requestId={given.id}
        rows={rows}
        compactions={compactions}
        first={comparison}
      />
      {isShortened && (
        <p class="request-note">
          Long texts are shortened.{' '}
          <button type="button" class="link" onClick={() => setWhole(given.id)}>
            Load all of them
          </button>
        </p>
      )}
      <Sent
        key={given.id}
        title="What was sent"
        sessionId={id}
        at={at}
        position={request.position}
        system={request.system}
        tools={request.tools}
        files={request.files}
        messages={request.messages}
        prompt={request.prompt}
        promptPositions={request.promptPositions}
        compactions={compactions}
        firstChanged={firstChanged}
      />
    </article>
  )
}

function hasShortened(request: RenderedRequest & { readonly shortened?: number }): boolean {
  const rows = [...request.messages, ...request.prompt] as readonly { readonly shortened?: number }[]
  return request.shortened !== undefined || rows.some(({ shortened }) => shortened !== undefined)
}

/** The view just before an answer whose request wasn't recorded. */
export function UnrecordedView({
  sessionId,
  answer,
  compactions,
  hasRequests,
}: {
  readonly sessionId: string
  readonly answer: number | string
  readonly compactions: readonly Compaction[]
  readonly hasRequests: boolean
}) {
  const at: Moment = { beforeMessage: answer }
  const view = useCall('getEffectiveHistory', [sessionId, { at, provenance: true }])
  const moment = useCall('messages.moment', [sessionId, at])
  return (
    <article class="request" aria-label={`The view before message ${answer}`}>
      <header class="request-head">
        <h2>Before message {answer}</h2>
        <span class="spring" />
        <a href={sessionLink(sessionId, 'conversation', { message: answer })}>Message {answer}</a>
        {moment.value && (
          <a href={sessionLink(sessionId, 'context', { position: moment.value.position + 1 })}>
            Context at this moment
          </a>
        )}
      </header>
      <p class="request-note">
        <Badge kind="warn">not recorded</Badge> This is the view as of just before that message, not a
        recorded request: system prompt, tools and settings aren’t known.{' '}
        {hasRequests
          ? 'Other answers of this session have recorded requests.'
          : 'Requests are recorded by prepareRequest and recordResponse, the middleware and the adapters.'}
      </p>
      <Show of={view} lines={8}>
        {(messages) =>
          messages.length === 0 ? (
            <Empty title="The view was empty at that moment." />
          ) : (
            <Sent
              key={answer}
              title="The view"
              sessionId={sessionId}
              at={at}
              position={moment.value?.position ?? 0}
              messages={messages}
              prompt={[]}
              compactions={compactions}
            />
          )
        }
      </Show>
    </article>
  )
}

const REASONS: { readonly [reason: string]: string } = {
  redacted:
    'The store redacted a text of the request before it was stored, so what is shown has marks in its place.',
  renderer: 'Another version of the package rendered it. What is shown is rendered with the current rules.',
  purged: 'A stored text was purged or removed since. The rest is as it was sent.',
  history:
    'The application changed the messages before it sent them, or rows or settings are different now. What is shown is the view at that moment.',
}

function Facts({
  request,
  row,
}: {
  readonly request: RenderedRequest
  readonly row: ListedRequest | undefined
}) {
  const {
    usage,
    changed,
    hash,
    matches,
    reason,
    rendering,
    renderer,
    position,
    promptPositions,
    provider,
    model,
  } = request
  const input = inputOf(request)
  const settings = Object.entries(rendering).filter(([name]) => name !== 'provider')
  const cost = row?.request.cost ?? request.cost
  return (
    <dl class="request-facts">
      <Fact name="Sent bytes" look="request-fact-wide">
        {matches ? (
          <>
            <Badge kind="good">matches what was sent</Badge>{' '}
            <span class="dim">The hash shows that these are the same bytes.</span>
          </>
        ) : (
          <>
            <Badge kind="warn">differs: {reason ?? 'unknown'}</Badge>{' '}
            <span class="dim">{REASONS[reason ?? ''] ?? ''}</span>
          </>
        )}{' '}
        <span class="nowrap dim">
          SHA-256 <Id id={hash} />
        </span>
      </Fact>
      <Fact name="Model">
        {provider}
        {model !== undefined && ` / ${model}`}
      </Fact>
      <Fact name="Answer recorded">
        <time dateTime={new Date(request.at).toISOString()}>{fullTime(request.at)}</time>
      </Fact>
      <Fact name="Log up to">
        {position === 0 ? 'before the first message' : `message ${position}`}
        {promptPositions && `, prompt ${rangeWords([promptPositions])}`}
      </Fact>
      <Fact name="Input">
        {input === undefined ? (
          <span class="dim">The provider reported no usage.</span>
        ) : (
          <>
            {counted(sumOf(input), 'token')}
            <span class="dim">
              {' '}
              ({whole(input.read)} read, {whole(input.written)} written, {whole(input.uncached)} uncached)
            </span>
          </>
        )}
      </Fact>
      {usage !== undefined && input !== undefined && (
        <>
          <Fact name="Output">{counted(usage.outputTokens, 'token')}</Fact>
          <Fact name="From the cache">
            {sumOf(input) === 0 ? '–' : wholePercent(input.read / sumOf(input))}
          </Fact>
          <Fact name="Cost">{money(cost)}</Fact>
        </>
      )}
      {changed !== undefined && changed.invalidatedReasoning.blocks > 0 && (
        <Fact name="Left out">
          {counted(changed.invalidatedReasoning.blocks, 'block')} of reasoning (
          {counted(changed.invalidatedReasoning.tokens, 'token')}):{' '}
          {[changed.system && 'the system prompt', changed.tools && 'the tools']
            .filter(Boolean)
            .join(' and ')}{' '}
          changed
        </Fact>
      )}
      <Fact name="Settings">
        {settings.length === 0
          ? 'defaults'
          : settings.map(([name, value]) => (
              <code key={name} class="request-setting">
                {name}: {typeof value === 'string' ? value : JSON.stringify(value)}
              </code>
            ))}{' '}
        <span class="dim">renderer {renderer}</span>
      </Fact>
    </dl>
  )
}

type SentProps = {
  readonly title: string
  readonly sessionId: string
  readonly at: Moment
  readonly position: number
  readonly system?: string | undefined
  readonly tools?: readonly unknown[] | undefined
  readonly files?: RenderedRequest['files'] | undefined
  readonly messages: readonly Pick<Message, 'role' | 'content'>[]
  readonly prompt: readonly Pick<Message, 'role' | 'content'>[]
  readonly promptPositions?: PositionRange | undefined
  readonly compactions: readonly Compaction[]
  readonly firstChanged?: { readonly part: string; readonly message?: number } | undefined
}

/** Messages at the beginning and at the end of a long request that are shown at once, and how many a click adds. */
const HEAD = 20
const TAIL = 80
const MORE = 500

function Sent({
  title,
  sessionId,
  at,
  position,
  system,
  tools,
  files,
  messages,
  prompt,
  promptPositions,
  compactions,
  firstChanged,
}: SentProps) {
  const view = useCall('getEffectiveHistory', [sessionId, { at, provenance: true }])
  const [head, setHead] = useState(HEAD)
  const [chosen, setChosen] = useState<number>()
  const list = useRef<HTMLOListElement>(null)
  const origins = useMemo(
    () => (view.value === undefined ? undefined : originsOf(messages, view.value, prompt)),
    [view.value, messages, prompt],
  )
  const sources = (index: number) => origins?.[index]?.rows.map((row) => view.value![row]!) ?? []
  const changedAt = firstChanged?.part === 'messages' ? firstChanged.message : undefined
  const shownHead =
    changedAt === undefined || changedAt < head || changedAt >= messages.length - TAIL
      ? head
      : changedAt + HEAD
  const shown = shownOf(messages.length, shownHead, TAIL)
  const chosenRows = chosen === undefined ? [] : sources(chosen)
  return (
    <div class="request-columns">
      <section class="sent-column" aria-label={title}>
        <h3 class="request-column-head">
          {title} <span class="dim">{counted(messages.length, 'message')}</span>
        </h3>
        {system !== undefined && (
          <Fold
            title="System"
            hint={`${whole(system.length)} characters`}
            isChanged={firstChanged?.part === 'system'}
          >
            <pre class="sent-text">{system}</pre>
          </Fold>
        )}
        {tools !== undefined && tools.length > 0 && (
          <Tools tools={tools} isChanged={firstChanged?.part === 'tools'} />
        )}
        {files !== undefined && (
          <Fold
            title="Files"
            hint={`${counted(files.included.length, 'file')} in the prompt, ${files.dropped.length} left out`}
          >
            <pre class="sent-text">{JSON.stringify(files, null, 2)}</pre>
          </Fold>
        )}
        <ol class="sent-list" ref={list}>
          {shown.map(([from, to], part) => [
            part === 1 && (
              <li key="gap" class="sent-gap">
                <button type="button" onClick={() => setHead(shownHead + MORE)}>
                  Show {counted(Math.min(MORE, from - shown[0]![1]), 'more message')} of{' '}
                  {whole(from - shown[0]![1])} between
                </button>
              </li>
            ),
            ...messages
              .slice(from, to)
              .map((message, index) => (
                <SentMessage
                  key={from + index}
                  index={from + index}
                  message={message}
                  origin={origins?.[from + index]}
                  origins={originWords(
                    rangesOf(sources(from + index)),
                    origins?.[from + index]?.isPrompt ? promptPositions : undefined,
                  )}
                  isChanged={from + index === changedAt}
                  isChosen={from + index === chosen}
                  onChoose={() => setChosen(chosen === from + index ? undefined : from + index)}
                />
              )),
          ])}
        </ol>
      </section>
      <RequestLog
        sessionId={sessionId}
        at={at}
        position={position}
        compactions={compactions}
        chosen={{ ids: chosenRows.flatMap(({ id }) => id), ranges: rangesOf(chosenRows) }}
      />
    </div>
  )
}

function Fold({
  title,
  hint,
  isChanged,
  children,
}: {
  readonly title: string
  readonly hint: string
  readonly isChanged?: boolean
  readonly children: ComponentChildren
}) {
  return (
    <details class={`sent-fold ${isChanged ? 'sent-changed' : ''}`}>
      <summary>
        <b>{title}</b> <span class="dim">{hint}</span> {isChanged && <FirstChange />}
      </summary>
      {children}
    </details>
  )
}

function FirstChange() {
  return (
    <Badge
      kind="warn"
      title="Up to here, this is the same as the request before. From here on, its cache can’t be read."
    >
      first change
    </Badge>
  )
}

function Tools({ tools, isChanged }: { readonly tools: readonly unknown[]; readonly isChanged: boolean }) {
  const names = tools.map(toolName)
  return (
    <Fold title="Tools" hint={`${tools.length}: ${names.join(', ')}`} isChanged={isChanged}>
      <ul class="sent-tools">
        {tools.map((tool, at) => (
          <li key={at}>
            <details>
              <summary>
                <code>{names[at]}</code>
              </summary>
              <pre class="sent-text">{JSON.stringify(tool, null, 2)}</pre>
            </details>
          </li>
        ))}
      </ul>
    </Fold>
  )
}

/** The places in the log of what a message contains. The prompt is stored with the answer. */
function originWords(ranges: readonly PositionRange[], stored: PositionRange | undefined): string {
  const words = [
    ...(ranges.length > 0 ? [`log ${rangeWords(ranges)}`] : []),
    ...(stored === undefined ? [] : [`stored as ${rangeWords([stored])}`]),
  ]
  return words.join(', ')
}

function SentMessage({
  index,
  message,
  origin,
  origins,
  isChanged,
  isChosen,
  onChoose,
}: {
  readonly index: number
  readonly message: Pick<Message, 'role' | 'content'>
  readonly origin: Origin | undefined
  readonly origins: string
  readonly isChanged: boolean
  readonly isChosen: boolean
  onChoose(): void
}) {
  const pieces = piecesOf(message)
  return (
    <li
      class={`sent sent-${message.role} ${isChanged ? 'sent-changed' : ''} ${isChosen ? 'sent-chosen' : ''}`}
    >
      {isChanged && (
        <p class="sent-divider">
          <FirstChange /> The same as the request before up to here.
        </p>
      )}
      <button
        type="button"
        class="sent-head"
        aria-pressed={isChosen}
        onClick={onChoose}
        title="Show it in the log"
      >
        <span class="sent-no">{index + 1}</span>
        <b>{message.role}</b>
        {origin?.isPrompt && <Badge kind="accent">prompt</Badge>}
        <span class="dim">{counted(lengthOf(pieces), 'character')}</span>
        <span class="spring" />
        {origins !== '' && <span class="dim sent-origin">{origins}</span>}
      </button>
      {pieces.map((piece, at) => (
        <PieceView key={at} piece={piece} />
      ))}
    </li>
  )
}

function PieceView({
  piece: { kind, label, text, media = [], isError, options },
}: {
  readonly piece: Piece
}) {
  return (
    <div class={`sent-piece sent-piece-${kind}`}>
      {label !== undefined && (
        <p class="sent-piece-label">
          <span class="dim">{KIND_LABELS[kind]}</span> {kind !== 'reasoning' && <code>{label}</code>}{' '}
          {isError && <Badge kind="bad">error</Badge>}
        </p>
      )}
      {text !== undefined && text !== '' && <LongText text={text} />}
      {text === '' && media.length === 0 && <p class="dim small">(empty)</p>}
      {media.map((one, at) => (
        <MediaChip key={at} media={one} />
      ))}
      {options !== undefined && (
        <details class="sent-piece-options">
          <summary class="dim small">provider’s fields</summary>
          <pre class="sent-text">{options}</pre>
        </details>
      )}
    </div>
  )
}

const KIND_LABELS: { readonly [kind in Piece['kind']]: string } = {
  text: '',
  reasoning: 'Reasoning',
  call: 'Calls',
  result: 'Result of',
  media: '',
  provider: 'Only for',
}

/** Longer texts are folded to their beginning. */
const FOLDED_CHARACTERS = 1_200
const FOLDED_LINES = 16

/** A text as it was sent: nothing of it is rendered. */
function LongText({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false)
  const head = useMemo(() => headOf(text), [text])
  return (
    <>
      <pre class="sent-text">{isOpen ? text : head}</pre>
      {head.length < text.length && (
        <button type="button" class="link small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Fold' : `Show all ${whole(text.length)} characters`}
        </button>
      )}
    </>
  )
}

function headOf(text: string): string {
  if (text.length <= FOLDED_CHARACTERS && text.split('\n', FOLDED_LINES + 2).length <= FOLDED_LINES + 1)
    return text
  return text.slice(0, FOLDED_CHARACTERS).split('\n').slice(0, FOLDED_LINES).join('\n')
}

/** What the server names a remote file whose type wasn't stored. */
const UNKNOWN_TYPE = 'application/octet-stream'

function MediaChip({
  media: { type, mediaType, filename, bytes: size, url },
}: {
  readonly media: PlacedMedia
}) {
  return (
    <span class="sent-media" title={url}>
      {type === 'image' ? '▣' : '▤'} {filename ?? (mediaType === UNKNOWN_TYPE ? type : mediaType)}
      {size !== undefined && <span class="dim"> {bytes(size)}</span>}
      {url !== undefined && <span class="dim sent-media-url"> {url}</span>}
    </span>
  )
}
