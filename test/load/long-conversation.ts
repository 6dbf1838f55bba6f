import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { identifiersOf, Words } from '../../bench/retention/identifiers.ts'
import { partsOf } from '../../src/core/messages/message.ts'
import { type Message, type NewMessage, openStore, validateHistory } from '../../src/index.ts'
import { expectAccepted } from '../support/requests.ts'
import { CONSTRAINTS, FIRST_REQUEST, type Step, stepsOf } from './long-script.ts'

/*
 * One conversation of many turns with tools and file reads, through prepareRequest and recordResponse over a file, with the
 * summarizer that needs no model. Every request is looked at as the provider would, and for what the assistant uses next.
 * Source: checklist S2-111.
 */

export type LongFigures = {
  readonly turns: number
  readonly requests: number
  readonly messages: number
  readonly runs: number
  readonly seconds: number
  /** Tokens of the largest request, and of what was available. */
  readonly largest: number
  readonly available: number
  /** Identifiers the assistant used and had seen before, and the share of them that its request still held. */
  readonly used: number
  readonly kept: number
  readonly bytes: number
}

const PROVIDER = 'anthropic'
const SYSTEM = 'You are a careful programmer who works with tools.'
const TOOLS = ['read_file', 'search', 'edit_file', 'run_tests'].map((name) => ({
  name,
  description: `Runs ${name}.`,
  input_schema: { type: 'object', properties: { path: { type: 'string' }, text: { type: 'string' } } },
}))

export async function longConversation(turns: number, contextWindow: number): Promise<LongFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'undertext-long-'))
  const store = await openStore(join(folder, 'chat.db'), {
    durability: 'normal',
    contextWindows: { [PROVIDER]: contextWindow },
  })
  const start = performance.now()
  const seen = new Seen()
  let [requests, runs, largest, available, used, kept] = [0, 0, 0, 0, 0, 0]
  try {
    for (let turn = 1; turn <= turns; turn++) {
      const steps = stepsOf(turn)
      const own = new Words(textOf(steps.flatMap(({ prompt }) => prompt)))
      for (const [at, { prompt, reply }] of steps.entries()) {
        const what = `turn ${turn}, request ${at + 1}`
        const request = await store.prepareRequest('long', {
          provider: PROVIDER,
          system: SYSTEM,
          tools: TOOLS,
          prompt,
        })
        const { messages, stats } = request
        requests += 1
        runs += request.runs.filter(({ compacted }) => compacted).length
        expect(validateHistory(messages, PROVIDER), what).toEqual([])
        expectAccepted(messages, PROVIDER, what)
        expect(stats.estimatedInputTokens, what).toBeLessThanOrEqual(stats.availableInputTokens)
        largest = Math.max(largest, stats.estimatedInputTokens)
        available = stats.availableInputTokens
        seen.add(prompt)
        const text = textOf(messages)
        expectTold(text, turn, what)
        // What the turn itself brings is there anyway.
        const wanted = seen.knownOf(reply).filter((identifier) => !own.has(identifier))
        const words = new Words(text)
        used += wanted.length
        kept += wanted.filter((identifier) => words.has(identifier)).length
        await store.recordResponse('long', {
          request,
          messages: reply,
          expectedPosition: request.position,
          stopReason: at === steps.length - 1 ? 'end_turn' : 'tool_use',
        })
        seen.add(reply)
      }
    }
    const seconds = (performance.now() - start) / 1_000
    const session = await store.sessions.get('long')
    expect((await store.sessions.verify('long')).findings).toEqual([])
    for (const { id, status } of (await store.listCompactions('long')).reverse())
      if (status === 'active') await store.undoCompaction('long', id, { cascade: true })
    const plain = Array.from({ length: turns }, (_, at) => stepsOf(at + 1)).flat()
    const view = await store.getEffectiveHistory('long')
    expect(JSON.stringify(view.map(bodyOf))).toBe(JSON.stringify(plain.flatMap(saidIn).map(bodyOf)))
    return {
      turns,
      requests,
      messages: session.messageCount,
      runs,
      seconds: Math.round(seconds * 10) / 10,
      largest,
      available,
      used,
      kept: Math.round((kept / used) * 1_000) / 1_000,
      bytes: Buffer.byteLength(JSON.stringify(view.map(bodyOf))),
    }
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What was asked for first and every rule that was stated since must be told in every request, whatever was hidden. */
function expectTold(text: string, turn: number, what: string): void {
  for (const key of FIRST_REQUEST.keys) expect(text.includes(key), `${what} tells of ${key}`).toBe(true)
  for (const { since, keys } of CONSTRAINTS)
    if (turn >= since)
      for (const key of keys)
        expect(text.includes(key), `${what} tells of ${key}, stated in turn ${since}`).toBe(true)
}

/** What was said so far, to tell what the assistant can know. */
class Seen {
  readonly #words = new Set<string>()

  add(messages: readonly NewMessage[]): void {
    for (const identifier of identifiersOf(textOf(messages))) this.#words.add(identifier)
  }

  knownOf(messages: readonly NewMessage[]): string[] {
    return [...identifiersOf(textOf(messages))].filter((identifier) => this.#words.has(identifier))
  }
}

function saidIn({ prompt, reply }: Step): NewMessage[] {
  return [...prompt, ...reply]
}

function bodyOf({ role, content }: Pick<Message, 'role' | 'content'>): unknown {
  return { role, content }
}

/** All words of some messages, inputs and outputs of tools included. */
function textOf(messages: readonly Pick<Message, 'content'>[]): string {
  return messages
    .flatMap((message) => partsOf(message))
    .map((part) => {
      if (part.type === 'text') return part.text
      if (part.type === 'tool-call') return JSON.stringify(part.input)
      if (part.type === 'tool-result') return String('value' in part.output ? part.output.value : '')
      return ''
    })
    .join('\n')
}
