import type { Source } from '../source.ts'
import { anthropicMessagesReader } from './message-reader.ts'
import { readTranscript, type TranscriptForm } from './transcript.ts'
import { transcriptShape } from './transcript-shape.ts'

const FORM: TranscriptForm = {
  name: 'anthropic',
  provider: 'anthropic',
  reader: anthropicMessagesReader,
  leading: ({ system }) =>
    system === undefined || system === null ? [] : [{ role: 'system', content: system }],
  leadingFields: ['system'],
}

/** Transcripts of Anthropic's Messages API; a system prompt beside the messages becomes a leading system message. */
export const anthropic: Source = {
  name: 'anthropic',
  title: 'a transcript of Anthropic’s (Messages)',
  recognizes: (head) => {
    const shape = transcriptShape(head)
    if (shape === undefined) return false
    const isOnly = [...shape.forms].every((form) => form === 'anthropic')
    return isOnly && (shape.forms.size > 0 || shape.hasSystem)
  },
  read: (input) => readTranscript(input, FORM),
}
