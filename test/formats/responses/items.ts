import fc from 'fast-check'

/*
 * Items of the Responses API, of every type that `ResponseInputItem` and `ResponseOutputItem` of the SDK name, with and
 * without what is optional, and with fields nobody knows yet.
 */

const json = fc.jsonValue({ maxDepth: 2 })
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), fc.constantFrom('', ' ', 'hello', '\n\n'))
const base64 = fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const callId = fc.constantFrom('a', 'b', 'c')
const id = fc.constantFrom('id_1', 'id_2', 'id_3')
const status = fc.constantFrom('in_progress', 'completed', 'incomplete')
const phase = fc.constantFrom('commentary', 'final_answer', null)
const args = fc.oneof(
  text,
  json.map((value) => JSON.stringify(value)),
  json.map((value) => JSON.stringify(value, null, 1)),
)

/** A record with further fields, among them names that our own notes use. */
function open<T extends object>(known: fc.Arbitrary<T>): fc.Arbitrary<T> {
  const names = ['later', 'item', 'part', 'after', 'leads', 'field', 'length', '__proto__']
  return fc
    .tuple(
      known,
      fc.oneof(
        { weight: 3, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: fc.dictionary(fc.constantFrom(...names), json, { maxKeys: 2 }) },
      ),
    )
    .map(([fields, extra]) => ({ ...extra, ...fields }))
}

/** `must` is always there, `may` now and then. */
function item(
  must: Record<string, fc.Arbitrary<unknown>>,
  may: Record<string, fc.Arbitrary<unknown>> = {},
): fc.Arbitrary<object> {
  return open(fc.record({ ...must, ...may }, { requiredKeys: Object.keys(must) }))
}

const is = fc.constant
const breakpoint = { prompt_cache_breakpoint: is({ mode: 'explicit' }) }
const caller = { caller: fc.constantFrom({ type: 'direct' }, { type: 'program', caller_id: 'p' }, null) }

const url = fc.oneof(
  base64.map((data) => `data:image/png;base64,${data}`),
  fc.constantFrom('https://x.test/a.png', 'data:image/svg+xml,<svg/>'),
)
const fileData = fc.oneof(
  base64,
  base64.map((data) => `data:application/pdf;base64,${data}`),
  base64.map((data) => `data:image/png;base64,${data}`),
  base64.map((data) => `data:audio/wav;base64,${data}`),
  fc.constantFrom('data:text/plain,%C3%A4', 'data:,'),
)

const inputText = item({ type: is('input_text'), text }, breakpoint)
const inputPart = fc.oneof(
  inputText,
  item({ type: is('input_image'), image_url: url, detail: fc.constantFrom('auto', 'low') }, breakpoint),
  item({ type: is('input_file'), file_data: fileData, filename: text }, breakpoint),
  item({ type: is('input_file'), file_url: fc.constantFrom('https://x.test/a.pdf', 'https://x.test/b') }),
  item(
    { type: is('input_image') },
    {
      detail: fc.constantFrom('low', 'high', 'auto', 'original', null),
      image_url: fc.oneof(url, is(null)),
      file_id: fc.oneof(text, is(null)),
    },
  ),
  item(
    { type: is('input_file') },
    {
      detail: fc.constantFrom('low', 'auto'),
      file_data: fileData,
      file_url: fc.constantFrom('https://x.test/a.pdf', 'https://x.test/a.csv'),
      file_id: fc.oneof(text, is(null)),
      filename: text,
    },
  ),
  item({ type: is('input_hologram'), data: json }),
)
const annotation = fc.constantFrom(
  { type: 'url_citation', start_index: 0, end_index: 1, title: 't', url: 'https://x.test' },
  { type: 'file_citation', file_id: 'f', filename: 'a', index: 0 },
)
const outputPart = fc.oneof(
  item(
    { type: is('output_text'), text },
    {
      annotations: fc.array(annotation, { maxLength: 2 }),
      logprobs: fc.array(is({ token: 'a', bytes: [97], logprob: -0.5, top_logprobs: [] }), { maxLength: 1 }),
    },
  ),
  item({ type: is('refusal'), refusal: text }),
)

const messages = [
  item(
    {
      role: fc.constantFrom('user', 'system', 'developer', 'assistant'),
      content: fc.oneof(text, fc.array(fc.oneof(inputPart, inputPart, outputPart), { maxLength: 3 })),
    },
    { type: is('message'), id, status, phase },
  ),
  item(
    {
      type: is('message'),
      role: is('assistant'),
      id,
      status,
      content: fc.array(outputPart, { maxLength: 2 }),
    },
    { phase },
  ),
]

const reasoning = item(
  { type: is('reasoning'), summary: fc.array(item({ type: is('summary_text'), text }), { maxLength: 2 }) },
  {
    id,
    content: fc.oneof(fc.array(item({ type: is('reasoning_text'), text }), { maxLength: 2 }), is(null)),
    encrypted_content: fc.oneof(text, is(null)),
    status,
  },
)

const answer = fc.oneof(text, fc.array(inputPart, { maxLength: 3 }), fc.array(inputText, { maxLength: 3 }))
const action = fc.constantFrom({ type: 'click', button: 'left', x: 1, y: 2 }, { type: 'screenshot' })
const run = item({
  stdout: text,
  stderr: text,
  outcome: fc.constantFrom({ type: 'timeout' }, { type: 'exit', exit_code: 2 }),
})
const calls = [
  item(
    { type: is('function_call'), call_id: callId, name: text, arguments: args },
    { id, status, namespace: text, ...caller },
  ),
  item({ type: is('function_call_output'), call_id: callId, output: answer }, { id, status, ...caller }),
  item({ type: is('custom_tool_call'), call_id: callId, name: text, input: text }, { id, ...caller }),
  item({ type: is('custom_tool_call_output'), call_id: callId, output: answer }, { id, ...caller }),
  item(
    { type: is('computer_call'), call_id: callId, id },
    {
      status,
      action,
      actions: fc.array(action, { maxLength: 2 }),
      pending_safety_checks: is([{ id: 's', code: null }]),
    },
  ),
  item(
    {
      type: is('computer_call_output'),
      call_id: callId,
      output: item({ type: is('computer_screenshot') }, { image_url: url, file_id: text }),
    },
    { id, status, acknowledged_safety_checks: is([{ id: 's' }]) },
  ),
  item({
    type: is('local_shell_call'),
    call_id: callId,
    id,
    status,
    action: is({ type: 'exec', command: ['ls'], env: {} }),
  }),
  item(
    { type: is('local_shell_call_output'), id: fc.oneof(id, callId), output: text },
    { status, call_id: callId },
  ),
  item(
    { type: is('shell_call'), call_id: callId, action: is({ commands: ['ls'], timeout_ms: null }) },
    { id, status, environment: fc.constantFrom({ type: 'local' }, null), ...caller },
  ),
  item(
    { type: is('shell_call_output'), call_id: callId, output: fc.array(run, { maxLength: 2 }) },
    { id, status, max_output_length: is(null), ...caller },
  ),
  item(
    {
      type: is('apply_patch_call'),
      call_id: callId,
      status,
      operation: fc.constantFrom(
        { type: 'create_file', path: 'a', diff: '+a' },
        { type: 'delete_file', path: 'a' },
      ),
    },
    { id, ...caller },
  ),
  item(
    { type: is('apply_patch_call_output'), call_id: callId, status: fc.constantFrom('completed', 'failed') },
    { id, output: fc.oneof(text, is(null)), ...caller },
  ),
]

const wholes = [
  item({ type: is('web_search_call'), id, status, action: is({ type: 'search', query: 'q', sources: [] }) }),
  item(
    { type: is('file_search_call'), id, status, queries: is(['q']) },
    { results: fc.constantFrom(null, []) },
  ),
  item({
    type: is('code_interpreter_call'),
    id,
    status,
    code: fc.oneof(text, is(null)),
    container_id: text,
    outputs: fc.constantFrom(null, [{ type: 'logs', logs: 'l' }]),
  }),
  item({ type: is('image_generation_call'), id, status, result: fc.oneof(base64, is(null)) }),
  item(
    { type: is('tool_search_call'), arguments: json },
    { id, call_id: fc.oneof(callId, is(null)), execution: fc.constantFrom('server', 'client'), status },
  ),
  item({ type: is('tool_search_output'), tools: is([]) }, { id, call_id: callId, status }),
  item({
    type: is('additional_tools'),
    role: is('developer'),
    tools: is([{ type: 'custom', name: 't' }]),
  }),
  item({ type: is('mcp_list_tools'), id, server_label: text, tools: is([]) }, { error: text }),
  item(
    { type: is('mcp_call'), id, name: text, arguments: args, server_label: text },
    { output: text, status },
  ),
  item({ type: is('mcp_approval_request'), id, name: text, arguments: args, server_label: text }),
  item(
    { type: is('mcp_approval_response'), approval_request_id: id, approve: fc.boolean() },
    { reason: text },
  ),
  item({ type: is('compaction'), encrypted_content: text }, { id, created_by: text }),
  item({ type: is('compaction_trigger') }),
  item({ id }, { type: fc.constantFrom('item_reference', null) }),
  item({ type: is('program'), id, call_id: callId, code: text, fingerprint: text }),
  item({ type: is('program_output'), id, call_id: callId, result: text, status }),
  item({ type: is('hologram_call'), data: json }),
]

/** Lists of items. */
export const items: fc.Arbitrary<object[]> = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.oneof(...messages) },
      { weight: 3, arbitrary: reasoning },
      { weight: 6, arbitrary: fc.oneof(...calls) },
      { weight: 4, arbitrary: fc.oneof(...wholes) },
    ),
    { maxLength: 7 },
  )
  .map((list) => JSON.parse(JSON.stringify(list)) as object[])
