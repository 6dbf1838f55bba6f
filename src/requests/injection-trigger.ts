import { invalid } from '../errors.ts'

/*
 * When a rule of the injector fires: plain values, so that rules can be kept as JSON and written in a configuration.
 */

/** Deepest nesting of triggers: what is read from JSON must not run out of stack. */
const MAX_DEPTH = 32

/** When a rule fires. Exactly one key. */
export type InjectionTrigger =
  /** At turns 5, 10, 15 … for 5. Never at turn 0, and 0 never at all. */
  | { readonly everyNTurns: number }
  /** At this many tokens and above. */
  | { readonly onTokenThreshold: number }
  /** When each of them fires. */
  | { readonly allOf: readonly InjectionTrigger[] }
  /** When one of them fires. */
  | { readonly anyOf: readonly InjectionTrigger[] }
  /** When it does not fire. */
  | { readonly not: InjectionTrigger }

/** Fires at every n-th turn. 0 never fires. Source: seed 000, checklist S0-66, S0-U15. */
export function everyNTurns(n: number): InjectionTrigger {
  return checkTrigger({ everyNTurns: n })
}

/** Fires at `tokens` tokens and above. Source: seed 000, checklist S0-67. */
export function onTokenThreshold(tokens: number): InjectionTrigger {
  return checkTrigger({ onTokenThreshold: tokens })
}

/** Fires when each of the triggers does. */
export function allOf(...triggers: readonly InjectionTrigger[]): InjectionTrigger {
  return checkTrigger({ allOf: triggers })
}

/** Fires when one of the triggers does. */
export function anyOf(...triggers: readonly InjectionTrigger[]): InjectionTrigger {
  return checkTrigger({ anyOf: triggers })
}

/** Fires when the trigger does not. */
export function not(trigger: InjectionTrigger): InjectionTrigger {
  return checkTrigger({ not: trigger })
}

/** Whether a trigger fires. It knows nothing of earlier times: it fires again whenever it holds. Source: checklist S0-U15. */
export function fires(trigger: InjectionTrigger, turn: number, tokens: number): boolean {
  if ('everyNTurns' in trigger) return trigger.everyNTurns > 0 && turn > 0 && turn % trigger.everyNTurns === 0
  if ('onTokenThreshold' in trigger) return tokens >= trigger.onTokenThreshold
  if ('allOf' in trigger) return trigger.allOf.every((inner) => fires(inner, turn, tokens))
  if ('anyOf' in trigger) return trigger.anyOf.some((inner) => fires(inner, turn, tokens))
  return !fires(trigger.not, turn, tokens)
}

/** A copy of what is a trigger, that nobody can change any more. Throws `INVALID_INPUT`. */
export function checkTrigger(value: unknown, depth = 0): InjectionTrigger {
  if (depth > MAX_DEPTH) throw invalid(`trigger: nested deeper than ${MAX_DEPTH}`)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('trigger: must be an object')
  const [name, ...more] = Object.keys(value)
  if (name === undefined || more.length > 0) throw invalid('trigger: must have exactly one key')
  const given = (value as { readonly [key: string]: unknown })[name]
  switch (name) {
    case 'everyNTurns':
      return Object.freeze({ everyNTurns: whole(given, name) })
    case 'onTokenThreshold':
      return Object.freeze({ onTokenThreshold: whole(given, name) })
    case 'allOf':
      return Object.freeze({ allOf: several(given, name, depth) })
    case 'anyOf':
      return Object.freeze({ anyOf: several(given, name, depth) })
    case 'not':
      return Object.freeze({ not: checkTrigger(given, depth + 1) })
    default:
      throw invalid('trigger: must be everyNTurns, onTokenThreshold, allOf, anyOf or not')
  }
}

function whole(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw invalid(`trigger: ${name} must be a whole number, 0 or more`)
  return value
}

function several(value: unknown, name: string, depth: number): readonly InjectionTrigger[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid(`trigger: ${name} must name at least one trigger`)
  return Object.freeze(value.map((inner) => checkTrigger(inner, depth + 1)))
}
