import fc from 'fast-check'

/*
 * Everything a `ModelMessage` and a `UIMessage` can say, made at random: the kinds of parts both ai 6 and ai 7 know, and with `version: 7`
 * those of ai 7 alone.
 */

type Fields = Record<string, unknown>
type Arb = fc.Arbitrary<Fields>

const key = fc.constantFrom('a', 'itemId', 'signature', 'cacheControl')
export const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown)
const jsonFields = fc.dictionary(key, json, { maxKeys: 2, noNullPrototype: true })
export const options = fc.dictionary(fc.constantFrom('openai', 'anthropic', 'google'), jsonFields, {
  maxKeys: 2,
  noNullPrototype: true,
})
export const text = fc.oneof(fc.string(), fc.constantFrom('', 'hi', '你好 😀'))
export const id = fc.constantFrom('1', '2', 'call_3', 'x y')
const name = fc.constantFrom('look', 'web.search', 'a_b')
const bytes = fc.uint8Array({ minLength: 1, maxLength: 12 })
const base64 = bytes.map((value) => Buffer.from(value).toString('base64'))
const dataUrl = base64.map((data) => `data:image/png;base64,${data}`)
const http = fc.constantFrom('https://example.test/a.png', 'https://example.test/b?c=d')
const url = fc.oneof(http, dataUrl).map((href) => new URL(href))
const mediaType = fc.constantFrom('image/png', 'application/pdf', 'text/plain', 'image/*')
const reference = fc.constant({ openai: 'file-1' })

/** An object of some fields that are always there, and some that may be. */
export function record(always: Record<string, fc.Arbitrary<unknown>>, maybe: typeof always = {}): Arb {
  return fc.record({ ...always, ...maybe }, { requiredKeys: Object.keys(always), noNullPrototype: true })
}

const kind = fc.constant
const inline = fc.oneof(base64, dataUrl, http, bytes, url)

function dataOf(version: 6 | 7): fc.Arbitrary<unknown> {
  if (version === 6) return inline
  return fc.oneof(
    inline,
    reference,
    record({ type: kind('data'), data: fc.oneof(base64, bytes) }),
    record({ type: kind('url'), url }),
    record({ type: kind('reference'), reference }),
    record({ type: kind('text'), text }),
  )
}

const withOptions = { providerOptions: options }

function items(version: 6 | 7): Arb {
  const both = [
    record({ type: kind('text'), text }, withOptions),
    record({ type: kind('image-data'), data: base64, mediaType }, withOptions),
    record({ type: kind('image-url'), url: fc.oneof(http, dataUrl, text) }, withOptions),
    record({ type: kind('file-data'), data: base64, mediaType }, { filename: text, ...withOptions }),
    record({ type: kind('file-url'), url: fc.oneof(http, dataUrl) }, { mediaType, ...withOptions }),
    record({ type: kind('file-id'), fileId: fc.oneof(text, reference) }, withOptions),
    record({ type: kind('image-file-id'), fileId: fc.oneof(text, reference) }, withOptions),
    record({ type: kind('custom') }, withOptions),
  ]
  if (version === 6) return fc.oneof(...both, record({ type: kind('media'), data: base64, mediaType }))
  const tagged = fc.oneof(
    record({ type: kind('data'), data: fc.oneof(base64, bytes) }),
    record({ type: kind('url'), url }),
    record({ type: kind('reference'), reference }),
    record({ type: kind('text'), text }),
  )
  return fc.oneof(
    ...both,
    record({ type: kind('file'), data: tagged, mediaType }, { filename: text, ...withOptions }),
    record({ type: kind('file-reference'), providerReference: reference }, withOptions),
    record({ type: kind('image-file-reference'), providerReference: reference }, withOptions),
  )
}

function outputs(version: 6 | 7): Arb {
  return fc.oneof(
    record({ type: fc.constantFrom('text', 'error-text'), value: text }, withOptions),
    record({ type: fc.constantFrom('json', 'error-json'), value: json }, withOptions),
    record({ type: kind('execution-denied') }, { reason: text, ...withOptions }),
    record({ type: kind('content'), value: fc.array(items(version), { maxLength: 3 }) }),
  )
}

function modelParts(version: 6 | 7) {
  const said = record({ type: kind('text'), text }, withOptions)
  const image = fc.oneof(inline, ...(version === 7 ? [reference] : []))
  const file = record(
    { type: kind('file'), data: dataOf(version), mediaType },
    { filename: text, ...withOptions },
  )
  const result = record(
    { type: kind('tool-result'), toolCallId: id, toolName: name, output: outputs(version) },
    withOptions,
  )
  const reasoned = fc.oneof(inline, record({ type: kind('data'), data: fc.oneof(base64, bytes) }))
  return {
    user: fc.oneof(said, file, record({ type: kind('image'), image }, { mediaType, ...withOptions })),
    assistant: fc.oneof(
      said,
      file,
      result,
      record({ type: kind('reasoning'), text }, withOptions),
      record(
        { type: kind('tool-call'), toolCallId: id, toolName: name, input: json },
        { providerExecuted: fc.boolean(), ...withOptions },
      ),
      record(
        { type: kind('tool-approval-request'), approvalId: id, toolCallId: id },
        {
          signature: text,
          inputSchemaInput: json,
          ...(version === 7 && { reason: text, isAutomatic: fc.boolean() }),
        },
      ),
      ...(version === 7
        ? [
            record({ type: kind('custom'), kind: kind('openai.thing') }, withOptions),
            record({ type: kind('reasoning-file'), data: reasoned, mediaType }, withOptions),
          ]
        : []),
    ),
    tool: fc.oneof(
      result,
      record(
        { type: kind('tool-approval-response'), approvalId: id, approved: fc.boolean() },
        { reason: text, providerExecuted: fc.boolean() },
      ),
    ),
  }
}

export type AnyModelMessage = {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly { readonly type: string }[]
  readonly providerOptions?: object
}

/** A `ModelMessage` of ai 6 or 7. */
export function modelMessage(version: 6 | 7): fc.Arbitrary<AnyModelMessage> {
  const parts = modelParts(version)
  const list = (part: Arb) => fc.array(part, { maxLength: 4 })
  return fc.oneof(
    record({ role: kind('system'), content: text }, withOptions),
    record({ role: kind('user'), content: fc.oneof(text, list(parts.user)) }, withOptions),
    record({ role: kind('assistant'), content: fc.oneof(text, list(parts.assistant)) }, withOptions),
    record({ role: kind('tool'), content: list(parts.tool) }, withOptions),
  ) as unknown as fc.Arbitrary<AnyModelMessage>
}

const stated = { state: fc.constantFrom('streaming', 'done'), providerMetadata: options }
const address = fc.oneof(http, dataUrl)

function approval(approved: fc.Arbitrary<unknown> | undefined, version: 6 | 7): Arb {
  const more = version === 7 ? { requestReason: text, isAutomatic: fc.boolean() } : {}
  const maybe = { descriptor: json, signature: text, inputSchemaInput: json, ...more }
  return approved === undefined
    ? record({ id: fc.uuid() }, maybe)
    : record({ id: fc.uuid(), approved }, { ...maybe, reason: text })
}

/** A tool in every state it can be in. */
function uiTool(version: 6 | 7): Arb {
  const call = { toolCallId: id }
  const maybe = {
    title: text,
    toolMetadata: jsonFields,
    providerExecuted: fc.boolean(),
    callProviderMetadata: options,
  }
  const result = { ...maybe, resultProviderMetadata: options, approval: approval(kind(true), version) }
  const states = (tool: Record<string, fc.Arbitrary<unknown>>) => {
    const always = { ...tool, ...call }
    const at = (state: string) => ({ ...always, state: kind(state), input: json })
    return fc.oneof(
      record(
        { ...always, state: kind('input-streaming') },
        { ...maybe, input: json, rawInput: text, inputEncoding: fc.constantFrom('json', 'text') },
      ),
      record(at('input-available'), maybe),
      record({ ...at('approval-requested'), approval: approval(undefined, version) }, maybe),
      record({ ...at('approval-responded'), approval: approval(fc.boolean(), version) }, maybe),
      record({ ...at('output-available'), output: json }, { ...result, preliminary: fc.boolean() }),
      record(
        { ...always, state: kind('output-error'), errorText: text },
        { ...result, input: json, rawInput: json },
      ),
      record({ ...at('output-denied'), approval: approval(kind(false), version) }, maybe),
    )
  }
  return fc.oneof(
    states({ type: fc.constantFrom('tool-look', 'tool-web.search') }),
    states({ type: kind('dynamic-tool'), toolName: name }),
  )
}

function uiParts(version: 6 | 7) {
  const file = record(
    { type: kind('file'), mediaType, url: fc.oneof(address, kind('/uploads/a.png')) },
    {
      filename: text,
      providerMetadata: options,
      ...(version === 7 && { providerReference: reference }),
    },
  )
  const said = record({ type: kind('text'), text }, stated)
  const data = record({ type: fc.constantFrom('data-weather', 'data-x'), data: json }, { id: text })
  const assistant = [
    said,
    said,
    file,
    data,
    record({ type: kind('reasoning'), text }, { ...stated, id: text }),
    record({ type: kind('source-url'), sourceId: id, url: http }, { title: text, providerMetadata: options }),
    record(
      { type: kind('source-document'), sourceId: id, mediaType, title: text },
      { filename: text, providerMetadata: options },
    ),
    record({ type: kind('step-start') }),
    record({ type: kind('step-start') }),
    uiTool(version),
    uiTool(version),
    ...(version === 7
      ? [
          record({ type: kind('custom'), kind: kind('openai.thing') }, { providerMetadata: options }),
          record({ type: kind('reasoning-file'), url: address, mediaType }, { providerMetadata: options }),
          record({
            type: kind('steering-message'),
            id,
            parts: fc.array(fc.oneof(said, file), { maxLength: 2 }),
          }),
        ]
      : []),
  ]
  return { user: fc.oneof(said, file, data), assistant: fc.oneof(...assistant) }
}

export type AnyUIMessage = {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly metadata?: unknown
  readonly parts: readonly ({ readonly type: string } & Fields)[]
}

/** A `UIMessage` of ai 6 or 7. */
export function uiMessage(version: 6 | 7): fc.Arbitrary<AnyUIMessage> {
  const parts = uiParts(version)
  const of = (role: string, part: Arb, minLength: number) =>
    record(
      { id: fc.uuid(), role: kind(role), parts: fc.array(part, { minLength, maxLength: 8 }) },
      { metadata: json },
    )
  return fc.oneof(
    of('system', parts.user, 1),
    of('user', parts.user, 1),
    of('assistant', parts.assistant, 0),
    of('assistant', parts.assistant, 3),
  ) as unknown as fc.Arbitrary<AnyUIMessage>
}

/** A chat: its messages have ids of their own. */
export function chatOf(version: 6 | 7, maxLength = 4): fc.Arbitrary<AnyUIMessage[]> {
  return fc.uniqueArray(uiMessage(version), { selector: (message) => message.id, maxLength })
}
