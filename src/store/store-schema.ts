import { z } from 'zod'

/**
 * A store that an adapter was handed, told by verbs the adapter calls: one of another copy of this package is a store,
 * too, and so is whatever stands in front of one.
 */
export function storeSchema<S extends object>(...verbs: readonly (keyof S & string)[]): z.ZodType<S> {
  return z.custom<S>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      verbs.every((verb) => typeof (value as { readonly [name: string]: unknown })[verb] === 'function'),
    'must be a store, as `await openStore(…)` answers it',
  )
}
