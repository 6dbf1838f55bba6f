import type { NewMessage } from '../../src/index.ts'
import { calls, result, say } from '../support/conversation.ts'
import { labelOf } from './labels.ts'

/* What a process says in a turn. It depends on process and turn alone, so that whoever looks on knows every word. */

/** One request to the model: what is sent with it, and what it answers. */
export type Step = { readonly prompt: readonly NewMessage[]; readonly reply: readonly NewMessage[] }

/**
 * A turn: a request, a loop of tools of none to two rounds of parallel calls, an answer. Each step's prompt is what the step
 * before asked for.
 */
export function stepsOf(process: number, turn: number): Step[] {
  let nth = 0
  const keyed = (make: (label: string) => NewMessage): NewMessage => {
    const label = labelOf(process, turn, ++nth)
    return { ...make(label), idempotencyKey: label }
  }
  const rounds = (process + turn) % 3
  const steps: Step[] = []
  let prompt = [keyed((label) => say('user', `${label} please look after ${words(turn, 25)}`))]
  for (let round = 0; round < rounds; round++) {
    const count = 1 + ((turn + round) % 3)
    // Ids repeat from turn to turn and from process to process, as they do in the wild.
    const ids = Array.from({ length: count }, (_, at) => `call_${round}_${at}`)
    const reply = [
      keyed((label) =>
        calls(
          ...ids.map(
            (id, at) => [id, at === 0 ? 'read_file' : 'search', { label, path: pathOf(turn, at) }] as const,
          ),
        ),
      ),
    ]
    steps.push({ prompt, reply })
    prompt = ids.map((id, at) =>
      keyed((label) => result(id, `${label} ${words(turn + at, 60)}`, at === 0 ? 'read_file' : 'search')),
    )
  }
  steps.push({ prompt, reply: [keyed((label) => say('assistant', `${label} done: ${words(turn, 30)}`))] })
  return steps
}

/** All a process says in a turn, in the order in which it stands in the log. */
export function messagesOf(process: number, turn: number): NewMessage[] {
  return stepsOf(process, turn).flatMap(({ prompt, reply }) => [...prompt, ...reply])
}

function pathOf(turn: number, at: number): string {
  return `src/part-${(turn + at) % 9}.ts`
}

function words(seed: number, count: number): string {
  return Array.from({ length: count }, (_, at) => `word${(seed * 31 + at * 7) % 97}`).join(' ')
}
