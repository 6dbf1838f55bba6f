import { check } from '../core/check.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { Session, SessionFields } from '../storage/storage.ts'
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

  /** What a session does not say yet of itself; `undefined` where it says it all. What it says stays: it may have been given here. */
  newTo({ title, provider, model, metadata }: Session, source: string): SessionFields | undefined {
    const told = this.#fields
    const isSameProvider = provider === undefined || provider === told.provider
    const there = metadata?.[source] ?? {}
    const isMore = isObject(there) && Object.keys(this.#metadata).some((name) => !Object.hasOwn(there, name))
    const fields: SessionFields = {
      ...(title === undefined && told.title !== undefined && { title: told.title }),
      ...(model === undefined && isSameProvider && modelFields(told)),
      ...(isMore && { metadata: { ...metadata, [source]: { ...this.#metadata, ...there } } }),
    }
    return Object.keys(fields).length === 0 ? undefined : fields
  }
}

function modelFields({ provider, model }: SessionFields): SessionFields {
  if (model === undefined) return {}
  return { model, ...(provider !== undefined && { provider }) }
}
