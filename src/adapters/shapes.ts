import { invalid } from '../core/errors.ts'
import { fileDataAt } from './conversion.ts'
import { listAt, objectAt, stringAt } from './wire.ts'

/*
 * Shapes of the messages, items and parts of SDKs. A schema library is not used, because an error must name the place and the rule, not the
 * alternatives of a union that didn't match.
 */

/** Returns a value of this shape. Throws `INVALID_INPUT` with the place for a value of another shape. */
export type Shape<T = unknown> = (value: unknown, place: string) => T

export type Shapes = { readonly [name: string]: Shape }
type Flat<T> = { [K in keyof T]: T[K] }
type MayBeAbsent<T> = unknown extends T ? false : undefined extends T ? true : false
type Fields<S extends Shapes> = Flat<
  { [K in keyof S as MayBeAbsent<ReturnType<S[K]>> extends true ? never : K]: ReturnType<S[K]> } & {
    [K in keyof S as MayBeAbsent<ReturnType<S[K]>> extends true ? K : never]?: ReturnType<S[K]>
  }
>
export type Variant<S extends Shapes, K extends keyof S> = Flat<{ type: K } & ReturnType<S[K]>>
type Variants<S extends Shapes> = { [K in keyof S]: Variant<S, K> }[keyof S]

export const text = stringAt
export const object = objectAt as Shape<{ [name: string]: unknown }>

/** A check as a shape: `problem` is the rule that a value breaks. */
export function rule<T>(isValid: (value: unknown) => boolean, problem: string): Shape<T> {
  return (value, place) => {
    if (!isValid(value)) throw invalid(`${place}: ${problem}`)
    return value as T
  }
}

export const flag = rule<boolean>((value) => typeof value === 'boolean', 'must be true or false')

/** Any value except `undefined`. */
export function required<T>(value: T | undefined, place: string): T {
  if (value === undefined) throw invalid(`${place}: is required`)
  return value
}

/** A text that isn't empty. */
export const filledText: Shape<string> = (value, place) =>
  rule<string>((given) => given !== '', 'must not be empty')(text(value, place), place)

export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value, place) => (value === undefined ? undefined : shape(value, place))
}

export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return (value, place) => (value === null ? null : shape(value, place))
}

/** A value that may be null or absent. */
export function nullish<T>(shape: Shape<T>): Shape<T | null | undefined> {
  return optional(nullable(shape))
}

export function oneOf<const T extends string>(...values: readonly T[]): Shape<T> {
  return rule((value) => values.includes(value as T), `must be ${orList(values)}`)
}

function orList(values: readonly string[]): string {
  return [values.slice(0, -1).join(', '), ...values.slice(-1)].filter((part) => part !== '').join(' or ')
}

/** An object with at least these fields. */
export function fields<S extends Shapes>(shapes: S): Shape<Fields<S>> {
  const entries = Object.entries(shapes)
  return (value, place) => {
    const found = objectAt(value, place)
    for (const [name, shape] of entries) shape(found[name], `${place}.${name}`)
    return found as Fields<S>
  }
}

export function listOf<T>(shape: Shape<T>, least = 0): Shape<T[]> {
  return (value, place) => {
    const found = listAt(value, place)
    if (found.length < least) throw invalid(`${place}: must not be empty`)
    return found.map((entry, i) => shape(entry, `${place}[${i}]`))
  }
}

/** Objects with a known `type`, each with its own shape. */
export function variants<S extends Shapes>(shapes: S): Shape<Variants<S>> {
  const byType = new Map(Object.entries(shapes))
  return (value, place) => {
    const { type } = objectAt(value, place)
    const shape = typeof type === 'string' ? byType.get(type) : undefined
    if (shape === undefined) throw invalid(`${place}.type: must be ${orList([...byType.keys()])}`)
    return shape(value, place) as Variants<S>
  }
}

/** An address, a data URL or base64. */
export const media: Shape<string> = (value, place) => fileDataAt(stringAt(value, place), place)
