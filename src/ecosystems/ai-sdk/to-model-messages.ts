import { invalid } from '../../errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import { isObject } from '../../messages/json.ts'
import { type Message, type Part, type ProviderPart, partsOf } from '../../messages/message.ts'
import { checkMessageList } from '../../messages/message-check.ts'
import { Conversion, type ConversionOptions, isSilent, UNREAD } from '../conversion.ts'
import { ownOfMessage, withKeptFields } from './checks.ts'
import { keptPartTo, mediaTo } from './model-media.ts'
import { modelOutputTo } from './model-output.ts'
import type { SdkModelMessage } from './model-types.ts'
import { ownOf, sentOptions } from './options.ts'
import { hasReasoningItem, partTo } from './parts.ts'
import type { SdkOptions, SdkPart, SdkVersion } from './sdk-types.ts'

/** How `toModelMessages` writes. */
export type ModelMessageOptions = ConversionOptions & {
  /**
   * For which version: `'v2'` is ai 5, `'v3'` ai 6, `'v4'` ai 7, as the models of these name themselves. Default: `'v3'`, which ai 7
   * reads as well; only what ai 7 alone can say needs `'v4'`.
   */
  readonly version?: SdkVersion | undefined
}

/** The course of writing. */
type Writing = {
  readonly conversion: Conversion
  readonly version: SdkVersion
  /** Names of tools by the ids of their calls, as far as the list has been read. */
  readonly names: Map<string, string>
}

/**
 * Messages as an application hands them to `generateText` and `streamText` (`ModelMessage[]`): what `fromModelMessages` read comes out as it
 * was, messages of other origins as the AI SDK writes them. Results that stand beside words of a user become a message of their own.
 *
 * What has no place is left out and noted: parts of other providers, unread parts, what a version cannot say. A message of which nothing
 * is left, or reasoning alone, is left out. Give it what `renderHistory` or `prepareRequest` made of a view, so that calls and results are paired;
 * with `alsoReads: ['ai-sdk']` there, so that approvals of tools are in it.
 *
 * Throws `INVALID_INPUT` for a list that is none and for options that are none.
 */
export function toModelMessages(
  messages: readonly Message[],
  options: ModelMessageOptions = {},
): SdkModelMessage[] {
  checkMessageList(messages, 'toModelMessages')
  const conversion = new Conversion('ai-sdk ModelMessage', options)
  const { version = 'v3' } = options
  if (version !== 'v2' && version !== 'v3' && version !== 'v4')
    throw invalid('toModelMessages: options.version must be v2, v3 or v4')
  const writing: Writing = { conversion, version, names: new Map() }
  return messages.flatMap((message, index) => {
    conversion.at(index)
    // The parts are those of `SdkModelMessage`, or what one version alone has and was read from it.
    return messageTo(message, `[${index}]`, writing) as SdkModelMessage[]
  })
}

type Written = { readonly role: string; readonly content: string | readonly SdkPart[] }

function messageTo(message: Message, place: string, writing: Writing): readonly Written[] {
  const { role, content } = message
  const own = ownOfMessage(message.metadata)
  const finish = (written: Written): Written => withKeptFields({ ...written, ...optionsOf(own) }, own)
  if (role === 'system') return [finish({ role, content: systemText(message, place, writing) })]
  if (typeof content === 'string') {
    if (role !== 'tool') return [finish({ role, content })]
    writing.conversion.note('changed', `${place}.content`, 'a tool cannot say a text: it is the user’s')
    return [finish({ role: 'user', content })]
  }
  if (content.length === 0) return [finish({ role, content: [] })]
  const hasReasoning = hasReasoningItem(content)
  const written = content.map((part, index) =>
    modelPartTo(part, `${place}.content[${index}]`, role, hasReasoning, writing),
  )
  const parts = written.flat()
  if (parts.length === 0) return []
  // Providers refuse reasoning alone; here it led to what was left out.
  if (written.some(({ length }) => length === 0) && parts.every(isSilent)) return []
  if (role === 'assistant') return [finish({ role, content: parts })]
  return runsOf(parts).map(finish)
}

function optionsOf({ options }: JsonObject): { readonly providerOptions?: SdkOptions } {
  return isObject(options) ? sentOptions(options as Parameters<typeof sentOptions>[0]) : {}
}

function systemText(message: Message, place: string, { conversion }: Writing): string {
  return partsOf(message)
    .map((part, index) => {
      if (part.type === 'text') return part.text
      conversion.note('not-sent', `${place}.content[${index}]`, 'a system message is a text')
      return ''
    })
    .join('')
}

function modelPartTo(
  part: Part,
  place: string,
  role: Message['role'],
  hasReasoning: boolean,
  writing: Writing,
): readonly SdkPart[] {
  const { conversion, version, names } = writing
  const notSent = (why: string): readonly SdkPart[] => {
    conversion.note('not-sent', place, why)
    return []
  }
  switch (part.type) {
    case 'text':
      if (role === 'tool') conversion.note('changed', place, 'a tool cannot say a text: it is the user’s')
      return [exactly(part, writing, hasReasoning)]
    case 'reasoning':
      if (role !== 'assistant') return notSent('only an assistant reasons')
      return [exactly(part, writing, hasReasoning)]
    case 'image':
      if (role === 'assistant') return [mediaTo(assistantImage(part, place, conversion), version)]
      return [mediaTo(part, version)]
    case 'file':
      return [mediaTo(part, version)]
    case 'tool-call': {
      if (role !== 'assistant') return notSent('only an assistant calls tools')
      names.set(part.toolCallId, part.toolName)
      const { input, ...written } = exactly(part, writing, hasReasoning)
      const isNone = ownOf(part).noInput === true && isObject(input) && Object.keys(input).length === 0
      return [{ ...written, type: 'tool-call', ...(!isNone && { input }), ...ranAs(part) }]
    }
    case 'tool-result': {
      const own = ownOf(part)
      const output = modelOutputTo(part.output, own, version, `${place}.output`, conversion)
      const toolName = part.toolName ?? names.get(part.toolCallId) ?? 'unknown'
      const { type, toolCallId } = part
      return [
        withKeptFields({ type, toolCallId, toolName, output, ...sentOptions(part.providerOptions) }, own),
      ]
    }
    case 'provider':
      return providerPartTo(part, role, writing) ?? notSent(whyNot(part))
  }
}

/** A text, reasoning or call with what was kept of it. */
function exactly(part: Exclude<Part, ProviderPart>, { version }: Writing, hasReasoning: boolean): SdkPart {
  const [written] = partTo(part, { version, provider: 'ai-sdk', nameOf: () => 'unknown' }, hasReasoning)
  return withKeptFields(written!, ownOf(part))
}

/** That a provider did not run a tool, where that was said. */
function ranAs({ providerExecuted }: { readonly providerExecuted?: boolean }): object {
  return providerExecuted === undefined ? {} : { providerExecuted }
}

function assistantImage(
  part: Part & { readonly type: 'image' },
  place: string,
  conversion: Conversion,
): Part & { readonly type: 'file' } {
  conversion.note('changed', place, 'an assistant shows pictures as files')
  const { image, mediaType = 'image/*', providerOptions } = part
  return { type: 'file', data: image, mediaType, ...(providerOptions !== undefined && { providerOptions }) }
}

/** Where parts that are kept whole may stand, and since which version. */
const KEPT: { readonly [type: string]: readonly [role: string, since: SdkVersion] } = {
  'tool-approval-request': ['assistant', 'v3'],
  'tool-approval-response': ['tool', 'v3'],
  'reasoning-file': ['assistant', 'v4'],
  custom: ['assistant', 'v4'],
  image: ['user', 'v4'],
  file: ['any', 'v4'],
}

/** `undefined` for what cannot be said here. */
function providerPartTo(
  part: ProviderPart,
  role: Message['role'],
  { version }: Writing,
): readonly SdkPart[] | undefined {
  const kept = keptPartTo(part)
  if (kept !== undefined) {
    const [place, since] = KEPT[kept.type] ?? ['any', 'v4']
    // Answers to requests for approval that were merged with a user's words part from them again.
    const isHere = place === 'any' || place === role || (place === 'tool' && role === 'user')
    return isHere && version >= since ? [kept] : undefined
  }
  const target = { version, provider: part.provider, nameOf: (): string => 'unknown' }
  const written = role === 'assistant' ? partTo(part, target, false) : []
  return written.length === 0 ? undefined : written
}

function whyNot({ provider }: ProviderPart): string {
  return provider === UNREAD ? 'it could not be read' : 'its provider alone knows it'
}

/** What a user and what tools say, apart. */
function runsOf(parts: readonly SdkPart[]): Written[] {
  const runs: { role: 'user' | 'tool'; content: SdkPart[] }[] = []
  for (const part of parts) {
    const role = part.type === 'tool-result' || part.type === 'tool-approval-response' ? 'tool' : 'user'
    const last = runs.at(-1)
    if (last?.role === role) last.content.push(part)
    else runs.push({ role, content: [part] })
  }
  return runs
}
