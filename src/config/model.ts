import type { JsonObject } from '../messages/json.ts'
import type { Session } from '../storage/storage.ts'
import { DEFAULT_PROVIDER } from '../tokens/budget.ts'
import { canonicalProvider } from '../tokens/providers.ts'
import {
  type ContextWindow,
  type ContextWindows,
  resolveContextWindow,
  type WindowRegistry,
  windowsProblem,
} from '../tokens/windows.ts'

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

/** The window of a chosen model, for a session: by its table, the store's, what was learnt, and the tables of this package. */
export function windowOf(
  { key, model }: ChosenModel,
  config: JsonObject | undefined,
  store: ContextWindows | undefined,
  learned: number | undefined,
  registry: WindowRegistry,
): ContextWindow {
  return resolveContextWindow(key, model, { session: sessionWindows(config), store, learned }, registry)
}

/** The table of windows in a session's config. What is no table counts as none: it was written past our checks. */
function sessionWindows(config: JsonObject | undefined): ContextWindows | undefined {
  if (config === undefined || !Object.hasOwn(config, 'contextWindows')) return undefined
  const { contextWindows } = config
  return windowsProblem(contextWindows) === undefined ? (contextWindows as ContextWindows) : undefined
}
