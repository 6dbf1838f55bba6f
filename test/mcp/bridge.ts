import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'

/** A server over HTTP on the loopback that passes every message to a process, one for each connection: the conformance suite speaks HTTP only. */
export async function bridge(
  command: string,
  args: readonly string[],
): Promise<{ url: string; close(): Promise<void> }> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const processes: StdioClientTransport[] = []

  const connect = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const http = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, http),
    })
    const stdio = new StdioClientTransport({ command, args: [...args], stderr: 'inherit' })
    processes.push(stdio)
    http.onmessage = (message) => void stdio.send(message)
    stdio.onmessage = (message) => {
      const answered = 'id' in message && !('method' in message) ? message.id : undefined
      void http.send(message, answered === undefined ? {} : { relatedRequestId: answered })
    }
    await stdio.start()
    await http.start()
    return http
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const id = request.headers['mcp-session-id']
    const http = (typeof id === 'string' ? sessions.get(id) : undefined) ?? (await connect())
    const hasBody = request.method === 'POST'
    const answer = await http.handleRequest(
      new Request(`http://localhost${request.url}`, {
        method: request.method ?? 'GET',
        headers: Object.entries(request.headers).flatMap(([name, value]) =>
          typeof value === 'string' ? [[name, value] as [string, string]] : [],
        ),
        ...(hasBody && { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' }),
      } as RequestInit),
    )
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (answer.body === null) response.end()
    else
      Readable.fromWeb(answer.body as never)
        .on('error', () => response.destroy())
        .pipe(response)
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.writeHead(500).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: async () => {
      for (const one of processes) await one.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
