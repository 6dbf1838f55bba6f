/*
 * The server's side of a chat: what stands in `app/api/chat/route.ts` of a Next.js application.
 */
import { consumeStream, stepCountIs, streamText, tool, type UIMessage } from 'ai'
import { openStore } from 'undertext'
import { chatStore } from 'undertext/ai-sdk'
import { z } from 'zod'
import { mockModel } from './mock-model.ts'

export const store = await openStore(process.env.STORE ?? 'chats.db')

const tools = {
  weather: tool({
    description: 'The weather in a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `It is sunny in ${city}.`,
  }),
}

export const chats = chatStore<UIMessage>(store, { tools })
const model = mockModel()

export async function POST(request: Request): Promise<Response> {
  const turn = await chats.resume(await request.json(), { model, system: 'Be friendly.' })
  const result = streamText({
    model: turn.model,
    tools,
    messages: turn.messages,
    stopWhen: stepCountIs(5),
    ...(turn.system !== undefined && { system: turn.system }),
  })
  return result.toUIMessageStreamResponse({
    originalMessages: turn.originalMessages,
    generateMessageId: turn.generateMessageId,
    onFinish: turn.onFinish,
    // The whole answer is stored also when the browser is closed meanwhile.
    consumeSseStream: consumeStream,
  })
}
