import { listIn } from '../../messages/lists.ts'
import { isObject } from '../wire.ts'

/*
 * Call ids. They are optional in Gemini, and required in the neutral form. A call without an id gets one made
 * of its function name, the same whenever the same contents are read, also in several batches.
 */

type OpenCall = { readonly id: string; isOpen: boolean }
/** Calls of one function in one content, in order; those before `next` are closed. */
type OpenCalls = { readonly turn: number; readonly calls: OpenCall[]; next: number }

/** The calls of a list of contents. */
export class Calls {
  readonly #given: ReadonlySet<string>
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  /** By id, newest last. */
  readonly #byId = new Map<string, OpenCall[]>()
  /** By the name of the function, newest content last. */
  readonly #byName = new Map<string, OpenCalls[]>()
  #turn = 0

  /** `contents` are only searched for ids, so that a made id equals none of them. */
  constructor(contents: readonly unknown[]) {
    this.#given = givenIds(contents)
  }

  /** Begins the next content. */
  nextContent(): void {
    this.#turn += 1
  }

  /** The id of a call in the neutral form. */
  call(name: string, id: string | undefined): string {
    const own = id === undefined || id === '' ? this.#madeUp(name, 'call') : id
    this.#names.set(own, name)
    this.#open(own, name)
    return own
  }

  #open(id: string, name: string): void {
    const call = { id, isOpen: true }
    listIn(this.#byId, id).push(call)
    const contents = listIn(this.#byName, name)
    const last = contents.at(-1)
    if (last?.turn === this.#turn) last.calls.push(call)
    else contents.push({ turn: this.#turn, calls: [call], next: 0 })
  }

  /**
   * The call that a response belongs to: by its id, else by name and order, in the newest content with such a
   * call. A response that continues (`willContinue`) leaves its call open.
   */
  answer(
    name: string | undefined,
    id: string | undefined,
    goesOn: boolean,
  ): { id: string; name: string | undefined } {
    const known = id !== undefined && this.#names.has(id) ? id : undefined
    const found = known ?? this.#openCall(name)?.id
    if (found === undefined) {
      const own = id === undefined || id === '' ? this.#madeUp(name ?? '', 'answer') : id
      return { id: own, name }
    }
    if (!goesOn) this.#close(found)
    return { id: found, name: this.#names.get(found) }
  }

  /** Closes the newest open call of an id. */
  #close(id: string): void {
    const calls = this.#byId.get(id) ?? []
    for (let call = calls.pop(); call !== undefined; call = calls.pop()) {
      if (!call.isOpen) continue
      call.isOpen = false
      return
    }
  }

  /** The first open call of a function in the newest content that has one. */
  #openCall(name: string | undefined): OpenCall | undefined {
    const contents = (name === undefined ? undefined : this.#byName.get(name)) ?? []
    for (let last = contents.at(-1); last !== undefined; last = contents.at(-1)) {
      while (last.calls[last.next]?.isOpen === false) last.next += 1
      const call = last.calls[last.next]
      if (call !== undefined) return call
      contents.pop()
    }
    return undefined
  }

  #madeUp(name: string, kind: 'call' | 'answer'): string {
    const base = `gemini_call_${name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 40)}`
    for (;;) {
      const count = (this.#counts.get(`${kind} ${base}`) ?? 0) + 1
      this.#counts.set(`${kind} ${base}`, count)
      const id = count === 1 ? base : `${base}_${count}`
      // A response to none of the calls read so far must not match one by its id either.
      if (!this.#given.has(id) && !this.#names.has(id)) return id
    }
  }
}

function givenIds(contents: readonly unknown[]): Set<string> {
  const ids = new Set<string>()
  for (const content of contents) {
    const parts =
      isObject(content) && Array.isArray(content.parts) ? (content.parts as readonly unknown[]) : []
    for (const part of parts) {
      const held = isObject(part) ? [part.functionCall, part.functionResponse] : []
      for (const value of held) if (isObject(value) && typeof value.id === 'string') ids.add(value.id)
    }
  }
  return ids
}

/**
 * The order of responses that follows the order of their calls: indexes into `answers`. Responses to no call of
 * the list come last, in their order.
 */
export function orderOf(answers: readonly string[], calls: readonly string[]): number[] {
  const places = new Map<string, number>()
  for (const [place, id] of calls.entries()) if (!places.has(id)) places.set(id, place)
  const placeOf = (index: number): number => places.get(answers[index] ?? '') ?? calls.length
  return answers.map((_, index) => index).sort((a, b) => placeOf(a) - placeOf(b))
}
