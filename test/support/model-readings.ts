import {
  type Calibration,
  type Measurement,
  type Readings,
  recordReport,
} from '../../src/core/calibration.ts'
import { type Estimator, estimateMessagesTokens } from '../../src/core/tokens.ts'
import type { LearnedLimit, Session, UsageOutcome, UsageReport } from '../../src/storage/storage.ts'

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
  readonly #limits = new Map<string, LearnedLimit>()

  constructor(estimator: Estimator) {
    this.#estimator = estimator
  }

  read(session: Session, provider: string, model: string): Readings {
    return {
      measurement: this.#measurements.get(key(session.incarnation, provider, model)),
      calibration: this.#calibrations.get(key(provider, model, session.estimator)),
      learnedLimit: this.#limits.get(key(provider, model))?.tokens,
    }
  }

  record(session: Session, view: readonly Sent[], usage: UsageReport): UsageOutcome {
    const { provider, model, tokens, standing, pending } = usage
    const before = this.read(session, provider, model)
    const isStale = usage.viewEpoch !== undefined && usage.viewEpoch !== session.viewEpoch
    if (isStale || tokens === 0 || view.length === 0)
      return { recorded: false, before, after: before, estimate: undefined }
    const history = estimateMessagesTokens(sentOf(view, usage.position), provider, this.#estimator)
    const estimate = { history, standing, pending }
    const { viewEpoch, estimator } = session
    const { measurement, calibration } = recordReport(before, {
      tokens,
      viewEpoch,
      estimator,
      estimate,
      at: Date.now(),
    })
    this.#measurements.set(key(session.incarnation, provider, model), measurement)
    this.#calibrations.set(key(provider, model, estimator), calibration)
    if (usage.wentThrough && (before.learnedLimit ?? tokens) < tokens) this.forget(provider, model)
    return { recorded: true, before, after: this.read(session, provider, model), estimate }
  }

  learn(provider: string, model: string, tokens: number): number {
    const known = this.#limits.get(key(provider, model))
    if (known !== undefined && known.tokens <= tokens) return known.tokens
    const name = model === '' ? {} : { model }
    this.#limits.set(key(provider, model), { provider, ...name, tokens, at: Date.now() })
    return tokens
  }

  forget(provider: string, model: string): boolean {
    return this.#limits.delete(key(provider, model))
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
