import { describe, expect, it } from 'vitest'
import { type Json, type Message, openStore, type Part, validateHistory } from '../../src/index.ts'
import { expectAccepted } from '../support/requests.ts'
import { Replay } from './counting.ts'
import { shapeOf } from './messages.ts'

/* lossless-claw repairs calls and results when it assembles a request; we do in renderHistory. By shape. */

const replay = new Replay('lossless-claw-tool-pairing')
const SESSION = 's'

type ClawBlock = {
  readonly type: string
  readonly text?: string
  readonly id?: string
  readonly call_id?: string
  readonly name?: string
  readonly input?: Json
  readonly arguments?: string
}
type ClawMessage = {
  readonly role: 'assistant' | 'toolResult'
  readonly content: readonly ClawBlock[]
  readonly toolCallId?: string
  readonly isError?: boolean
}

function fromClaw({ role, content, toolCallId = '', isError = false }: ClawMessage): Message {
  if (role === 'assistant') return { role, content: content.map(fromBlock) }
  const value = content.map(({ text }) => text).join('')
  const output = { type: isError ? ('error-text' as const) : ('text' as const), value }
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId, output }] }
}

function fromBlock({ type, text = '', id, call_id, name = '', input, arguments: json }: ClawBlock): Part {
  if (type === 'text' || type === 'reasoning') return { type, text }
  return { type: 'tool-call', toolCallId: id ?? call_id!, toolName: name, input: input ?? json ?? {} }
}

/** The shape, one line a result however many stand in a message, and what it says; ours if it was made up. */
function shapeWithResults(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    const parts = typeof message.content === 'string' ? [] : message.content
    const results = parts.flatMap((part) => (part.type === 'tool-result' ? [part] : []))
    if (results.length === 0) return shapeOf([message])
    expect(results).toHaveLength(parts.length)
    return results.map((part) => {
      const text = String(part.output.value)
      return `${shapeOf([{ ...message, content: [part] }])[0]}: ${MADE_UP.test(text) ? 'made up' : text}`
    })
  })
}

const MADE_UP =
  /^\[lossless-claw\] missing tool result in session history|^\[No result was recorded for this tool call\]$/

const REPEATED_IDS =
  'ids repeat within a session: each call is a call of its own, and its nearest result is its'
const STOPPED =
  'why a turn ended is not read: a call that was made is shown, with an answer that there is none'

/** What we send where it is something else on purpose, by the end of the case's name. */
const SENT_INSTEAD: { readonly [name: string]: { readonly why: string; readonly sent: readonly string[] } } =
  {
    'moves OpenAI reasoning blocks before function_call blocks': {
      why: 'the parts of a message stay in the order they were given in',
      sent: [
        'assistant: call fc_1, reasoning "Need tool output first."',
        'tool: failed result fc_1: made up',
      ],
    },
    'prefers a later real result over an earlier synthetic repair result': {
      why: 'the first result counts; results that were made up are never stored, so none stands before a real one',
      sent: ['assistant: call call_real', 'tool: failed result call_real: made up'],
    },
    'drops a duplicate assistant tool_use id repeated across two messages': {
      why: REPEATED_IDS,
      sent: ['assistant: call X', 'tool: result X: out-1', 'assistant: call X', 'tool: result X: out-2'],
    },
    'keeps a distinct tool_use in a later message while dropping the duplicate block': {
      why: REPEATED_IDS,
      sent: [
        'assistant: call X',
        'tool: result X: x',
        'assistant: call X, call Y',
        'tool: result X: x-dup',
        'tool: result Y: y',
      ],
    },
    'moves a delayed real result before a mixed duplicate and new tool_use turn': {
      why: REPEATED_IDS,
      sent: [
        'assistant: call X',
        'tool: failed result X: made up',
        'assistant: call X, call Y',
        'tool: result X: real X',
        'tool: result Y: real Y',
      ],
    },
    'looks past duplicate cascades after a mixed duplicate and new tool_use turn': {
      why: REPEATED_IDS,
      sent: [
        'assistant: call X',
        'tool: failed result X: made up',
        'assistant: call X, call Y',
        'tool: result X: real X',
        'tool: failed result Y: made up',
        'assistant: call Y',
        'tool: result Y: real Y',
      ],
    },
    'drops duplicate assistant turns that become reasoning-only after filtering': {
      why: REPEATED_IDS,
      sent: [
        'assistant: call X',
        'tool: result X: real',
        'assistant: reasoning "stale hidden thought", call X',
        'tool: failed result X: made up',
      ],
    },
    'does not let a duplicate-only assistant turn block a delayed real result': {
      why: REPEATED_IDS,
      sent: [
        'assistant: call X',
        'tool: failed result X: made up',
        'assistant: call X',
        'tool: result X: real',
      ],
    },
    'invokes the optional logger when duplicate assistant tool_use blocks are dropped': {
      why: REPEATED_IDS,
      sent: ['assistant: call X', 'tool: result X: a', 'assistant: call X', 'tool: result X: b'],
    },
    'does not let an aborted turn claim an id that a later valid turn reuses': {
      why: STOPPED,
      sent: [
        'assistant: call X',
        'tool: failed result X: made up',
        'assistant: call X',
        'tool: result X: real',
      ],
    },
    'treats snake_case terminal stop reasons as non-pairable': {
      why: STOPPED,
      sent: [
        'assistant: call X',
        'tool: failed result X: made up',
        'assistant: call X',
        'tool: result X: real',
      ],
    },
    'does not let a stripped terminal assistant turn block a delayed real result': {
      why: STOPPED,
      sent: [
        'assistant: call X',
        'tool: result X: real',
        'assistant: call Y',
        'tool: failed result Y: made up',
      ],
    },
    'looks past aborted non-pairable tool_use turns for delayed results': {
      why: STOPPED,
      sent: [
        'assistant: call A',
        'tool: result A: real A',
        'assistant: call X',
        'tool: failed result X: made up',
        'assistant: call X',
        'tool: result X: real X',
      ],
    },
    'logs terminal tool_use removals distinctly from duplicate removals': {
      why: STOPPED,
      sent: ['assistant: call X', 'tool: failed result X: made up'],
    },
  }

describe('lossless-claw-tool-pairing', () => {
  it.skipIf(replay.isAbsent)(
    'sends calls and results in the same shape, save in the cases listed',
    async () => {
      const unused = new Set(Object.keys(SENT_INSTEAD))
      type Input = { readonly messages: readonly ClawMessage[] }
      for (const one of replay.casesOf<Input, readonly ClawMessage[]>('sanitizeToolUseResultPairing')) {
        const instead = Object.keys(SENT_INSTEAD).find((end) => one.name.endsWith(end))
        if (instead !== undefined) unused.delete(instead)
        await using store = await openStore(':memory:')
        await store.append(SESSION, one.input.messages.map(fromClaw))
        const { messages } = await store.renderHistory(SESSION, { provider: 'openai' })

        const theirs = shapeWithResults(one.expected.map(fromClaw))
        const sent = instead === undefined ? theirs : SENT_INSTEAD[instead]!.sent
        expect(shapeWithResults(messages), one.name).toEqual(sent)
        if (instead !== undefined) expect(sent, `${one.name} is no difference`).not.toEqual(theirs)
        for (const provider of ['openai', 'anthropic', 'google-ai', 'mistral']) {
          const rendering = await store.renderHistory(SESSION, { provider })
          expect(validateHistory(rendering.messages, provider), `${one.name} ${provider}`).toEqual([])
          expectAccepted(rendering.messages, provider)
        }
        replay.settle(one, instead === undefined ? 'equal' : 'different')
      }
      expect([...unused]).toEqual([])
    },
  )
})

replay.holdToPage()
