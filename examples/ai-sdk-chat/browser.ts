/*
 * Stands in for a browser with `useChat`: the same class and the same transport, without React. `POST` is called in place of `fetch`, so
 * that no port is needed.
 */
import { AbstractChat, type ChatState, DefaultChatTransport, type UIMessage } from 'ai'

type Route = (request: Request) => Promise<Response>

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

export class Chat extends AbstractChat<UIMessage> {
  constructor(id: string, messages: UIMessage[], route: Route) {
    const transport = new DefaultChatTransport<UIMessage>({
      fetch: (_, init) => route(new Request('http://localhost/api/chat', init as RequestInit)),
      // Only what is new is sent; the rest is on the server.
      prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
        body: { id, message: messages.at(-1), trigger, messageId },
      }),
    })
    super({ id, transport, state: new State(messages) })
  }
}
