import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../../messages/json.ts'
import type { SdkModelMessage } from '../model-types.ts'
import type { SdkPart } from '../sdk-types.ts'
import type { SdkUIMessage } from '../ui-types.ts'

type ToModelOutput = (call: {
  readonly toolCallId: string
  readonly input: unknown
  readonly output: unknown
}) => unknown

/**
 * Results as the tools of an application say them to a model (`toModelOutput`: a picture in place of its bytes as JSON), as
 * `convertToModelMessages` of ai 6 and 7 asks for them. What a compaction shows in place of a result stays.
 */
export async function withModelOutputs(
  messages: SdkModelMessage[],
  chat: readonly SdkUIMessage[],
  tools: object | undefined,
): Promise<SdkModelMessage[]> {
  const speaking = Object.entries(tools ?? {}).flatMap(([name, tool]) =>
    isObject(tool) && typeof tool.toModelOutput === 'function'
      ? [[name, tool.toModelOutput.bind(tool) as ToModelOutput] as const]
      : [],
  )
  if (speaking.length === 0) return messages
  const toModel = new Map(speaking)
  const parts = new Map<string, SdkPart>()
  for (const part of chat.flatMap((message) => message.parts as readonly SdkPart[]))
    if (typeof part.toolCallId === 'string') parts.set(part.toolCallId, part)

  const said = async (part: SdkPart): Promise<SdkPart> => {
    const ask = part.type === 'tool-result' ? toModel.get(part.toolName as string) : undefined
    const shown = parts.get(part.toolCallId as string)
    if (ask === undefined || shown?.state !== 'output-available') return part
    const { input, output } = shown
    const stored =
      typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output }
    if (!isDeepStrictEqual(part.output, stored)) return part
    return { ...part, output: await ask({ toolCallId: part.toolCallId as string, input, output }) }
  }
  const asked = messages.map(async (message) => {
    if (typeof message.content === 'string') return message
    const content = await Promise.all((message.content as readonly SdkPart[]).map(said))
    return { ...message, content } as SdkModelMessage
  })
  return Promise.all(asked)
}
