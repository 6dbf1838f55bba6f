import type { JsonObject } from '../messages/json.ts'
import { canonicalProvider } from '../tokens/providers.ts'
import { storedSessionSettings } from './layers.ts'
import { type ResolvedConfig, resolveLayers } from './resolve.ts'
import type { Layer, LayerValues } from './settings.ts'

/** Whose figures count when nobody says: a session's columns. */
type Model = { readonly provider: string | undefined; readonly model: string | undefined }

/** The settings of a store, and with what a session or a call says besides. */
export type Configuration = {
  /** What is in force for all sessions: resolved once. */
  readonly ofStore: ResolvedConfig
  /** What is in force for a session with this config. */
  ofSession(config: JsonObject | undefined): ResolvedConfig
  /** The same with what a call says on top. */
  ofCall(config: JsonObject | undefined, call: LayerValues): ResolvedConfig
  /** A session's provider and model, the store-wide ones where it has none. A model goes with its provider. */
  modelOf(session: Model): Model
}

/** A configuration from the store-wide layers, weightiest first. */
export function configurationOf(layers: readonly Layer[]): Configuration {
  const ofStore = resolveLayers(layers)
  // A storage answers the same object for the same stored text, so a session's layer is read once.
  const known = new WeakMap<JsonObject, { readonly layer: Layer; readonly resolved: ResolvedConfig }>()

  const lookUp = (config: JsonObject): { readonly layer: Layer; readonly resolved: ResolvedConfig } => {
    const before = known.get(config)
    if (before !== undefined) return before
    const layer: Layer = { source: 'session', values: storedSessionSettings(config) }
    const isSilent = Object.keys(layer.values).length === 0
    const found = { layer, resolved: isSilent ? ofStore : resolveLayers([layer, ...layers]) }
    known.set(config, found)
    return found
  }

  const { provider, model } = Object.assign(
    {},
    ...layers.map(({ values }) => values).reverse(),
  ) as LayerValues

  return {
    ofStore,
    ofSession: (config) => (config === undefined ? ofStore : lookUp(config).resolved),
    ofCall: (config, values) => {
      const call: Layer = { source: 'call', values }
      return resolveLayers([call, ...(config === undefined ? [] : [lookUp(config).layer]), ...layers])
    },
    modelOf: (session) => {
      if (provider === undefined && model === undefined) return session
      const own = session.provider ?? provider
      const isOurs =
        session.provider === undefined ||
        (provider !== undefined && canonicalProvider(session.provider) === canonicalProvider(provider))
      return { provider: own, model: session.model ?? (isOurs ? model : undefined) }
    },
  }
}
