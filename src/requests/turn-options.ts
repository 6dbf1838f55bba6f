import { z } from 'zod'
import { frozenCopy, readCall } from '../config/read-settings.ts'
import type { CompactOptions } from '../config/store-options.ts'
import { invalid, isUndertextError } from '../errors.ts'
import { check, labelSchema, nameSchema, shareSchema } from '../messages/check.ts'
import type { NewMessage } from '../messages/message.ts'
import { requestSchema } from '../tokens/budget.ts'
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

const sectionSchema = z.strictObject({
  /** Stands in the heading. */
  label: z.string(),
  content: z.string(),
  /** The lowest number stands first. */
  priority: z.number(),
})
const sectionsSchema = z.strictObject({ sections: z.array(sectionSchema) })

/** One source of a system prompt: a role, rules, knowledge of a field. */
export type ContextSection = Readonly<z.output<typeof sectionSchema>>

/**
 * A system prompt made of sections. It is no part of the history, so no compaction touches it; to keep it with a session,
 * put what `toJSON` gives into the session's metadata. Source: seed 000, checklist S0-71 to S0-76.
 */
export class PersistentContext {
  readonly #sections: ContextSection[] = []

  /** Adds a section. Labels may repeat. Answers the context, so that calls can be chained. Throws `INVALID_INPUT`. */
  addSection(section: ContextSection): this {
    this.#sections.push(check(sectionSchema, section, 'addSection'))
    return this
  }

  /**
   * The sections as one text, lowest priority number first, equal ones in the order they were added: `## label`, a line
   * break, the content; a blank line between two. Empty without sections.
   */
  render(): string {
    return [...this.#sections]
      .sort((a, b) => a.priority - b.priority)
      .map(({ label, content }) => `## ${label}\n${content}`)
      .join('\n\n')
  }

  /** The sections as plain values, in the order they were added. */
  toJSON(): { readonly sections: readonly ContextSection[] } {
    return { sections: this.#sections.map((section) => ({ ...section })) }
  }

  /** A context with the sections that `toJSON` gave. Throws `INVALID_INPUT`. */
  static from(json: unknown): PersistentContext {
    const context = new PersistentContext()
    for (const section of check(sectionsSchema, json, 'PersistentContext.from').sections)
      context.addSection(section)
    return context
  }
}

/** What `compactSession` takes, checked as it checks it, so that a mistake is told at the first turn and not at the first run. */
const compactionSchema = z.custom<CompactOptions>().superRefine((value, context) => {
  try {
    readCall(value, 'compaction')
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    context.addIssue({ code: 'custom', message: error.facts.problems })
  }
})

const turnSchema = {
  /** Whose figures count. Default: the session's own, else "openai". */
  provider: nameSchema.optional(),
  model: nameSchema.optional(),
  ...requestSchema.shape,
  /** Most tokens of input, whatever the window leaves (seed 004's `context_window_target`); 0 for no such limit. Default: the setting. */
  contextWindowTarget: z.int().nonnegative().optional(),
  /** Whether the history is compacted when it is due. Default: the setting, which is true by default. */
  auto: z.boolean().optional(),
  /** Further settings of that compaction, as `compactSession` takes them. */
  compaction: compactionSchema.transform((options): CompactOptions => frozenCopy(options)).optional(),
}

const injectorSchema = z.custom<Pick<SystemInjector, 'check'>>(
  (value) => typeof (value as Partial<SystemInjector> | null)?.check === 'function',
  'must be a SystemInjector',
)
const contextSchema = z.custom<Pick<PersistentContext, 'render'>>(
  (value) => typeof (value as Partial<PersistentContext> | null)?.render === 'function',
  'must be a PersistentContext',
)

/** What `beforeTurn` can be told. */
export const beforeTurnSchema = z
  .strictObject({
    ...turnSchema,
    /** Usage at which compaction is due, as a share. Default: the setting, 0.8 by default. */
    threshold: shareSchema.optional(),
    /** Levels to warn of, as shares; an empty list warns of nothing. Default: the setting, 0.6 and 0.8 by default. */
    warningLevels: z.array(z.number().gt(0).max(1)).max(20).readonly().optional(),
    /** Its texts stand at the end of the system prompt of this one request. */
    injector: injectorSchema.optional(),
    /** The turn that is about to begin, for the injector: 1, 2, 3 … */
    turnNumber: z.int().nonnegative().optional(),
    /** Its sections stand in the system prompt, behind `systemPrompt`. */
    persistentContext: contextSchema.optional(),
  })
  .refine(({ injector, turnNumber }) => injector === undefined || turnNumber !== undefined, {
    path: ['turnNumber'],
    message: 'is needed with an injector',
  })

/** What `afterTurn` can be told. */
export const afterTurnSchema = z.strictObject({
  ...turnSchema,
  /** Usage at which compaction is due, as a share. Default: the setting, 0.8 by default. */
  threshold: shareSchema.optional(),
  /** What the model answered, to be appended first. Leave it out when it was appended already. */
  messages: z.custom<readonly NewMessage[]>((value) => Array.isArray(value), 'must be a list').optional(),
  /** Why the answer ended, in the provider's words. */
  stopReason: labelSchema.optional(),
})

export type BeforeTurnOptions = z.input<typeof beforeTurnSchema>
export type AfterTurnOptions = z.input<typeof afterTurnSchema>
export type CheckedBefore = z.output<typeof beforeTurnSchema>
export type CheckedAfter = z.output<typeof afterTurnSchema>
