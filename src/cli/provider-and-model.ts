/**
 * Provider and model of a command line: `--model provider/model` says both and `--model provider/` the provider alone, where `--provider`
 * says nothing.
 */
export function providerAndModel({
  provider,
  model,
}: {
  readonly provider?: string | undefined
  readonly model?: string | undefined
}): { readonly provider?: string; readonly model?: string } {
  const slash = provider === undefined && model !== undefined ? model.indexOf('/') : -1
  const whose = slash > 0 ? model!.slice(0, slash) : provider
  const which = slash > 0 ? model!.slice(slash + 1) || undefined : model
  return { ...(whose !== undefined && { provider: whose }), ...(which !== undefined && { model: which }) }
}
