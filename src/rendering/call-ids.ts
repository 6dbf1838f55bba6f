import { CALL_ID_FORMS, type CallIdRule, wantsUniqueIds } from '../tokens/providers.ts'

/**
 * Gives out ids of calls a provider accepts: the call's own where that will do, else one made of it. What an id
 * becomes depends on the calls before it only, so that a longer history keeps the ids of a shorter one.
 */
export class CallIds {
  readonly #rule: CallIdRule
  readonly #taken = new Set<string>()
  /** How many ids were made on each stem. One count for all ids of a stem keeps the whole linear. */
  readonly #made = new Map<string, number>()

  constructor(rule: CallIdRule) {
    this.#rule = rule
  }

  /** The id for the next call. */
  next(id: string): string {
    if (this.#rule === 'any') return id
    const fits = CALL_ID_FORMS[this.#rule].test(id)
    const fitting = fits ? id : fitted(id, this.#rule)
    const chosen = this.#taken.has(fitting) ? this.#another(fitting, this.#rule) : fitting
    // Where ids may repeat, only one that was made must not be another's.
    if (!fits || wantsUniqueIds(this.#rule)) this.#taken.add(chosen)
    return chosen
  }

  #another(id: string, rule: Exclude<CallIdRule, 'any'>): string {
    const stem = id.slice(0, STEM_LENGTHS[rule])
    for (let n = (this.#made.get(stem) ?? 1) + 1; ; n++) {
      const candidate = rule === 'nine' ? `${stem}${n.toString(36).padStart(5, '0')}` : `${stem}_${n}`
      if (this.#taken.has(candidate)) continue
      this.#made.set(stem, n)
      return candidate
    }
  }
}

/** How much of an id stays when it gets a number. */
const STEM_LENGTHS: { readonly [R in Exclude<CallIdRule, 'any'>]: number } = { words: 50, nine: 4, short: 30 }

/** An id of the form a rule wants, made of what the id has; ends are kept, since ids differ at their ends. */
function fitted(id: string, rule: Exclude<CallIdRule, 'any'>): string {
  if (rule === 'nine')
    return id
      .replace(/[^a-zA-Z0-9]/g, '')
      .slice(-9)
      .padStart(9, '0')
  return id.replace(/[^a-zA-Z0-9_-]/g, '_').slice(rule === 'short' ? -40 : -64) || 'call'
}
