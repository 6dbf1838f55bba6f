import { streamText } from 'ai'
import { openChats } from '../../chats'
import { model } from '../../model'

export async function POST(request: Request): Promise<Response> {
  const { chats } = await openChats()
  const turn = await chats.resume(await request.json(), { model, system: 'Be brief.' })
  const result = streamText({
    model: turn.model,
    messages: turn.messages,
    ...(turn.system !== undefined && { system: turn.system }),
  })
  return result.toUIMessageStreamResponse({
    originalMessages: turn.originalMessages,
    generateMessageId: turn.generateMessageId,
    onFinish: turn.onFinish,
  })
}
