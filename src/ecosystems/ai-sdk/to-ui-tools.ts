import { isObject, type JsonObject, stringifyJson } from '../../messages/json.ts'
import type { ProviderPart, ToolCallPart, ToolResultPart } from '../../messages/message.ts'
import { derivedState } from './from-ui-tools.ts'
import { keptPartTo } from './model-media.ts'
import { AI_SDK, ownOf, sentOptions } from './options.ts'
import type { SdkPart } from './sdk-types.ts'
import { itemTo } from './tool-output.ts'
import type { Shown } from './ui-layout.ts'

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
