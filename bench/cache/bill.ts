/*
 * What a provider bills for the input of a row of requests. The cache holds the request before, and serves the longest common
 * beginning, byte by byte. Prices in tokens of plain input. Source of the prices: Anthropic's page on prompt caching; others
 * charge nothing for writing.
 */
export const READ_PRICE = 0.1
export const WRITE_PRICE = 1.25

/** Sums over requests, tokens of plain input. */
export type Bill = {
  requests: number
  /** Every token at its full price. */
  plain: number
  /** What the cache served at 0.1, the rest written at 1.25. */
  written: number
  /** What the cache served at 0.1, the rest at its full price. */
  free: number
}

export type Sent = { readonly json: string; readonly bytes: Buffer; readonly tokens: number }

/** Adds up requests, one after the other. */
export class Meter {
  readonly bill: Bill = { requests: 0, plain: 0, written: 0, free: 0 }
  #last: readonly Sent[] = []
  readonly #tokensIn: (text: string) => number
  readonly #known: Map<string, Sent>

  /** `tokensIn` counts a text; `known`: what was measured already, shared by meters so that a message is measured once. */
  constructor(tokensIn: (text: string) => number, known: Map<string, Sent> = new Map()) {
    this.#tokensIn = tokensIn
    this.#known = known
  }

  /** A request by its messages, as they are sent. */
  add(messages: readonly object[]): void {
    const sent = messages.map((message) => this.#sent(JSON.stringify(message)))
    let served = 0
    let at = 0
    while (at < sent.length && sent[at] === this.#last[at]) served += sent[at++]!.tokens
    const [next, before] = [sent[at], this.#last[at]]
    if (next !== undefined && before !== undefined)
      served += Math.floor((next.tokens * commonBytes(next.bytes, before.bytes)) / next.bytes.length)
    const total = sent.reduce((sum, { tokens }) => sum + tokens, 0)
    this.#last = sent
    this.bill.requests += 1
    this.bill.plain += total
    this.bill.written += READ_PRICE * served + WRITE_PRICE * (total - served)
    this.bill.free += READ_PRICE * served + (total - served)
  }

  /** Equal messages are one object. */
  #sent(json: string): Sent {
    const known = this.#known.get(json)
    if (known !== undefined) return known
    const sent = { json, bytes: Buffer.from(json), tokens: this.#tokensIn(json) }
    this.#known.set(json, sent)
    return sent
  }
}

function commonBytes(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length)
  let at = 0
  while (at < most && a[at] === b[at]) at++
  return at
}
