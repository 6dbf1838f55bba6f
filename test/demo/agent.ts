import type { ContextStats, NewMessage, Part, Store } from '../../src/index.ts'
import { filesOf } from './project.ts'
import { closingTask, openingTasks, type Step, SYSTEM_PROMPT, type Task } from './script.ts'
import { randomFrom, reviews } from './survey.ts'
import { type Answer, type Call, outputOf, type Workbench } from './workbench.ts'

const SEED = 20250514

/** What happened in one turn: a request and the work on it. */
export type Turn = {
  readonly number: number
  readonly request: string
  readonly calls: number
  readonly failed: number
  readonly stats: ContextStats
}

/** What happened in all of them. */
export type Totals = {
  messages: number
  appendMs: number[]
  calls: number
  parallelCalls: number
  failed: number
  reads: string[]
  changed: Set<string>
}

/** An agent whose words are a script and whose tools are real. What it says and does is stored as it happens. */
export class Agent {
  readonly totals: Totals = {
    messages: 0,
    appendMs: [],
    calls: 0,
    parallelCalls: 0,
    failed: 0,
    reads: [],
    changed: new Set(),
  }
  readonly #store: Store
  readonly #sessionId: string
  readonly #bench: Workbench
  #turns = 0

  constructor(store: Store, sessionId: string, bench: Workbench) {
    this.#store = store
    this.#sessionId = sessionId
    this.#bench = bench
  }

  /** Works until compaction is due, whatever the files are like, and once more to end its work. */
  async *work(root: string): AsyncGenerator<Turn> {
    await this.#append([{ role: 'system', content: SYSTEM_PROMPT }])
    for (const task of openingTasks()) yield this.#turn(task)
    const files = [...(await filesOf(root, 'src')), ...(await filesOf(root, 'node_modules'))]
    for (const task of reviews(files, randomFrom(SEED))) {
      if (this.#store.needsCompaction(this.#sessionId)) break
      yield this.#turn(task)
    }
    yield this.#turn(closingTask([...this.totals.changed]))
  }

  async #turn({ request, work }: Task): Promise<Turn> {
    const { calls, failed } = this.totals
    await this.#append([{ role: 'user', content: request }])
    const steps = work()
    let next = steps.next()
    while (!next.done) next = steps.next(await this.#step(next.value))
    await this.#append([{ role: 'assistant', content: next.value }])
    const stats = await this.#store.getContextStats(this.#sessionId)
    if (stats === null) throw new Error('The session is gone.')
    this.#turns += 1
    return {
      number: this.#turns,
      request,
      calls: this.totals.calls - calls,
      failed: this.totals.failed - failed,
      stats,
    }
  }

  /** All calls of a message at once; message and results are stored together. */
  async #step({ thought, words, calls }: Step): Promise<readonly Answer[]> {
    const answers = await Promise.all(calls.map((call) => this.#bench.use(call)))
    const named = calls.map((call, at) => ({
      ...call,
      id: `toolu_${this.totals.calls + at + 1}`,
      answer: answers[at]!,
    }))
    this.#count(calls, answers)
    const said: Part[] = [
      ...(thought === undefined ? [] : [reasoning(thought)]),
      ...(words === undefined ? [] : [{ type: 'text', text: words } as const]),
      ...named.map(
        ({ id, tool, input }) => ({ type: 'tool-call', toolCallId: id, toolName: tool, input }) as const,
      ),
    ]
    const results = named.map(
      ({ id, tool, answer }) =>
        ({ type: 'tool-result', toolCallId: id, toolName: tool, output: outputOf(answer) }) as const,
    )
    await this.#append([
      { role: 'assistant', content: said },
      { role: 'tool', content: results },
    ])
    return answers
  }

  #count(calls: readonly Call[], answers: readonly Answer[]): void {
    this.totals.calls += calls.length
    if (calls.length > 1) this.totals.parallelCalls += calls.length
    for (const [at, { tool, input }] of calls.entries()) {
      const path = String(input.path)
      if (answers[at]?.failed) this.totals.failed += 1
      else if (tool === 'read_file') this.totals.reads.push(path)
      else if (tool === 'edit_file' || tool === 'write_file') this.totals.changed.add(path)
    }
  }

  async #append(messages: readonly NewMessage[]): Promise<void> {
    const start = performance.now()
    await this.#store.append(this.#sessionId, messages)
    this.totals.appendMs.push(performance.now() - start)
    this.totals.messages += messages.length
  }
}

/** Thoughts come with a signature; without one a provider does not take them back. */
function reasoning(text: string): Part {
  const signature = Buffer.from(`scripted: ${text}`).toString('base64')
  return { type: 'reasoning', text, providerOptions: { anthropic: { signature } } }
}
