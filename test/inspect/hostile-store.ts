import type { JsonObject } from '../../src/core/messages/json.ts'
import { isUndertextError, type NewMessage, openStore, type Store } from '../../src/index.ts'
import { picture } from './demo-png.ts'
import { PAYLOADS } from './payloads.ts'

/* A store with hostile texts in every field that it accepts. */

/** Stores what the store accepts: a refusal is fine, a different error isn't. */
async function orRefused<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isUndertextError(error, 'INVALID_INPUT')) return undefined
    throw error
  }
}

/** Rows of every kind, with the text wherever a text can be. */
function rowsWith(text: string): NewMessage[] {
  const key: JsonObject = { [text.slice(0, 300)]: text, plain: text, list: [text, { deep: text }] }
  const providerOptions = { anthropic: { signature: text, [text.slice(0, 100)]: text } }
  const call = (toolCallId: string, toolName: string, input: JsonObject | string): NewMessage => ({
    role: 'assistant',
    content: [{ type: 'tool-call', toolCallId, toolName, input, providerOptions }],
  })
  const result = (toolCallId: string, output: object): NewMessage =>
    ({ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName: 'read', output }] }) as NewMessage
  const svg = `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.executed=1"><script>globalThis.executed=1</script></svg>`)}`
  return [
    { role: 'system', content: text },
    { role: 'user', content: text, metadata: key },
    {
      role: 'user',
      content: [
        { type: 'text', text: `Before ${text} after` },
        {
          type: 'image',
          image: picture(4, 4, () => [255, 0, 0]),
          mediaType: text.slice(0, 100) || 'image/png',
        },
        { type: 'image', image: svg, mediaType: 'image/svg+xml' },
        { type: 'image', image: 'https://evil.example/remote.png' },
        {
          type: 'image',
          image: Buffer.from('<svg onload="globalThis.executed=1"/>').toString('base64'),
          mediaType: 'image/svg+xml',
        },
        {
          type: 'image',
          image: Buffer.from('<script>globalThis.executed=1</script>').toString('base64'),
          mediaType: 'image/png',
        },
        { type: 'file', data: 'javascript:globalThis.executed=1', mediaType: 'text/html', filename: text },
        {
          type: 'file',
          data: Buffer.from(`<script>globalThis.executed=1</script>`).toString('base64'),
          mediaType: 'text/html',
          filename: 'x.html',
        },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text, providerOptions },
        { type: 'text', text, providerOptions },
        { type: 'provider', provider: 'anthropic', data: { type: text, ...key } },
      ],
      metadata: { model: text, ...key },
    },
    { role: 'user', content: 'Use the tools.' },
    call('call_1', 'edit', { file_path: text, old_string: text, new_string: `${text}\n${text}` }),
    result('call_1', { type: 'text', value: text }),
    call('call_2', 'bash', { command: text }),
    result('call_2', { type: 'error-text', value: text }),
    call('call_3', 'apply_patch', {
      input: `*** Begin Patch\n*** Update File: ${text}\n@@ ${text}\n-${text}\n+${text}\n*** End Patch`,
    }),
    result('call_3', { type: 'json', value: key }),
    call('call_4', 'other', text),
    result('call_4', {
      type: 'content',
      value: [
        { type: 'text', text },
        { type: 'image', image: svg },
        { type: 'file', data: 'AAAA', mediaType: text, filename: text },
      ],
    }),
    { role: 'user', content: 'And?' },
    { role: 'assistant', content: text },
  ]
}

/** Names that the store may refuse. */
function namesWith(text: string): NewMessage[] {
  return [
    { role: 'user', content: 'A call with such a name.', id: text },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: text, toolName: text, input: { x: text } }],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: text, toolName: text, output: { type: 'text', value: text } },
      ],
    },
    { role: 'assistant', content: [{ type: 'provider', provider: text, data: { x: text } }] },
  ]
}

/** Makes the store, with a session for each text. Returns their ids. */
export async function makeHostileStore(path: string): Promise<string[]> {
  const store = await openStore(path, { env: false })
  // Names of models that nobody knows.
  store.on('windowAssumed', () => {})
  const ids: string[] = []
  for (const [at, text] of Object.values(PAYLOADS).entries()) {
    const id = `hostile-${at}`
    await makeHostileSession(store, id, text)
    ids.push(id)
    // An id that is the text itself.
    await orRefused(() =>
      store.sessions.create({ id: text.slice(0, 200), title: 'By its id', metadata: { project: text } }),
    )
  }
  await store.close()
  return ids
}

async function makeHostileSession(store: Store, id: string, text: string): Promise<void> {
  const fields = {
    title: text.slice(0, 1_000),
    metadata: { project: text, [text.slice(0, 100)]: text, undertext: { subagentOf: text } },
  }
  const names = [text, text.slice(0, 200), 'plain']
  let isMade = false
  for (const name of names) {
    isMade ||=
      (await orRefused(() => store.sessions.create({ id, ...fields, provider: name, model: name }))) !==
      undefined
  }
  if (!isMade)
    await store.sessions.create({ id, title: 'The title was refused', provider: 'openai', model: 'gpt-4o' })
  for (const message of rowsWith(text)) await orRefused(() => store.append(id, [message]))
  for (const message of namesWith(text)) await orRefused(() => store.append(id, [message]))
  const request = await orRefused(() =>
    store.prepareRequest(id, {
      system: text,
      tools: [{ name: text, description: text, input_schema: { [text.slice(0, 50)]: text } }],
      prompt: text || 'x',
    }),
  )
  for (const stopReason of [text.slice(0, 100) || 'stop', 'stop'])
    if (request !== undefined)
      await orRefused(() =>
        store.recordResponse(id, {
          ...{ request, stopReason, usage: { inputTokens: 10, outputTokens: 2 } },
          messages: [{ role: 'assistant', content: `${text} ${stopReason.length}` }],
        }),
      )
  const rows = await store.getMessages(id)
  const [, first] = rows
  const authored = { actor: text.slice(0, 100) || 'x', reason: text.slice(0, 500) || 'x' }
  if (first !== undefined) await orRefused(() => store.messages.pin(id, [first.id], authored))
  const last = rows.findLast(({ role }) => role === 'assistant')
  const isHidden = last && (await orRefused(() => store.compactions.hide(id, [last.id], authored)))
  if (isHidden === undefined && last !== undefined) await store.compactions.hide(id, [last.id])
  const run = await store
    .compactSession(id, { range: { from: 2, to: 4 }, summary: text.trim() || 'x' })
    .catch(() => undefined)
  await store
    .compactSession(id, {
      stages: [{ stage: 'clear_tool_results', keep: 0 }],
      target: 0.0001,
      prunePlaceholder: `${text} {tool}`,
    })
    .catch(() => undefined)
  if (run?.compacted) await store.undoCompaction(id, run.runId)
  await orRefused(() => store.sessions.fork(id, { title: text.slice(0, 500), actor: text.slice(0, 100) }))
  await orRefused(() => store.notes.add(text, { session: id }))
}
