/** Bytes in chunks of the sizes given, over and over. */
export async function* chunked(
  bytes: Uint8Array | string,
  sizes: readonly number[] = [1_000_000],
): AsyncGenerator<Uint8Array, void, undefined> {
  const whole = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
  for (let from = 0, i = 0; from < whole.length; i++) {
    const size = sizes[i % sizes.length]!
    yield whole.subarray(from, from + size)
    from += size
  }
}

export async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const value of values) list.push(value)
  return list
}
