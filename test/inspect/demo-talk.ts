import type { NewMessage, Part, PreparedRequest, Store } from '../../src/index.ts'
import type { DemoClock } from './demo-clock.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** How long the provider keeps what it cached. */
const CACHE_LIFETIME = 5 * MINUTE

/** A model that answers, and the system prompt and tools of its requests. */
export type Speaker = {
  readonly provider: string
  readonly model: string
  readonly system: string
  readonly tools: readonly object[]
}

/** One call of a tool: what the model says and thinks before it, and what came of it. */
export type Step = {
  readonly say?: string
  readonly think?: string
  readonly tool: string
  readonly input: Extract<Part, { type: 'tool-call' }>['input']
  readonly output: Extract<Part, { type: 'tool-result' }>['output'] | string
}

/** An agent that talks in a session, with a provider's cache that behaves like Anthropic's or OpenAI's. */
export class DemoTalk {
  readonly store: Store
  readonly session: string
  readonly clock: DemoClock
  speaker: Speaker
  #calls = 0
  /** The last request, piece by piece: model, tools, system, messages. */
  #cached: readonly string[] = []
  #cachedAt = 0

  constructor(store: Store, session: string, clock: DemoClock, speaker: Speaker) {
    this.store = store
    this.session = session
    this.clock = clock
    this.speaker = speaker
  }

  /** A turn: the user's words, the calls, and the answer. Returns the position of the answer. */
  async turn(
    prompt: string | readonly Part[],
    steps: readonly Step[],
    answer: string,
    think?: string,
  ): Promise<number> {
    this.clock.advance(25 * SECOND)
    let next: NewMessage = { role: 'user', content: prompt, createdAt: this.clock.now }
    for (const { say, think: thought, tool, input, output } of steps) {
      this.#calls += 1
      const toolCallId = `call_${this.session.slice(0, 4)}_${this.#calls}`
      const parts: Part[] = [
        ...(thought === undefined ? [] : [reasoning(thought)]),
        ...(say === undefined ? [] : [{ type: 'text' as const, text: say }]),
        { type: 'tool-call', toolCallId, toolName: tool, input },
      ]
      await this.#exchange(next, parts)
      this.clock.advance(4 * SECOND)
      const value = typeof output === 'string' ? ({ type: 'text', value: output } as const) : output
      next = {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId, toolName: tool, output: value }],
        createdAt: this.clock.now,
      }
    }
    return this.#exchange(next, [
      ...(think === undefined ? [] : [reasoning(think)]),
      { type: 'text', text: answer },
    ])
  }

  /** The model answers what is there already, as after the last message was rewound. */
  async answer(text: string): Promise<number> {
    return this.#exchange(undefined, [{ type: 'text', text }])
  }

  async #exchange(prompt: NewMessage | undefined, parts: readonly Part[]): Promise<number> {
    const { provider, model, system, tools } = this.speaker
    const request = await this.store.prepareRequest(this.session, {
      ...{ provider, model, system, tools },
      ...(prompt !== undefined && { prompt }),
    })
    this.clock.advance(9 * SECOND)
    const { appended } = await this.store.recordResponse(this.session, {
      request,
      messages: [{ role: 'assistant', content: parts, createdAt: this.clock.now }],
      usage: this.#bill(request, parts),
      stopReason: parts.some(({ type }) => type === 'tool-call') ? 'tool_use' : 'end_turn',
    })
    return appended.position
  }

  /** What the provider bills: what it has of the last request, up to the first difference, is read from the cache. */
  #bill({ messages, system = '', tools = [] }: PreparedRequest, answer: readonly Part[]): object {
    const { provider, model } = this.speaker
    const pieces = [
      model,
      JSON.stringify(tools),
      system,
      ...messages.map((one) => JSON.stringify(one, shortBytes)),
    ]
    const isKept = this.clock.now - this.#cachedAt < CACHE_LIFETIME
    const first = pieces.findIndex((piece, at) => piece !== this.#cached[at])
    const same = isKept && pieces[0] === this.#cached[0] ? (first === -1 ? pieces.length : first) : 0
    this.#cached = pieces
    this.#cachedAt = this.clock.now
    const [total, read] = [tokensOf(pieces), tokensOf(pieces.slice(0, same))]
    const outputTokens = 20 + tokensOf([JSON.stringify(answer)])
    if (provider === 'openai') return { inputTokens: total - read, cacheReadTokens: read, outputTokens }
    return { inputTokens: 4, cacheReadTokens: read, cacheCreationTokens: total - read, outputTokens }
  }
}

function reasoning(text: string): Part {
  return {
    type: 'reasoning',
    text,
    providerOptions: { anthropic: { signature: Buffer.from(text).toString('base64url') } },
  }
}

const tokensOf = (pieces: readonly string[]): number =>
  Math.ceil(pieces.reduce((sum, piece) => sum + piece.length, 0) / 3.4)

/** Bytes of an image count as a few hundred tokens. */
function shortBytes(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return 'x'.repeat(3_000)
  return value
}
