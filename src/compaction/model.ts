import type { PresetName } from '../config/settings.ts'
import { DEFAULT_PROVIDER } from '../core/budget.ts'
import type { JsonObject } from '../core/json.ts'
import { canonicalProvider } from '../core/providers.ts'
import {
  type ContextWindow,
  type ContextWindows,
  resolveContextWindow,
  type WindowRegistry,
  windowsProblem,
} from '../core/windows.ts'
import type { Session } from '../storage/storage.ts'

/** Whose figures count. */
export type ChosenModel = {
  /** As it was named. */
  readonly provider: string
  /** The provider's one name, which figures go by. */
  readonly key: string
  readonly model: string | undefined
}

/** Whose figures count: the call's, else the session's, else the default. A model goes with its provider. */
export function resolveModel(
  session: Pick<Session, 'provider' | 'model'> | undefined,
  provider: string | undefined,
  model: string | undefined,
): ChosenModel {
  const isNamed = provider !== undefined && provider !== ''
  const chosen = isNamed ? provider : (session?.provider ?? DEFAULT_PROVIDER)
  const isOwn =
    !isNamed ||
    provider === session?.provider ||
    (session?.provider !== undefined && canonicalProvider(provider) === canonicalProvider(session.provider))
  return {
    provider: chosen,
    key: canonicalProvider(chosen),
    model: model ?? (isOwn ? session?.model : undefined),
  }
}

/** The window of a chosen model, for a session: by its table, the store's, what was learnt, and the tables its preset reads. */
export function windowOf(
  { key, model }: ChosenModel,
  config: JsonObject | undefined,
  store: ContextWindows | undefined,
  learned: number | undefined,
  preset: PresetName,
): ContextWindow {
  const tables = { session: sessionWindows(config), store, learned }
  return resolveContextWindow(key, model, tables, registryOf(preset))
}

/** The tables a preset reads: `neurolink` has the founding one as it was printed. */
export function registryOf(preset: PresetName): WindowRegistry {
  return preset === 'neurolink' ? 'printed' : 'maintained'
}

/** The table of windows in a session's config. What is no table counts as none: it was written past our checks. */
function sessionWindows(config: JsonObject | undefined): ContextWindows | undefined {
  if (config === undefined || !Object.hasOwn(config, 'contextWindows')) return undefined
  const { contextWindows } = config
  return windowsProblem(contextWindows) === undefined ? (contextWindows as ContextWindows) : undefined
}
