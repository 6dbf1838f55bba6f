import { canonicalJson } from '../../src/core/messages/json.ts'
import { isFailed, outputText, partsOf } from '../../src/core/messages/message.ts'
import type { ConversionNote, FilePart, ImagePart, Message, Part } from '../../src/index.ts'

/** Something a conversation says, and where. */
export type Fact = {
  readonly what: 'text' | 'reasoning' | 'media' | 'provider' | 'call' | 'result' | 'failure'
  readonly value: string
  readonly messageIndex: number
  readonly place: string
}

/** Everything a conversation says, as far as it must not be lost unsaid. */
export function factsOf(messages: readonly Message[]): Fact[] {
  return messages.flatMap((message, messageIndex) =>
    partsOf(message).flatMap((part, index): Fact[] => {
      const place =
        typeof message.content === 'string' ? `[${messageIndex}]` : `[${messageIndex}].content[${index}]`
      return saidBy(part).map(([what, value]) => ({ what, value, messageIndex, place }))
    }),
  )
}

function dataOf(part: ImagePart | FilePart): string {
  const data = part.type === 'image' ? part.image : part.data
  return typeof data === 'string' ? data : Buffer.from(data).toString('base64')
}

function saidBy(part: Part): (readonly [Fact['what'], string])[] {
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? [] : [['text', part.text]]
    case 'reasoning':
      return [['reasoning', part.text]]
    case 'image':
    case 'file':
      return [['media', dataOf(part)]]
    case 'provider':
      return [['provider', canonicalJson(part.data)]]
    case 'tool-call':
      return [['call', `${part.toolCallId} ${part.toolName}`]]
    case 'tool-result': {
      const { output, toolCallId } = part
      const media = output.type === 'content' ? output.value.filter(({ type }) => type !== 'text') : []
      return [
        ['result', `${toolCallId} ${outputText(output)}`],
        ...(isFailed(output) ? [['failure', toolCallId] as const] : []),
        ...media.flatMap(saidBy),
      ]
    }
  }
}

/** What one conversation says and another does not, save where a note tells of it. Texts may have been joined. */
export function lostUnsaid(
  before: readonly Message[],
  after: readonly Message[],
  notes: readonly ConversionNote[],
): Fact[] {
  const left = factsOf(after)
  const said = left.flatMap(({ what, value }) => (what === 'result' ? [value] : []))
  const texts = after.map((message) =>
    partsOf(message)
      .map((part) => (part.type === 'text' ? part.text : ''))
      .join(''),
  )
  return factsOf(before).filter((fact) => {
    const isNoted = notes.some(
      (note) => note.messageIndex === fact.messageIndex && isSamePlace(note.place, fact.place),
    )
    if (isNoted) return false
    if (fact.what === 'text') return !texts.some((text) => text.includes(fact.value))
    const at = left.findIndex((other) => other.what === fact.what && isSame(fact, other))
    // What a tool answered may be JSON now, all in one.
    if (at === -1 && fact.what === 'media') return !said.some((value) => value.includes(fact.value))
    if (at !== -1) left.splice(at, 1)
    return at === -1
  })
}

function isSame({ what, value }: Fact, other: Fact): boolean {
  if (what === 'media') return true
  // An empty id may be another one now.
  if (value.startsWith(' ')) return other.value.endsWith(value)
  if (what !== 'result') return value === other.value
  const [id, ...words] = value.split(' ')
  return (
    (other.value.startsWith(`${id} `) &&
      other.value.includes(JSON.stringify(words.join(' ')).slice(1, -1))) ||
    other.value === value
  )
}

function isSamePlace(a: string, b: string): boolean {
  return a.startsWith(b) || b.startsWith(a)
}
