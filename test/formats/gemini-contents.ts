import fc from 'fast-check'

/*
 * Any contents that Gemini's API can say: every field of `Content` and `Part` of `@google/genai`, with ids and without,
 * and fields that are unknown here.
 */

const json = fc.jsonValue({ maxDepth: 3 })
const record = fc.dictionary(fc.string(), json, { maxKeys: 3 })
const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', ' ', '\n', 'hello'))
const bytes = fc.oneof(fc.base64String(), fc.constantFrom('iVBORw0KGgo=', 'A-_w', ''))
const mediaType = fc.constantFrom('image/png', 'image/*', 'video/mp4', 'text/plain', 'application/pdf', '')
const name = fc.constantFrom('f', 'g', 'get.weather:now', 'a-name-of-more-than-forty-characters-in-all-1')
const id = fc.constantFrom('a', 'b', '', 'gemini_call_f')
const flag = fc.boolean()

const telling = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        thought: flag,
        thoughtSignature: fc.constantFrom('c2ln', 'skip_thought_signature_validator'),
        videoMetadata: fc.record({ startOffset: fc.constant('1s'), fps: fc.constant(2) }),
        mediaResolution: fc.record({ level: fc.constant('MEDIA_RESOLUTION_LOW') }),
        mediaProcessing: fc.constant('MEDIA_PROCESSING_UNSPECIFIED'),
        partMetadata: record,
        speechMetadata: fc.record({ speaker: text }),
        audioTranscription: fc.record({ text }),
        tomorrow: json,
        // Tools of Python write what is absent as null.
        functionResponse: fc.constant(null),
      },
      { requiredKeys: [] },
    ),
  },
)

function part(held: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> {
  return fc.tuple(fc.record(held), telling).map(([own, more]) => ({ ...more, ...own }))
}

const inlineData = fc.record(
  { data: bytes, mimeType: mediaType, displayName: fc.oneof(text, json), tomorrow: json },
  { requiredKeys: ['data', 'mimeType'] },
)
const fileData = fc.record(
  {
    fileUri: fc.constantFrom(
      'https://x.test/a',
      'gs://b/c.png',
      'files/abc',
      'data:image/png;base64,AA==',
      '',
    ),
    mimeType: mediaType,
    displayName: text,
  },
  { requiredKeys: ['fileUri'] },
)
const functionCall = fc.oneof(
  fc.record(
    {
      id,
      name,
      args: record,
      partialArgs: fc.constant([{ jsonPath: '$.a', stringValue: 'b' }]),
      willContinue: flag,
    },
    { requiredKeys: ['name'] },
  ),
  fc.record({ partialArgs: fc.constant([]), willContinue: flag }, { requiredKeys: [] }),
)
const response = fc.oneof(
  record,
  fc.record({ output: fc.oneof(text, json) }),
  fc.record({ result: fc.oneof(text, json) }),
  fc.record({ error: fc.oneof(text, json) }),
  fc.record({ output: json, error: json, result: json }, { requiredKeys: [] }),
  fc.record({ error: json, code: json }),
)
const piece = fc.oneof(
  fc.record({ inlineData }),
  fc.record({ fileData, mediaProcessing: fc.constant('x') }, { requiredKeys: ['fileData'] }),
  fc.record({ tomorrow: json }),
)
const functionResponse = fc.record(
  {
    id,
    name,
    response,
    parts: fc.array(piece, { maxLength: 2 }),
    scheduling: fc.constantFrom('SILENT', 'WHEN_IDLE', 'INTERRUPT'),
    willContinue: flag,
  },
  { requiredKeys: ['name'] },
)
const nameless = fc.record({ id, response }, { requiredKeys: ['id'] })

const said = [
  part({ text }),
  part({ inlineData }),
  part({ fileData }),
  part({ codeExecutionResult: fc.record({ outcome: fc.constant('OUTCOME_OK'), output: text, id }) }),
  part({ toolCall: fc.record({ id, toolType: fc.constant('GOOGLE_MAPS'), args: record }) }),
  part({ toolResponse: fc.record({ id, toolType: fc.constant('GOOGLE_MAPS'), response: record }) }),
  fc.record({ thoughtSignature: fc.constant('c2ln') }),
  fc.record({ tomorrow: json }),
]
const modelPart = fc.oneof(
  ...said,
  part({ functionCall }),
  part({ executableCode: fc.record({ code: text, language: fc.constant('PYTHON'), id }) }),
)
const answerPart = fc.oneof(part({ functionResponse }), part({ functionResponse: nameless }))
const userPart = fc.oneof(...said, answerPart)

function content(role: string | undefined, of: fc.Arbitrary<object>): fc.Arbitrary<object> {
  return fc
    .record({ parts: fc.array(of, { maxLength: 4 }), tomorrow: json }, { requiredKeys: [] })
    .map((fields) => (role === undefined ? fields : { role, ...fields }))
}

/** Lists of contents. */
export const geminiContents: fc.Arbitrary<object[]> = fc
  .array(
    fc.oneof(
      content('user', userPart),
      content('user', answerPart),
      content('function', answerPart),
      content(undefined, userPart),
      content(undefined, modelPart),
      content('model', modelPart),
    ),
    { maxLength: 5 },
  )
  .map((list) => JSON.parse(JSON.stringify(list)) as object[])

const textPart = part({ text })

/** System instructions, in every shape the SDK takes. */
export const geminiInstruction: fc.Arbitrary<unknown> = fc
  .oneof(
    text,
    textPart,
    fc.array(fc.oneof(text, textPart, part({ inlineData })), { maxLength: 3 }),
    fc.record(
      {
        parts: fc.array(fc.oneof(textPart, part({ fileData })), { maxLength: 3 }),
        role: fc.constantFrom('system', 'user'),
      },
      { requiredKeys: ['parts'] },
    ),
  )
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown)
