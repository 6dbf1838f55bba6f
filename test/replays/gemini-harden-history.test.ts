import { describe, expect, it } from 'vitest'
import { findCut } from '../../src/core/stages/cut-points.ts'
import { type Json, type Message, openStore, type Part, validateHistory } from '../../src/index.ts'
import { failureOf } from '../support/failures.ts'
import { expectAccepted } from '../support/requests.ts'
import { type GoldenCase, Replay } from './counting.ts'
import { planningView, shapeOf } from './messages.ts'

/* gemini-cli mends a history right before it is sent; we do in renderHistory. Compared by shape. */

const replay = new Replay('gemini-harden-history')
const SESSION = 's'
const PROVIDER = 'google-ai'

type GeminiPart = {
  readonly text?: string
  readonly thought?: boolean
  readonly functionCall?: { readonly id?: string; readonly name: string; readonly args: Json }
  readonly functionResponse?: { readonly id?: string; readonly name: string; readonly response: Json }
  readonly fileData?: { readonly fileUri: string; readonly mimeType: string }
  readonly thoughtSignature?: string
}
type Content = { readonly role: 'user' | 'model'; readonly parts: readonly GeminiPart[] }
type Turn = { readonly id: string; readonly content: Content }
type HistoryCase = GoldenCase<{ readonly history: readonly Turn[] }, readonly Turn[]>

/** Calls without an id, which Gemini allows, go by the name of the tool. */
function fromGemini({ role, parts }: Content): Message {
  return { role: role === 'model' ? 'assistant' : 'user', content: parts.map(fromPart) }
}

function fromPart({ functionCall, functionResponse, fileData, thoughtSignature, ...said }: GeminiPart): Part {
  if (functionCall !== undefined) {
    const { id, name, args: input } = functionCall
    const signed = thoughtSignature !== undefined && { providerOptions: { google: { thoughtSignature } } }
    return { type: 'tool-call', toolCallId: id ?? name, toolName: name, input, ...signed }
  }
  if (functionResponse !== undefined) {
    const { id, name, response } = functionResponse
    const failed = typeof response === 'object' && response !== null && 'error' in response
    const output = { type: failed ? ('error-json' as const) : ('json' as const), value: response }
    return { type: 'tool-result', toolCallId: id ?? name, toolName: name, output }
  }
  if (fileData !== undefined) return { type: 'file', data: fileData.fileUri, mediaType: fileData.mimeType }
  // What else the part has is handed on, so that the store is the one to judge it.
  const { thought = false, ...rest } = said
  return { type: thought ? 'reasoning' : 'text', ...rest } as Part
}

/** The shape of what is sent: in Gemini's form the results of tools are the user's. */
function sentShape(messages: readonly Message[]): string[] {
  return shapeOf(
    messages.map((message) => (message.role === 'tool' ? { ...message, role: 'user' } : message)),
  )
}

/** Theirs, with the words of their sentinel as ours. */
function recordedShape(turns: readonly Turn[]): string[] {
  const words = { 'Custom start': '[Conversation continues]' } as { readonly [theirs: string]: string }
  const parts = (content: Content): GeminiPart[] =>
    content.parts.map((part) =>
      part.text === undefined ? part : { ...part, text: words[part.text] ?? part.text },
    )
  return shapeOf(turns.map(({ content }) => fromGemini({ role: content.role, parts: parts(content) })))
}

async function render(messages: readonly Message[]): Promise<Message[]> {
  await using store = await openStore(':memory:')
  await store.sessions.create({ id: SESSION })
  if (messages.length > 0) await store.append(SESSION, messages)
  const { messages: sent } = await store.renderHistory(SESSION, { provider: PROVIDER })
  expect(validateHistory(sent, PROVIDER)).toEqual([])
  expectAccepted(sent, PROVIDER)
  return sent
}

/** What we send where it is something else on purpose, by the end of the case's name. */
const SENT_INSTEAD: { readonly [name: string]: readonly string[] } = {
  'should inject thoughtSignature into the first functionCall of a model turn if missing': [
    'user: text "do it"',
    'assistant: call myTool',
    'user: result myTool',
  ],
  'should inject a sentinel user turn if history ends with a model turn': [
    'user: text "hello"',
    'assistant: text "hi"',
  ],
  'should synthesize a functionCall for a singleton orphaned functionResponse': [
    'user: text "hello"',
    'assistant: text "hi"',
    'user: text "text is kept", text "[Result of tool toolA] {}"',
  ],
  'should synthesize functionCalls for multiple orphaned functionResponses in parallel': [
    'user: text "Parallel action"',
    'assistant: text "I will do nothing"',
    'user: text "[Result of tool toolA] {}", text "[Result of tool toolB] {}", text "[Result of tool toolC] {}"',
  ],
  'should completely filter out thought parts from the scrubbed history': [
    'user: text "User prompt"',
    'assistant: reasoning "Previous model thought...", text "Actual conversational text response"',
    'user: text "User follow-up prompt"',
  ],
}

describe('gemini-harden-history', () => {
  it.skipIf(replay.isAbsent)('sends histories of the same shape, save in the cases listed', async () => {
    const unused = new Set(Object.keys(SENT_INSTEAD))
    const cases = ['hardenHistory', 'scrubHistory'].flatMap((fn) => [
      ...(replay.casesOf(fn) as readonly HistoryCase[]),
    ])
    for (const one of cases) {
      const messages = one.input.history.map(({ content }) => fromGemini(content))
      if (one.name.includes('scrub non-standard')) {
        await refusesUnknownFields(one, messages)
        replay.settle(one, 'different')
        continue
      }
      const name = Object.keys(SENT_INSTEAD).find((end) => one.name.endsWith(end))
      if (name !== undefined) unused.delete(name)
      const shape = sentShape(await render(messages))
      expect(shape, one.name).toEqual(name === undefined ? recordedShape(one.expected) : SENT_INSTEAD[name])
      replay.settle(one, name === undefined ? 'equal' : 'different')
    }
    expect([...unused]).toEqual([])
  })

  it.skipIf(replay.isAbsent)('splits at the same message, save that the newest turn stays', () => {
    type Input = { readonly contents: readonly Content[]; readonly fraction: number }
    for (const one of replay.casesOf<Input, number>('findCompressSplitPoint')) {
      const { contents, fraction } = one.input
      if (one.throws !== undefined) {
        replay.settle(one, 'notApplicable')
        continue
      }
      const view = planningView(
        contents.map((content, at) => ({ id: `m${at}`, kind: 'message', ...fromGemini(content) })),
      )
      // Their share is of characters before the cut; ours are the tokens behind it.
      const keepTokens = Math.floor(view.tokensOfRows(view.rows) * (1 - fraction))
      const cut = findCut(view, keepTokens, view.tokens)
      expect([0, contents.length].includes(one.expected) || view.turns.isTurnStart(one.expected)).toBe(true)
      // They may compress all when nothing waits.
      const isAll = contents.length > 0 && one.expected === contents.length
      expect(cut, one.name).toBe(isAll ? view.turns.turnStarts().at(-1) : one.expected)
      replay.settle(one, isAll ? 'different' : 'equal')
    }
  })
})

/** A part with a field we do not know is refused at the door; without it the histories are of the same shape. */
async function refusesUnknownFields(one: HistoryCase, messages: readonly Message[]): Promise<void> {
  await using store = await openStore(':memory:')
  const failure = await failureOf(() => store.append(SESSION, messages))
  expect(failure, one.name).toMatchObject({ code: 'INVALID_INPUT' })
  const known = ({ text, thought }: GeminiPart): GeminiPart =>
    ({ text, ...(thought !== undefined && { thought }) }) as GeminiPart
  const plain = one.input.history.map(({ content: { role, parts } }) =>
    fromGemini({ role, parts: parts.map(known) }),
  )
  expect(sentShape(await render(plain)), one.name).toEqual(recordedShape(one.expected))
}

replay.holdToPage()
