/**
 * How far a wording can be trusted. `certain`: nobody says this of anything else. `likely`: holds unless the error
 * looks like a rate limit, a bill, a login, a timeout or a limit of the answer. `loose`: words many errors contain;
 * holds only where nothing at all speaks against it.
 */
type Trust = 'certain' | 'likely' | 'loose'

export type Wording = {
  /** Who says it; `null` when many do. */
  readonly provider: string | null
  readonly trust: Trust
  /** Compared with a text of `normalizeText`. */
  readonly pattern: RegExp
  /**
   * What must stand beside it besides. `tokens`: tokens that are words. `size`: a hint at tokens or length, and nothing of a
   * rate; then no status and no code speaks against it.
   */
  readonly needs?: 'tokens' | 'size'
  /** A sample, for people and for the page of the documentation. */
  readonly sample: string
  /** Who else says it: `compatible` are all that speak OpenAI's protocol. A hint decides among these. */
  readonly also?: 'anyone' | 'compatible' | readonly string[]
}

/** Providers with a protocol of their own, whose name a wording of OpenAI's protocol never means. */
export const OWN_PROTOCOLS: readonly string[] = ['anthropic', 'cohere', 'google', 'mistral', 'vertex']
