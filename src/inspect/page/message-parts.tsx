import type { ComponentChildren } from 'preact'
import { markupPieces } from '../../core/messages/client-markup.ts'
import { compactionBlock } from '../../core/messages/compaction-block.ts'
import {
  isFailed,
  isReasoning,
  isUnsent,
  type Part,
  partsOf,
  type ShownText,
  type ToolCallPart,
  type ToolResultOutput,
  type ToolResultPart,
  UNREAD,
} from '../../core/messages/message.ts'
import { type Tombstone, tombstoneOf } from '../../core/retention/tombstone.ts'
import type { Compaction } from '../../storage/storage.ts'
import type { PlacedMedia } from '../verbs.ts'
import { Code } from './code.tsx'
import { kindWords } from './compaction-runs.ts'
import type { LoadedRow } from './conversation-rows.ts'
import { DiffView } from './diff-view.tsx'
import { Fold } from './fold.tsx'
import { bytes, counted, fullTime, whole } from './format.ts'
import { languageOf } from './highlight.ts'
import { JsonTree } from './json-tree.tsx'
import { useKept } from './kept-state.ts'
import { Markdown, WebLink } from './markdown.tsx'
import { webAddress } from './markdown-tree.ts'
import { reasoningState } from './reasoning-words.ts'
import { sessionLink } from './router.ts'
import { placed } from './sent-messages.ts'
import { SentReasoning } from './sent-reasoning.tsx'
import { editsOf, pathIn } from './tool-edits.ts'
import type { FoundResult } from './tool-pairs.ts'
import {
  beginningOf,
  hasMoreArguments,
  lineCount,
  mainArgument,
  outputLength,
  prettyJson,
} from './tool-words.ts'
import { Badge } from './ui.tsx'

/* The parts of a message. Everything in it is text or an element of the page; nothing stored becomes HTML. */

/** What the parts of a row need besides the row. */
export type PartsContext = {
  readonly sessionId: string
  /** Changes with the session. */
  readonly version: string
  compaction(id: string): Compaction | undefined
}

type RowShape = Pick<LoadedRow, 'id' | 'role' | 'content' | 'hidden'> &
  Partial<Pick<LoadedRow, 'shown' | 'position' | 'shortened'>>

/** The parts of a row: the results of its calls beneath them, without those that an earlier row shows. */
export function MessageParts({
  row,
  results,
  absorbed,
  context,
}: {
  readonly row: RowShape
  readonly results: ReadonlyMap<string, FoundResult & { readonly row: RowShape }>
  readonly absorbed: ReadonlySet<number>
  readonly context: PartsContext
}) {
  const parts = partsOf(row)
  const inCalls = new Set(
    [...results.values()].flatMap((found) => (found.row.id === row.id ? [found.index] : [])),
  )
  const shown = parts.flatMap((part, index) =>
    absorbed.has(index) || inCalls.has(index) ? [] : [{ part, index }],
  )
  if (shown.length === 0 && absorbed.size === 0) return <p class="dim">Empty message</p>
  return (
    <>
      {grouped(shown).map((group) => {
        const [{ index }] = group
        if (group.length > 1 || isMedia(group[0].part))
          return (
            <MediaGrid key={index} id={`${row.id}:${index}`} items={group.map(({ part }) => placed(part))} />
          )
        return (
          <OnePart
            key={index}
            row={row}
            part={group[0].part}
            index={index}
            results={results}
            context={context}
          />
        )
      })}
    </>
  )
}

type Indexed = { readonly part: Part; readonly index: number }
type Group = readonly [Indexed, ...Indexed[]]

/** Puts neighboring images and files together. */
function grouped(parts: readonly Indexed[]): readonly Group[] {
  const groups: [Indexed, ...Indexed[]][] = []
  for (const one of parts) {
    const last = groups.at(-1)
    if (last !== undefined && isMedia(one.part) && isMedia(last[0].part)) last.push(one)
    else groups.push([one])
  }
  return groups
}

const isMedia = (part: Part): boolean => part.type === 'image' || part.type === 'file'

function OnePart({
  row,
  part,
  index,
  results,
  context,
}: {
  readonly row: RowShape
  readonly part: Part
  readonly index: number
  readonly results: ReadonlyMap<string, FoundResult & { readonly row: RowShape }>
  readonly context: PartsContext
}) {
  const id = `${row.id}:${index}`
  const shown = row.shown?.find((one) => one.part === index)
  const tombstone = tombstoneOf(part)
  if (part.type === 'tool-call') {
    const found = results.get(part.toolCallId)
    return <ToolCall id={id} call={part} found={found} context={context} />
  }
  if (part.type === 'tool-result')
    return (
      <div class="tool">
        <p class="tool-line">
          <span class="tool-name">{part.toolName ?? 'Tool result'}</span>
          <span class="dim tool-argument">result of call {part.toolCallId}</span>
        </p>
        <ToolResult
          id={id}
          result={part}
          shown={shown}
          context={context}
          isShortened={row.shortened !== undefined}
          path={undefined}
        />
      </div>
    )
  if (tombstone !== undefined) return <Removed tombstone={tombstone} what={part.type} />
  return (
    <InPlace shown={shown} context={context} id={id}>
      {() =>
        isReasoning(part) ? (
          <Reasoning id={id} part={part} row={row} isReplaced={shown !== undefined} context={context} />
        ) : part.type === 'text' ? (
          <MessageText id={id} text={part.text} role={row.role} />
        ) : (
          <ProviderData id={id} part={part} />
        )
      }
    </InPlace>
  )
}

/** The text that the model sees in place of a part, with the original beneath. */
function InPlace({
  shown,
  context,
  id,
  children,
}: {
  readonly shown: ShownText | undefined
  readonly context: PartsContext
  readonly id: string
  children(): ComponentChildren
}) {
  if (shown === undefined) return <>{children()}</>
  return (
    <div class="in-place">
      <ModelSees shown={shown} context={context} id={id} />
      <Fold id={`${id} original`} label="The original" isOpen>
        {children}
      </Fold>
    </div>
  )
}

function ModelSees({
  shown,
  context,
  id,
}: {
  readonly shown: ShownText
  readonly context: PartsContext
  readonly id: string
}) {
  const compaction = context.compaction(shown.compactionId)
  return (
    <div class="model-sees">
      <p class="model-sees-label">
        The model sees{shown.text === '' ? ' nothing of this' : ':'}{' '}
        <a
          class="dim"
          href={sessionLink(context.sessionId, 'compactions', { compaction: shown.compactionId })}
        >
          {compaction === undefined ? 'a compaction' : kindWords(compaction)}
        </a>
      </p>
      {shown.text !== '' && <LongText id={`${id} shown`} text={shown.text} maxLines={8} />}
    </div>
  )
}

function Removed({ tombstone, what }: { readonly tombstone: Tombstone; readonly what: string }) {
  return (
    <p class="removed" title={tombstone.sha256 === undefined ? undefined : `SHA-256 ${tombstone.sha256}`}>
      Removed by retention on {fullTime(tombstone.at)}: {what}, {bytes(tombstone.bytes)}
      {tombstone.tokens > 0 && `, ${counted(tombstone.tokens, 'token')}`}. Its content is no longer stored.
    </p>
  )
}

/** Texts that are longer show their beginning first. */
const MAX_TEXT = 5_000
const MAX_TEXT_LINES = 80

/** A text of a message: what a client added to the user's words is folded. */
function MessageText({
  id,
  text,
  role,
}: {
  readonly id: string
  readonly text: string
  readonly role: string
}) {
  if (text.trim() === '') return <p class="dim">{text === '' ? 'Empty text' : 'Only white space'}</p>
  const pieces = role === 'user' ? markupPieces(text) : [{ by: 'user' as const, text }]
  return (
    <>
      {pieces.map((piece, at) =>
        piece.text.trim() === '' ? null : piece.by === 'user' ? (
          <MarkdownText key={at} id={`${id}/${at}`} text={piece.text} />
        ) : (
          <Fold
            key={at}
            id={`${id}/${at}`}
            look="markup"
            label={markupName(piece.text, piece.by)}
            note={bytes(piece.text.length)}
          >
            {() => <LongText id={`${id}/${at} text`} text={piece.text.trim()} maxLines={40} />}
          </Fold>
        ),
      )}
    </>
  )
}

/** The name of the element that a client added. */
function markupName(text: string, by: 'client' | 'attachment'): string {
  const name = /^\s*<([A-Za-z][\w:.-]{0,60})/.exec(text)?.[1]
  const what = by === 'attachment' ? 'Attached by the client' : 'Added by the client'
  return name === undefined ? what : `${what}: ${name.replaceAll(/[-_]/g, ' ')}`
}

function MarkdownText({ id, text }: { readonly id: string; readonly text: string }) {
  const [isWhole, setWhole] = useKept(`${id} whole`, false)
  const isLong = text.length > MAX_TEXT * 1.25 || lineCount(text) > MAX_TEXT_LINES * 1.25
  if (isWhole && isLong) return <LongText id={id} text={text} maxLines={4_000} isMarkdown />
  return (
    <>
      <Markdown text={isLong ? beginningOf(text, MAX_TEXT_LINES, MAX_TEXT) : text} />
      {isLong && (
        <button type="button" class="link more" onClick={() => setWhole(true)}>
          Show all {whole(text.length)} characters
        </button>
      )}
    </>
  )
}

/** A step in which a very long text grows. */
const MAX_STEP = 100_000

/** A text as it is: its first lines, then the whole, in steps if it is very long. */
function LongText({
  id,
  text,
  maxLines,
  language,
  isMarkdown = false,
}: {
  readonly id: string
  readonly text: string
  readonly maxLines: number
  readonly language?: string | undefined
  readonly isMarkdown?: boolean
}) {
  const [steps, setSteps] = useKept(`${id} steps`, isMarkdown ? 1 : 0)
  const part =
    steps === 0
      ? beginningOf(text, maxLines, 240 * maxLines)
      : beginningOf(text, 4_000 * steps, MAX_STEP * steps)
  const isCut = part.length < text.trimEnd().length
  return (
    <div class="long-text">
      {isMarkdown ? (
        <Markdown text={part} />
      ) : language !== undefined ? (
        <Code text={part} language={language} />
      ) : (
        <pre class="plain" dir="auto">
          {part === '' ? <span class="dim">empty</span> : part}
        </pre>
      )}
      {(isCut || (steps > 0 && !isMarkdown)) && (
        <p class="more">
          {isCut && (
            <button type="button" class="link" onClick={() => setSteps(steps + 1)}>
              {steps === 0 && text.length <= MAX_STEP
                ? `Show all ${counted(lineCount(text), 'line')}`
                : `Show more of ${counted(lineCount(text), 'line')}`}
            </button>
          )}
          {steps > 0 && !isMarkdown && (
            <button type="button" class="link" onClick={() => setSteps(0)}>
              Show less
            </button>
          )}
        </p>
      )}
    </div>
  )
}

const OUTPUT_LINES = 12
/** Tools whose output is the file that their arguments name. */
const READS = /read|view|open|cat|get/i

function ToolCall({
  id,
  call,
  found,
  context,
}: {
  readonly id: string
  readonly call: ToolCallPart
  readonly found: (FoundResult & { readonly row: RowShape }) | undefined
  readonly context: PartsContext
}) {
  const { toolName, input } = call
  const tombstone = tombstoneOf(call)
  const edits = tombstone === undefined ? editsOf(toolName, input) : []
  const paths = [...new Set(edits.flatMap(({ path }) => path ?? []))]
  const argument = paths.length > 0 ? paths.join(', ') : mainArgument(input)
  const failed = found !== undefined && isFailed(found.part.output)
  return (
    <div class={`tool ${failed ? 'tool-failed' : ''}`}>
      <p class="tool-line">
        <span class="tool-name">{toolName}</span>
        <code class="tool-argument" title={argument}>
          {argument}
        </code>
        {call.providerExecuted && <Badge title="The provider ran this tool">by the provider</Badge>}
        {failed && <Badge kind="bad">failed</Badge>}
        {found === undefined && <Badge title="No result follows this call directly">no result here</Badge>}
      </p>
      {tombstone !== undefined && <Removed tombstone={tombstone} what="arguments" />}
      {edits.map((edit, at) => (
        <DiffView key={at} edit={edit} id={`${id}/${at}`} />
      ))}
      {hasMoreArguments(input) && tombstone === undefined && (
        <Fold id={`${id} arguments`} label="Arguments" note={bytes(prettyJson(input).length)}>
          {() =>
            typeof input === 'string' ? (
              <LongText id={`${id} input`} text={input} maxLines={40} />
            ) : (
              <JsonTree value={input} id={`${id} input`} />
            )
          }
        </Fold>
      )}
      {found !== undefined && (
        <ToolResult
          id={`${found.row.id}:${found.index}`}
          result={found.part}
          shown={found.row.shown?.find((one) => one.part === found.index)}
          context={context}
          isShortened={found.row.shortened !== undefined}
          path={READS.test(toolName) ? pathIn(input) : undefined}
        />
      )}
    </div>
  )
}

function ToolResult({
  id,
  result,
  shown,
  context,
  isShortened,
  path,
}: {
  readonly id: string
  readonly result: ToolResultPart
  readonly shown: ShownText | undefined
  readonly context: PartsContext
  /** Whether the server left out a part of the row, which may be of this output. */
  readonly isShortened: boolean
  readonly path: string | undefined
}) {
  const { output } = result
  const tombstone = tombstoneOf(result)
  const length = outputLength(output)
  const media = output.type === 'content' ? output.value.filter((item) => isMedia(item)).length : 0
  const size = [
    ...(length > 0 ? [`${bytes(length)}${isShortened ? ' or more' : ''}`] : []),
    ...(media > 0 ? [counted(media, 'image or file', 'images and files')] : []),
  ].join(', ')
  const body = (): ComponentChildren =>
    tombstone === undefined ? (
      <Output id={id} output={output} language={languageOf(path)} />
    ) : (
      <Removed tombstone={tombstone} what="output" />
    )
  return (
    <div class="result">
      <p class="result-line dim">
        {isFailed(output) ? <span class="bad-text">Error</span> : 'Result'}
        {size !== '' && <span>{size}</span>}
      </p>
      <InPlace shown={shown} context={context} id={id}>
        {body}
      </InPlace>
    </div>
  )
}

function Output({
  id,
  output,
  language,
}: {
  readonly id: string
  readonly output: ToolResultOutput
  readonly language: string | undefined
}) {
  if (output.type === 'content') {
    const media = output.value.filter((item) => isMedia(item))
    return (
      <>
        {output.value.map((item, at) => {
          const tombstone = tombstoneOf(item)
          if (tombstone !== undefined) return <Removed key={at} tombstone={tombstone} what="item" />
          if (item.type === 'text')
            return <LongText key={at} id={`${id}/${at}`} text={item.text} maxLines={OUTPUT_LINES} />
          return item.type === 'provider' ? <ProviderData key={at} id={`${id}/${at}`} part={item} /> : null
        })}
        {media.length > 0 && <MediaGrid id={`${id} media`} items={media.map(placed)} />}
      </>
    )
  }
  if (output.type === 'json' || output.type === 'error-json')
    return <LongText id={id} text={prettyJson(output.value)} maxLines={OUTPUT_LINES} language="json" />
  const isPlain = output.type === 'error-text' || /^\s*\d+[\t→|:]/.test(output.value)
  return (
    <LongText id={id} text={output.value} maxLines={OUTPUT_LINES} language={isPlain ? undefined : language} />
  )
}

function Reasoning({
  id,
  part,
  row,
  isReplaced,
  context,
}: {
  readonly id: string
  readonly part: Part
  readonly row: RowShape
  readonly isReplaced: boolean
  readonly context: PartsContext
}) {
  const text = part.type === 'reasoning' ? part.text : ''
  return (
    <Fold
      id={`${id} reasoning`}
      look="reasoning"
      label="Reasoning"
      note={[
        text === '' ? 'no readable text' : counted(text.length, 'character'),
        reasoningState(part, row, isReplaced),
      ].join(' · ')}
    >
      {() => (
        <>
          {text !== '' && <LongText id={`${id} text`} text={text} maxLines={60} isMarkdown />}
          {part.type === 'reasoning' && !row.hidden && !isReplaced && (
            <SentReasoning part={part} position={row.position} context={context} />
          )}
          {part.type === 'provider' && <JsonTree value={part.data} id={`${id} data`} />}
          {part.type === 'reasoning' && part.providerOptions !== undefined && (
            <Fold id={`${id} options`} label="Signature and provider’s fields">
              {() => <JsonTree value={part.providerOptions} id={`${id} options`} />}
            </Fold>
          )}
        </>
      )}
    </Fold>
  )
}

function ProviderData({ id, part }: { readonly id: string; readonly part: Part }) {
  if (part.type !== 'provider') return null
  const block = compactionBlock(part)
  if (block?.text !== undefined) return <MarkdownText id={id} text={block.text} />
  const { provider, data } = part
  const label =
    provider === UNREAD
      ? 'Not understood when it was stored'
      : isUnsent(provider)
        ? `Kept from ${provider}, never sent`
        : `Only for ${provider}`
  const type =
    typeof data === 'object' && data !== null && 'type' in data ? String(data.type).slice(0, 60) : undefined
  return (
    <Fold id={`${id} data`} look="provider" label={label} note={type}>
      {() => <JsonTree value={data} id={`${id} data`} />}
    </Fold>
  )
}

const MAX_MEDIA = 24

/** Images and files side by side; images that aren't stored here are only named. */
function MediaGrid({ id, items }: { readonly id: string; readonly items: readonly PlacedMedia[] }) {
  const [isWhole, setWhole] = useKept(`${id} all`, false)
  const shown = isWhole ? items : items.slice(0, MAX_MEDIA)
  return (
    <>
      <div class="media">
        {shown.map((media, at) => (
          <Media key={at} media={media} />
        ))}
      </div>
      {shown.length < items.length && (
        <button type="button" class="link more" onClick={() => setWhole(true)}>
          Show all {items.length}
        </button>
      )}
    </>
  )
}

function Media({ media }: { readonly media: PlacedMedia }) {
  const { type, mediaType, filename, bytes: size, src, url } = media
  const name = filename ?? (type === 'image' ? 'Image' : 'File')
  const words = [mediaType, ...(size === undefined ? [] : [bytes(size)])].filter(Boolean).join(', ')
  if (src !== undefined)
    return (
      <a class="image" href={src} target="_blank" rel="noopener" title={`${name}, ${words}`}>
        <img src={src} alt={`${name}, ${words}`} loading="lazy" decoding="async" />
      </a>
    )
  const address = url === undefined ? undefined : webAddress(url)
  return (
    <span class="chip">
      <b>{name}</b> <span class="dim">{words}</span>
      {address !== undefined ? (
        <WebLink href={address} />
      ) : (
        url !== undefined && <span class="dim">{url}</span>
      )}
    </span>
  )
}
