import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { check, readable } from '../core/messages/check.ts'

/* Triggers are plain values, so that rules can be stored as JSON and written in a configuration. */

/** Maximum nesting of triggers, so that one from JSON can't exhaust the stack. */
const MAX_DEPTH = 32

/** The condition of a rule. Exactly one key. */
export type InjectionTrigger =
  /** Fires every n turns: for 5, at turns 5, 10, 15 … For 0: never. */
  | { readonly everyNTurns: number }
  /** Fires at this many tokens or more. */
  | { readonly onTokenThreshold: number }
  /** Fires if all of them fire. */
  | { readonly allOf: readonly InjectionTrigger[] }
  /** Fires if any of them fires. */
  | { readonly anyOf: readonly InjectionTrigger[] }
  /** Fires if it doesn't fire. */
  | { readonly not: InjectionTrigger }

/** Returns a trigger that fires at every n-th turn. 0 never fires. */
export function everyNTurns(n: number): InjectionTrigger {
  return checkTrigger({ everyNTurns: n })
}

/** Returns a trigger that fires at `tokens` tokens or more. */
export function onTokenThreshold(tokens: number): InjectionTrigger {
  return checkTrigger({ onTokenThreshold: tokens })
}

/** Returns a trigger that fires if all of the given ones fire. */
export function allOf(...triggers: readonly InjectionTrigger[]): InjectionTrigger {
  return checkTrigger({ allOf: triggers })
}

/** Returns a trigger that fires if any of the given ones fires. */
export function anyOf(...triggers: readonly InjectionTrigger[]): InjectionTrigger {
  return checkTrigger({ anyOf: triggers })
}

/** Returns a trigger that fires if the given one doesn't fire. */
export function not(trigger: InjectionTrigger): InjectionTrigger {
  return checkTrigger({ not: trigger })
}

/** Whether a trigger fires. Triggers have no state: they fire whenever their condition holds. */
function fires(trigger: InjectionTrigger, turn: number, tokens: number): boolean {
  if ('everyNTurns' in trigger) return trigger.everyNTurns > 0 && turn > 0 && turn % trigger.everyNTurns === 0
  if ('onTokenThreshold' in trigger) return tokens >= trigger.onTokenThreshold
  if ('allOf' in trigger) return trigger.allOf.every((inner) => fires(inner, turn, tokens))
  if ('anyOf' in trigger) return trigger.anyOf.some((inner) => fires(inner, turn, tokens))
  return !fires(trigger.not, turn, tokens)
}

/** Returns a frozen copy of a trigger. Throws `INVALID_INPUT`. */
function checkTrigger(value: unknown): InjectionTrigger {
  return readable('trigger', () => triggerAt(value, 0))
}

function triggerAt(value: unknown, depth: number): InjectionTrigger {
  if (depth > MAX_DEPTH) throw invalid(`trigger: nested deeper than ${MAX_DEPTH}`)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('trigger: must be an object')
  const [name, ...more] = Object.keys(value)
  if (name === undefined || more.length > 0) throw invalid('trigger: must have exactly one key')
  const read = Object.hasOwn(READERS, name) ? READERS[name as keyof typeof READERS] : undefined
  if (read === undefined) throw invalid('trigger: must be everyNTurns, onTokenThreshold, allOf, anyOf or not')
  const given = (value as { readonly [key: string]: unknown })[name]
  return Object.freeze({ [name]: read(given, name, depth) }) as InjectionTrigger
}

const READERS = {
  everyNTurns: whole,
  onTokenThreshold: whole,
  allOf: several,
  anyOf: several,
  not: (inner: unknown, _name: string, depth: number) => triggerAt(inner, depth + 1),
}

function whole(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw invalid(`trigger: ${name} must be a whole number, 0 or more`)
  return value
}

function several(value: unknown, name: string, depth: number): readonly InjectionTrigger[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid(`trigger: ${name} must contain at least one trigger`)
  return Object.freeze(value.map((inner) => triggerAt(inner, depth + 1)))
}

/** A text and the condition for adding it to a request. */
export type InjectionRule = { readonly trigger: InjectionTrigger; readonly content: string }

const rulesSchema = z.strictObject({
  rules: z.array(z.strictObject({ trigger: z.unknown(), content: z.string() })),
})

/**
 * Texts for the system prompt of single requests: reminders, and instructions under conditions. They are never stored as history. Can be
 * used without a store; `beforeTurn` accepts one as `injector`.
 */
export class SystemInjector {
  readonly #rules: InjectionRule[] = []

  /** Adds a rule after the others. Returns the injector, so that calls can be chained. Throws `INVALID_INPUT`. */
  addRule(trigger: InjectionTrigger, content: string): this {
    if (typeof content !== 'string') throw invalid('addRule: content must be a string')
    this.#rules.push({ trigger: checkTrigger(trigger), content })
    return this
  }

  /**
   * Returns the texts of the rules that fire at this turn (0, 1, 2 …) with this many tokens in the context, in the order in which they were
   * added. A rule fires at every check at which its condition holds. Throws `INVALID_INPUT`.
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

  /** Returns the rules as plain values: `JSON.stringify` calls this method, and `SystemInjector.from` reads its result. */
  toJSON(): { readonly rules: readonly InjectionRule[] } {
    return { rules: [...this.#rules] }
  }

  /** Creates an injector from the result of `toJSON`. Throws `INVALID_INPUT`. */
  static from(json: unknown): SystemInjector {
    const injector = new SystemInjector()
    const { rules } = check(rulesSchema, json, 'SystemInjector.from')
    for (const { trigger, content } of rules) injector.addRule(trigger as InjectionTrigger, content)
    return injector
  }
}

const sectionSchema = z.strictObject({
  /** The heading. */
  label: z.string(),
  content: z.string(),
  /** Sections are sorted by this number, lowest first. */
  priority: z.number(),
})

const sectionsSchema = z.strictObject({ sections: z.array(sectionSchema) })

/** A section of a system prompt, for example a role, rules or domain knowledge. */
export type ContextSection = Readonly<z.output<typeof sectionSchema>>

/**
 * A system prompt made of sections. It isn't part of the history, so no compaction changes it. To store it with a session, put the result
 * of `toJSON` into the session's metadata.
 */
export class PersistentContext {
  readonly #sections: ContextSection[] = []

  /** Adds a section. Labels may repeat. Returns the context, so that calls can be chained. Throws `INVALID_INPUT`. */
  addSection(section: ContextSection): this {
    this.#sections.push(check(sectionSchema, section, 'addSection'))
    return this
  }

  /**
   * Returns the sections as one text, lowest priority number first, equal ones in the order they were added: `## label`, a line break, the
   * content, with a blank line between sections. Empty without sections.
   */
  render(): string {
    return [...this.#sections]
      .sort((a, b) => a.priority - b.priority)
      .map(({ label, content }) => `## ${label}\n${content}`)
      .join('\n\n')
  }

  /** Returns the sections as plain values, in the order they were added. */
  toJSON(): { readonly sections: readonly ContextSection[] } {
    return { sections: this.#sections.map((section) => ({ ...section })) }
  }

  /** Creates a context from the result of `toJSON`. Throws `INVALID_INPUT`. */
  static from(json: unknown): PersistentContext {
    const context = new PersistentContext()
    for (const section of check(sectionsSchema, json, 'PersistentContext.from').sections)
      context.addSection(section)
    return context
  }
}
