import type { Message, Part, ToolResultOutput } from '../../src/index.ts'

/*
 * Small conversations with what goes wrong or differs between providers, in the neutral form. Every text occurs once.
 */

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='

const text = (value: string): Part => ({ type: 'text', text: value })
const image: Part = { type: 'image', image: PNG, mediaType: 'image/png' }
const reasoning = (value: string, providerOptions?: object): Part =>
  ({ type: 'reasoning', text: value, ...(providerOptions && { providerOptions }) }) as Part
const signed = (value: string): Part => reasoning(value, { anthropic: { signature: 'c2lnbmVk' } })
const call = (toolCallId: string, toolName = 'read', input: unknown = { path: `${toolCallId}.ts` }): Part =>
  ({ type: 'tool-call', toolCallId, toolName, input }) as Part
const answer = (toolCallId: string, output: ToolResultOutput, toolName = 'read'): Part => ({
  type: 'tool-result',
  toolCallId,
  toolName,
  output,
})
const says = (value: string): ToolResultOutput => ({ type: 'text', value })

const user = (...content: Part[]): Message => ({ role: 'user', content })
const assistant = (...content: Part[]): Message => ({ role: 'assistant', content })
const tool = (...content: Part[]): Message => ({ role: 'tool', content })

/** Conversations by what they are about. */
export const CONVERSATIONS: { readonly [about: string]: readonly Message[] } = {
  'plain words': [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'hello' },
    { role: 'assistant', content: 'good day' },
    { role: 'user', content: 'and goodbye' },
  ],
  'parallel calls, one of them failed': [
    user(text('compare the two')),
    assistant(text('reading both'), call('call_1'), call('call_2'), call('call_3', 'list', {})),
    tool(
      answer('call_1', says('first file')),
      answer('call_2', { type: 'error-text', value: 'no such file' }),
      answer('call_3', { type: 'json', value: { files: ['listed.ts'] } }, 'list'),
    ),
    assistant(text('only one is there')),
    user(text('thanks')),
  ],
  'results a message each, and out of order': [
    user(text('two things')),
    assistant(call('call_1'), call('call_2')),
    tool(answer('call_2', says('second done'))),
    tool(answer('call_1', { type: 'error-json', value: { reason: 'first failed' } })),
    assistant(text('so it is')),
  ],
  'a late result, and a call without one': [
    user(text('start it')),
    assistant(call('call_1', 'run'), call('call_2', 'run')),
    user(text('is it done')),
    assistant(text('not yet')),
    tool(answer('call_1', says('done at last'), 'run')),
    user(text('good')),
  ],
  images: [
    user(text('what is this'), image),
    assistant(call('call_1', 'screenshot', {})),
    tool(
      answer(
        'call_1',
        { type: 'content', value: [{ type: 'text', text: 'the screen' }, image as never] },
        'screenshot',
      ),
    ),
    assistant(text('a picture of it'), image),
    user(image),
    assistant(image),
    user(text('nice')),
  ],
  'a file, and bytes': [
    user(text('read this'), {
      type: 'file',
      data: 'JVBERi0xLjQ=',
      mediaType: 'application/pdf',
      filename: 'a.pdf',
    }),
    assistant(text('it is short')),
    user({ type: 'image', image: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]) }, text('and this')),
  ],
  'reasoning, signed and unsigned': [
    user(text('think hard')),
    assistant(signed('the signed thought'), text('one moment'), call('call_1')),
    tool(answer('call_1', says('the facts'))),
    assistant(reasoning('an unsigned thought')),
    assistant(reasoning('another thought'), text('the answer')),
    user(text('why')),
    assistant(reasoning('a thought with nothing behind it')),
    user(text('hello there')),
  ],
  'system messages inside': [
    { role: 'system', content: 'first rule' },
    user(text('hi')),
    { role: 'system', content: 'second rule' },
    user(text('go on')),
    assistant(text('going')),
    assistant(text('gone')),
    { role: 'system', content: 'last rule' },
  ],
  'empty and blank texts': [
    { role: 'user', content: '' },
    user(text(''), text('a word'), text(' ')),
    assistant(text('\n\n'), call('call_1')),
    tool(answer('call_1', says(''))),
    assistant(text('')),
    assistant(),
    user(text(' ')),
    assistant(text('all said')),
  ],
  'odd ids': [
    user(text('call them')),
    assistant(call('functions.run:0'), call(''), call(`x${'y'.repeat(70)}`)),
    tool(answer('functions.run:0', says('dotted'))),
    tool(answer('', says('nameless'))),
    tool(answer(`x${'y'.repeat(70)}`, says('long'))),
    assistant(call('functions.run:0')),
    tool(answer('functions.run:0', says('dotted again'))),
    assistant(text('all called')),
  ],
  'an input that is no object': [
    user(text('go')),
    assistant(call('call_1', 'shell', 'ls -l'), call('call_2', 'shell', [1, 2])),
    tool(answer('call_1', says('a listing'), 'shell'), answer('call_2', says('numbers'), 'shell')),
    assistant(text('there')),
  ],
  'a tool the provider ran': [
    user(text('search it')),
    assistant(
      text('searching'),
      call('call_1', 'fetch'),
      { ...call('srvtoolu_1', 'search'), providerExecuted: true } as Part,
      answer('srvtoolu_1', says('the hits'), 'search'),
    ),
    tool(answer('call_1', says('the page'), 'fetch')),
    assistant(
      { ...call('srvtoolu_2', 'search'), providerExecuted: true } as Part,
      answer('srvtoolu_2', says('more hits'), 'search'),
    ),
    user(text('enough')),
  ],
  'parts of several providers': [
    user(text('look around')),
    assistant(
      { type: 'provider', provider: 'anthropic', data: { type: 'redacted_thinking', data: 'eA==' } },
      text('around'),
    ),
    user({ type: 'provider', provider: 'openai', data: { type: 'input_video', video: { id: 'v' } } }),
    assistant({
      type: 'provider',
      provider: 'google',
      data: { executableCode: { language: 'PYTHON', code: '1' } },
    }),
    user({ type: 'provider', provider: 'undertext-unread', data: { format: 'openai', value: 1 } }),
    assistant(text('nothing to see')),
  ],
}
