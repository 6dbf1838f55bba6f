import fc from 'fast-check'
import { CANARY } from '../support/failures.ts'

/* Arguments that are almost right: one place in them holds what cannot be. */

function nested(depth: number, inward: (value: unknown) => unknown): unknown {
  let value: unknown = CANARY
  for (let level = 0; level < depth; level++) value = inward(value)
  return value
}

function cyclic(): unknown {
  const value: Record<string, unknown> = { role: 'user', content: CANARY, type: 'text' }
  value.self = value
  return value
}

function cyclicList(): unknown {
  const value: unknown[] = []
  value.push(value)
  return value
}

const fail = (): never => {
  throw new RangeError(CANARY)
}
const THROWING: ProxyHandler<object> = {
  get: fail,
  has: fail,
  ownKeys: fail,
  getPrototypeOf: fail,
  getOwnPropertyDescriptor: fail,
}

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

/** Whether an error is the argument's own: of its getters, or of a class that was called as a function. */
export function isOwnError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.message === CANARY || error.message.startsWith('Class constructor Instance')
}

/** An object whose properties throw when they are read. */
function guarded(value: object, keys: readonly string[]): object {
  const copy = Array.isArray(value) ? [...(value as unknown[])] : { ...value }
  for (const key of keys)
    Object.defineProperty(copy, key, { get: fail, enumerable: true, configurable: true })
  return copy
}

class Instance {
  role = 'user'
  content = CANARY
}

/** Values of every kind that no signature, or only some, allow. */
const VALUES: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => true,
  () => 0,
  () => -0,
  () => -1,
  () => 1.5,
  () => Number.NaN,
  () => Number.POSITIVE_INFINITY,
  () => 2 ** 53,
  () => Number.MAX_VALUE,
  () => 10n,
  () => '',
  // Ids are quoted in errors, so a text in the place of an id is not one of the conversation.
  () => 'some text',
  () => 'NUL \0',
  () => 'half \ud800',
  () => 'long '.repeat(30_000),
  () => '__proto__',
  () => Symbol(CANARY),
  () => () => undefined,
  () => async () => CANARY,
  () => Instance,
  () => new Instance(),
  () => new Date(Number.NaN),
  () => new Date(0),
  () => [],
  () => {
    return {}
  },
  () => [null],
  () => ['some text'],
  () => [[]],
  () => [{}],
  () => Array(3),
  () => new Map([[CANARY, CANARY]]),
  () => new Set([CANARY]),
  () => new Uint8Array(8),
  () => new Float64Array([Number.NaN]),
  () => new ArrayBuffer(8),
  () => new String(CANARY),
  () => new Error(CANARY),
  () => /x/,
  () => Promise.resolve(CANARY),
  () => AbortSignal.abort(),
  () => new URL('https://example.com/a'),
  cyclic,
  cyclicList,
  () => nested(20_000, (value) => ({ value })),
  () => nested(20_000, (value) => [value]),
  () => nested(20_000, (content) => ({ role: 'user', type: 'text', content })),
  () => ({ toJSON: fail }),
  () => ({ toString: fail, valueOf: fail, [Symbol.toPrimitive]: fail }),
  () => ({ [Symbol.iterator]: fail, [Symbol.asyncIterator]: fail }),
  // biome-ignore lint/suspicious/noThenProperty: that is the case
  () => ({ then: fail }),
  () => ({ length: 3 }),
  () => Object.create({ role: 'user', content: CANARY, id: CANARY }),
  () => Object.create(null),
  () => JSON.parse(`{"__proto__":{"owner":"${CANARY}"},"constructor":{"prototype":1}}`),
  () => new Proxy({}, THROWING),
  () => new Proxy([], THROWING),
  () => revoked({}),
  () => revoked([]),
  () => guarded({}, ['role', 'content', 'type', 'id', 'name', 'text', 'then', 'length']),
]

/** Ways to spoil an object or a list that is right otherwise. */
const SPOILED: readonly ((value: object, key: string) => unknown)[] = [
  (value, key) => guarded(value, [key]),
  (value) => new Proxy(value, THROWING),
  (value) => revoked(value),
  // Readable at first: what checks it may pass, and what uses it afterwards may not.
  (value) => {
    let reads = 20
    return new Proxy(value, { get: (...given) => (--reads < 0 ? fail() : Reflect.get(...given)) })
  },
  (value) => ({ ...value, misspelt: CANARY }),
  (value) => Object.assign(new Instance(), value),
  (value) => Object.assign(Object.create({ owner: CANARY }), value),
  (value) => Object.assign(Object.create(null), value),
  (value) => Object.fromEntries(Object.entries(value).slice(1)),
  (value) => Object.fromEntries(Object.entries(value).map(([name]) => [name, undefined])),
  (value) =>
    JSON.parse('{"__proto__":{"owner":"x"}}', (_, inner) => inner) && { ...value, [key(value)]: null },
  (value) => Object.values(value),
  (value) => ({ 0: value, length: 1 }),
  (value) => [value, value],
]

function key(value: object): string {
  return Object.keys(value)[0] ?? 'x'
}

type Path = readonly (string | number)[]

function isWalkable(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
}

/** The places of the arguments and of what they hold, in order, down to a depth. */
function placesIn(value: unknown, depth = 5, path: Path = []): Path[] {
  const here = path.length === 0 ? [] : [path]
  if (!isWalkable(value) || depth === 0) return here
  return [
    ...here,
    ...Object.entries(value).flatMap(([name, inner]) => placesIn(inner, depth - 1, [...path, name])),
  ]
}

/** A copy of the arguments in which one place holds something else. */
function withAt(value: unknown, [name, ...rest]: Path, change: (old: unknown) => unknown): unknown {
  if (name === undefined) return change(value)
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<
    string,
    unknown
  >
  copy[name] = withAt(copy[name], rest, change)
  return copy
}

function spoilAt(args: readonly unknown[], place: Path, way: number): readonly unknown[] {
  const change = (old: unknown): unknown => {
    if (way < VALUES.length) return VALUES[way]!()
    return isWalkable(old) ? SPOILED[way - VALUES.length]!(old, key(old)) : VALUES[way % VALUES.length]!()
  }
  return withAt(args, place, change) as readonly unknown[]
}

/** One or two places by their numbers, and what is done to each. */
export const spoilings = fc.array(fc.tuple(fc.nat(), fc.nat({ max: VALUES.length + SPOILED.length - 1 })), {
  minLength: 1,
  maxLength: 2,
})
export type Spoilings = readonly (readonly [place: number, way: number])[]

/** The arguments with these places spoiled. Of two places one within the other, the first is. */
export function spoiled(args: readonly unknown[], given: Spoilings): readonly unknown[] {
  const places = placesIn(args)
  if (places.length === 0) return args
  const taken: Path[] = []
  return given.reduce((before, [number, way]) => {
    const place = places[number % places.length]!
    if (taken.some((other) => place.every((step, at) => other[at] === undefined || other[at] === step)))
      return before
    taken.push(place)
    return spoilAt(before, place, way)
  }, args)
}
