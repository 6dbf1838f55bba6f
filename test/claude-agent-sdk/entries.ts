import fc from 'fast-check'
import type { SessionStoreEntry } from '../../src/adapters/claude-agent-sdk/index.ts'

/*
 * Entries as Claude Code 2.1 writes them, shortened, and arbitrary ones.
 */

export const SESSION = '0b5e6f1a-7c1d-4e57-9a44-1f0f2b6d3c11'

let count = 0
/** A uuid of its own for each call. */
export function nextUuid(): string {
  count += 1
  return `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`
}

const envelope = () => ({
  uuid: nextUuid(),
  parentUuid: null,
  isSidechain: false,
  timestamp: '2026-01-02T03:04:05.678Z',
  cwd: '/work',
  gitBranch: 'main',
  sessionId: SESSION,
  version: '2.1.330',
})

export const asks = (text: string, rest: object = {}): SessionStoreEntry => ({
  ...envelope(),
  type: 'user',
  message: { role: 'user', content: text },
  ...rest,
})

export const answers = (block: object, rest: object = {}): SessionStoreEntry => ({
  ...envelope(),
  type: 'assistant',
  requestId: 'req_1',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [block],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 100, output_tokens: 20, cache_creation: { ephemeral_5m_input_tokens: 0 } },
  },
  ...rest,
})

export const brings = (id: string, content: string): SessionStoreEntry => ({
  ...envelope(),
  type: 'user',
  message: { role: 'user', content: [{ tool_use_id: id, type: 'tool_result', content }] },
  toolUseResult: { type: 'text', file: { filePath: '/work/a.txt', content, numLines: 1 } },
})

export const says = (text: string): SessionStoreEntry => answers({ type: 'text', text })
export const thinks = (thinking: string, signature = 'c2ln'): SessionStoreEntry =>
  answers({ type: 'thinking', thinking, signature })
export const calls = (id: string): SessionStoreEntry =>
  answers({ type: 'tool_use', id, name: 'Read', input: { file_path: '/work/a.txt' } })

/** Entries that are no part of what is said. */
export const beside = {
  queue: {
    type: 'queue-operation',
    operation: 'enqueue',
    timestamp: '2026-01-02T03:04:05.678Z',
    sessionId: SESSION,
  },
  lastPrompt: { type: 'last-prompt', lastPrompt: 'Read a.txt', leafUuid: nextUuid(), sessionId: SESSION },
  title: { type: 'custom-title', customTitle: 'Reading', sessionId: SESSION },
  summary: { type: 'summary', summary: 'A file was read', leafUuid: nextUuid() },
  snapshot: {
    type: 'file-history-snapshot',
    messageId: nextUuid(),
    snapshot: { trackedFileBackups: {} },
    isSnapshotUpdate: false,
  },
  boundary: {
    ...envelope(),
    type: 'system',
    subtype: 'compact_boundary',
    content: 'Conversation compacted',
    isMeta: false,
    compactMetadata: { trigger: 'auto', preTokens: 155_000 },
  },
  attachment: {
    ...envelope(),
    type: 'attachment',
    attachment: { type: 'date', date: '2026-01-02' },
    rendered: [{ content: 'the date' }],
  },
  progress: { ...envelope(), type: 'progress', data: { type: 'hook_progress' } },
} satisfies Record<string, SessionStoreEntry>

/** A turn as it stands in a transcript: one block an entry, all sorts of other entries between. */
export function turn(call = 'toolu_1'): SessionStoreEntry[] {
  return [
    beside.queue,
    asks('Read a.txt'),
    { ...beside.attachment, uuid: nextUuid() },
    beside.snapshot,
    thinks('I should look.', Buffer.from(call).toString('base64')),
    says('Reading.'),
    calls(call),
    beside.lastPrompt,
    brings(call, 'hello'),
    { ...beside.attachment, uuid: nextUuid() },
    says('It says hello.'),
    beside.lastPrompt,
  ]
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '\0', '\ud800', ' ', '%', '/', '__proto__', 'é𝔘'),
)
/** Any JSON value: with −0, NUL, lone surrogates, own keys of any name. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(-0, 0, 1e300),
    text,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.array(fc.tuple(text, tie('value')), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
})).value

const anyBlock = fc.oneof(
  text.map((words) => ({ type: 'text', text: words })),
  fc.record({ type: fc.constant('tool_use'), id: text, name: text, input: anyJson }),
  fc.record({
    type: fc.constant('tool_result'),
    tool_use_id: text,
    content: fc.oneof(text, fc.array(text.map((words) => ({ type: 'text', text: words })))),
  }),
  fc.record({ type: fc.constant('thinking'), thinking: text, signature: fc.oneof(text, anyJson) }),
  fc.record({
    type: fc.constantFrom('image', 'document', 'redacted_thinking', 'compaction', 'server_tool_use', ''),
    source: anyJson,
    content: anyJson,
  }),
  fc.constant({
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgoAAAANSUhEUg==' },
  }),
  anyJson,
)
const anyMessage = fc.oneof(
  anyJson,
  fc.record(
    {
      role: fc.constantFrom('user', 'assistant', 'system'),
      content: fc.oneof(text, fc.array(anyBlock, { maxLength: 4 }), anyJson),
      id: text,
      usage: anyJson,
    },
    { requiredKeys: ['role', 'content'] },
  ),
)

/** Any entry: like one of Claude Code's, or with fields of any kind where those are known. */
export const anyEntry: fc.Arbitrary<SessionStoreEntry> = fc
  .record(
    {
      type: fc.oneof(fc.constantFrom('user', 'assistant', 'system', 'summary', 'attachment'), text),
      uuid: fc.oneof(fc.uuid(), text, anyJson) as fc.Arbitrary<string>,
      timestamp: fc.oneof(
        fc.constantFrom('2026-01-02T03:04:05.678Z', 'soon', ''),
        anyJson,
      ) as fc.Arbitrary<string>,
      message: anyMessage,
      isSidechain: fc.oneof(fc.boolean(), anyJson),
      metadata: anyJson,
      entry: anyJson,
      envelope: anyJson,
    },
    { requiredKeys: ['type'] },
  )
  .map((entry) => entry as SessionStoreEntry)
