import type { Json, JsonObject } from '../../messages/json.ts'
import type { Message, ToolResultContent, ToolResultOutput } from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { isObject, jsonMessageAt, objectAt } from '../wire.ts'
import { fromContent, fromOutputContent, own } from './from-contents.ts'
import { CONTENTS } from './item-shapes.ts'
import { RESULTS } from './paired-items.ts'
import type { Shape } from './shapes.ts'

/** An output in the neutral form, and how it was given. */
type Read = { readonly output: ToolResultOutput; readonly form?: Json }

/** A result of a tool as a message. Throws `INVALID_INPUT`. */
export function fromResult(value: unknown, place: string, shape: Shape, conversion: Conversion): Message {
  const { output: given, ...others } = objectAt(value, place)
  const { callId, name, ...fields } = jsonMessageAt(others, place)
  const known = RESULTS.get(fields.type)
  shape(known === undefined ? { callId, name, ...fields } : { callId, ...fields, output: given }, place)
  const { output, form } =
    known === undefined
      ? fromOutput(given, `${place}.output`, conversion)
      : fromKnownOutput(fields, given, `${place}.output`)
  return {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: callId as string,
        toolName: known ?? (name as string),
        output,
        ...own({
          ...fields,
          ...(known !== undefined && name !== undefined && { name }),
          ...(form !== undefined && { output: form }),
        }),
      },
    ],
  }
}

function fromOutput(given: unknown, place: string, conversion: Conversion): Read {
  if (typeof given === 'string') return { output: { type: 'text', value: given } }
  if (Array.isArray(given)) {
    const value = given.map((entry, i) => {
      const at = `${place}[${i}]`
      return conversion.reading(entry, at, (): ToolResultContent => {
        const content = jsonMessageAt(entry, at)
        CONTENTS.outputs(content, at)
        return fromContent(content, at, conversion)
      })
    })
    return { output: { type: 'content', value } }
  }
  const read = conversion.reading(given, place, () => fromLoneOutput(given, place, conversion))
  return 'output' in read ? read : { output: { type: 'content', value: [read] }, form: 'one' }
}

function fromLoneOutput(given: unknown, place: string, conversion: Conversion): Read {
  const [bytes, bare] = withoutBytes(objectAt(given, place))
  const content = jsonMessageAt(bare, place)
  CONTENTS.output(content, place)
  const { type, ...form } = content
  if (type === 'image' || type === 'file') {
    const value = [fromOutputContent(type, content, bytes, place, conversion)]
    return { output: { type: 'content', value }, form: 'one' }
  }
  const { text, ...fields } = form
  return { output: { type: 'text', value: text as string }, form: fields }
}

/** The bytes an output holds, and the output with an empty text in their place: JSON has no bytes. */
function withoutBytes(output: JsonObject): readonly [Uint8Array | undefined, JsonObject] {
  for (const name of ['image', 'file']) {
    const source = output[name]
    if (output.type !== name || !isObject(source)) continue
    const { data } = source as { readonly data?: unknown }
    if (data instanceof Uint8Array) return [data, { ...output, [name]: { ...source, data: '' } }]
  }
  return [undefined, output]
}

/** Outputs of tools the SDK knows by name. */
function fromKnownOutput({ type, status }: JsonObject, given: unknown, place: string): Read {
  if (type === 'computer_call_result') {
    const { type: _, data, ...fields } = jsonMessageAt(given, place)
    const image = { type: 'image' as const, image: data as string, ...own(fields) }
    return { output: { type: 'content', value: [image] } }
  }
  if (type === 'shell_call_output') return { output: { type: 'json', value: listOfJson(given, place) } }
  const isFailed = type === 'apply_patch_call_output' && status === 'failed'
  const value = typeof given === 'string' ? given : ''
  const output = { type: isFailed ? ('error-text' as const) : ('text' as const), value }
  return given === undefined ? { output, form: null } : { output }
}

function listOfJson(given: unknown, place: string): Json {
  return (given as readonly unknown[]).map((entry, i) => jsonMessageAt(entry, `${place}[${i}]`))
}
