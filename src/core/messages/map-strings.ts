/**
 * Returns a JSON value with its strings changed at any depth, and the names of its fields; the same value if nothing changed. `field` is
 * the name of the innermost field around a string, `undefined` if there is none. A name that is taken gets a number, so that no value is
 * lost.
 */
export function mapStrings<T>(
  value: T,
  map: (text: string, field: string | undefined) => string,
  mapName: (name: string) => string,
): T {
  const mapped = (inner: unknown, field: string | undefined): unknown => {
    if (typeof inner === 'string') return map(inner, field)
    if (typeof inner !== 'object' || inner === null || ArrayBuffer.isView(inner)) return inner
    return Array.isArray(inner) ? mapList(inner, (item) => mapped(item, field)) : fields(inner)
  }
  const fields = (object: object): object => {
    const given = object as { readonly [name: string]: unknown }
    let made: [string, unknown][] | undefined
    let names: FreeNames | undefined
    for (const key in given) {
      const value = given[key]
      const inner = mapped(value, key)
      const name = mapName(key)
      if (made === undefined && (inner !== value || name !== key)) made = entriesBefore(given, key)
      if (name !== key) names ??= new FreeNames(given)
      made?.push([name === key ? key : names!.next(name), inner])
    }
    return made === undefined ? object : Object.fromEntries(made)
  }
  return mapped(value, undefined) as T
}

/** Returns a list with changed items; the same list if none changed. */
export function mapList<T>(list: readonly T[], change: (item: T, at: number) => T): readonly T[] {
  let made: T[] | undefined
  for (let at = 0; at < list.length; at++) {
    const item = change(list[at]!, at)
    if (item === list[at]) continue
    made ??= [...list]
    made[at] = item
  }
  return made ?? list
}

function entriesBefore(fields: { readonly [name: string]: unknown }, end: string): [string, unknown][] {
  const before: [string, unknown][] = []
  for (const key in fields) {
    if (key === end) break
    before.push([key, fields[key]])
  }
  return before
}

/** Finds unused names for changed keys: two names may become the same, and neither value may be lost. */
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
