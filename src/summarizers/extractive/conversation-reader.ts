import { detached } from '../../messages/characters.ts'
import type { Message, RowKind } from '../../messages/message.ts'
import { CallReader } from '../calls.ts'
import { ends } from '../text.ts'
import type { Conversation, Exchange, Said } from './conversation.ts'
import { ownWords } from './own-words.ts'
import type { SeenCall } from './seen-call.ts'
import { SeenCalls } from './seen-calls.ts'

/** How much is looked at of one text: units of its beginning and of its end. Rules and results stand there. */
const USER_ENDS = [6_000, 2_000] as const
const ASSISTANT_ENDS = [2_500, 1_500] as const

/** Reads a conversation for extraction, one message after another. Markers of truncations say nothing and are passed over. */
export class ConversationReader {
  readonly #said: Said[] = []
  readonly #summaries: string[] = []
  readonly #callReader = new CallReader()
  readonly #calls = new SeenCalls()
  #at = 0

  add(message: Message & { readonly kind?: RowKind }): void {
    const at = this.#at++
    for (const call of this.#callReader.add(message).made) this.#calls.add(call)
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
    const calls = this.#calls.all
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
  const texts = message.content.filter((part) => part.type === 'text')
  return texts.length === 1 ? texts[0]!.text : texts.map(({ text }) => text).join('\n')
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

function exchangesOf(said: readonly Said[], calls: readonly SeenCall[]): Exchange[] {
  const exchanges: { request: Said; replies: Said[]; calls: SeenCall[] }[] = []
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
