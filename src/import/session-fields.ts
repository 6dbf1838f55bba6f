import { check } from '../core/check.ts'
import type { JsonObject } from '../core/json.ts'
import type { SessionFields } from '../storage/storage.ts'
import type { FieldsEvent } from './import-event.ts'
import { fieldsEventSchema } from './import-types.ts'
import { labelOf } from './label-of.ts'

/** What is told of a conversation on the way: the last word counts, metadata is put together. */
export class ToldFields {
  #fields: { title?: string; provider?: string; model?: string } = {}
  #metadata: JsonObject = {}
  #createdAt: number | undefined

  /** Throws `INVALID_INPUT`. */
  add(event: FieldsEvent): void {
    const { title, provider, model, createdAt, metadata } = check(fieldsEventSchema, event, 'fields')
    const labels = { title: labelOf(title), provider: labelOf(provider), model: labelOf(model) }
    for (const [name, label] of Object.entries(labels))
      if (label !== undefined) this.#fields = { ...this.#fields, [name]: label }
    this.#metadata = { ...this.#metadata, ...metadata }
    if (createdAt !== undefined && Number.isSafeInteger(createdAt) && createdAt >= 0)
      this.#createdAt = createdAt
  }

  get createdAt(): number | undefined {
    return this.#createdAt
  }

  /** As fields of a session; its metadata under the source's name. */
  fieldsFor(source: string): SessionFields {
    const isEmpty = Object.keys(this.#metadata).length === 0
    return { ...this.#fields, ...(!isEmpty && { metadata: { [source]: this.#metadata } }) }
  }
}
