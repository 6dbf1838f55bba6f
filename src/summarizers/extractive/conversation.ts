import { detached, headOf } from '../../core/characters.ts'
import { type Message, partsOf, type RowKind } from '../../core/message.ts'
import { type Call, CallReader, outputHead, outputTail, targetOf } from '../calls.ts'
import { cleanLine, ends, oneLine, shorten, shortenPath } from '../text.ts'
import { tellingLine } from './error-lines.ts'
import { ownWords } from './own-words.ts'
import { shellCommand, shellGist } from './shell.ts'

/** Something the user or the assistant said, on its place; of a long text the beginning and the end. */
export type Said = {
  readonly by: 'user' | 'assistant'
  readonly text: string
  readonly at: number
  /** Of a user's text what is not quoted, pasted or forwarded; of an assistant's all. */
  readonly own: string
}

/** A request of the user's and everything up to the next one. */
export type Exchange = {
  readonly request: Said
  readonly replies: readonly Said[]
  readonly calls: readonly Call[]
}

/** What the extractor looks at, read from the messages once. */
export type Conversation = {
  readonly said: readonly Said[]
  readonly replies: readonly Said[]
  readonly exchanges: readonly Exchange[]
  readonly calls: readonly Call[]
  /** Texts of summaries that stand among the messages, oldest first. */
  readonly summaries: readonly string[]
}

/** How much is looked at of one text: units of its beginning and of its end. Rules and results stand there. */
const USER_ENDS = [6_000, 2_000] as const
const ASSISTANT_ENDS = [2_500, 1_500] as const

/** Reads a conversation for extraction, one message after another. Markers of truncations say nothing and are passed over. */
export class ConversationReader {
  readonly #said: Said[] = []
  readonly #summaries: string[] = []
  readonly #callReader = new CallReader()
  readonly #calls: Call[] = []
  #at = 0

  add(message: Message & { readonly kind?: RowKind }): void {
    const at = this.#at++
    for (const call of this.#callReader.add(message).made) this.#calls.push(call)
    if (message.kind === 'marker' || message.role === 'system' || message.role === 'tool') return
    const text = textOf(message)
    if (text.trim() === '') return
    if (message.kind === 'summary') this.#summaries.push(text)
    else if (message.role === 'assistant') {
      const shown = endsOf(text, ASSISTANT_ENDS)
      this.#said.push({ by: 'assistant', text: shown, at, own: shown })
    } else {
      const written = withoutInserts(text)
      const shown = endsOf(written, USER_ENDS)
      if (shown.trim() === '') return
      // Of the whole: a block that is cut off would be open at one end.
      const own = ownWords(written)
      this.#said.push({ by: 'user', text: shown, at, own: own === written ? shown : endsOf(own, USER_ENDS) })
    }
  }

  /** What was read. Call it after the last message. */
  conversation(): Conversation {
    const said = this.#said
    const calls = this.#calls
    const replies = said.filter(({ by }) => by === 'assistant')
    return { said, replies, calls, summaries: this.#summaries, exchanges: exchangesOf(said, calls) }
  }
}

/** The ends of a long text, without the text between them in memory. */
function endsOf(text: string, [first, last]: readonly [number, number]): string {
  const shown = ends(text, first, last)
  return shown.length < text.length ? detached(shown) : shown
}

function textOf(message: Message): string {
  if (typeof message.content === 'string') return message.content
  const texts: string[] = []
  for (const part of partsOf(message)) if (part.type === 'text') texts.push(part.text)
  return texts.join('\n')
}

/** Blocks that programs put into a user's message: not the user's words. */
const INSERTS = [
  'system-reminder',
  'environment_details',
  'local-command-stdout',
  'command-message',
  'file_content',
] as const

function withoutInserts(text: string): string {
  if (!text.includes('</')) return text
  let own = text
  for (const name of INSERTS) {
    const kept: string[] = []
    let from = 0
    for (let open = own.indexOf(`<${name}`); open >= 0; open = own.indexOf(`<${name}`, from)) {
      const close = own.indexOf(`</${name}>`, open)
      if (close < 0) break
      kept.push(own.slice(from, open))
      from = close + name.length + 3
    }
    own = kept.join('') + own.slice(from)
  }
  return own
}

function exchangesOf(said: readonly Said[], calls: readonly Call[]): Exchange[] {
  const exchanges: { request: Said; replies: Said[]; calls: Call[] }[] = []
  let nextCall = 0
  const takeCalls = (before: number) => {
    const last = exchanges.at(-1)
    for (; nextCall < calls.length && calls[nextCall]!.at < before; nextCall++)
      last?.calls.push(calls[nextCall]!)
  }
  for (const item of said) {
    if (item.by === 'assistant') exchanges.at(-1)?.replies.push(item)
    else {
      takeCalls(item.at)
      exchanges.push({ request: item, replies: [], calls: [] })
    }
  }
  takeCalls(Number.POSITIVE_INFINITY)
  return exchanges
}

/** A call as a reader wants to see it: name and target. */
export function callLabel(call: Call, max: number): string {
  const command = shellCommand(call)
  const target = command === undefined ? targetOf(call) : oneLine(headOf(shellGist(command), 2 * max))
  if (target === undefined) return call.name
  const shown = call.paths.length > 0 ? shortenPath(lastSegments(target), max) : shorten(target, max)
  return `${call.name} \`${shown.replaceAll('`', "'")}\``
}

/** The end of a path: enough to know the file by, where its whole path stands elsewhere. */
function lastSegments(path: string): string {
  const segments = path.split('/')
  return segments.length <= 4 ? path : `…/${segments.slice(-3).join('/')}`
}

/** Units looked at of a result: its beginning and its end, where errors stand; of a failed one more of the end. */
const RESULT_ENDS = 600
const FAILED_END = 3_000

/** The line of a result that tells what went wrong, if something did. */
export function errorLine(call: Call): string | undefined {
  if (call.result === undefined) return undefined
  const { output, failed } = call.result
  // A file's text may speak of errors without there being one, and so may a list of matches.
  if (!failed && (call.effect !== 'other' || isSearch(call))) return undefined
  const start = outputHead(output, RESULT_ENDS)
  const end = outputTail(output, start.length, failed ? FAILED_END : RESULT_ENDS)
  const lines = `${start}\n${end}`.split('\n').filter((line) => line.trim() !== '')
  const telling = tellingLine(lines) ?? (failed ? (lines[0] ?? 'failed') : undefined)
  return telling === undefined ? undefined : shorten(cleanLine(telling).replace(/^E {1,8}(?=\S)/, ''), 200)
}

const SEARCH_TOOL = /search|grep|glob|find|fetch|list|^ls$/i
const SEARCH_COMMAND = /^(?:[ef]?grep|rg|cat|sed -n|head|tail|find|ls|git (?:log|diff|show))\b/

function isSearch(call: Call): boolean {
  return SEARCH_TOOL.test(call.name) || SEARCH_COMMAND.test(shellGist(shellCommand(call) ?? ''))
}
