import type { Json, JsonObject } from '../../messages/json.ts'
import { outputText, type ToolResultContent, type ToolResultOutput } from '../../messages/message.ts'
import { asBase64, fileFrom, fileTo, isText, opaquePart, sdkPartIn, sentMedia } from './media.ts'
import { jsonOf, keptOptions, sentOptions } from './options.ts'
import type { SdkOptions, SdkPart, SdkVersion } from './sdk-types.ts'

/** What stands in the log for a call the user did not allow, when no reason was given. */
export const DENIED = 'Execution of the tool was denied.'

/** The result of a tool as it is kept; `own` is what the neutral form has no place for. */
export function outputFrom(
  output: unknown,
  provider: string,
): { readonly output: ToolResultOutput; readonly own: JsonObject } {
  const given = output as (SdkPart & { readonly value?: unknown }) | null | undefined
  const options = given?.providerOptions
  const own: JsonObject = options === undefined ? {} : { output: jsonOf(options) }
  switch (given?.type) {
    case 'text':
    case 'error-text':
      return { output: { type: given.type, value: String(given.value ?? '') }, own }
    case 'json':
    case 'error-json':
      return { output: { type: given.type, value: jsonOf(given.value) }, own }
    case 'execution-denied': {
      const reason = typeof given.reason === 'string' ? given.reason : undefined
      const denied = { denied: true, ...(reason !== undefined && { reason }) }
      return { output: { type: 'error-text', value: reason ?? DENIED }, own: { ...own, ...denied } }
    }
    case 'content': {
      const items = Array.isArray(given.value) ? (given.value as readonly SdkPart[]) : []
      return { output: { type: 'content', value: items.map((item) => itemFrom(item, provider)) }, own }
    }
    default:
      return { output: { type: 'json', value: jsonOf(output) }, own }
  }
}

/** One piece of a result as it is kept. */
export function itemFrom(item: SdkPart, provider: string): ToolResultContent {
  const { mediaType, filename, providerOptions } = item
  const kept = keptOptions(providerOptions)
  const type = typeof mediaType === 'string' ? mediaType : undefined
  switch (item.type) {
    case 'text':
      return { type: 'text', text: String(item.text ?? ''), ...kept }
    case 'media':
    case 'image-data':
      if (item.type === 'media' && type?.startsWith('image/') !== true) break
      return {
        type: 'image',
        image: String(item.data),
        ...(type !== undefined && { mediaType: type }),
        ...kept,
      }
    case 'image-url':
      return { type: 'image', image: String(item.url), ...kept }
    case 'file-data':
      break
    case 'file-url': {
      const named = typeof filename === 'string' ? { filename } : {}
      const own: JsonObject = type === undefined ? { untyped: true } : {}
      const said = type ?? 'application/octet-stream'
      return {
        type: 'file',
        data: String(item.url),
        mediaType: said,
        ...named,
        ...keptOptions(providerOptions, own),
      }
    }
    case 'file':
      return fileFrom(item, provider)
    default:
      return opaquePart(item, provider)
  }
  return fileFrom({ ...item, type: 'file' }, provider)
}

/** The result of a tool as it is sent. */
export function outputTo(
  output: ToolResultOutput,
  own: JsonObject,
  version: SdkVersion,
  provider: string,
): object {
  const options =
    own.output === undefined || version === 'v2' ? {} : { providerOptions: own.output as SdkOptions }
  if (own.denied === true && version !== 'v2' && output.type === 'error-text') {
    const reason = isText(own.reason) ? own.reason : undefined
    if (output.value === (reason ?? DENIED))
      return { type: 'execution-denied', ...(reason !== undefined && { reason }), ...options }
  }
  if (output.type !== 'content') return { ...output, ...options }
  if (output.isError === true && output.value.every(({ type }) => type === 'text'))
    return { type: 'error-text', value: outputText(output), ...options }
  return {
    type: 'content',
    value: output.value.flatMap((item) => itemTo(item, version, provider)),
    ...options,
  }
}

/** One piece of a result as it is sent; nothing for what another provider alone knows. */
export function itemTo(item: ToolResultContent, version: SdkVersion, provider: string): readonly object[] {
  if (item.type === 'text')
    return [{ type: 'text', text: item.text, ...(version !== 'v2' && sentOptions(item.providerOptions)) }]
  if (item.type === 'provider') {
    const part = item.provider === provider ? sdkPartIn(item) : undefined
    return part === undefined ? [] : [part]
  }
  if (version === 'v4') return [fileTo(item, version)]
  const { data, mediaType } = sentMedia(item)
  const options = sentOptions(item.providerOptions)
  if (data instanceof URL) {
    if (version === 'v2') return [{ type: 'text', text: `[${item.type} ${data.href}]` }]
    if (item.type === 'image') return [{ type: 'image-url', url: data.href, ...options }]
    const untyped = item.providerOptions?.['ai-sdk']?.untyped === true
    return [{ type: 'file-url', url: data.href, ...(!untyped && { mediaType }), ...options }]
  }
  if (version === 'v2') return [{ type: 'media', data: asBase64(data), mediaType }]
  const named = item.type === 'file' && item.filename !== undefined ? { filename: item.filename } : {}
  const type = item.type === 'image' ? 'image-data' : 'file-data'
  return [{ type, data: asBase64(data), mediaType, ...named, ...options }]
}

/** What a provider's own tool answered, as it came with the model's answer. */
export function providerResult(result: unknown, isError: boolean): ToolResultOutput {
  if (typeof result === 'string') return { type: isError ? 'error-text' : 'text', value: result }
  const value: Json = jsonOf(result)
  return { type: isError ? 'error-json' : 'json', value }
}
