import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import { defined } from '../../messages/defined.ts'
import { isObject, type JsonObject, stringifyJson } from '../../messages/json.ts'
import {
  isFailed,
  type ProviderPart,
  type ToolCallPart,
  type ToolResultOutput,
  type ToolResultPart,
} from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { withoutUndefined } from '../wire.ts'
import {
  AI_SDK,
  checkFields,
  checkOneOf,
  jsonAt,
  jsonOf,
  keptOptions,
  nonEmpty,
  otherFields,
  ownOf,
  sentOptions,
} from './fields.ts'
import { keptPartTo, opaquePart } from './media.ts'
import { deniedOutput, itemTo } from './tool-output.ts'
import type { SdkPart } from './types.ts'
import type { Shown, ShownTool } from './ui-rows.ts'

/* A tool's part in a message of a chat holds a call, its approval and its result; for models these are parts of their own. */

/** States of a tool's part, in the order a call goes through them. */
const STATES = [
  'input-streaming',
  'input-available',
  'approval-requested',
  'approval-responded',
  'output-available',
  'output-error',
  'output-denied',
]

export function isToolPart({ type }: { readonly type: string }): boolean {
  return type === 'dynamic-tool' || type.startsWith('tool-')
}

function toolNameOf({ type, toolName }: SdkPart): string {
  return type === 'dynamic-tool' ? (toolName as string) : type.slice('tool-'.length)
}

/** A tool's part as models read it, and how it was shown. */
type ToolRead = {
  readonly call: ToolCallPart
  readonly shown: Omit<ShownTool, 'at'>
  readonly request?: ProviderPart
  readonly response?: ProviderPart
  readonly result?: ToolResultPart
}

/** Checks what every tool's part has, whatever its state. Throws `INVALID_INPUT`. */
export function checkToolPart(part: SdkPart, place: string): void {
  if (part.type === 'dynamic-tool') checkFields(part, { toolName: 'string' }, place)
  checkFields(part, { toolCallId: 'string' }, place)
  checkOneOf(part.state, STATES, `${place}.state`)
  checkFields(part, { providerExecuted: 'boolean?', callProviderMetadata: 'options?' }, place)
  const { state, approval } = part
  if (state === 'output-error') checkFields(part, { errorText: 'string' }, place)
  const mustHave = state === 'output-denied' || (state as string).startsWith('approval-')
  if (approval === undefined && !mustHave) return
  if (!isObject(approval)) throw invalid(`${place}.approval: must be an object`)
  const isAnswered = state === 'approval-responded' || state === 'output-denied'
  checkFields(approval, { id: 'string', approved: isAnswered ? 'boolean' : 'boolean?' }, `${place}.approval`)
}

/** A checked tool's part in the neutral form. */
export function toolFrom(part: SdkPart, place: string, conversion: Conversion): ToolRead {
  const { toolCallId, state, providerExecuted: ran, callProviderMetadata } = part
  // Arguments that a tool refused are the model's own.
  const input = part.input === undefined && state === 'output-error' ? part.rawInput : part.input
  const call: ToolCallPart = {
    type: 'tool-call',
    toolCallId: toolCallId as string,
    toolName: toolNameOf(part),
    input: input === undefined ? {} : jsonAt(input, `${place}.input`, conversion),
    ...(typeof ran === 'boolean' && { providerExecuted: ran }),
    ...keptOptions(callProviderMetadata),
  }
  const { request, response, more } = approvalFrom(part, place, conversion)
  const result = resultFrom(part, place, conversion)
  const derived = derivedState({ hasRequest: request !== undefined, response, result })
  return {
    call,
    ...defined({ request, response, result }),
    shown: {
      ...nonEmpty({ fields: fieldsOf(part, call, place, conversion) }),
      ...(part.type === 'dynamic-tool' && { dynamic: true }),
      ...(derived !== state && { state: state as string }),
      ...(part.input === undefined && { noInput: true }),
      ...nonEmpty({ approval: more }),
    },
  }
}

const CALL_FIELDS = [
  'type',
  'toolName',
  'toolCallId',
  'state',
  'input',
  'providerExecuted',
  'callProviderMetadata',
  'approval',
]
const RESULT_FIELDS = ['output', 'errorText', 'resultProviderMetadata', 'preliminary']

/** The fields besides the call; of a call without a result also those that only results have. */
function fieldsOf(part: SdkPart, call: ToolCallPart, place: string, conversion: Conversion): JsonObject {
  const { callProviderMetadata: given } = part
  const isExact = isDeepStrictEqual(
    sentOptions(call.providerOptions).providerOptions,
    withoutUndefined(given),
  )
  const known = hasResult(part) ? [...CALL_FIELDS, ...RESULT_FIELDS] : CALL_FIELDS
  const others = otherFields(part, known, place, conversion)
  if (isExact) return others
  return { ...others, callProviderMetadata: jsonAt(given, `${place}.callProviderMetadata`, conversion) }
}

function hasResult({ state, providerExecuted }: SdkPart): boolean {
  if (state === 'output-denied') return providerExecuted !== true
  return state === 'output-available' || state === 'output-error'
}

/** The request for approval and the answer to it, as messages for models have them, and `more` for what these have no place for. */
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
  const asked = { signature, inputSchemaInput, isAutomatic, reason: requestReason }
  const request = approvalPart('tool-approval-request', { approvalId, toolCallId, ...asked })
  if (typeof approved !== 'boolean') return { request, more: { ...more, ...defined({ reason }) } }
  const ran = typeof providerExecuted === 'boolean' ? providerExecuted : undefined
  const answer = { approvalId, approved, reason, providerExecuted: ran }
  return { request, response: approvalPart('tool-approval-response', answer), more }
}

function approvalPart(type: string, fields: object): ProviderPart {
  return opaquePart({ type, ...defined(fields) }, AI_SDK)
}

function resultFrom(part: SdkPart, place: string, conversion: Conversion): ToolResultPart | undefined {
  if (!hasResult(part)) return undefined
  const { preliminary, resultProviderMetadata, callProviderMetadata, state } = part
  const { output, own } = outputFrom(part, place, conversion)
  const ui: JsonObject = {
    ...otherFields({ preliminary, resultProviderMetadata }, [], place, conversion),
    ...(state === 'output-available' && part.output === undefined && { noOutput: true }),
  }
  return {
    type: 'tool-result',
    toolCallId: part.toolCallId as string,
    toolName: toolNameOf(part),
    output,
    ...keptOptions(resultProviderMetadata ?? callProviderMetadata, { ...own, ...nonEmpty({ ui }) }),
  }
}

/** A result as a model reads it. Source: `convertToModelMessages` of ai 6, for a tool without `toModelOutput`. */
function outputFrom(
  part: SdkPart,
  place: string,
  conversion: Conversion,
): { readonly output: ToolResultOutput; readonly own: JsonObject } {
  if (part.state === 'output-error') {
    const value = part.errorText as string
    return { output: { type: part.providerExecuted === true ? 'error-json' : 'error-text', value }, own: {} }
  }
  if (part.state === 'output-denied') return deniedOutput((part.approval as { reason?: unknown }).reason)
  if (typeof part.output === 'string') return { output: { type: 'text', value: part.output }, own: {} }
  const value = part.output === undefined ? null : jsonAt(part.output, `${place}.output`, conversion)
  return { output: { type: 'json', value }, own: {} }
}

/** The state that follows from the parts of a call. */
function derivedState(call: {
  readonly hasRequest: boolean
  readonly response: ProviderPart | undefined
  readonly result: ToolResultPart | undefined
}): string {
  const { hasRequest, response, result } = call
  if (result !== undefined) {
    if (ownOf(result).denied === true) return 'output-denied'
    return isFailed(result.output) ? 'output-error' : 'output-available'
  }
  if (response !== undefined) return 'approval-responded'
  return hasRequest ? 'approval-requested' : 'input-available'
}

/** A call on its way to a tool's part, with what has been found of it so far. */
export type ToolSlot = {
  readonly call: ToolCallPart
  /** How it was shown; absent for a call of another origin. */
  readonly shown: Exclude<Shown, number | string> | undefined
  /** Whether its part names the tool by its type. */
  readonly isNamed: boolean
  request?: SdkPart
  response?: ProviderPart
  result?: ToolResultPart
}

/** Whether a result may belong to this call: where its state had to be kept, there was none. */
export function awaitsResult({ shown, result }: ToolSlot): boolean {
  return result === undefined && !(shown !== undefined && 'state' in shown)
}

/** The part of a message that shows a call, its approval and its result. */
export function toolPartTo(slot: ToolSlot): SdkPart {
  const { call, request, response, result, isNamed } = slot
  const { toolCallId, toolName, input, providerExecuted } = call
  const shown = (slot.shown ?? {}) as Partial<ShownTool>
  const state = shown.state ?? derivedState({ hasRequest: request !== undefined, response, result })
  const { providerOptions: callProviderMetadata } = sentOptions(call.providerOptions)
  return {
    ...(!isNamed && { toolName }),
    type: isNamed ? `tool-${toolName}` : 'dynamic-tool',
    toolCallId,
    state,
    ...(shown.noInput !== true && { input }),
    ...defined({ providerExecuted, callProviderMetadata, approval: approvalTo(slot, shown.approval) }),
    ...(result !== undefined && resultTo(result, state)),
    ...shown.fields,
  }
}

function approvalTo({ request, response }: ToolSlot, more: JsonObject | undefined): object | undefined {
  const answer = response && keptPartTo(response)
  const first = request ?? answer
  if (first === undefined) return undefined
  const { signature, inputSchemaInput, isAutomatic, reason: requestReason }: Partial<SdkPart> = request ?? {}
  const { approved, reason }: Partial<SdkPart> = answer ?? {}
  return {
    id: first.approvalId,
    ...defined({ signature, inputSchemaInput, isAutomatic, requestReason, approved, reason }),
    ...more,
  }
}

function resultTo({ output, ...part }: ToolResultPart, state: string): object {
  const { ui: kept } = ownOf(part)
  const { noOutput, ...ui } = isObject(kept) ? kept : {}
  if (state === 'output-denied') return ui
  if (state === 'output-error') return { errorText: errorTextOf(output), ...ui }
  if (noOutput === true && output.type === 'json' && output.value === null) return ui
  if (output.type !== 'content') return { output: output.value, ...ui }
  // As JSON: addresses as texts, bytes as base64.
  const value = output.value.flatMap((item) =>
    itemTo(item, 'v3', item.type === 'provider' ? item.provider : AI_SDK).map(jsonOf),
  )
  return { output: { type: 'content', value }, ...ui }
}

function errorTextOf(output: ToolResultOutput): string {
  if (output.type === 'content')
    return output.value.map((item) => (item.type === 'text' ? item.text : `[${item.type}]`)).join('')
  return typeof output.value === 'string' ? output.value : stringifyJson(output.value)
}
