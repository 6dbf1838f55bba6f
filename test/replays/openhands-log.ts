import { expect } from 'vitest'
import type { NewMessage, Part, Store, ViewMessage } from '../../src/index.ts'
import { planningView } from './messages.ts'

/* OpenHands' events as our messages, and its condensations as our verbs. */

export type Event = {
  readonly id: string
  readonly kind: string
  readonly tool_call_id?: string
  /** Actions of one batch are the parallel calls of one answer of the model. */
  readonly batch?: string
  readonly thinking?: boolean
  readonly forgotten?: readonly string[]
  readonly summary?: string
  readonly summary_offset?: number
}

const LONG = 'words '.repeat(100)
const NOT_A_MESSAGE = new Set(['Condensation', 'CondensationRequest'])

/** One of our messages, and the events it is made of: several for a batch. */
export type EventMessage = { readonly message: NewMessage & { id: string }; readonly events: string[] }

/**
 * The messages some events make: an action is a call, what is observed is its result, a batch is one message with
 * several calls, as it was when the model gave it. The id is the first event's.
 */
export function messagesOf(events: readonly Event[], speaker: 'user' | 'assistant' = 'user'): EventMessage[] {
  const batches = new Map<string, { parts: Part[]; events: string[] }>()
  const messages: EventMessage[] = []
  const add = (event: Event, role: NewMessage['role'], content: string | Part[]): EventMessage => {
    messages.push({ message: { id: event.id, role, content }, events: [event.id] })
    return messages.at(-1)!
  }
  for (const event of events) {
    if (NOT_A_MESSAGE.has(event.kind)) continue
    const { kind, tool_call_id: toolCallId = '' } = event
    if (kind === 'MessageEvent') add(event, speaker, `${event.id} ${LONG}`)
    else if (kind === 'ActionEvent') {
      const reasoning: Part[] = event.thinking ? [{ type: 'reasoning', text: 'thinking' }] : []
      const parts: Part[] = [...reasoning, { type: 'tool-call', toolCallId, toolName: 'act', input: {} }]
      const batch = event.batch === undefined ? undefined : batches.get(event.batch)
      if (batch !== undefined) {
        batch.parts.push(...parts)
        batch.events.push(event.id)
        continue
      }
      const made = add(event, 'assistant', parts)
      if (event.batch !== undefined) batches.set(event.batch, { parts, events: made.events })
    } else {
      const type = kind === 'ObservationEvent' ? 'text' : 'error-text'
      add(event, 'tool', [{ type: 'tool-result', toolCallId, output: { type, value: LONG } }])
    }
  }
  return messages
}

/** Stands in the log for a summary that forgets nothing: our summaries stand for something. */
export type StandIn = { readonly standIn: string }

/**
 * The order of a log in which every summary that forgets nothing has a message to stand for, at the place where
 * its offset puts it. Worked out by OpenHands' own rule, with forgotten events and summaries left in the list.
 */
export function orderOfLog(events: readonly Event[]): (Event | StandIn)[] {
  const all: { label: string; entry: Event | StandIn | undefined; visible: boolean }[] = []
  for (const event of events) {
    if (event.kind === 'CondensationRequest') continue
    if (event.kind !== 'Condensation') {
      all.push({ label: event.id, entry: event, visible: true })
      continue
    }
    for (const one of all) if (event.forgotten!.includes(one.label)) one.visible = false
    if (event.summary === undefined) continue
    const label = `${event.id}-summary`
    const entry = event.forgotten!.length === 0 ? { standIn: label } : undefined
    const next = all.filter(({ visible }) => visible)[event.summary_offset!]
    const at = next === undefined ? all.length : all.indexOf(next)
    all.splice(at, 0, { label, entry, visible: true })
  }
  return all.flatMap(({ entry }) => entry ?? [])
}

const SESSION = 's'

/** A log of OpenHands' replayed in a store. */
export class ReplayedLog {
  readonly #store: Store
  readonly #messages = new Map<string, EventMessage>()
  readonly #order: (Event | StandIn)[]
  /** Positions of what was appended, by the label of an event or of a stand-in's summary. */
  readonly #positions = new Map<string, number>()
  readonly #labelOfSummary = new Map<string, string>()
  readonly #compactions = new Map<string, string>()
  #next = 0
  readonly standIns: number

  constructor(store: Store, events: readonly Event[]) {
    this.#store = store
    for (const one of messagesOf(events)) for (const id of one.events) this.#messages.set(id, one)
    this.#order = orderOfLog(events)
    this.standIns = this.#order.filter((entry) => 'standIn' in entry).length
  }

  /** The message that holds an event. */
  messageOf(eventId: string): EventMessage {
    return this.#messages.get(eventId)!
  }

  /** Appends the log up to an event or a stand-in, itself included. */
  async appendThrough(label: string): Promise<void> {
    while (!this.#positions.has(label)) {
      const entry = this.#order[this.#next++]!
      const name = 'standIn' in entry ? entry.standIn : entry.id
      const made = this.#messages.get(name)
      // The later actions of a batch came with its first.
      const known = made?.events.map((id) => this.#positions.get(id)).find((at) => at !== undefined)
      const message = made?.message ?? { id: `for ${name}`, role: 'user' as const, content: LONG }
      const position = known ?? (await this.#store.append(SESSION, [message])).position
      this.#positions.set(name, position)
    }
  }

  /** A summary in place of everything between the first and the last of what it forgets. */
  async condense({ id, forgotten = [], summary }: Event): Promise<void> {
    const label = `${id}-summary`
    if (forgotten.length === 0) await this.appendThrough(label)
    const positions = (forgotten.length === 0 ? [label] : forgotten).map((one) => this.#positions.get(one)!)
    const range = { from: Math.min(...positions), to: Math.max(...positions) }
    const run = await this.#store.compactSession(SESSION, { range, summary: summary! })
    expect(run!.compacted, `${label}: ${JSON.stringify(run!.failed)}`).toBe(true)
    const compaction = run!.compactions[0]!.id
    this.#labelOfSummary.set(compaction, label)
    this.#compactions.set(label, compaction)
    this.#positions.set(label, range.to)
  }

  /** To forget a summary is to undo the compaction that made it. */
  async undo(label: string): Promise<void> {
    await this.#store.undoCompaction(SESSION, this.#compactions.get(label)!)
  }

  isSummary(label: string): boolean {
    return this.#compactions.has(label)
  }

  async view(): Promise<ViewMessage[]> {
    const known = await this.#store.sessions.list()
    return known.length === 0 ? [] : this.#store.getEffectiveHistory(SESSION)
  }

  /** The events a row of the view stands for; none for a message that a summary stood for and no longer does. */
  labelsOf(row: ViewMessage): readonly string[] {
    if (row.kind === 'summary') return [this.#labelOfSummary.get(row.condenseId!)!]
    return this.#messages.get(row.id)?.events ?? []
  }

  /** The view as OpenHands writes it. */
  async labels(): Promise<string[]> {
    return (await this.view()).flatMap((row) => this.labelsOf(row))
  }

  /** Where a cut may fall in the view, counted in events as OpenHands counts. */
  async cuts(): Promise<number[]> {
    const view = await this.view()
    const before = [0]
    for (const row of view) before.push(before.at(-1)! + this.labelsOf(row).length)
    return [
      ...new Set(
        planningView(view)
          .turns.legalCuts()
          .map((cut) => before[cut]!),
      ),
    ]
  }
}

/** Where a cut may fall between some events, counted in events. */
export function cutsBetween(events: readonly Event[], speaker: 'user' | 'assistant'): number[] {
  const made = messagesOf(events, speaker)
  const view = planningView(made.map(({ message }) => ({ ...message, kind: 'message' as const })))
  const before = [0]
  for (const { events: own } of made) before.push(before.at(-1)! + own.length)
  return view.turns.legalCuts().map((cut) => before[cut]!)
}
