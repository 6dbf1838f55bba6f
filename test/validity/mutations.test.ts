import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RULES } from '../../src/core/validity/validate-request.ts'
import { validateRequest } from '../../src/index.ts'
import { conversation, FORMS, type FormName, PNG, pngOf, type Wire } from './bodies.ts'

/* For each rule, a change that breaks it: a valid body of any conversation, so changed, breaks this rule and no other. */

type Pick = (count: number) => number
type Mutation = {
  readonly rule: string
  readonly form: FormName
  readonly provider: string
  readonly model?: string
  /** Bodies of megabytes are tried a few times. */
  readonly isLarge?: boolean
  readonly change: (body: Wire, pick: Pick) => void
}

const text = (value: string): Wire => ({ type: 'text', text: value })
const picture = (data = PNG, type = 'image/png'): Wire => ({
  type: 'image',
  source: { type: 'base64', media_type: type, data },
})
const url = (value: string): Wire => ({ type: 'image_url', image_url: { url: value } })
const photo = `data:image/png;base64,${PNG}`
const thinking = (signature: string): Wire => ({ type: 'thinking', thinking: 'Hm', signature })
const documentNamed = (name: string, format = 'txt'): Wire => ({
  document: { format, name, source: { bytes: 'aGk=' } },
})
const document = (name: string): Wire => ({ role: 'user', content: [{ text: 'see' }, documentNamed(name)] })
const answer: Wire = { role: 'assistant', content: [{ text: 'seen' }] }

/** A message with calls, the message with their results, and the answer after it. */
function exchange(body: Wire, pick: Pick): { asks: Wire; results: Wire; says: Wire; at: number } {
  const list = (body.messages ?? body.contents) as Wire[]
  const places = list.flatMap((message, i) => (asksFor(message) ? [i] : []))
  const at = places[pick(places.length)]!
  return { asks: list[at]!, results: list[at + 1]!, says: list[at + 2]!, at }
}

function asksFor({ content, parts, tool_calls }: Wire): boolean {
  const blocks = parts ?? content
  return (
    tool_calls !== undefined ||
    (Array.isArray(blocks) &&
      blocks.some(
        (block: Wire) => block.type === 'tool_use' || 'toolUse' in block || 'functionCall' in block,
      ))
  )
}

const blockOf = (message: Wire, type: string): Wire =>
  message.content.find((block: Wire) => block.type === type || type in block)
const itemOf = (body: Wire, type: string): Wire => body.input.find((item: Wire) => item.type === type)
/** What a user says before the last message, whose turn it is. */
const speak = (body: Wire, ...content: Wire[]): void => {
  body.messages.at(-1).content = [...content, text('look')]
}

const MUTATIONS: readonly Mutation[] = [
  { rule: 'json', form: 'chat', provider: 'openai', change: (body) => Object.assign(body, { seed: 1n }) },
  {
    rule: 'shape',
    form: 'chat',
    provider: 'openai',
    change: ({ messages }, pick) => void messages.splice(pick(messages.length), 0, 7),
  },
  {
    rule: 'surrogate',
    form: 'chat',
    provider: 'openai',
    change: ({ messages }, pick) => {
      const spoken = messages.filter(({ role }: Wire) => role === 'user')
      spoken[pick(spoken.length)].content += '\ud83d'
    },
  },
  {
    rule: 'empty-text',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => void exchange(body, pick).says.content.push(text('')),
  },
  {
    rule: 'blank-text',
    form: 'converse',
    provider: 'bedrock',
    change: (body, pick) => void exchange(body, pick).says.content.push({ text: ' \n' }),
  },
  {
    rule: 'text-length',
    form: 'chat',
    provider: 'azure',
    isLarge: true,
    change: ({ messages }) => {
      messages.at(-1).content = 'x'.repeat(1_048_577)
    },
  },
  {
    rule: 'trailing-space',
    form: 'messages',
    provider: 'anthropic',
    change: ({ messages }) => void messages.push({ role: 'assistant', content: 'It is ' }),
  },
  {
    rule: 'no-messages',
    form: 'chat',
    provider: 'openai',
    change: (body) => Object.assign(body, { messages: [] }),
  },
  {
    rule: 'role',
    form: 'chat',
    provider: 'openai',
    change: ({ messages }) => void messages.push({ role: 'model', content: 'x' }),
  },
  {
    rule: 'fields',
    form: 'messages',
    provider: 'anthropic',
    change: ({ messages }, pick) => {
      messages[pick(messages.length)].id = 'msg_1'
    },
  },
  {
    rule: 'system-inside',
    form: 'nine',
    provider: 'mistral',
    change: ({ messages }) => void messages.splice(-1, 0, { role: 'system', content: 'x' }),
  },
  {
    rule: 'first-user',
    form: 'messages',
    provider: 'anthropic',
    change: ({ messages }) => void messages.unshift({ role: 'assistant', content: 'Hello' }),
  },
  {
    rule: 'alternation',
    form: 'converse',
    provider: 'bedrock',
    change: ({ messages }) => void messages.push({ role: 'user', content: [{ text: 'x' }] }),
  },
  {
    rule: 'user-after-tool',
    form: 'nine',
    provider: 'mistral',
    change: ({ messages }, pick) => {
      const ends = messages.flatMap(({ role }: Wire, i: number) =>
        role === 'tool' && messages[i + 1].role !== 'tool' ? [i + 1] : [],
      )
      messages.splice(ends[pick(ends.length)], 0, { role: 'user', content: 'x' })
    },
  },
  ...(
    ['claude-opus-4-6', 'claude-sonnet-4-6-20260217', 'anthropic/claude-fable-5.1', 'claude-opus-5'] as const
  ).map(
    (model): Mutation => ({
      rule: 'last-not-assistant',
      form: 'messages',
      provider: 'anthropic',
      model,
      change: ({ messages }) => void messages.push({ role: 'assistant', content: 'It is' }),
    }),
  ),
  {
    rule: 'last-not-assistant',
    form: 'nine',
    provider: 'mistral',
    change: ({ messages }) => void messages.push({ role: 'assistant', content: 'x' }),
  },
  {
    rule: 'answer-empty',
    form: 'chat',
    provider: 'openai',
    change: ({ messages }) => void messages.splice(-1, 0, { role: 'assistant', content: null }),
  },
  {
    rule: 'answer-empty',
    form: 'nine',
    provider: 'mistral',
    change: ({ messages }) => {
      messages.at(-2).content = ''
    },
  },
  {
    rule: 'message-count',
    form: 'chat',
    provider: 'openai',
    isLarge: true,
    change: ({ messages }) => {
      while (messages.length <= 2048) messages.push({ role: 'user', content: 'x' })
    },
  },
  {
    rule: 'call-unanswered',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => {
      exchange(body, pick).results.content = 'stop'
    },
  },
  {
    rule: 'result-without-call',
    form: 'chat',
    provider: 'openai',
    change: ({ messages }) =>
      void messages.splice(1, 0, { role: 'tool', tool_call_id: 'gone', content: 'x' }),
  },
  {
    rule: 'result-twice',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => {
      const { content } = exchange(body, pick).results
      content.push(content[pick(content.length)])
    },
  },
  {
    rule: 'results-first',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => void exchange(body, pick).results.content.unshift(text('x')),
  },
  {
    rule: 'result-order',
    form: 'gemini',
    provider: 'gemini',
    change: (body) => {
      // The first message with calls has two of different names.
      exchange(body, () => 0).results.parts.reverse()
    },
  },
  {
    rule: 'call-id-form',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => {
      const { asks, results } = exchange(body, pick)
      blockOf(asks, 'tool_use').id = 'a:1'
      results.content[0].tool_use_id = 'a:1'
    },
  },
  {
    rule: 'call-id-twice',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => {
      const { asks, results, says } = exchange(body, pick)
      const calls = asks.content.filter(({ type }: Wire) => type === 'tool_use').slice(0, 1)
      body.messages.push(
        { role: 'assistant', content: calls },
        { role: 'user', content: results.content.slice(0, 1) },
        says,
        { role: 'user', content: 'x' },
      )
    },
  },
  {
    rule: 'call-name',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => {
      blockOf(exchange(body, pick).asks, 'tool_use').name = 'browser.open'
    },
  },
  {
    rule: 'input-object',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => {
      blockOf(exchange(body, pick).asks, 'tool_use').input = [null, '', [], 3, '{"a":1}'][pick(5)]
    },
  },
  {
    rule: 'arguments-json',
    form: 'chat',
    provider: 'openai',
    change: (body, pick) => {
      const { function: called } = exchange(body, pick).asks.tool_calls[0]
      called.arguments = ['', 'null', '[]', called.arguments.slice(0, -1)][pick(4)]
    },
  },
  {
    rule: 'arguments-length',
    form: 'chat',
    provider: 'openai',
    isLarge: true,
    change: (body, pick) => {
      exchange(body, pick).asks.tool_calls[0].function.arguments = JSON.stringify({
        s: 'z'.repeat(1_048_576),
      })
    },
  },
  {
    rule: 'own-tools',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => {
      const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
      const hits = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
      exchange(body, pick).says.content.unshift([search, hits][pick(2)])
    },
  },
  {
    rule: 'tools-missing',
    form: 'converse',
    provider: 'bedrock',
    change: (body) => {
      delete body.toolConfig
    },
  },
  {
    rule: 'empty-failure',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => {
      Object.assign(exchange(body, pick).results.content[0], { is_error: true, content: '' })
    },
  },
  {
    rule: 'failure-text',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => {
      const content = [text('no such button'), picture()]
      Object.assign(exchange(body, pick).results.content[0], { is_error: true, content })
    },
  },
  {
    rule: 'result-name',
    form: 'geminiIds',
    provider: 'gemini',
    change: (body, pick) => {
      const { functionResponse } = exchange(body, pick).results.parts[0]
      functionResponse.name = [undefined, '', 'a b'][pick(3)]
    },
  },
  {
    rule: 'call-count',
    form: 'chat',
    provider: 'openai',
    change: (body, pick) => {
      const { asks, at } = exchange(body, pick)
      const more = Array.from({ length: 129 - asks.tool_calls.length }, (_, n) => `more${n}`)
      asks.tool_calls.push(...more.map((id) => ({ ...asks.tool_calls[0], id })))
      body.messages.splice(at + 1, 0, ...more.map((id) => ({ role: 'tool', tool_call_id: id, content: 'x' })))
    },
  },
  {
    rule: 'thinking-signed',
    form: 'messages',
    provider: 'anthropic',
    change: ({ messages }, pick) => {
      messages[1].content[0].signature = ['', 'abc', 'sigPartial', undefined][pick(4)]
    },
  },
  {
    rule: 'thinking-last',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => void exchange(body, pick).says.content.push(thinking('ZZZZ')),
  },
  {
    rule: 'thinking-one-response',
    form: 'messages',
    provider: 'anthropic',
    change: ({ messages }) => void messages[1].content.splice(1, 0, thinking('ZZZZ')),
  },
  {
    rule: 'thinking-leads',
    form: 'messages',
    provider: 'anthropic',
    change: ({ messages }) => void messages[1].content.unshift(text('x')),
  },
  {
    rule: 'foreign-block',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => void exchange(body, pick).says.content.push({ type: 'reasoning', text: 'x' }),
  },
  {
    rule: 'reasoning-followed',
    form: 'responses',
    provider: 'openai',
    change: ({ input }) => {
      input.splice(-1, 0, { type: 'reasoning', id: 'rs_z', summary: [], encrypted_content: 'ZZZZ' })
    },
  },
  {
    rule: 'reasoning-whole',
    form: 'responses',
    provider: 'openai',
    change: (body, pick) => {
      const item = itemOf(body, 'reasoning')
      if (pick(2) === 0) delete item.summary
      else item.encrypted_content = 'AA\ufffdA'
    },
  },
  {
    rule: 'item-not-stored',
    form: 'responses',
    provider: 'openai',
    change: (body, pick) => {
      body.store = false
      if (pick(2) === 0) delete itemOf(body, 'reasoning').encrypted_content
      else body.input.unshift({ type: 'item_reference', id: 'msg_0' })
    },
  },
  {
    rule: 'reasoning-missing',
    form: 'open',
    provider: 'deepseek',
    model: 'deepseek-reasoner',
    change: ({ messages }) => {
      delete messages.findLast(({ tool_calls }: Wire) => tool_calls !== undefined).reasoning_content
    },
  },
  {
    rule: 'thought-signature',
    form: 'gemini',
    provider: 'gemini',
    change: (body, pick) => {
      exchange(body, pick).asks.parts[0].thoughtSignature = ['A=A', 'AAAAA', 'Ä'][pick(3)]
    },
  },
  {
    rule: 'thought-signature-missing',
    form: 'geminiOpen',
    provider: 'gemini',
    model: 'gemini-3-pro-preview',
    change: ({ contents }) => {
      delete contents.findLast(asksFor).parts[0].thoughtSignature
    },
  },
  {
    rule: 'numbered-once',
    form: 'messages',
    provider: 'anthropic',
    change: (body) => {
      // The first two messages with calls have thinking.
      const second = exchange(body, () => 1).asks
      second.content[0].signature = body.messages[1].content[0].signature
    },
  },
  {
    rule: 'item-id',
    form: 'responses',
    provider: 'openai',
    change: (body, pick) => {
      itemOf(body, 'function_call').id = ['call_1', `fc_${'x'.repeat(62)}`, 'fc_ä'][pick(3)]
    },
  },
  {
    rule: 'cache-marks',
    form: 'messages',
    provider: 'anthropic',
    change: (body) => {
      speak(body, ...[1, 2, 3, 4, 5].map((n) => ({ ...text(`q${n}`), cache_control: { type: 'ephemeral' } })))
    },
  },
  {
    rule: 'cache-mark-place',
    form: 'messages',
    provider: 'anthropic',
    change: ({ messages }) => {
      messages[1].content[0].cache_control = { type: 'ephemeral' }
    },
  },
  {
    rule: 'cache-mark-place',
    form: 'converse',
    provider: 'bedrock',
    change: ({ messages }, pick) => {
      const point = { cachePoint: { type: 'default' } }
      messages.at(-1).content =
        pick(2) === 0 ? [point, { text: 'x' }] : [{ text: 'x' }, documentNamed('a'), point]
    },
  },
  {
    rule: 'media-type',
    form: 'messages',
    provider: 'anthropic',
    change: (body) => speak(body, picture('Qk0=', 'image/bmp')),
  },
  {
    rule: 'media-type',
    form: 'chat',
    provider: 'xai',
    change: (body) => speak(body, url('data:image/gif;base64,R0lGODlh')),
  },
  {
    rule: 'media-data',
    form: 'messages',
    provider: 'anthropic',
    change: (body, pick) => speak(body, picture(['', photo, 'AAAAA'][pick(3)])),
  },
  {
    rule: 'media-match',
    form: 'messages',
    provider: 'anthropic',
    change: (body) => speak(body, picture(PNG, 'image/jpeg')),
  },
  {
    rule: 'media-url',
    form: 'chat',
    provider: 'openai',
    change: (body, pick) => {
      speak(
        body,
        url(['/uploads/a.png', 'blob:x', 'file:///a.png', 'gs://b/a.png', 's3://b/a.png'][pick(5)]!),
      )
    },
  },
  {
    rule: 'media-url',
    form: 'gemini',
    provider: 'gemini',
    change: ({ contents }, pick) => {
      const fileUri = ['/a.png', 's3://b/a.png', 'blob:x'][pick(3)]
      contents.at(-1).parts.push({ fileData: { mimeType: 'image/png', fileUri } })
    },
  },
  {
    rule: 'media-url',
    form: 'converse',
    provider: 'bedrock',
    change: ({ messages }) => {
      const source = { s3Location: { uri: 'https://x.test/a.png' } }
      messages.at(-1).content.push({ image: { format: 'png', source } })
    },
  },
  {
    rule: 'media-role',
    form: 'chat',
    provider: 'openai',
    change: ({ messages }) => {
      messages.at(-2).content = [text('here'), url(photo)]
    },
  },
  {
    rule: 'image-count',
    form: 'messages',
    provider: 'anthropic',
    model: 'claude-haiku-4-5',
    change: (body) => speak(body, ...Array.from({ length: 101 }, () => picture())),
  },
  ...(
    [
      ['azure', 51],
      ['mistral', 9],
      ['groq', 6],
      ['openai', 1501],
    ] as const
  ).map(
    ([provider, count]): Mutation => ({
      rule: 'image-count',
      form: 'nine',
      provider,
      isLarge: count > 1_000,
      change: (body) => speak(body, ...Array.from({ length: count }, () => url('https://x.test/a.png'))),
    }),
  ),
  {
    rule: 'image-count',
    form: 'converse',
    provider: 'bedrock',
    change: ({ messages }) => {
      for (const n of [1, 2, 3, 4, 5, 6]) messages.push(answer, document(`d${n}`))
    },
  },
  {
    rule: 'image-pixels',
    form: 'messages',
    provider: 'anthropic',
    change: (body) => speak(body, picture(pngOf(8001, 10))),
  },
  {
    rule: 'image-pixels',
    form: 'chat',
    provider: 'groq',
    // 33,180,000 pixels.
    change: (body) => speak(body, url(`data:image/png;base64,${pngOf(7900, 4200)}`)),
  },
  {
    rule: 'media-bytes',
    form: 'messages',
    provider: 'anthropic',
    isLarge: true,
    change: (body) => speak(body, picture(PNG.slice(0, 80) + 'A'.repeat(10 * 1024 * 1024 - 76))),
  },
  {
    rule: 'media-bytes',
    form: 'nine',
    provider: 'mistral',
    isLarge: true,
    // 14,000,000 characters of base64 are 10.5 MB.
    change: (body) => speak(body, url(photo + 'A'.repeat(14_000_000 - (PNG.length % 4)))),
  },
  {
    rule: 'request-bytes',
    form: 'chat',
    provider: 'groq',
    isLarge: true,
    change: (body) => speak(body, url(photo), text('x'.repeat(4 * 1024 * 1024))),
  },
  {
    rule: 'request-bytes',
    form: 'messages',
    provider: 'bedrock',
    isLarge: true,
    change: ({ messages }) => {
      messages.at(-1).content = 'x'.repeat(20 * 1024 * 1024)
    },
  },
  {
    rule: 'document-name',
    form: 'converse',
    provider: 'bedrock',
    change: ({ messages }, pick) => {
      messages.push(answer, document(['a.pdf', "John's", 'two  spaces', 'é', '', 'x'.repeat(201)][pick(6)]!))
    },
  },
  {
    rule: 'document-name-twice',
    form: 'converse',
    provider: 'bedrock',
    change: ({ messages }) => void messages.push(answer, document('report'), answer, document('report')),
  },
  {
    rule: 'document-alone',
    form: 'converse',
    provider: 'bedrock',
    change: ({ messages }) => void messages.push(answer, { role: 'user', content: [documentNamed('a')] }),
  },
]

describe.each(MUTATIONS.map((one) => [one.rule, one.form, one.provider, one] as const))(
  'a change that breaks %s in the form %s for %s',
  (rule, form, provider, { model, isLarge, change }) => {
    it('is found, in any conversation, and nothing else is', () => {
      const options = model === undefined ? {} : { model }
      fc.assert(
        fc.property(conversation, fc.infiniteStream(fc.nat()), (list, numbers) => {
          const body = FORMS[form](list)
          expect(validateRequest(body, provider, options)).toEqual([])
          change(body, (count) => numbers.next().value % count)
          const found = validateRequest(body, provider, options)
          expect([...new Set(found.map((finding) => finding.rule))]).toEqual([rule])
        }),
        { numRuns: isLarge === true ? 2 : 40 },
      )
    })
  },
)

it('there is a change for every rule', () => {
  const broken = new Set(MUTATIONS.map(({ rule }) => rule))
  expect(RULES.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual([])
})
