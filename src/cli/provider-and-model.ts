/** Provider and model of a command line; `--model provider/model` says both, where `--provider` says nothing. */
export function providerAndModel({
  provider,
  model,
}: {
  readonly provider?: string | undefined
  readonly model?: string | undefined
}): { readonly provider?: string; readonly model?: string } {
  const slash = provider === undefined && model !== undefined ? model.indexOf('/') : -1
  if (slash > 0) return { provider: model!.slice(0, slash), model: model!.slice(slash + 1) }
  return { ...(provider !== undefined && { provider }), ...(model !== undefined && { model }) }
}
