import { z } from 'zod'
import { invalid } from '../errors.ts'
import { check } from '../messages/check.ts'
import { checkTrigger, fires, type InjectionTrigger } from './injection-trigger.ts'

/** When a text is to stand in a request, and the text. */
export type InjectionRule = { readonly trigger: InjectionTrigger; readonly content: string }

const rulesSchema = z.strictObject({
  rules: z.array(z.strictObject({ trigger: z.unknown(), content: z.string() })),
})

/**
 * Texts for the system prompt of single requests: reminders, and instructions that hold only under conditions. They are
 * never stored as history. Usable without a store; `beforeTurn` takes one. Source: seed 000, checklist S0-64 to S0-70.
 */
export class SystemInjector {
  readonly #rules: InjectionRule[] = []

  /** Adds a rule behind the others. Answers the injector, so that calls can be chained. Throws `INVALID_INPUT`. */
  addRule(trigger: InjectionTrigger, content: string): this {
    if (typeof content !== 'string') throw invalid('addRule: content must be a text')
    this.#rules.push({ trigger: checkTrigger(trigger), content })
    return this
  }

  /**
   * The texts whose rules fire at this turn (0, 1, 2 …) and with this many tokens in the context, in the order the rules
   * were added. A rule has no memory: it fires again at every check at which it holds. Throws `INVALID_INPUT`.
   */
  check(turnNumber: number, tokenCount: number): string[] {
    if (!Number.isSafeInteger(turnNumber) || turnNumber < 0)
      throw invalid('check: turnNumber must be a whole number, 0 or more')
    if (typeof tokenCount !== 'number' || !(tokenCount >= 0))
      throw invalid('check: tokenCount must be a number, 0 or more')
    return this.#rules
      .filter(({ trigger }) => fires(trigger, turnNumber, tokenCount))
      .map(({ content }) => content)
  }

  /** The rules as plain values: `JSON.stringify` calls it, and `SystemInjector.from` reads it. */
  toJSON(): { readonly rules: readonly InjectionRule[] } {
    return { rules: [...this.#rules] }
  }

  /** An injector with the rules that `toJSON` gave. Throws `INVALID_INPUT`. */
  static from(json: unknown): SystemInjector {
    const injector = new SystemInjector()
    const { rules } = check(rulesSchema, json, 'SystemInjector.from')
    for (const { trigger, content } of rules) injector.addRule(trigger as InjectionTrigger, content)
    return injector
  }
}
