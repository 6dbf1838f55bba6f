import type { JsonObject } from '../../core/messages/json.ts'
import { DEFAULT_PROVIDER } from '../../core/tokens/budget.ts'
import { canonicalProvider } from '../../core/tokens/providers.ts'
import {
  type ContextWindow,
  type ContextWindows,
  resolveContextWindow,
  type WindowRegistry,
  windowsProblem,
} from '../../core/tokens/windows.ts'
import type { Session } from '../../storage/storage.ts'

/** The provider and model whose limits and token counts apply. */
export type ChosenModel = {
  /** The provider as it was given. */
  readonly provider: string
  /** The provider's canonical name. */
  readonly key: string
  readonly model: string | undefined
}

/**
 * Returns the names in a call that its session doesn't have yet; `undefined` if it has them. A session's own names are never replaced: a
 * call to another model (for a title, say) doesn't change the session's. A model is useful only with its provider.
 */
export function missingNames(
  session: Pick<Session, 'provider' | 'model'>,
  { provider, model }: { readonly provider?: string | undefined; readonly model?: string | undefined },
): { readonly provider?: string; readonly model?: string } | undefined {
  if (provider === undefined || provider === '') return undefined
  if (session.provider === undefined) return { provider, ...(model !== undefined && { model }) }
  const isSame = canonicalProvider(provider) === canonicalProvider(session.provider)
  return isSame && session.model === undefined && model !== undefined ? { model } : undefined
}

/** Returns the provider and model of the call, else of the session, else the default. A session's model is used only with its provider. */
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

/** Returns the context window of a model, from the session's table, the store's table, learned limits, and the tables of this package. */
export function windowOf(
  { key, model }: ChosenModel,
  config: JsonObject | undefined,
  store: ContextWindows | undefined,
  learned: number | undefined,
  registry: WindowRegistry,
): ContextWindow {
  return resolveContextWindow(key, model, { session: sessionWindows(config), store, learned }, registry)
}

/** Returns the table of windows in a session's config. An invalid table, which wasn't written through this package, is ignored. */
function sessionWindows(config: JsonObject | undefined): ContextWindows | undefined {
  if (config === undefined || !Object.hasOwn(config, 'contextWindows')) return undefined
  const { contextWindows } = config
  return windowsProblem(contextWindows) === undefined ? (contextWindows as ContextWindows) : undefined
}
