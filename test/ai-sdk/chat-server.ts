import { createServer } from 'node:http'
import { stepCountIs, streamText, tool, type UIMessage } from 'ai'
import { z } from 'zod'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { openStore } from '../../src/index.ts'
import { type Content, scripted, text } from './models.ts'

/*
 * The server's side of a chat as a process of its own: `node chat-server.js <store> <file of what the model says>`. Prints its port.
 */

const [, , location = '', script = '[]'] = process.argv
const store = await openStore(location)
const tools = {
  look: tool({ inputSchema: z.object({ at: z.string() }), execute: ({ at }) => `seen ${at}` }),
  // The browser runs it.
  ask: tool({ inputSchema: z.object({}), outputSchema: z.string() }),
  remove: tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 'removed' }),
}
const chats = chatStore<UIMessage>(store, { tools })
const model = scripted(
  (JSON.parse(script) as (string | Content)[]).map((one) => [typeof one === 'string' ? text(one) : one]),
)

async function answer(body: unknown): Promise<Response> {
  const turn = await chats.resume(body, { model, system: 'Be brief.' })
  const result = streamText({
    model,
    tools,
    messages: turn.messages,
    stopWhen: stepCountIs(5),
    ...(turn.system !== undefined && { system: turn.system }),
  })
  return result.toUIMessageStreamResponse({
    originalMessages: turn.originalMessages,
    generateMessageId: turn.generateMessageId,
    onFinish: turn.onFinish,
  })
}

async function route(method: string, path: string, body: string): Promise<Response> {
  if (method === 'POST' && path === '/api/chat') return answer(JSON.parse(body))
  if (method === 'POST') return Response.json({ id: await chats.create() })
  if (path === '/sent') return Response.json(model.calls.map(({ prompt }) => prompt))
  return Response.json(await chats.load(path.slice('/chats/'.length)))
}

const server = createServer(async (request, response) => {
  let body = ''
  for await (const piece of request) body += String(piece)
  try {
    const answered = await route(request.method ?? '', request.url ?? '', body)
    response.writeHead(answered.status, Object.fromEntries(answered.headers))
    for await (const piece of answered.body ?? []) response.write(piece)
  } catch (error) {
    response.writeHead(500)
    response.write((error as Error).message)
  }
  response.end()
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as { port: number }).port}\n`)
})
