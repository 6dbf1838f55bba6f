import { isObject } from '../wire.ts'

/*
 * Ids of calls. Gemini's are optional; the neutral form has always one. A call without gets an id made of the name of its
 * function, the same whenever the same contents are read, also in several batches.
 */

type OpenCall = { readonly id: string; readonly name: string; readonly turn: number }

/** What is known of the calls of a list. */
export class Calls {
  readonly #given: ReadonlySet<string>
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  #open: OpenCall[] = []
  #turn = 0

  /** `contents` are looked at for ids only, so that a made-up one is none of them. */
  constructor(contents: readonly unknown[]) {
    this.#given = givenIds(contents)
  }

  /** Says that another content begins. */
  nextContent(): void {
    this.#turn += 1
  }

  /** The id of a call in the neutral form. */
  call(name: string, id: string | undefined): string {
    const own = id === undefined || id === '' ? this.#madeUp(name, 'call') : id
    this.#names.set(own, name)
    this.#open.push({ id: own, name, turn: this.#turn })
    return own
  }

  /**
   * The call that an answer belongs to: by its id, else by name and order, in the newest content with such a call. An
   * answer that goes on (`willContinue`) leaves its call open.
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
    if (!goesOn) {
      const place = this.#open.findLastIndex((call) => call.id === found)
      if (place !== -1) this.#open.splice(place, 1)
    }
    return { id: found, name: this.#names.get(found) }
  }

  #openCall(name: string | undefined): OpenCall | undefined {
    const fitting = this.#open.filter((call) => call.name === name)
    return fitting.find((call) => call.turn === fitting.at(-1)?.turn)
  }

  #madeUp(name: string, kind: 'call' | 'answer'): string {
    const base = `gemini_call_${name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 40)}`
    for (;;) {
      const count = (this.#counts.get(`${kind} ${base}`) ?? 0) + 1
      this.#counts.set(`${kind} ${base}`, count)
      const id = count === 1 ? base : `${base}_${count}`
      // An answer to none of the calls read so far is to none of them by its id either.
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
 * The order in which answers stand when they follow their calls: indexes into `answers`. Those to no call of the list
 * go last; the order of others stays.
 */
export function orderOf(answers: readonly string[], calls: readonly string[]): number[] {
  const placeOf = (index: number): number => {
    const place = calls.indexOf(answers[index] ?? '')
    return place === -1 ? calls.length : place
  }
  return answers.map((_, index) => index).sort((a, b) => placeOf(a) - placeOf(b))
}
