import { expect } from 'vitest'
import { TRUNCATION_MARKER } from '../../src/compat/arrays/index.ts'
import type { Store, ViewMessage } from '../../src/index.ts'
import type { RooSequence, RooStep } from './roo-data.ts'
import { lawBreaks } from './roo-laws.ts'
import { type RooStore, rowFrom } from './roo-store.ts'

/*
 * Roo Code's operations carried out by our own verbs. What becomes of the conversation is ours; what is checked
 * is that the laws hold after every step, and that everything can be taken back and put back.
 */

/** How a condensation is asked for: everything by a given range and text, or as the planner chooses, by a summarizer. */
export type Condensing = 'range' | 'summarizer'

/** What a replay did, so that a test can see that it did something. */
export type Replayed = {
  steps: number
  condensed: number
  condensedRecently: number
  truncated: number
  hidden: number
  undone: number
}

const SUMMARY = 'S'
const ANSWER = 'The call was interrupted.'

/** Replays a sequence in a session of its own, and checks it after every step and at its end. */
export async function replayWithPlanner(
  roo: RooStore,
  { seed, steps }: RooSequence,
  condensing: Condensing,
): Promise<Replayed> {
  const replay = new Replay(roo, await roo.newSession(), condensing)
  for (const text of [SUMMARY, TRUNCATION_MARKER]) roo.free(text)
  for (const [at, step] of steps.entries()) {
    const what = `sequence ${seed}, step ${at}, ${step.op}`
    await replay.perform(step, what)
    expect(await lawBreaks(roo.store, replay.sessionId), what).toEqual([])
    replay.done.steps += 1
  }
  await replay.undoAndRedoAll(`sequence ${seed}`)
  return replay.done
}

class Replay {
  readonly sessionId: string
  readonly done: Replayed = {
    steps: 0,
    condensed: 0,
    condensedRecently: 0,
    truncated: 0,
    hidden: 0,
    undone: 0,
  }
  readonly #store: Store
  readonly #condensing: Condensing
  /** For each compaction, how many messages the log had when it was made. */
  readonly #madeAt = new Map<string, number>()
  /** What was appended, as it was given. */
  readonly #given: string[] = []

  constructor({ store }: RooStore, sessionId: string, condensing: Condensing) {
    this.#store = store
    this.sessionId = sessionId
    this.#condensing = condensing
  }

  async perform(step: RooStep, what: string): Promise<void> {
    switch (step.op) {
      case 'append':
        return this.#append(step.messages.map((message) => ({ ...rowFrom(message), id: message.id })))
      case 'condense':
        return this.#condense(step.error !== undefined, what)
      case 'truncate':
        return this.#truncate(step.fraction, what)
      case 'rewind':
        return this.#rewind(step.toBefore, what)
    }
  }

  async #append(messages: Parameters<Store['append']>[1]): Promise<void> {
    const before = await this.#view()
    await this.#store.append(this.sessionId, messages)
    this.#given.push(...messages.map(({ role, content }) => JSON.stringify({ role, content })))
    expect((await this.#view()).slice(0, before.length), 'appending changes nothing before').toEqual(before)
  }

  async #condense(nothingNew: boolean, what: string): Promise<void> {
    const before = await this.#view()
    const messages = before.filter(({ kind }) => kind === 'message')
    // A summary alone gains nothing, as Roo Code says with "condensed recently".
    if (messages.length === 0) {
      expect(nothingNew, what).toBe(true)
      const result = await this.#store.compactSession(this.sessionId, {
        targetTokens: 0,
        enableTruncate: false,
      })
      expect(result?.compacted, what).toBe(false)
      this.done.condensedRecently += 1
      return
    }
    const result =
      this.#condensing === 'range' ? await this.#condenseAll(before) : await this.#summarize(before)
    if (result === undefined) return
    this.done.condensed += result.compactions.length
    await this.#made(result.runId, result.compactions, before, what)
  }

  /** All of the view, as Roo Code does; calls without a result stay, and all before the first of them goes. */
  async #condenseAll(
    before: readonly ViewMessage[],
  ): Promise<NonNullable<Awaited<ReturnType<Store['compactSession']>>> | undefined> {
    const calls = await this.#store.messages.toolCalls(this.sessionId)
    const open = new Set(calls.flatMap(({ status, call }) => (status === 'pending' ? call.position : [])))
    const first = before.findIndex(({ position }) => position !== undefined && open.has(position))
    const covered = first === -1 ? before : before.slice(0, first)
    if (!covered.some(({ kind }) => kind === 'message')) return undefined
    const range = { from: 1, to: first === -1 ? this.#given.length : before[first]!.position! - 1 }
    const result = (await this.#store.compactSession(this.sessionId, { range, summary: SUMMARY }))!
    expect(result.messages.length, 'all of the view but what stays').toBe(1 + before.length - covered.length)
    return result
  }

  /** What the planner chooses, the newest turn kept. */
  async #summarize(
    before: readonly ViewMessage[],
  ): Promise<NonNullable<Awaited<ReturnType<Store['compactSession']>>>> {
    const result = (await this.#store.compactSession(this.sessionId, {
      enablePrune: false,
      enableDeduplicate: false,
      enableTruncate: false,
      targetTokens: before.length,
      summarizer: { name: 'stub', usesModel: true, summarize: () => ({ text: SUMMARY }) },
    }))!
    expect(result.messages.at(-1), 'the newest message stays').toEqual(before.at(-1))
    return result
  }

  async #truncate(truncationFraction: number, what: string): Promise<void> {
    const before = await this.#view()
    const result = await this.#store.compactSession(this.sessionId, {
      enablePrune: false,
      enableDeduplicate: false,
      enableSummarize: false,
      emergencyCut: false,
      targetTokens: 0,
      truncationFraction,
    })
    if (result === null) return
    expect(result.messages[0], `${what}: the first message stays`).toEqual(before[0])
    expect(result.messages.at(-1), `${what}: the newest stays`).toEqual(before.at(-1))
    this.done.truncated += result.compactions.length
    await this.#made(result.runId, result.compactions, before, what)
  }

  /** Takes back what was made since the message came, newest first, and hides the messages from it on. */
  async #rewind(toBefore: string, what: string): Promise<void> {
    const rows = await this.#store.getMessages(this.sessionId)
    const position = rows.find(({ id }) => id === toBefore)!.position!
    for (const { id, status } of (await this.#store.listCompactions(this.sessionId)).reverse()) {
      if (status !== 'active' || this.#madeAt.get(id)! < position) continue
      await this.#store.undoCompaction(this.sessionId, id)
      this.done.undone += 1
    }
    await this.#answerOpen(position)
    const before = await this.#view()
    const after = before.filter((row) => row.position === undefined || row.position < position)
    const ids = before.filter((row) => !after.includes(row)).map(({ id }) => id)
    const { id, runId, rowsHidden } = await this.#store.compactions.hide(this.sessionId, ids)
    this.done.hidden += rowsHidden
    expect(await this.#view(), `${what}: shows what was before`).toEqual(after)
    await this.#made(runId, [{ id }], before, what)
  }

  /** A call without a result cannot be hidden, so those from a position on are answered first, as an application would. */
  async #answerOpen(from: number): Promise<void> {
    const calls = await this.#store.messages.toolCalls(this.sessionId)
    const open = calls.filter(({ status, call }) => status === 'pending' && call.position >= from)
    if (open.length === 0) return
    await this.#append([
      {
        role: 'tool',
        content: open.map(({ callId: toolCallId }) => ({
          type: 'tool-result',
          toolCallId,
          output: { type: 'error-text', value: ANSWER },
        })),
      },
    ])
  }

  /** Notes compactions, and takes them back and puts them back. */
  async #made(
    runId: string,
    compactions: readonly { readonly id: string }[],
    before: readonly ViewMessage[],
    what: string,
  ): Promise<void> {
    if (compactions.length === 0) return
    for (const { id } of compactions) this.#madeAt.set(id, this.#given.length)
    const after = await this.#view()
    expect(after, `${what}: changes the view`).not.toEqual(before)
    await this.#store.undoCompaction(this.sessionId, runId)
    expect(await this.#view(), `${what}: undone`).toEqual(before)
    await this.#store.redoCompaction(this.sessionId, runId)
    expect(await this.#view(), `${what}: redone`).toEqual(after)
  }

  async undoAndRedoAll(what: string): Promise<void> {
    const end = await this.#view()
    const inForce = (await this.#store.listCompactions(this.sessionId)).filter(
      ({ status }) => status === 'active',
    )
    for (const { id } of inForce.toReversed()) await this.#store.undoCompaction(this.sessionId, id)
    const all = await this.#view()
    const shown = all.map(({ role, content }) => JSON.stringify({ role, content }))
    expect(shown, `${what}: the plain list`).toEqual(this.#given)
    expect(await lawBreaks(this.#store, this.sessionId), `${what}: all undone`).toEqual([])
    for (const { id } of inForce) await this.#store.redoCompaction(this.sessionId, id)
    expect(await this.#view(), `${what}: all redone`).toEqual(end)
    expect(await lawBreaks(this.#store, this.sessionId), `${what}: all redone`).toEqual([])
  }

  #view(): Promise<ViewMessage[]> {
    return this.#store.getEffectiveHistory(this.sessionId)
  }
}
