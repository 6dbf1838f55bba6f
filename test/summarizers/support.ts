import type { Json } from '../../src/core/messages/json.ts'
import type { Message, Part, RowKind } from '../../src/core/messages/message.ts'
import { filesOf } from '../../src/core/summarizers/digest.ts'
import { extractiveSummarizer } from '../../src/core/summarizers/extractive.ts'
import { SUMMARY_SECTIONS, type SummaryRequest } from '../../src/core/summarizers/summarizer.ts'

export type Row = Message & { readonly kind: RowKind }

export const user = (text: string): Row => ({ kind: 'message', role: 'user', content: text })

export const assistant = (text: string, ...calls: Part[]): Row => ({
  kind: 'message',
  role: 'assistant',
  content: calls.length === 0 ? text : [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls],
})

export const call = (toolCallId: string, toolName: string, input: Json = {}): Part => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input,
})

export const result = (toolCallId: string, value: string): Row => ({
  kind: 'message',
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, output: { type: 'text', value } }],
})

export const failure = (toolCallId: string, value: string): Row => ({
  kind: 'message',
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, output: { type: 'error-text', value } }],
})

/** A call and its result, as two rows. */
export const did = (id: string, name: string, input: Json, output = 'done'): Row[] => [
  assistant('', call(id, name, input)),
  result(id, output),
]

/** A summary of rows, with the defaults of the package. */
export function summarize(messages: readonly Row[], request: Partial<SummaryRequest> = {}): string {
  const answer = extractiveSummarizer.summarize({
    sessionId: 'session-1',
    messages,
    sections: SUMMARY_SECTIONS,
    maxTokens: 4_000,
    files: filesOf(messages),
    ...request,
  })
  if (answer instanceof Promise) throw new Error('the extractive summarizer answers at once')
  return answer.text
}

/** The lines under each heading of a summary, without their marks. */
export function sectionsOf(text: string): Record<string, string[]> {
  const sections: Record<string, string[]> = {}
  let lines: string[] = []
  for (const line of text.split('\n')) {
    if (line.startsWith('## ')) sections[line.slice(3)] = lines = []
    else if (line !== '') lines.push(line.replace(/^- /, ''))
  }
  return sections
}
