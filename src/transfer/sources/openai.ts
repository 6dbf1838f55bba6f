import { detectFormat } from '../../adapters/detect.ts'
import { isObject } from '../../core/messages/json.ts'
import type { Source } from '../source.ts'
import { chatCompletionsReader, responsesItemsReader } from './message-reader.ts'
import { readTranscript, type TranscriptForm } from './transcript.ts'
import { transcriptShape } from './transcript-shape.ts'

const FORM: TranscriptForm = {
  name: 'openai',
  reader: (sample) => (isResponses(sample) ? responsesItemsReader() : chatCompletionsReader()),
  leading: ({ instructions, input }) => [
    ...(typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : []),
    ...(Array.isArray(instructions) ? (instructions as readonly unknown[]) : []),
    ...(typeof input === 'string' ? [{ role: 'user', content: input }] : []),
  ],
  leadingFields: ['instructions'],
}

/** OpenAI transcripts: messages of Chat Completions, or items of the Responses API. */
export const openai: Source = {
  name: 'openai',
  title: 'a transcript of OpenAI’s (Chat Completions or Responses)',
  recognizes: (head) => {
    const shape = transcriptShape(head)
    if (shape === undefined || shape.hasSystem) return false
    const [first] = head.values
    const hasInput =
      shape.layout === 'object' && typeof first === 'object' && first !== null && 'input' in first
    if (hasInput) return shape.forms.size === 0 || onlyOpenAI(shape.forms)
    return shape.forms.size > 0 && onlyOpenAI(shape.forms)
  },
  isBeside: ({ values }) => (isOfAgents(values) ? OF_AGENTS : undefined),
  read: (input) => readTranscript(input, FORM),
}

const OF_AGENTS = "items of OpenAI's Agents SDK, which fromAgentItems reads"

/** Agents items differ from items of the Responses API only in field names; calls and results identify them. */
function isOfAgents(values: readonly unknown[]): boolean {
  const calls = values
    .filter(isObject)
    .filter(({ type }) => typeof type === 'string' && /_call(?:_result|_output)?$/.test(type))
  return (
    calls.some(({ callId }) => typeof callId === 'string') &&
    calls.every(({ call_id }) => call_id === undefined)
  )
}

function onlyOpenAI(forms: ReadonlySet<string>): boolean {
  return [...forms].every((form) => form === 'openai' || form === 'openai-responses')
}

/** Whether items of the Responses API are among them; an item may be followed by no other. */
function isResponses(sample: readonly unknown[]): boolean {
  return sample.some((item) => detectFormat([item]) === 'openai-responses')
}
