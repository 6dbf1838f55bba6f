import type { NewMessage, Part } from '../../src/index.ts'

/*
 * Builders: a conversation in one line a message.
 *
 *   say('user', 'Hello')                 a text message
 *   call('c1', 'read', { path: 'a.ts' }) an assistant message with one call
 *   result('c1', 'text of a.ts')         the answer to it
 */

export function say(role: 'system' | 'user' | 'assistant', text: string): NewMessage {
  return { role, content: text }
}

export function call(id: string, name: string, input: object = {}): NewMessage {
  return { role: 'assistant', content: [callPart(id, name, input)] }
}

/** Several calls in one message. */
export function calls(
  ...parts: readonly (readonly [id: string, name: string, input?: object])[]
): NewMessage {
  return { role: 'assistant', content: parts.map(([id, name, input]) => callPart(id, name, input ?? {})) }
}

function callPart(id: string, name: string, input: object): Part {
  return { type: 'tool-call', toolCallId: id, toolName: name, input: input as never }
}

export function result(id: string, text: string, name?: string): NewMessage {
  return { role: 'tool', content: [resultPart(id, { type: 'text', value: text }, name)] }
}

export function failure(id: string, text: string, name?: string): NewMessage {
  return { role: 'tool', content: [resultPart(id, { type: 'error-text', value: text }, name)] }
}

function resultPart(
  id: string,
  output: Extract<Part, { type: 'tool-result' }>['output'],
  name?: string,
): Part {
  return { type: 'tool-result', toolCallId: id, output, ...(name !== undefined && { toolName: name }) }
}

/** A text of so many tokens by the units of `neurolink` (4 characters each). */
export function units(count: number, letter = 'x'): string {
  return letter.repeat(count * 4)
}

/** `turns` plain exchanges, each message of `size` units. */
export function chat(turns: number, size = 10): NewMessage[] {
  return Array.from({ length: turns }, (_, turn) => [
    say('user', `${turn + 1}?${units(size).slice(2)}`),
    say('assistant', `${turn + 1}!${units(size).slice(2)}`),
  ]).flat()
}
