import { z } from 'zod'
import { filledText, isObject } from '../../../core/messages/json.ts'
import { isSilent, type NewMessage } from '../../../core/messages/message.ts'
import { readUsage } from '../../../core/tokens/provider-usage.ts'
import type { Session, Storage } from '../../../storage/storage.ts'
import type { ChosenModel } from '../../config/model.ts'

/*
 * Usage in imported conversations. It shows what was billed, how large the requests really were, and so what a request contains besides its
 * messages: an imported conversation has figures before its first request here.
 */

const countSchema = z.int().nonnegative()

export const importedUsageSchema = z.strictObject({
  inputTokens: countSchema,
  cacheReadTokens: countSchema.optional(),
  cacheCreationTokens: countSchema.optional(),
  outputTokens: countSchema.optional(),
  provider: z.string().optional(),
  model: z.string().optional(),
  responseId: z.string().optional(),
})

/** The usage that the provider reported with an answer, for the request made of the messages before it. */
export type ImportedUsage = {
  /** Tokens that were neither read from a cache nor written to it. */
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
  readonly outputTokens?: number
  /** Default: the provider and model of the conversation. */
  readonly provider?: string
  readonly model?: string
  /** Messages with the same id belong to one response, which counts once. */
  readonly responseId?: string
}

/** The fields of a message's metadata that may contain its usage, as sources and adapters store them. */
const HOLDERS = ['message', 'entry', 'envelope'] as const
/** The fields within those that indicate a usage. */
const REPORTS = ['usage', 'usage_metadata', 'usageMetadata', 'totalUsage', 'metrics', 'tokens'] as const

type Fields = { readonly [name: string]: unknown }

/** Returns the usage in the metadata of an answer; `undefined` for any other message, and for an answer without it. */
export async function usageOfMessage({ role, metadata }: NewMessage): Promise<ImportedUsage | undefined> {
  if (metadata === undefined || (role !== 'assistant' && role !== 'tool')) return undefined
  for (const fields of holdersIn(metadata)) {
    // A silent row can be an answer of another conversation in the file, which was billed too.
    if (role === 'tool' && fields.role !== 'assistant') continue
    if (!REPORTS.some((name) => isObject(fields[name]))) continue
    const found = await usageOfFields(fields)
    if (found !== undefined) return found
  }
  return undefined
}

function* holdersIn(metadata: Fields): Generator<Fields> {
  for (const kept of [metadata, ...Object.values(metadata)].filter(isObject)) {
    yield kept
    const held = HOLDERS.map((name) => kept[name]).filter(isObject)
    yield* held
    yield* held.map(({ message }) => message).filter(isObject)
  }
}

/** Returns the usage in the fields of a response, or of a conversation that contains one. */
export async function usageOfFields(fields: Fields): Promise<ImportedUsage | undefined> {
  const { modelInfo, response_metadata: response } = fields
  const [info, of] = [isObject(modelInfo) ? modelInfo : {}, isObject(response) ? response : {}]
  const provider = filledText(fields.provider ?? info.providerId ?? of.model_provider)
  const usage = await readUsage(fields, provider)
  if (usage === undefined) return undefined
  const model = filledText(fields.model ?? info.modelId ?? of.model_name ?? of.model)
  const responseId = filledText(fields.id ?? fields.responseId)
  return {
    ...usage,
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    ...(responseId !== undefined && { responseId }),
  }
}

/** Maximum number of reports kept: about the last twenty determine a calibration. */
const MAX_REPORTS = 20
/** If a request is smaller than this share of the previous one, its content was reduced in a way that the file doesn't show. */
const REDUCED = 0.5

/** A provider and a model, of a conversation or of a message. */
export type Names = Pick<Session, 'provider' | 'model'>
type Reported = { readonly usage: ImportedUsage; readonly position: number; readonly at: number | undefined }
type Bill = { requests: number; input: number; read: number; written: number; output: number; at: number }

type UsageHost = {
  readonly storage: Storage
  /** Returns the model that figures under a provider and a model of the conversation belong to. */
  modelFor(names: Names): ChosenModel
}

/** Records the usage of the messages that an import writes. */
export class UsageRecord {
  readonly #host: UsageHost
  readonly #sessionId: string
  /** The output tokens of the responses so far, by response id. */
  readonly #responses = new Map<string, number>()
  readonly #bills = new Map<string, { readonly chosen: ChosenModel; readonly bill: Bill }>()
  #reports: Reported[] = []

  constructor(host: UsageHost, sessionId: string) {
    this.#host = host
    this.#sessionId = sessionId
  }

  /** Handles a message that is already stored: its response was counted. */
  known({ responseId, outputTokens = 0 }: ImportedUsage): void {
    if (responseId !== undefined) this.#responses.set(responseId, outputTokens)
  }

  add(message: NewMessage, position: number, usage: ImportedUsage, names: Names): void {
    const { inputTokens, cacheReadTokens = 0, cacheCreationTokens = 0, outputTokens = 0, responseId } = usage
    const { createdAt } = message
    const before = responseId === undefined ? undefined : this.#responses.get(responseId)
    if (responseId !== undefined) this.#responses.set(responseId, Math.max(before ?? 0, outputTokens))
    const bill = this.#billOf(usage, names)
    bill.at = Math.max(bill.at, createdAt ?? 0)
    // Parts of a response arrive as separate messages, and the first ones may have the output so far.
    bill.output += Math.max(0, outputTokens - (before ?? 0))
    if (before !== undefined) return
    bill.requests += 1
    bill.input += inputTokens
    bill.read += cacheReadTokens
    bill.written += cacheCreationTokens
    if (isSilent(message) || sizeOf(usage) === 0) return
    const last = this.#reports.at(-1)
    if (last !== undefined && sizeOf(usage) < REDUCED * sizeOf(last.usage)) this.#reports = []
    this.#reports.push({ usage, position: position - 1, at: createdAt })
    if (this.#reports.length > MAX_REPORTS) this.#reports.shift()
  }

  #billOf(usage: ImportedUsage, names: Names): Bill {
    const chosen = this.#host.modelFor(namesOf(usage, names))
    const name = JSON.stringify([chosen.key, chosen.model])
    const known = this.#bills.get(name)
    if (known !== undefined) return known.bill
    const bill = { requests: 0, input: 0, read: 0, written: 0, output: 0, at: 0 }
    this.#bills.set(name, { chosen, bill })
    return bill
  }

  get hasReports(): boolean {
    return this.#reports.length > 0
  }

  /** Records the reports of requests up to a position for the current view: before a compaction changes it, and at the end. */
  async record(names: Names, upTo = Number.POSITIVE_INFINITY): Promise<void> {
    const due = this.#reports.filter(({ position }) => position < upTo)
    this.#reports = this.#reports.filter(({ position }) => position >= upTo)
    for (const { usage, position, at } of due) {
      const own = namesOf(usage, names)
      // A session gets no model without its provider, and its figures belong to the names it has.
      const chosen = this.#host.modelFor(own.provider === undefined ? names : own)
      await this.#send(chosen, { tokens: sizeOf(usage), position, wasAccepted: true, billed: undefined, at })
    }
  }

  async settle(): Promise<void> {
    for (const { chosen, bill } of this.#bills.values()) {
      const billed = {
        requests: bill.requests,
        inputTokens: bill.input,
        cacheReadTokens: bill.read,
        cacheCreationTokens: bill.written,
        outputTokens: bill.output,
      }
      const at = bill.at === 0 ? undefined : bill.at
      // For no view: what an old request left in a cache is gone.
      await this.#send(chosen, {
        tokens: 0,
        position: undefined,
        wasAccepted: false,
        billed,
        at,
        viewEpoch: -1,
      })
    }
    this.#bills.clear()
  }

  async #send(
    { key, model = '' }: ChosenModel,
    report: Omit<
      Parameters<Storage['recordUsage']>[1],
      'provider' | 'model' | 'limit' | 'standing' | 'pending' | 'viewEpoch'
    > & { readonly viewEpoch?: number },
  ): Promise<void> {
    await this.#host.storage.recordUsage(this.#sessionId, {
      ...{ provider: key, model, limit: undefined, standing: 0, pending: 0 },
      ...report,
      viewEpoch: report.viewEpoch,
    })
  }
}

function sizeOf({ inputTokens, cacheReadTokens = 0, cacheCreationTokens = 0 }: ImportedUsage): number {
  return inputTokens + cacheReadTokens + cacheCreationTokens
}

function namesOf({ provider, model }: ImportedUsage, ofConversation: Names): Names {
  if (provider !== undefined) return { provider, model }
  return { provider: ofConversation.provider, model: model ?? ofConversation.model }
}
