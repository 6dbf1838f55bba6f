import type { PartRepair } from '../compaction/direct-compactions.ts'
import { isUndertextError, standingFor, UndertextError } from '../errors.ts'
import { defined } from '../messages/defined.ts'
import type { Plan } from '../model/plan.ts'
import type { Refusal } from '../overflow/refusal.ts'
import type { ReadSnapshot } from './draft.ts'
import type { CheckedPrepare } from './options.ts'
import type { PreparedRequest, RequestRepair } from './prepared.ts'
import { planRepair } from './repair-plan.ts'

/** The most repairs for one call. */
const MOST_REPAIRS = 3

/** What repairs need of a store. */
export type RepairPort = {
  readonly read: ReadSnapshot
  /** Shows parts differently; returns the compaction's id, `undefined` when a hook refuses. */
  readonly repair: (
    sessionId: string,
    repair: { readonly parts: readonly PartRepair[]; readonly params: Plan['params'] },
  ) => Promise<string | undefined>
  readonly undo: (sessionId: string, compactionId: string) => Promise<unknown>
}

/** A repair, the refusal that it was made for, and the step of its plan. */
type Made = RequestRepair & { readonly refusal: Refusal; readonly step: number; readonly viewEpoch: number }

/** The repairs of one call, which all have to change its request. A repair after which the provider refuses the same is undone. */
export class Repairs {
  readonly #port: RepairPort
  readonly #sessionId: string
  readonly #options: CheckedPrepare
  readonly #prepare: () => Promise<PreparedRequest | undefined>
  /** In force. */
  readonly #made: Made[] = []
  /** Undone again. */
  readonly #tried: Made[] = []
  /** The messages of the requests that were refused. */
  readonly #refused: PreparedRequest['messages'][] = []
  /** Requests that were sent again because another writer had changed the view. */
  #sentAgain = 0

  constructor(
    port: RepairPort,
    sessionId: string,
    options: CheckedPrepare,
    prepare: () => Promise<PreparedRequest | undefined>,
  ) {
    this.#port = port
    this.#sessionId = sessionId
    this.#options = options
    this.#prepare = prepare
  }

  /** The next request; `undefined` when nothing is left to repair. */
  async next(request: PreparedRequest, refusal: Refusal): Promise<PreparedRequest | undefined> {
    this.#refused.push(request.messages)
    const last = this.#made.at(-1)
    const isSame = last !== undefined && isSameRefusal(last.refusal, refusal)
    if (isSame) await this.#undo(last)
    const count = this.#made.length + this.#tried.length + this.#sentAgain
    if (count >= MOST_REPAIRS || this.#options.signal?.aborted) return undefined
    const { provider, model } = this.#options
    const { view, viewEpoch, images } = await this.#port.read(this.#sessionId, provider, model)
    if (!isSame && viewEpoch !== request.viewEpoch) {
      // Another writer changed the view, perhaps by the same repair.
      this.#sentAgain += 1
      return this.#prepared()
    }
    const sent = { ...request, refused: this.#refused, resizeImage: images?.lookup }
    const plan = planRepair(view, sent, refusal, isSame ? last.step + 1 : 0)
    if (plan === undefined) return undefined
    const { kind, path } = refusal
    const params = defined({ refusal: kind, path, provider: request.provider, step: plan.step })
    const compactionId = await this.#port.repair(this.#sessionId, { parts: plan.parts, params })
    if (compactionId === undefined) return undefined
    const messageIds = [...new Set(plan.parts.map(({ messageId }) => messageId))]
    const made = { compactionId, kind, messageIds, refusal, step: plan.step, viewEpoch, ...defined({ path }) }
    this.#made.push(made)
    return this.#prepared()
  }

  /** The error of a request that is refused whatever was repaired; the provider's own when nothing was. */
  failure(request: PreparedRequest, refusal: Refusal, error: unknown): unknown {
    const tried = [...this.#made, ...this.#tried].map((made) => ({
      kind: made.kind,
      messageIds: made.messageIds,
      undone: this.#tried.includes(made),
      ...defined({ path: made.path }),
    }))
    if (tried.length === 0) return error
    const { kind, path } = refusal
    const facts = {
      sessionId: this.#sessionId,
      provider: request.provider,
      kind,
      ...defined({ path }),
      tried,
    }
    // A provider's error may have the whole request, so it is not the `cause`.
    return standingFor(new UndertextError('REQUEST_REFUSED', facts), error)
  }

  async #prepared(): Promise<PreparedRequest | undefined> {
    const request = await this.#prepare()
    if (request === undefined || this.#made.length === 0) return request
    const repairs = this.#made.map(({ compactionId, kind, path, messageIds }) => ({
      compactionId,
      kind,
      messageIds,
      ...defined({ path }),
    }))
    return { ...request, repairs }
  }

  async #undo(made: Made): Promise<void> {
    this.#made.pop()
    this.#tried.push(made)
    try {
      await this.#port.undo(this.#sessionId, made.compactionId)
    } catch (error) {
      // Another writer undid it, or built on it: then it stays.
      if (!isUndertextError(error)) throw error
    }
  }
}

/** Whether a provider refuses the same again. */
function isSameRefusal(a: Refusal, b: Refusal): boolean {
  return a.kind === b.kind && a.path === b.path && a.ids.join() === b.ids.join()
}
