import { headOf } from '../messages/characters.ts'
import { isStorableText, MAX_NAME_LENGTH } from '../messages/check.ts'
import type { SummaryRecord } from '../storage/storage.ts'
import type { SummaryAnswer, SummaryUsage } from '../summarizers/summarizer.ts'

const USAGE_FIELDS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheCreationTokens'] as const

/**
 * What the answers for one summary cost, together: a long range takes several, and those that were paid count also when a later
 * one fails. Takes from an answer only known fields of the right kind: a summarizer may say anything.
 */
export class Bill {
  readonly #usage: { -readonly [F in keyof SummaryUsage]: number } = {}
  #cost: number | undefined
  #model: string | undefined
  #promptVersion: string | undefined
  readonly #onAnswer: ((record: Omit<SummaryRecord, 'summarizer'>) => unknown) | undefined

  /** `onAnswer` is called after each answer, with what is noted of all of them so far; `add` answers what it does. */
  constructor(onAnswer?: (record: Omit<SummaryRecord, 'summarizer'>) => unknown) {
    this.#onAnswer = onAnswer
  }

  add(answer: SummaryAnswer | undefined): unknown {
    if (typeof answer !== 'object' || answer === null) return undefined
    for (const field of USAGE_FIELDS) {
      const count = amount(answer.usage?.[field])
      if (count !== undefined) this.#usage[field] = (this.#usage[field] ?? 0) + count
    }
    const cost = amount(answer.cost)
    if (cost !== undefined) this.#cost = (this.#cost ?? 0) + cost
    this.#model = label(answer.model) ?? this.#model
    this.#promptVersion = label(answer.promptVersion) ?? this.#promptVersion
    return this.#onAnswer?.(this.record())
  }

  /** One answer that stands for all of them. */
  total(text: string): SummaryAnswer {
    const { usage, cost, model, promptVersion } = this.record()
    return {
      text,
      ...(usage !== undefined && { usage }),
      ...(cost !== undefined && { cost }),
      ...(model !== undefined && { model }),
      ...(promptVersion !== undefined && { promptVersion }),
    }
  }

  /** What is noted of them. */
  record(): Omit<SummaryRecord, 'summarizer'> {
    return {
      model: this.#model,
      promptVersion: this.#promptVersion,
      usage: Object.keys(this.#usage).length === 0 ? undefined : { ...this.#usage },
      cost: this.#cost,
    }
  }
}

function amount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

function label(value: unknown): string | undefined {
  return typeof value === 'string' && isStorableText(value) ? headOf(value, MAX_NAME_LENGTH) : undefined
}
