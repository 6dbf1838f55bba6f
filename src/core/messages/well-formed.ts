import type { Message } from './message.ts'

/*
 * Lone surrogates: half an emoji, left by a cut or a stream. The log returns it unchanged, but to most servers a request that contains it
 * is not valid JSON ("no low surrogate in string"), so U+FFFD replaces it in every text that is sent.
 */

/** Returns the same value with U+FFFD in place of each lone surrogate, in keys too; the value itself if there is none. */
export function wellFormed<T>(value: T): T {
  return replaced(value) as T
}

function replaced(value: unknown): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed()
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  return Array.isArray(value) ? replacedItems(value) : replacedFields(value)
}

function replacedItems(list: readonly unknown[]): readonly unknown[] {
  let made: unknown[] | undefined
  for (let i = 0; i < list.length; i++) {
    const item = replaced(list[i])
    if (item === list[i]) continue
    made ??= [...list]
    made[i] = item
  }
  return made ?? list
}

function replacedFields(object: object): object {
  const given = object as { readonly [name: string]: unknown }
  let made: [string, unknown][] | undefined
  let names: FreeNames | undefined
  for (const key in given) {
    const value = given[key]
    const inner = replaced(value)
    const isKept = key.isWellFormed()
    if (made === undefined && (inner !== value || !isKept)) made = entriesBefore(given, key)
    if (!isKept) names ??= new FreeNames(given)
    made?.push([isKept ? key : names!.next(key.toWellFormed()), inner])
  }
  return made === undefined ? object : Object.fromEntries(made)
}

function entriesBefore(fields: { readonly [name: string]: unknown }, end: string): [string, unknown][] {
  const before: [string, unknown][] = []
  for (const key in fields) {
    if (key === end) break
    before.push([key, fields[key]])
  }
  return before
}

/** Finds unused names for replaced keys. Two keys may differ only in their lone surrogates, and neither value may be lost. */
class FreeNames {
  readonly #taken: object
  readonly #counts = new Map<string, number>()

  constructor(taken: object) {
    this.#taken = taken
  }

  next(name: string): string {
    for (;;) {
      const count = (this.#counts.get(name) ?? 0) + 1
      this.#counts.set(name, count)
      const free = count === 1 ? name : `${name}${count}`
      if (!Object.hasOwn(this.#taken, free)) return free
    }
  }
}

/**
 * Returns messages with well-formed texts; `changed` receives the index of each message that differs. Returns the same list if none
 * differs.
 */
export function wellFormedMessages<M extends Message>(
  messages: readonly M[],
  changed: (index: number) => void = () => undefined,
): readonly M[] {
  let made: M[] | undefined
  for (const [index, message] of messages.entries()) {
    const sent = wellFormed(message)
    if (sent === message) continue
    changed(index)
    made ??= [...messages]
    made[index] = sent
  }
  return made ?? messages
}
