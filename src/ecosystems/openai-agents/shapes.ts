import { invalid } from '../../errors.ts'
import { listAt, objectAt, stringAt } from '../wire.ts'

/*
 * Shapes of somebody else's values. By hand, since a refusal must name the place and the rule, and not which alternatives of a
 * union did not match.
 */

/** Throws `INVALID_INPUT` with the place when a value has not this shape. */
export type Shape = (value: unknown, place: string) => void

export const text: Shape = (value, place) => {
  stringAt(value, place)
}

export const object: Shape = (value, place) => {
  objectAt(value, place)
}

export const anything: Shape = () => {}

/** Whatever it is, it is there. */
export const given: Shape = (value, place) => {
  if (value === undefined) throw invalid(`${place}: must be given`)
}

export const number: Shape = (value, place) => {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(`${place}: must be a number`)
}

export const integer: Shape = (value, place) => {
  if (!Number.isSafeInteger(value)) throw invalid(`${place}: must be a whole number`)
}

export const count: Shape = (value, place) => {
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw invalid(`${place}: must be a whole number from 0 on`)
}

export const someText: Shape = (value, place) => {
  if (stringAt(value, place) === '') throw invalid(`${place}: must not be empty`)
}

export function optional(shape: Shape): Shape {
  return (value, place) => {
    if (value !== undefined) shape(value, place)
  }
}

export function nullable(shape: Shape): Shape {
  return (value, place) => {
    if (value !== null) shape(value, place)
  }
}

export function oneOf(...values: readonly string[]): Shape {
  return (value, place) => {
    if (!(values as readonly unknown[]).includes(value))
      throw invalid(`${place}: must be one of ${values.join(', ')}`)
  }
}

/** An object with at least these fields. */
export function fields(shapes: { readonly [name: string]: Shape }): Shape {
  const entries = Object.entries(shapes)
  return (value, place) => {
    const found = objectAt(value, place)
    for (const [name, shape] of entries) shape(found[name], `${place}.${name}`)
  }
}

export function listOf(shape: Shape, least = 0): Shape {
  return (value, place) => {
    const found = listAt(value, place)
    if (found.length < least) throw invalid(`${place}: must not be empty`)
    found.forEach((entry, i) => {
      shape(entry, `${place}[${i}]`)
    })
  }
}

/** Objects told apart by their `type`. */
export function variants(shapes: { readonly [type: string]: Shape }): Shape {
  const byType = new Map(Object.entries(shapes))
  return (value, place) => {
    const { type } = objectAt(value, place)
    const shape = typeof type === 'string' ? byType.get(type) : undefined
    if (shape === undefined) throw invalid(`${place}.type: must be one of ${[...byType.keys()].join(', ')}`)
    shape(value, place)
  }
}
