import {
  type Calibration,
  type FixedPart,
  type Measurement,
  type Readings,
  recordReport,
} from '../../src/core/tokens/calibration.ts'
import type { Estimator } from '../../src/core/tokens/estimators/estimator-schema.ts'
import { estimateMessagesTokens } from '../../src/core/tokens/measure.ts'
import {
  type LearnedLimit,
  LIMIT_KINDS,
  type ModelUsage,
  type NamedLimit,
  type Session,
  type UsageOutcome,
  type UsageReport,
} from '../../src/storage/storage.ts'

/** A visible row as far as the size of a request goes. */
type Sent = Parameters<typeof estimateMessagesTokens>[0][number] & {
  readonly kind: string
  readonly anchor: number
}

/** What providers reported, in maps: the readings of the model storage. */
export class ModelReadings {
  readonly #estimator: Estimator
  readonly #measurements = new Map<string, Measurement>()
  readonly #calibrations = new Map<string, Calibration>()
  readonly #usage = new Map<string, ModelUsage>()
  readonly #limits = new Map<string, LearnedLimit>()
  /** The system prompt and tools of the last report of each session. */
  readonly #fixed = new Map<string, FixedPart>()

  constructor(estimator: Estimator) {
    this.#estimator = estimator
  }

  read(session: Session, provider: string, model: string): Readings {
    return {
      fixed: this.#fixed.get(session.incarnation),
      measurement: this.#measurements.get(key(session.incarnation, provider, model)),
      calibration: this.#calibrations.get(key(provider, model, session.estimator)),
      learned: {
        window: this.#limits.get(key(provider, model, 'window'))?.tokens,
        input: this.#limits.get(key(provider, model, 'input'))?.tokens,
      },
    }
  }

  record(session: Session, view: readonly Sent[], usage: UsageReport): UsageOutcome {
    const { provider, model, tokens, standing, pending } = usage
    const before = this.read(session, provider, model)
    for (const kind of LIMIT_KINDS) {
      const tooLow = (this.#limits.get(key(provider, model, kind))?.tokens ?? tokens) < tokens
      if (usage.wasAccepted && tooLow) this.#limits.delete(key(provider, model, kind))
    }
    if (usage.limit !== undefined) this.learn(provider, model, usage.limit)
    const isStale = usage.viewEpoch !== undefined && usage.viewEpoch !== session.viewEpoch
    if (usage.billed !== undefined) this.#bill(session, usage, usage.billed, isStale)
    if (isStale || tokens === 0 || view.length === 0)
      return { recorded: false, before, after: this.read(session, provider, model), estimate: undefined }
    const history = estimateMessagesTokens(sentOf(view, usage.position), provider, this.#estimator)
    const estimate = { history, standing, pending }
    const { viewEpoch, estimator } = session
    const { measurement, calibration } = recordReport(before, {
      tokens,
      viewEpoch,
      estimator,
      estimate,
      at: usage.at ?? Date.now(),
    })
    this.#measurements.set(key(session.incarnation, provider, model), measurement)
    this.#calibrations.set(key(provider, model, estimator), calibration)
    this.#fixed.set(session.incarnation, { provider, tokens: standing })
    return { recorded: true, before, after: this.read(session, provider, model), estimate }
  }

  #bill(
    { incarnation }: Session,
    { provider, model, at = Date.now() }: UsageReport,
    billed: NonNullable<UsageReport['billed']>,
    isStale: boolean,
  ): void {
    const { requests = 1, inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens } = billed
    const [read = 0, created = 0] = [cacheReadTokens, cacheCreationTokens]
    if (inputTokens + read + created + outputTokens === 0) return
    const name = key(incarnation, provider, model)
    const known = this.#usage.get(name)
    const last = isStale
      ? {
          ...(known?.lastCacheReadTokens !== undefined && { lastCacheReadTokens: known.lastCacheReadTokens }),
          ...(known?.lastCacheCreationTokens !== undefined && {
            lastCacheCreationTokens: known.lastCacheCreationTokens,
          }),
        }
      : {
          ...(cacheReadTokens !== undefined && { lastCacheReadTokens: cacheReadTokens }),
          ...(cacheCreationTokens !== undefined && { lastCacheCreationTokens: cacheCreationTokens }),
        }
    this.#usage.set(name, {
      provider,
      ...(model !== '' && { model }),
      requests: (known?.requests ?? 0) + requests,
      inputTokens: (known?.inputTokens ?? 0) + inputTokens,
      cacheReadTokens: (known?.cacheReadTokens ?? 0) + read,
      cacheCreationTokens: (known?.cacheCreationTokens ?? 0) + created,
      outputTokens: (known?.outputTokens ?? 0) + outputTokens,
      ...last,
      at,
    })
  }

  /** By provider and model. */
  usage({ incarnation }: Session): ModelUsage[] {
    return [...this.#usage]
      .filter(([name]) => (JSON.parse(name) as string[])[0] === incarnation)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, usage]) => usage)
  }

  cachedTokens(session: Session, provider: string, model: string): number | undefined {
    const name = key(session.incarnation, provider, model)
    if (this.#measurements.get(name)?.viewEpoch !== session.viewEpoch) return undefined
    const { lastCacheReadTokens: read, lastCacheCreationTokens: created } = this.#usage.get(name) ?? {}
    return read === undefined && created === undefined ? undefined : (read ?? 0) + (created ?? 0)
  }

  learn(provider: string, model: string, { tokens, kind }: NamedLimit): number {
    const known = this.#limits.get(key(provider, model, kind))
    if (known !== undefined && known.tokens <= tokens) return known.tokens
    const name = model === '' ? {} : { model }
    this.#limits.set(key(provider, model, kind), { provider, ...name, kind, tokens, at: Date.now() })
    return tokens
  }

  forget(provider: string, model: string): boolean {
    const gone = LIMIT_KINDS.map((kind) => this.#limits.delete(key(provider, model, kind)))
    return gone.includes(true)
  }

  limits(): LearnedLimit[] {
    return [...this.#limits].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, limit]) => limit)
  }
}

function sentOf(view: readonly Sent[], position: number | undefined): readonly Sent[] {
  if (position !== undefined) return view.filter(({ anchor }) => anchor <= position)
  const last = view.findLastIndex(({ role, kind }) => !(role === 'assistant' && kind === 'message'))
  return last === -1 ? view : view.slice(0, last + 1)
}

function key(...names: readonly string[]): string {
  return JSON.stringify(names)
}
