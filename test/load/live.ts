import {
  isUndertextError,
  type Message,
  type NewMessage,
  openStore,
  type PreparedRequest,
  type Store,
  validateHistory,
} from '../../src/index.ts'
import { randomFrom } from '../support/random.ts'
import { labelsIn } from './labels.ts'
import { loadModel } from './model.ts'
import { type Step, stepsOf } from './turn-script.ts'

/* One process of the load: turn after turn on the session all share, as an application would do it. */

export type LifeOptions = {
  readonly file: string
  readonly session: string
  readonly process: number
  readonly turns: number
  readonly seed: number
  /** The model's log, and how long it takes. */
  readonly log: string
  readonly delayMs: readonly [number, number]
  readonly faults: number
  /**
   * `whole`: a loop of tools is stored at its end. `open`: each answer is stored as it comes, so that others talk over calls
   * that wait.
   */
  readonly loops: 'whole' | 'open'
  /** Whether history is compacted in the background too: unasked, and by `jobs.start` every third turn. */
  readonly inBackground: boolean
  /** Most time the conversation's own model takes for an answer, milliseconds. */
  readonly answerMs: number
}

export type LifeReport = {
  readonly process: number
  readonly requests: number
  /** Requests before which the history was compacted. */
  readonly compacted: number
  /** Compactions it asked to be made in the background. */
  readonly jobs: number
  /** What had to be tried again, by code. */
  readonly retried: Readonly<Record<string, number>>
  /** What must never be, in words. */
  readonly problems: readonly string[]
}

/** The models whose small windows make runs frequent; `openStore` is told of them. */
export const WINDOWS = { openai: 6_000, anthropic: 6_000 } as const
/** Codes an application tries again after. */
const AGAIN = new Set(['STORE_BUSY', 'COMPACTION_IN_PROGRESS', 'POSITION_CONFLICT', 'STALE_PLAN'])
const MOST_TRIES = 500
const SYSTEM = 'You look after a shop that four people talk to you about at once.'
const TOOLS = ['read_file', 'search'].map((name) => ({
  name,
  description: `The tool ${name}.`,
  input: { type: 'object', properties: { label: { type: 'string' }, path: { type: 'string' } } },
}))

export async function live(options: LifeOptions): Promise<LifeReport> {
  const life = new Life(options)
  return life.run()
}

class Life {
  readonly #options: LifeOptions
  readonly #random: () => number
  readonly #provider: string
  readonly #problems = new Set<string>()
  readonly #retried: Record<string, number> = {}
  #requests = 0
  #compacted = 0
  #jobs = 0

  constructor(options: LifeOptions) {
    this.#options = options
    this.#random = randomFrom(options.seed * 100 + options.process)
    this.#provider = options.process % 2 === 0 ? 'openai' : 'anthropic'
  }

  async run(): Promise<LifeReport> {
    const { file, process, turns, log, delayMs, faults, inBackground } = this.#options
    // A listener too many, a promise nobody heard: Node says so, and so do we.
    globalThis.process.on('warning', ({ name }) => this.#problems.add(`a warning of Node's: ${name}`))
    const model = loadModel({ log, process, random: this.#random, delayMs, faults })
    const store = await openStore(file, {
      durability: 'normal',
      contextWindows: WINDOWS,
      summarizer: model,
      config: {
        offlineFallback: process === 3,
        background: inBackground,
        backgroundMinIntervalMs: 0,
        // The load is about being paid once, not about paying little.
        circuitResetMs: 50,
        spendLimits: {},
      },
    })
    for (let turn = 1; turn <= turns; turn++) {
      await this.#turn(store, turn)
      if (inBackground && turn % 3 === 0) await this.#startJob(store)
    }
    if (inBackground) await store.jobs.whenIdle(this.#options.session, { timeoutMs: 60_000 })
    await store.close()
    return {
      process,
      requests: this.#requests,
      compacted: this.#compacted,
      jobs: this.#jobs,
      retried: this.#retried,
      problems: [...this.#problems],
    }
  }

  async #turn(store: Store, turn: number): Promise<void> {
    const { session, process, loops } = this.#options
    const steps = stepsOf(process, turn)
    if (loops === 'whole') {
      await this.#retrying(() => this.#wholeTurn(store, steps, `turn ${turn}`))
    } else {
      for (const [at, step] of steps.entries()) {
        await this.#retrying(() => this.#step(store, step, at === 0, `turn ${turn}, request ${at + 1}`))
      }
    }
    const { messages } = await store.renderHistory(session, { provider: this.#provider })
    this.#check(messages, [], `after turn ${turn}`)
  }

  /** The loop goes with every request as what is not stored yet, and is stored at its end. Every other process begins anew when another was quicker. */
  async #wholeTurn(store: Store, steps: readonly Step[], when: string): Promise<void> {
    const pending: NewMessage[] = []
    for (const [at, { prompt, reply }] of steps.entries()) {
      pending.push(...prompt)
      const request = await this.#ask(store, pending, `${when}, request ${at + 1}`)
      if (at < steps.length - 1) pending.push(...reply)
      else await this.#record(store, request, reply, this.#options.process % 2 === 0)
    }
  }

  /** Each answer is stored as it comes. Who begins a turn has nothing stored yet and begins anew when another was quicker; results must be stored. */
  async #step(store: Store, { prompt, reply }: Step, isFirst: boolean, when: string): Promise<void> {
    const request = await this.#ask(store, prompt, when)
    await this.#record(store, request, reply, isFirst)
  }

  /** Stores what was asked and answered; `isGuarded`: unless another was quicker. */
  async #record(
    store: Store,
    request: PreparedRequest,
    reply: readonly NewMessage[],
    isGuarded: boolean,
  ): Promise<void> {
    const { session } = this.#options
    const usage = { inputTokens: Math.round(request.stats.estimated * 1.1), outputTokens: 60 }
    const response = { request, messages: reply, usage, stopReason: 'stop' }
    await store.recordResponse(session, {
      ...response,
      ...(isGuarded && { expectedPosition: request.position }),
    })
    // Sometimes nobody hears that it was stored, and stores it again.
    if (this.#random() < 0.05)
      await this.#retrying(async () => void (await store.recordResponse(session, response)))
  }

  async #ask(store: Store, prompt: readonly NewMessage[], when: string): Promise<PreparedRequest> {
    const request = await store.prepareRequest(this.#options.session, {
      provider: this.#provider,
      system: SYSTEM,
      tools: TOOLS,
      prompt,
    })
    this.#requests += 1
    if (request.compacted) this.#compacted += 1
    this.#check(request.messages, prompt, when)
    if (!request.stats.withinBudget) this.#problems.add(`${when}: it does not fit`)
    await pause(this.#random() * this.#options.answerMs)
    return request
  }

  /** Nobody waits for it; the circuit may be open after failures. */
  async #startJob(store: Store): Promise<void> {
    try {
      await store.jobs.start(this.#options.session)
      this.#jobs += 1
    } catch (error) {
      if (!isUndertextError(error, 'CIRCUIT_OPEN')) throw error
      this.#retried.CIRCUIT_OPEN = (this.#retried.CIRCUIT_OPEN ?? 0) + 1
    }
  }

  #check(messages: readonly Message[], prompt: readonly NewMessage[], when: string): void {
    for (const { code } of validateHistory(messages, this.#provider)) this.#problems.add(`${when}: ${code}`)
    // Results stand behind their calls, which others may have talked over; what a user asks stands last.
    const sent = prompt.length === 1 && prompt[0]!.role === 'user' ? messages.slice(-1) : messages
    const labels = labelsIn(JSON.stringify(sent))
    for (const { idempotencyKey } of prompt)
      if (!labels.includes(idempotencyKey!)) this.#problems.add(`${when}: the prompt is not where it belongs`)
  }

  async #retrying(act: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await act()
      } catch (error) {
        if (!isUndertextError(error) || !AGAIN.has(error.code) || tries === MOST_TRIES) throw error
        this.#retried[error.code] = (this.#retried[error.code] ?? 0) + 1
        await pause(this.#random() * Math.min(20, tries))
      }
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
