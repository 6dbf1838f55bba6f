import { listIn } from '../messages/lists.ts'
import type { PlainMessage } from '../model/message-parts.ts'
import type { ToolForm, ToolSlot } from './tool-slots.ts'

/** What stands for a result that is not there any more. Source: seed 003, checklist S3-317. */
const TOOL_RESULT_UNAVAILABLE = '[Tool result unavailable - conversation was compacted]'

/** What stands for the words of a call that is not there any more. Source: seed 003, checklist S3-318. */
export function toolCallUnavailable(tool: string | undefined): string {
  return `${CALL_BEGIN}${tool ?? 'unknown'}${CALL_END}`
}

/** Whether a text is one of those. */
export function isCallPlaceholder(text: string): boolean {
  return text.startsWith(CALL_BEGIN) && text.endsWith(CALL_END)
}

const CALL_BEGIN = '[Tool call for '
const CALL_END = ' - conversation was compacted]'

type Fields = { readonly [name: string]: unknown }

/** A message that says of itself that it was made up. Source: seed 003, checklist S3-319. */
export function madeUp(fields: PlainMessage & Fields): PlainMessage {
  return { ...fields, metadata: { truncated: true } } as PlainMessage
}

/** Messages with results for calls that have none, in the form of the calls; calls of one message. */
export function resultsFor(calls: readonly ToolSlot[]): PlainMessage[] {
  return byForm(calls).flatMap(([form, some]) => {
    switch (form) {
      case 'parts':
        return [madeUp({ role: 'tool', content: some.map(resultPart) })]
      case 'blocks':
        return [madeUp({ role: 'user', content: some.map(resultPart) })]
      default:
        return some.map((call) => resultMessage(form, call))
    }
  })
}

/** Messages with calls for results that have none, in the form of the results; results of one message. */
export function callsFor(results: readonly ToolSlot[]): PlainMessage[] {
  return byForm(results).map(([form, some]) => {
    const [first] = some
    const content = toolCallUnavailable(first?.tool)
    switch (form) {
      case 'parts':
      case 'blocks':
        return madeUp({
          role: 'assistant',
          content: some.flatMap((result) => [textPart(toolCallUnavailable(result.tool)), callPart(result)]),
        })
      case 'openai':
        return madeUp({ role: 'assistant', content, tool_calls: some.map(openAICall) })
      case 'function':
        return madeUp({ role: 'assistant', content, function_call: functionOf(first) })
      default:
        return madeUp({
          role: 'tool_call',
          content,
          ...(first?.tool !== undefined && { tool: first.tool }),
          ...(first !== undefined && first.id !== '' && { toolCallId: first.id }),
        })
    }
  })
}

/** The result of a call, to stand in a list of parts or blocks. */
export function resultPart({ form, id, tool }: ToolSlot): Fields {
  if (form === 'blocks') return { type: 'tool_result', tool_use_id: id, content: TOOL_RESULT_UNAVAILABLE }
  return {
    type: 'tool-result',
    toolCallId: id,
    ...(tool !== undefined && { toolName: tool }),
    output: { type: 'text', value: TOOL_RESULT_UNAVAILABLE },
  }
}

/** The call of a result, to stand in a list of parts or blocks. */
export function callPart({ form, id, tool = 'unknown', inside }: ToolSlot): Fields {
  if (form === 'blocks') return { type: 'tool_use', id, name: tool, input: {} }
  const ranByProvider = inside && { providerExecuted: true }
  return { type: 'tool-call', toolCallId: id, toolName: tool, input: {}, ...ranByProvider }
}

/** A text in a list of parts or blocks. */
export function textPart(text: string): Fields {
  return { type: 'text', text }
}

function resultMessage(form: ToolForm, { id, tool }: ToolSlot): PlainMessage {
  const content = TOOL_RESULT_UNAVAILABLE
  const name = tool !== undefined && { name: tool }
  if (form === 'function') return madeUp({ role: 'function', ...name, content })
  if (form === 'openai') return madeUp({ role: 'tool', tool_call_id: id, ...name, content })
  return madeUp({
    role: 'tool_result',
    content,
    ...(tool !== undefined && { tool }),
    ...(id !== '' && { toolCallId: id }),
  })
}

function openAICall(result: ToolSlot): Fields {
  return { id: result.id, type: 'function', function: functionOf(result) }
}

function functionOf(result: ToolSlot | undefined): Fields {
  return { name: result?.tool ?? 'unknown', arguments: '{}' }
}

function byForm(slots: readonly ToolSlot[]): (readonly [ToolForm, ToolSlot[]])[] {
  const forms = new Map<ToolForm, ToolSlot[]>()
  for (const slot of slots) listIn(forms, slot.form).push(slot)
  return [...forms]
}
