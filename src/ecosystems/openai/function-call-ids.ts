/**
 * Ids for calls of the old kind (`function_call`), which have none: made of the function's name. The first of a name is
 * called after it alone, so that its answer is also found in another batch.
 */
export class FunctionCallIds {
  readonly #counts = new Map<string, number>()

  /** The id of one more call. */
  next(name: string): string {
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    return idOf(name, count)
  }

  /** The id of the newest call, which an answer of that name belongs to. */
  newest(name: string): string {
    return idOf(name, this.#counts.get(name) ?? 1)
  }
}

function idOf(name: string, count: number): string {
  return `function_call_${name}${count === 1 ? '' : `_${count}`}`
}
