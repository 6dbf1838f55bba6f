import { expect, it } from 'vitest'
import { validateRequest } from '../../src/index.ts'

/* Public reports of sessions that were lost: what was sent, put on the wire as it was stored. */

const said = { role: 'user', content: 'q' }
const use = (input: unknown) => ({ type: 'tool_use', id: 'toolu_1', name: 't', input })
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'r' }] }
const thought = (signature: string) => ({ type: 'thinking', thinking: 'A', signature })
const claude = (...messages: unknown[]) => ({ messages })
const chat = (args: string) => ({
  messages: [
    said,
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'bash', arguments: args } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '[error]' },
    { role: 'user', content: 'go on' },
  ],
})
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const image = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(330_000) },
}

it.each<readonly [string, string, string, string, object]>([
  [
    'anthropics/claude-code#56064',
    'anthropic',
    'surrogate',
    'messages.2.content.0.content',
    claude(said, assistant(use({})), {
      role: 'user',
      content: [{ ...result.content[0], content: 'ok \ud83d… errored' }],
    }),
  ],
  [
    'microsoft/vscode#328157',
    'anthropic',
    'thinking-one-response',
    'messages.2.content.0',
    claude(
      said,
      assistant(thought('AAAA'), { type: 'text', text: 'one' }),
      assistant(thought('BBBB'), use({})),
      result,
    ),
  ],
  [
    'microsoft/vscode#328157, joined',
    'anthropic',
    'thinking-one-response',
    'messages.1.content.2',
    claude(said, assistant(thought('AAAA'), { type: 'text', text: 'one' }, thought('BBBB'), use({})), result),
  ],
  [
    'anthropics/claude-code#63374',
    'anthropic',
    'thinking-last',
    'messages.1.content.2',
    claude(said, assistant(thought('AAAA'), { type: 'text', text: 'Let me see' }, thought('BBBB')), said),
  ],
  [
    'pydantic/pydantic-ai#5532',
    'anthropic',
    'thinking-signed',
    'messages.1.content.0',
    claude(said, assistant(thought('sigPartial'), { type: 'text', text: 'I will' }), said),
  ],
  ...['', null, [], '{"a":1}', [{ a: 1 }]].map(
    (input) =>
      [
        'cloudflare/agents#1661',
        'anthropic',
        'input-object',
        'messages.1.content.0',
        claude(said, assistant(use(input)), result),
      ] as const,
  ),
  [
    'windmill-labs/windmill#9902',
    'openai',
    'arguments-json',
    'messages.1.tool_calls.0',
    chat('{"command": "cat > a.ts <<EOF\\nimport'),
  ],
  [
    'UKGovernmentBEIS/inspect_ai#4682',
    'openai',
    'arguments-length',
    'messages.1.tool_calls.0',
    chat(JSON.stringify({ s: 'z'.repeat(1_100_000) })),
  ],
  [
    'rescrv/claudius#42',
    'anthropic',
    'cache-marks',
    'messages.8.content.0',
    claude(
      ...[0, 1, 2, 3, 4, 5].flatMap((n) => [
        { role: 'user', content: [{ type: 'text', text: `q${n}`, cache_control: { type: 'ephemeral' } }] },
        { role: 'assistant', content: `a${n}` },
      ]),
    ),
  ],
  [
    'damianvtran/local-operator#596',
    'anthropic',
    'request-bytes',
    '',
    claude(
      ...Array.from({ length: 105 }, () => [
        { role: 'user', content: [image, { type: 'text', text: 'i' }] },
        { role: 'assistant', content: 'ok' },
      ]).flat(),
    ),
  ],
])('%s: %s would refuse it, by %s at "%s"', (_, provider, rule, path, body) => {
  expect(
    validateRequest(body, provider)
      .filter((finding) => finding.rule === rule)
      .map((finding) => finding.path),
  ).toContain(path)
})
