/** Keys of a type whose values may be `undefined`. */
type Optional<T> = { [K in keyof T]-?: undefined extends T[K] ? K : never }[keyof T]

/** The fields of an object whose value is not `undefined`, in their order. */
export function defined<T extends object>(
  fields: T,
): { [K in Exclude<keyof T, Optional<T>>]: T[K] } & { [K in Optional<T>]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as ReturnType<typeof defined<T>>
}
