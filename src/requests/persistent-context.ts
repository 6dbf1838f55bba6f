import { z } from 'zod'
import { check } from '../messages/check.ts'

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
