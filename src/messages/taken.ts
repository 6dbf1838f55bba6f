/**
 * A copy of an argument that the caller can no longer change: plain lists, plain objects and bytes are copied all the way down; anything else
 * (functions, signals, instances of classes) is the same.
 */
export function taken<T>(value: T): T {
  const copies = new Map<object, object>()
  const copy = copyOf(value, copies)
  // A map goes on to what is added to it meanwhile: no depth is too deep.
  for (const [original, own] of copies) {
    for (const [key, entry] of Object.entries(original)) {
      const part = { value: copyOf(entry, copies), writable: true, enumerable: true, configurable: true }
      Object.defineProperty(own, key, part)
    }
  }
  return copy
}

function copyOf<T>(value: T, copies: Map<object, object>): T {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return value.slice() as T
  if (!isPlain(value)) return value
  const known = copies.get(value)
  if (known !== undefined) return known as T
  const copy = Array.isArray(value) ? [] : Object.create(Object.getPrototypeOf(value))
  copies.set(value, copy)
  return copy
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
