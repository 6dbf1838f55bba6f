import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import { isObject, type JsonObject, stringifyJson } from '../../messages/json.ts'
import type { ProviderPart, ToolCallPart, ToolResultOutput, ToolResultPart } from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { stringAt, withoutUndefined } from '../wire.ts'
import {
  AI_SDK,
  jsonAt,
  keptOptions,
  oneOfAt,
  optionalBooleanAt,
  optionsAt,
  otherFields,
  ownOf,
  sentOptions,
} from './fields.ts'
import { keptPartTo } from './media.ts'
import { DENIED, itemTo } from './tool-output.ts'
import type { SdkPart } from './types.ts'
import type { Shown } from './ui-rows.ts'

/** States of a tool in a message of a chat, in the order a call goes through them. */
const STATES = [
  'input-streaming',
  'input-available',
  'approval-requested',
  'approval-responded',
  'output-available',
  'output-error',
  'output-denied',
]

/** Whether a part is a tool's. */
export function isToolPart({ type }: { readonly type: string }): boolean {
  return type === 'dynamic-tool' || type.startsWith('tool-')
}

/** A tool's part as models read it, and how it was shown. `shown` lacks only where the call stands. */
type ToolRead = {
  readonly call: ToolCallPart
  readonly shown: Omit<Extract<Shown, { readonly fields?: JsonObject; readonly at: number }>, 'at' | 'part'>
  readonly request?: ProviderPart
  readonly response?: ProviderPart
  readonly result?: ToolResultPart
}

/** What is checked of every tool's part, whatever its state. Throws `INVALID_INPUT`. */
export function checkToolPart(part: SdkPart, place: string): void {
  if (part.type === 'dynamic-tool') stringAt(part.toolName, `${place}.toolName`)
  stringAt(part.toolCallId, `${place}.toolCallId`)
  oneOfAt(part.state, STATES, `${place}.state`)
  optionalBooleanAt(part.providerExecuted, `${place}.providerExecuted`)
  optionsAt(part.callProviderMetadata, `${place}.callProviderMetadata`)
  if (part.state === 'output-error') stringAt(part.errorText, `${place}.errorText`)
  const { approval } = part
  const mustHave = part.state === 'output-denied' || (part.state as string).startsWith('approval-')
  if (approval === undefined && !mustHave) return
  if (!isObject(approval)) throw invalid(`${place}.approval: must be an object`)
  stringAt(approval.id, `${place}.approval.id`)
  const isAnswered = part.state === 'approval-responded' || part.state === 'output-denied'
  if (isAnswered && typeof approval.approved !== 'boolean')
    throw invalid(`${place}.approval.approved: must be true or false`)
  optionalBooleanAt(approval.approved, `${place}.approval.approved`)
}

/** A tool's part in the neutral form: a call, and what came of it. The part is checked, and its input is there. */
export function toolFrom(part: SdkPart, place: string, conversion: Conversion): ToolRead {
  const call = callFrom(part, place, conversion)
  const { request, response, more } = approvalFrom(part, place, conversion)
  const result = resultFrom(part, place, conversion)
  const answers = { ...(response && { response }), ...(result && { result }) }
  const derived = derivedState({ hasRequest: request !== undefined, ...answers })
  const isOdd = derived !== part.state
  const fields = fieldsOf(part, call, place, conversion)
  return {
    call,
    ...(request && { request }),
    ...answers,
    shown: {
      ...(Object.keys(fields).length > 0 && { fields }),
      ...(part.type === 'dynamic-tool' && { dynamic: true }),
      ...(isOdd && { state: part.state as string }),
      ...(part.input === undefined && { noInput: true }),
      ...(Object.keys(more).length > 0 && { approval: more }),
    },
  }
}

function callFrom(part: SdkPart, place: string, conversion: Conversion): ToolCallPart {
  const toolName = part.type === 'dynamic-tool' ? (part.toolName as string) : part.type.slice('tool-'.length)
  // Arguments a tool refused are what its model said.
  const input = part.input === undefined && part.state === 'output-error' ? part.rawInput : part.input
  const { providerExecuted: ran } = part
  return {
    type: 'tool-call',
    toolCallId: part.toolCallId as string,
    toolName,
    input: input === undefined ? {} : jsonAt(input, `${place}.input`, conversion),
    ...(typeof ran === 'boolean' && { providerExecuted: ran }),
    ...keptOptions(part.callProviderMetadata),
  }
}

const READ_FIELDS = [
  'type',
  'toolName',
  'toolCallId',
  'state',
  'input',
  'output',
  'errorText',
  'providerExecuted',
  'callProviderMetadata',
  'resultProviderMetadata',
  'preliminary',
  'approval',
]

/** What stands besides the call; of a call without a result also what only results have. */
function fieldsOf(part: SdkPart, call: ToolCallPart, place: string, conversion: Conversion): JsonObject {
  const { callProviderMetadata: given } = part
  const isExact = isDeepStrictEqual(
    sentOptions(call.providerOptions).providerOptions,
    withoutUndefined(given),
  )
  const known = hasResult(part)
    ? READ_FIELDS
    : READ_FIELDS.filter(
        (name) => !['output', 'errorText', 'resultProviderMetadata', 'preliminary'].includes(name),
      )
  const others = otherFields(part, known, place, conversion)
  if (isExact) return others
  return { ...others, callProviderMetadata: jsonAt(given, `${place}.callProviderMetadata`, conversion) }
}

function hasResult({ state, providerExecuted }: SdkPart): boolean {
  if (state === 'output-denied') return providerExecuted !== true
  return state === 'output-available' || state === 'output-error'
}

/** The request for approval and the answer to it, as messages for models have them, and what these have no place for. */
function approvalFrom(
  part: SdkPart,
  place: string,
  conversion: Conversion,
): { readonly request?: ProviderPart; readonly response?: ProviderPart; readonly more: JsonObject } {
  if (!isObject(part.approval)) return { more: {} }
  const { approval, toolCallId, providerExecuted } = part
  const fields = otherFields(approval, ['id', 'approved'], `${place}.approval`, conversion)
  const { signature, inputSchemaInput, isAutomatic, requestReason, reason, ...more } = fields
  const { id: approvalId, approved } = approval
  const request = {
    type: 'tool-approval-request',
    approvalId,
    toolCallId,
    ...(signature !== undefined && { signature }),
    ...(inputSchemaInput !== undefined && { inputSchemaInput }),
    ...(isAutomatic !== undefined && { isAutomatic }),
    ...(requestReason !== undefined && { reason: requestReason }),
  }
  const kept = ownPart(request as JsonObject)
  if (typeof approved !== 'boolean')
    return { request: kept, more: reason === undefined ? more : { ...more, reason } }
  const ran = typeof providerExecuted === 'boolean' ? { providerExecuted } : {}
  const said = reason === undefined ? {} : { reason }
  const response = { type: 'tool-approval-response', approvalId, approved, ...said, ...ran }
  return { request: kept, response: ownPart(response as JsonObject), more }
}

function ownPart(part: JsonObject): ProviderPart {
  return { type: 'provider', provider: AI_SDK, data: { [AI_SDK]: part } }
}

function resultFrom(part: SdkPart, place: string, conversion: Conversion): ToolResultPart | undefined {
  if (!hasResult(part)) return undefined
  const { output, own } = outputFrom(part, place, conversion)
  const shown = otherFields(
    { preliminary: part.preliminary, resultProviderMetadata: part.resultProviderMetadata },
    [],
    place,
    conversion,
  )
  const ui: JsonObject = {
    ...shown,
    ...(part.state === 'output-available' && part.output === undefined && { noOutput: true }),
  }
  const given = part.resultProviderMetadata ?? part.callProviderMetadata
  const toolName = part.type === 'dynamic-tool' ? (part.toolName as string) : part.type.slice('tool-'.length)
  return {
    type: 'tool-result',
    toolCallId: part.toolCallId as string,
    toolName,
    output,
    ...keptOptions(given, { ...own, ...(Object.keys(ui).length > 0 && { ui }) }),
  }
}

/** What a model reads of a result. Source: `convertToModelMessages` of ai 6, of a tool that does not say it itself. */
function outputFrom(
  part: SdkPart,
  place: string,
  conversion: Conversion,
): { readonly output: ToolResultOutput; readonly own: JsonObject } {
  if (part.state === 'output-error') {
    const value = part.errorText as string
    return { output: { type: part.providerExecuted === true ? 'error-json' : 'error-text', value }, own: {} }
  }
  if (part.state === 'output-denied') {
    const { reason } = part.approval as { readonly reason?: unknown }
    const said = typeof reason === 'string' ? { reason } : {}
    return { output: { type: 'error-text', value: said.reason ?? DENIED }, own: { denied: true, ...said } }
  }
  if (typeof part.output === 'string') return { output: { type: 'text', value: part.output }, own: {} }
  const value = part.output === undefined ? null : jsonAt(part.output, `${place}.output`, conversion)
  return { output: { type: 'json', value }, own: {} }
}

/** The state that follows from what there is of a call. */
export function derivedState(call: {
  readonly hasRequest: boolean
  readonly response?: ProviderPart | undefined
  readonly result?: ToolResultPart | undefined
}): string {
  const { hasRequest, response, result } = call
  if (result !== undefined) {
    if (result.providerOptions?.[AI_SDK]?.denied === true) return 'output-denied'
    const { output } = result
    const failed = output.type.startsWith('error-') || (output.type === 'content' && output.isError === true)
    return failed ? 'output-error' : 'output-available'
  }
  if (response !== undefined) return 'approval-responded'
  return hasRequest ? 'approval-requested' : 'input-available'
}

/** A call on its way to a tool's part, with what has been found of it so far. */
export type ToolSlot = {
  readonly call: ToolCallPart
  /** How it was shown; absent for a call that came from elsewhere. */
  readonly shown: Exclude<Shown, number | string> | undefined
  /** Whether its part names the tool by its type. */
  readonly isNamed: boolean
  request?: SdkPart
  response?: ProviderPart
  result?: ToolResultPart
}

/** Whether a result may be the one of this call: where its state had to be kept, there was none. */
export function awaitsResult({ shown, result }: ToolSlot): boolean {
  return result === undefined && !(shown !== undefined && 'state' in shown)
}

/** The part of a message that shows a call and what came of it. */
export function toolPartTo(slot: ToolSlot): SdkPart {
  const { call, request, response, result, isNamed } = slot
  const shown = (slot.shown ?? {}) as {
    readonly fields?: JsonObject
    readonly state?: string
    readonly noInput?: true
  }
  const state = shown.state ?? derivedState({ hasRequest: request !== undefined, response, result })
  const { providerOptions: callProviderMetadata } = sentOptions(call.providerOptions)
  const approval = approvalTo(slot)
  return {
    ...(isNamed ? {} : { toolName: call.toolName }),
    type: isNamed ? `tool-${call.toolName}` : 'dynamic-tool',
    toolCallId: call.toolCallId,
    state,
    ...(shown.noInput !== true && { input: call.input }),
    ...(call.providerExecuted !== undefined && { providerExecuted: call.providerExecuted }),
    ...(callProviderMetadata !== undefined && { callProviderMetadata }),
    ...(approval !== undefined && { approval }),
    ...(result !== undefined && resultTo(result, state)),
    ...shown.fields,
  }
}

function approvalTo({ request, response, shown }: ToolSlot): object | undefined {
  const answer: SdkPart | undefined = response && keptPartTo(response)
  if (request === undefined && answer === undefined) return undefined
  const more = shown !== undefined && 'approval' in shown ? shown.approval : undefined
  const {
    approvalId: id,
    signature,
    inputSchemaInput,
    isAutomatic,
    reason: requestReason,
  } = request ?? answer!
  const { approved, reason } = answer ?? ({} as Partial<SdkPart>)
  const asked = request === undefined ? {} : { signature, inputSchemaInput, isAutomatic, requestReason }
  const said = Object.entries({ ...asked, approved, reason }).filter(([, value]) => value !== undefined)
  return { id, ...Object.fromEntries(said), ...more }
}

function resultTo({ output, ...part }: ToolResultPart, state: string): object {
  const own = ownOf(part)
  const { noOutput, ...ui } = isObject(own.ui) ? own.ui : {}
  if (state === 'output-denied') return ui
  if (state === 'output-error') return { errorText: errorTextOf(output), ...ui }
  if (noOutput === true && output.type === 'json' && output.value === null) return ui
  const value =
    output.type === 'content'
      ? { type: 'content', value: output.value.flatMap((item) => jsonItems(item)) }
      : output.value
  return { output: value, ...ui }
}

function errorTextOf(output: ToolResultPart['output']): string {
  if (output.type === 'content')
    return output.value.map((item) => (item.type === 'text' ? item.text : `[${item.type}]`)).join('')
  return typeof output.value === 'string' ? output.value : stringifyJson(output.value)
}

/** Pieces of a result as JSON: addresses as texts. */
function jsonItems(item: Parameters<typeof itemTo>[0]): unknown[] {
  return JSON.parse(JSON.stringify(itemTo(item, 'v3', item.type === 'provider' ? item.provider : AI_SDK)))
}
