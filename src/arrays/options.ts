/** Splits the options of a factory: those of its stage, by name, and those of the face over arrays. */
export function split<T extends object, K extends keyof T>(
  options: T,
  names: readonly K[],
): [Pick<T, K>, Omit<T, K>] {
  const own: Partial<T> = {}
  const rest: Partial<T> = {}
  for (const [name, value] of Object.entries(options) as [keyof T, T[keyof T]][]) {
    if (value === undefined) continue
    if ((names as readonly (keyof T)[]).includes(name)) own[name] = value
    else rest[name] = value
  }
  return [own as Pick<T, K>, rest as Omit<T, K>]
}

/** The names in a shape. */
export function shapeKeys<S extends object>(shape: S): (keyof S)[] {
  return Object.keys(shape) as (keyof S)[]
}
