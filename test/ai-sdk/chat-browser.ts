import { AbstractChat, type ChatState, DefaultChatTransport, type UIMessage } from 'ai'

/** What `useChat` keeps, without React. */
class State implements ChatState<UIMessage> {
  status: ChatState<UIMessage>['status'] = 'ready'
  error: Error | undefined
  messages: UIMessage[]
  constructor(messages: UIMessage[]) {
    this.messages = messages
  }
  pushMessage = (message: UIMessage): void => void this.messages.push(message)
  popMessage = (): void => void this.messages.pop()
  replaceMessage = (index: number, message: UIMessage): void => void this.messages.splice(index, 1, message)
  snapshot = <T>(thing: T): T => structuredClone(thing)
}

/** A browser's side of a chat: the AI SDK's own class and transport. `whole`: the whole list is sent each time, as the default is. */
export class Browser extends AbstractChat<UIMessage> {
  constructor(
    id: string,
    api: string,
    messages: UIMessage[] = [],
    {
      whole = false,
      fetch,
      ...init
    }: { whole?: boolean; fetch?: typeof globalThis.fetch } & Partial<
      ConstructorParameters<typeof AbstractChat<UIMessage>>[0]
    > = {},
  ) {
    const transport = new DefaultChatTransport<UIMessage>({
      api,
      ...(fetch && { fetch }),
      ...(!whole && {
        prepareSendMessagesRequest: ({ id: chat, messages: all, trigger, messageId }) => ({
          body: { id: chat, message: all.at(-1), trigger, messageId },
        }),
      }),
    })
    super({ ...init, id, transport, state: new State(messages) })
  }

  /** What was said, in short: texts, and tools with their states. */
  get said(): string[] {
    return this.messages.map(
      ({ role, parts }) =>
        `${role}: ${parts
          .flatMap((part) =>
            part.type === 'text'
              ? [part.text]
              : 'state' in part && 'toolCallId' in part
                ? [`${part.type} ${part.state}`]
                : [],
          )
          .join(' | ')}`,
    )
  }
}

/** A message as it came out of JSON: `undefined` is not there. */
export function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}
