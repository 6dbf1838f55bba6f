import { type Message, type NewMessage, partsOf, textsOf } from '../../../core/messages/message.ts'
import { type AnswerPlace, Unanswered } from '../../recovering.ts'
import type { SdkMessage, SdkMessageLike, SdkPart } from '../types.ts'

/** What models answered in a turn, and is not stored yet. Each step of the answer becomes one row of the assistant. */
export type TurnAnswers = Unanswered<NewMessage, Message>

/** An empty list of answers. */
export function turnAnswers(): TurnAnswers {
  return new Unanswered({ placeAt, isSame: () => false })
}

function placeAt(rows: readonly NewMessage[], at: number, answer: Message): AnswerPlace | undefined {
  const row = rows[at]!
  if (row.role !== 'assistant' || textAndCalls(row) !== textAndCalls(answer)) return undefined
  return { end: at + 1, isCertain: false }
}

/** The texts and calls of a message. */
function textAndCalls(message: Message): string {
  const calls = partsOf(message).flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
  return JSON.stringify([textsOf(message).join(''), calls])
}

/**
 * The messages of a prompt after those of the turn, which the AI SDK may join; `undefined` when the prompt does not begin with all of
 * them. Outputs and files are not compared: tools and the AI SDK convert them.
 */
export function stepsAfter(
  turn: readonly SdkMessageLike[],
  prompt: readonly SdkMessage[],
): readonly SdkMessage[] | undefined {
  const marks = turn.flatMap(({ role, content }) => partsIn(content).flatMap((part) => markOf(role, part)))
  let at = 0
  const steps: SdkMessage[] = []
  for (const message of prompt) {
    const later: SdkPart[] = []
    let isStep = false
    for (const part of partsIn(message.content)) {
      const [mark] = markOf(message.role, part)
      if (at === marks.length) {
        later.push(part)
        isStep ||= mark !== undefined
      } else if (mark !== undefined && mark !== marks[at++]) return undefined
    }
    if (isStep) steps.push({ ...message, content: later })
  }
  return at === marks.length ? steps : undefined
}

function partsIn(content: SdkMessageLike['content']): readonly SdkPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly SdkPart[])
}

/** What a part is compared by. Empty texts and approvals are not in every prompt. */
function markOf(role: string, { type, text, toolCallId }: SdkPart): readonly string[] {
  if (type === 'text' || type === 'reasoning') return text === '' ? [] : [`${role} ${type} ${text}`]
  if (type === 'tool-call' || type === 'tool-result') return [`${type} ${toolCallId}`]
  return type.startsWith('tool-approval') ? [] : [`${role} file`]
}
