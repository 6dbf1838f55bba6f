import type { ChatMessage, Part, ToolResultContent } from '../../src/index.ts'
import { readGolden } from '../support/golden.ts'

/* Golden cases of the founding systems, and their messages in our form. */

export type GoldenCase<I, E> = {
  readonly id: string
  readonly name: string
  readonly op: string
  readonly input: I
  readonly expected: E
}

/** The cases of a file. */
export function goldenCases<I, E>(file: string): readonly GoldenCase<I, E>[] {
  return readGolden<{ cases: GoldenCase<I, E>[] }>(file).cases
}

export type Block = { readonly type: string; readonly [field: string]: unknown }
export type BlockMessage = { readonly role: string; readonly content: readonly Block[] }

/** Messages of content blocks, as neuron's cases have them. Ids are their places. */
export function fromBlocks(messages: readonly BlockMessage[]): ChatMessage[] {
  return messages.map(({ role, content }, at) => ({ id: `m${at}`, role, content: content.map(partOf) }))
}

function partOf(block: Block): Part {
  switch (block.type) {
    case 'tool_use':
      return {
        type: 'tool-call',
        toolCallId: block.id as string,
        toolName: block.name as string,
        input: block.input as never,
      }
    case 'tool_result': {
      const value = (block.content as readonly Block[]).map(itemOf)
      const output = { type: 'content' as const, value, isError: block.is_error as boolean }
      return { type: 'tool-result', toolCallId: block.tool_use_id as string, output }
    }
    default:
      return itemOf(block)
  }
}

function itemOf(block: Block): ToolResultContent {
  if (block.type === 'text') return { type: 'text', text: block.text as string }
  if (block.type === 'image') return { type: 'image', image: '' }
  throw new Error(`a block of type ${block.type} is in no case`)
}

export type NcaGoldenMessage = {
  readonly role: string
  readonly content: string
  readonly tool_calls?: readonly { readonly id: string; readonly name: string; readonly arguments: object }[]
  readonly tool_call_id?: string
}

/** Messages as nca's cases have them. Ids are their places. */
export function fromNca(messages: readonly NcaGoldenMessage[]): ChatMessage[] {
  return messages.map(({ role, content, tool_calls = [], tool_call_id }, at): ChatMessage => {
    const id = `m${at}`
    if (tool_call_id !== undefined) {
      const output = { type: 'text' as const, value: content }
      return { id, role, content: [{ type: 'tool-result', toolCallId: tool_call_id, output }] }
    }
    if (tool_calls.length === 0) return { id, role, content }
    const calls = tool_calls.map((call) => ({
      type: 'tool-call' as const,
      toolCallId: call.id,
      toolName: call.name,
      input: call.arguments as never,
    }))
    return { id, role, content: [{ type: 'text', text: content }, ...calls] }
  })
}

/** The places, in what was given, of the messages that came out; -1 for a new one. */
export function placesIn(messages: readonly ChatMessage[]): number[] {
  return messages.map(({ id }) => (/^m\d+$/.test(id ?? '') ? Number(id!.slice(1)) : -1))
}

/** A message's text. */
export function textOf({ content }: ChatMessage): string {
  return typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
