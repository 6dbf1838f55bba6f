import { type Bytes, isList, isObject, type Plain, type PlainObject, type Snapshot } from './snapshot.ts'

/* The common result of the readers of all forms: turns of blocks. A rule is thus written once for all APIs to which it applies. */

/** The wire forms: Anthropic's Messages API, Bedrock's Converse, OpenAI's two APIs, Gemini's API, and the AI SDK's prompt. */
export type Form = 'messages' | 'converse' | 'chat' | 'responses' | 'gemini' | 'sdk'

/** An image, a file or audio. */
export type Media = {
  readonly kind: 'image' | 'file' | 'audio' | 'video'
  /** The media type, in lower case, without parameters. */
  readonly type?: string | undefined
  readonly base64?: Plain | undefined
  readonly bytes?: Bytes | undefined
  readonly url?: Plain | undefined
  /** Whether a text replaces the file. */
  readonly isText?: boolean | undefined
}

/** A block of a turn. */
export type Block = { readonly path: string; readonly raw: PlainObject } & (
  | { readonly kind: 'text'; readonly text: string; readonly mayBeEmpty?: boolean }
  | {
      readonly kind: 'call'
      readonly id: Plain | undefined
      readonly name: Plain | undefined
      /** An object is in `input`, a text with JSON in `json`; free text is in neither. */
      readonly input?: Plain | undefined
      readonly json?: Plain | undefined
      /** Whether it is a call of the old kind of Chat Completions, which has no id. */
      readonly isOld?: boolean
    }
  | {
      readonly kind: 'result'
      readonly id: Plain | undefined
      readonly name?: Plain | undefined
      readonly blocks: readonly Block[]
      readonly isOld?: boolean
    }
  /** `isPlain`: whether the reasoning is readable; otherwise it is encrypted. */
  | { readonly kind: 'thinking'; readonly signature: Plain | undefined; readonly isPlain: boolean }
  | { readonly kind: 'media'; readonly media: Media; readonly blocks?: readonly Block[] }
  /** A call or a result of a provider-run tool. */
  | { readonly kind: 'own-call' | 'own-result'; readonly id: Plain | undefined }
  | { readonly kind: 'compaction' | 'other' | 'unknown' }
)

/** The blocks of one kind, with their fields. */
export type BlockOf<K extends Block['kind']> = Extract<Block, { readonly kind: K }>

/** A message, or an item of the Responses API. */
export type Turn = {
  readonly path: string
  readonly role: string
  readonly raw: PlainObject
  readonly blocks: readonly Block[]
}

/** A mark that requests caching. */
export type Mark = { readonly path: string; readonly on: string }

/** An id that a provider assigned, which may be sent only once. */
export type AssignedId = { readonly path: string; readonly what: string; readonly value: string }

/** A request that has been read. */
export type Request = Snapshot & {
  readonly form: Form
  /** The canonical name of the provider. */
  readonly provider: string
  /** The name of the provider as it was given. */
  readonly givenProvider: string
  readonly model: string | undefined
  readonly system: readonly Block[]
  readonly turns: readonly Turn[]
  readonly hasTools: boolean
  readonly marks: readonly Mark[]
  readonly assignedIds: readonly AssignedId[]
  /** Places that don't match the form of the API. */
  readonly malformed: readonly { readonly path: string; readonly detail: string }[]
}

/** The data that a reader collects. */
export type Reading = {
  readonly turns: Turn[]
  readonly system: Block[]
  readonly marks: Mark[]
  readonly assignedIds: AssignedId[]
  readonly malformed: { path: string; detail: string }[]
}

/** The deepest nesting: contents are nested in results and documents, and the APIs go no deeper. */
export const MAX_NESTING = 2

export function newReading(): Reading {
  return { turns: [], system: [], marks: [], assignedIds: [], malformed: [] }
}

/**
 * Yields the objects of a list with their paths. A value that isn't a list, and an entry that isn't an object, is reported as malformed.
 */
export function* objectsIn(
  list: Plain | undefined,
  path: string,
  { malformed }: Reading,
  detail = 'must be an array',
): Generator<readonly [PlainObject, string]> {
  if (!isList(list)) {
    malformed.push({ path, detail })
    return
  }
  for (const [i, item] of list.entries()) {
    const at = `${path}.${i}`
    if (isObject(item)) yield [item, at]
    else malformed.push({ path: at, detail: 'must be an object' })
  }
}

/** Reads a list of messages, each with the blocks that `read` returns; a body without the list has no turns. */
export function readTurns(
  list: Plain | undefined,
  path: string,
  reading: Reading,
  read: (message: PlainObject, path: string) => readonly Block[],
  usualRole = '',
): void {
  if (list === undefined) return
  for (const [raw, at] of objectsIn(list, path, reading)) {
    const { role = usualRole } = raw
    reading.turns.push({ path: at, role: textField(role), raw, blocks: read(raw, at) })
  }
}

/** Returns the block of a text, such as a content that is not a list. */
export function textBlock(text: string, path: string, raw: PlainObject = {}): Block {
  return { kind: 'text', path, raw, text }
}

/** Records an id that a provider assigned, unless it is absent or empty. */
export function addAssignedId(
  value: Plain | undefined,
  path: string,
  what: string,
  { assignedIds }: Reading,
): void {
  if (typeof value === 'string' && value !== '') assignedIds.push({ path, what, value })
}

/** Yields the blocks of one kind among those of the messages. */
export function* blocksOf<K extends Block['kind']>(
  { turns }: Pick<Request, 'turns'>,
  kind: K,
): Generator<BlockOf<K>> {
  for (const { blocks } of turns)
    for (const block of blocks) if (block.kind === kind) yield block as BlockOf<K>
}

/** Yields all blocks of a list; blocks inside results and documents come after their containing block. */
export function* deepBlocks(blocks: readonly Block[]): Generator<Block> {
  for (const block of blocks) {
    yield block
    if (block.kind === 'result' || (block.kind === 'media' && block.blocks !== undefined))
      yield* deepBlocks(block.blocks ?? [])
  }
}

/** Yields all blocks of a request. */
export function* allBlocks({ system, turns }: Pick<Request, 'system' | 'turns'>): Generator<Block> {
  yield* deepBlocks(system)
  for (const turn of turns) yield* deepBlocks(turn.blocks)
}

/** Returns the text of a field; empty if it is not a text. */
export function textField(value: Plain | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** Returns a media type in lower case, without parameters. */
export function mediaTypeOf(value: Plain | undefined): string | undefined {
  return typeof value === 'string' ? value.split(';', 1)[0]!.trim().toLowerCase() : undefined
}

/** Returns an address; a data URL is returned as its bytes. */
export function addressed(url: Plain | undefined): Pick<Media, 'base64' | 'type' | 'url'> {
  if (typeof url !== 'string' || !/^data:/i.test(url.slice(0, 5))) return { url }
  const comma = url.indexOf(',')
  const head = comma === -1 ? '' : url.slice(5, comma)
  if (!/;base64$/i.test(head)) return { url }
  return { base64: url.slice(comma + 1), type: mediaTypeOf(head) }
}
