import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server of one answer, on 127.0.0.1. Keeps what it was asked. */
export type AnsweringServer = {
  readonly url: string
  readonly asked: readonly { readonly path: string; readonly body: unknown }[]
  close(): Promise<void>
}

/** Answers every request with the same JSON. */
export async function startAnsweringServer(answer: unknown): Promise<AnsweringServer> {
  const asked: { path: string; body: unknown }[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (piece: string) => (text += piece))
    request.on('end', () => {
      asked.push({ path: request.url ?? '', body: text === '' ? undefined : JSON.parse(text) })
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: () =>
      new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve()))),
  }
}
