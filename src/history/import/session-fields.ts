import { check } from '../../messages/check.ts'
import { isObject, type JsonObject } from '../../messages/json.ts'
import type { Session, SessionFields } from '../../storage/storage.ts'
import type { FieldsEvent } from './import-event.ts'
import { fieldsEventSchema } from './import-types.ts'
import { labelOf } from './label-of.ts'

/** What is told of a conversation on the way: the last word counts, metadata is put together. */
export class ToldFields {
  #fields: { title?: string; provider?: string; model?: string } = {}
  #metadata: JsonObject = {}
  #createdAt: number | undefined
  readonly #formerTitles = new Set<string | undefined>()

  /** Throws `INVALID_INPUT`. */
  add(event: FieldsEvent): void {
    const { title, formerTitles, provider, model, createdAt, metadata } = check(
      fieldsEventSchema,
      event,
      'fields',
    )
    for (const former of formerTitles ?? []) this.#formerTitles.add(labelOf(former))
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

  /**
   * What a session does not say yet of itself; `undefined` where it says it all. What it says stays, for it may have been given here; a
   * title that came from the source follows the source.
   */
  newTo({ title, provider, model, metadata }: Session, source: string): SessionFields | undefined {
    const told = this.#fields
    const isFree = title === undefined || this.#formerTitles.has(title)
    const isSameProvider = provider === undefined || provider === told.provider
    const there = metadata?.[source] ?? {}
    const isMore = isObject(there) && Object.keys(this.#metadata).some((name) => !Object.hasOwn(there, name))
    const fields: SessionFields = {
      ...(isFree && told.title !== undefined && told.title !== title && { title: told.title }),
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
