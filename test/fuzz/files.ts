import { readFileSync } from 'node:fs'
import type { SourceName } from '../../src/transfer/index.ts'
import { sharedPath } from '../support/shared.ts'
import {
  answer,
  boundary,
  call,
  LINE,
  result,
  summary,
  user,
} from '../transfer/sources/claude-code-entries.ts'
import { chain, message, talk } from '../transfer/sources/claude-files.ts'

/* A small valid file of each source. */

export type File = {
  readonly source: SourceName
  readonly name: string
} & (
  | { readonly lines: readonly unknown[] }
  | { readonly value: unknown }
  // Not JSON in all its lines.
  | { readonly bytes: Buffer }
)

const at = (second: number): string => `2025-01-01T00:00:${String(second).padStart(2, '0')}.000Z`
const entry = (id: string, parentId: string | null, said: object) => ({
  ...{ type: 'message', id, parentId, timestamp: at(1), message: said },
})
const answered = (content: object[]) => ({ role: 'assistant', content, provider: 'anthropic', model: 'm' })
const PI = [
  { type: 'session', version: 3, id: 'S', timestamp: at(0), cwd: '/work' },
  entry('u1', null, { role: 'user', content: 'u1', timestamp: 1_735_689_601_000 }),
  entry('a1', 'u1', answered([{ type: 'toolCall', id: 'c', name: 'read', arguments: { path: 'a' } }])),
  entry('r1', 'a1', {
    role: 'toolResult',
    toolCallId: 'c',
    toolName: 'read',
    content: [{ type: 'text', text: 'r' }],
  }),
  {
    type: 'compaction',
    id: 'S1',
    parentId: 'r1',
    timestamp: at(3),
    summary: 'S1',
    firstKeptEntryId: 'a1',
    tokensBefore: 9,
  },
  { type: 'model_change', id: 'M', parentId: 'S1', timestamp: at(4), provider: 'openai', modelId: 'm' },
  entry('u2', 'M', { role: 'user', content: [{ type: 'text', text: 'u2' }] }),
  { type: 'branch_summary', id: 'B', parentId: 'u1', timestamp: at(5), summary: 'left', fromId: 'u2' },
  entry(
    'a2',
    'B',
    answered([
      { type: 'thinking', thinking: 't' },
      { type: 'text', text: 'a2' },
    ]),
  ),
]

const TASK = [
  { role: 'user', content: [{ type: 'text', text: 'Do it.' }], ts: 1, condenseParent: 'C' },
  {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 't', name: 'read', input: {} }],
    ts: 2,
    condenseParent: 'C',
  },
  {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 't', content: 'r' }],
    ts: 3,
    truncationParent: 'T',
  },
  { role: 'user', content: 'A summary.', isSummary: true, condenseId: 'C', ts: 4 },
  { role: 'user', content: 'Cut.', isTruncationMarker: true, truncationId: 'T', ts: 5 },
  { role: 'assistant', content: 'Done.', ts: 6 },
]

const node = (id: string, parent: string | null, role: string, children: string[]) => ({
  id,
  parent,
  children,
  message: {
    ...{ id, author: { role }, create_time: 1_735_689_601.5, metadata: { model_slug: 'gpt-4o' } },
    content: { content_type: 'text', parts: [`of ${id}`] },
  },
})
const TREE = {
  ...{ id: 'tree', title: 'A tree', create_time: 1_735_689_600.1, current_node: 'c' },
  mapping: {
    root: { id: 'root', parent: null, children: ['a'], message: null },
    a: node('a', 'root', 'user', ['b', 'c']),
    b: node('b', 'a', 'assistant', []),
    c: node('c', 'a', 'assistant', ['d']),
    d: node('d', 'c', 'tool', []),
  },
}

const CALLED = {
  ...{ role: 'assistant', content: null },
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
}
const BLOCKS = [
  {
    role: 'user',
    content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }],
  },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: { a: [1] } }] },
  {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text', text: 'r' }] }],
  },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 't', signature: 's' },
      { type: 'text', text: 'Yes.' },
    ],
  },
]

export const FILES: readonly File[] = [
  {
    ...{ source: 'claude-code', name: 'session.jsonl' },
    lines: [
      ...LINE,
      user('u3', 'a1'),
      ...[call('c1', 'u3', 'm'), result('r1', 'c1', 'c1'), answer('a3', 'r1')],
      ...[boundary('b', 'a3'), summary('s', 'b'), user('u4', 's')],
    ],
  },
  { source: 'pi', name: 'pi.jsonl', lines: PI },
  { source: 'roo', name: 'api_conversation_history.json', value: TASK },
  { source: 'cline', name: 'api_conversation_history.json', value: BLOCKS },
  { source: 'chatgpt', name: 'conversations.json', value: [TREE, { ...TREE, id: 'other' }] },
  {
    ...{ source: 'claude', name: 'conversations.json' },
    value: [
      talk([
        ...chain(message('m1', 'human', 'Hello'), message('m2', 'assistant', [{ type: 'text', text: 'Hi' }])),
        message('m3', 'human', 'Other', { attachments: [{ file_name: 'a', extracted_content: 'b' }] }),
      ]),
    ],
  },
  {
    ...{ source: 'openai', name: 'chat.jsonl' },
    lines: [
      { role: 'system', content: 'Be brief.' },
      CALLED,
      { role: 'tool', tool_call_id: 'c', content: 'ok' },
    ],
  },
  { source: 'anthropic', name: 'body.json', value: { system: 'Be brief.', messages: BLOCKS } },
  {
    ...{ source: 'messages', name: 'flat.json' },
    value: [
      { id: 'm1', role: 'user', content: 'Hello', createdAt: at(1) },
      { role: 'tool_call', content: '{}', tool: 'f' },
      { role: 'tool_result', content: 'r', args: {} },
      { id: 'm2', role: 'assistant', content: 'Hi' },
    ],
  },
]

/** The file of the shared cases with broken lines, where it is. */
export function sharedFiles(): File[] {
  const name = 'two-objects-on-a-line.claude-code.jsonl'
  const path = sharedPath(`cases/imports/${name}`)
  return path === undefined ? [] : [{ source: 'claude-code', name, bytes: readFileSync(path) }]
}
