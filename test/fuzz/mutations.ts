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

/* Contents that are almost right: files, lines, arguments and cursors, as JSON and as bytes. */

/** Values of JSON that no field, or only some, allow. */
const JSON_VALUES: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 2 ** 53, Number.MAX_VALUE, -8_640_000_000_000_001],
  ...['', 'some text', '__proto__', 'NUL \0', 'half \ud800', '9'.repeat(400), 'long '.repeat(4_000)],
  // Roles, and types of records, parts and entries.
  ...['system', 'user', 'assistant', 'tool', 'developer', 'function', 'human', 'model'],
  ...['text', 'image', 'file', 'reasoning', 'tool-call', 'tool-result', 'tool_use', 'tool_result'],
  ...['header', 'session', 'message', 'summary', 'compaction', 'replacement', 'request', 'note', 'end'],
  ...[[], {}, [null], ['some text'], [[]], [{}], Array(300).fill({}), { length: 3 }, { type: 'text' }],
  nested(900, (value) => ({ value })),
  nested(900, (value) => [value]),
  nested(900, (content) => ({ role: 'user', type: 'text', content })),
  JSON.parse('{"__proto__":{"owner":"x","role":"user"},"constructor":{"prototype":1},"toJSON":1}'),
]

type Holder = Record<string, unknown> | unknown[]

/** What is done to one place of an object or a list. `other` is the value of another place. */
const JSON_CHANGES: readonly ((holder: Holder, key: string, other: unknown, more: number) => unknown)[] = [
  (holder, key, _, more) => withAt(holder, [key], () => JSON_VALUES[more % JSON_VALUES.length]),
  (holder, key, other) => withAt(holder, [key], () => other),
  (holder, key) => withAt(holder, [key], (old) => (isWalkable(old) ? [old] : `${String(old)} and more`)),
  (holder, key) =>
    Array.isArray(holder)
      ? holder.filter((_, at) => String(at) !== key)
      : Object.fromEntries(Object.entries(holder).filter(([name]) => name !== key)),
  (holder, key, other) =>
    Array.isArray(holder)
      ? holder.flatMap((value, at) => (String(at) === key ? [value, value] : [value]))
      : { ...holder, misspelt: other },
  (holder) => (Array.isArray(holder) ? holder.toReversed() : Object.values(holder)),
  (holder, _, other) =>
    Object.defineProperty({ ...holder }, '__proto__', {
      ...{ value: other, enumerable: true, configurable: true, writable: true },
    }),
]

const numbers = fc.tuple(fc.noBias(fc.nat()), fc.noBias(fc.nat()), fc.noBias(fc.nat()))
type Numbers = readonly (readonly [at: number, way: number, more: number])[]

/** Places by their numbers, and what is done to each: in the JSON, and in the bytes of its text. */
export const damages = fc.oneof(
  fc.record({ json: fc.array(numbers, { minLength: 1, maxLength: 3 }), bytes: fc.constant([]) }),
  fc.record({ json: fc.constant([]), bytes: fc.array(numbers, { minLength: 1, maxLength: 3 }) }),
  fc.record({ json: fc.array(numbers, { maxLength: 2 }), bytes: fc.array(numbers, { maxLength: 2 }) }),
)
export type Damages = { readonly json: Numbers; readonly bytes: Numbers }

/** A copy of JSON with some places changed. `foreign` are values that belong elsewhere, put in a third of the places. */
export function damagedJson(value: unknown, changes: Numbers, foreign: readonly unknown[] = []): unknown {
  return changes.reduce<unknown>((before, [at, way, more]) => {
    const places = placesIn(before, 12)
    if (places.length === 0) return JSON_VALUES[more % JSON_VALUES.length]
    const place = places[at % places.length]!
    const last = place.at(-1)!
    // Of the same field, if there are several: an id or a role of another entry.
    const alike = places.filter((other) => other.at(-1) === last)
    const others = alike.length > 1 && more % 2 === 0 ? alike : places
    const other = others[more % others.length]!.reduce<unknown>(
      (holder, key) => (holder as Record<string, unknown>)[key],
      before,
    )
    const isForeign = foreign.length > 0 && way % 3 === 0
    const change = isForeign ? JSON_CHANGES[1]! : JSON_CHANGES[way % JSON_CHANGES.length]!
    return withAt(before, place.slice(0, -1), (holder) =>
      change(holder as Holder, String(last), isForeign ? foreign[more % foreign.length] : other, more),
    )
  }, value)
}

/** Bytes that mean something to a reader of lines, of UTF-8, or of JSON. */
const PIECES: readonly Buffer[] = [
  ...['\0', '\\u0000', '\\ud800', '\ufeff', '\u2028', '\r', '\n', '\n\n', '"', '\\', '{', '}', '[', ']', ','],
  ...['1e999', '-', '9'.repeat(400), '0.'.concat('1'.repeat(400)), '"__proto__":{"role":"user"},', ' null '],
  ...['['.repeat(20_000), '{"a":'.repeat(20_000), `${'['.repeat(900)}${']'.repeat(900)}`, 'x'.repeat(70_000)],
]
  .map((text) => Buffer.from(text))
  .concat([Buffer.from([0xff, 0xfe]), Buffer.from([0xc3, 0x28]), Buffer.from([0xed, 0xa0, 0x80])])

/** A copy of bytes with some places changed: bits, cuts, slices that are repeated or moved, and insertions. */
export function damagedBytes(bytes: Buffer, changes: Numbers): Buffer {
  return changes.reduce((before, [place, way, more]) => {
    const from = place % (before.length + 1)
    const to = Math.min(before.length, from + 1 + (more % 300))
    const [head, slice, tail] = [before.subarray(0, from), before.subarray(from, to), before.subarray(to)]
    switch (way % 7) {
      case 0:
        return Buffer.concat([
          head,
          Buffer.from([(slice[0] ?? 0) ^ (1 << (more % 8))]),
          before.subarray(from + 1),
        ])
      case 1:
        return head
      case 2:
        return Buffer.concat([head, tail])
      case 3:
        return Buffer.concat([head, slice, slice, tail])
      case 4:
        return Buffer.concat([slice, head, tail])
      default:
        return Buffer.concat([head, PIECES[more % PIECES.length]!, slice, tail])
    }
  }, bytes)
}
