import type { Source } from '../source.ts'
import { anyMessageReader } from './message-reader.ts'
import { readTranscript, type TranscriptForm } from './transcript.ts'
import { transcriptShape } from './transcript-shape.ts'

const FORM: TranscriptForm = {
  name: 'messages',
  reader: anyMessageReader,
  leading: ({ system }) => (typeof system === 'string' ? [{ role: 'system', content: system }] : []),
  leadingFields: ['system'],
}

/** Plain `{ role, content }`, neutral messages, flat calls and results, and files in which forms are mixed. */
export const messages: Source = {
  name: 'messages',
  title: 'messages with a role and a content',
  recognises: (head) => {
    const shape = transcriptShape(head)
    return shape !== undefined && !shape.forms.has('gemini')
  },
  read: (input) => readTranscript(input, FORM),
}
