import { type CallToolResult, Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

/** The real client, connected to a process of the program. */
export type Connected = {
  readonly client: Client
  /** What the server wrote to its error stream. */
  readonly errors: () => string
  readonly pid: number
  /** Calls a tool; its structured answer was checked by the client against the tool's schema. */
  call(name: string, given?: object): Promise<Called>
  close(): Promise<void>
}
export type Called = {
  readonly text: string
  readonly isError: boolean
  // biome-ignore lint/suspicious/noExplicitAny: each tool has its own fields
  readonly data: any
}

export type ConnectOptions = {
  readonly db: string
  readonly argv?: readonly string[]
  readonly cwd?: string
  /** The revision of 2026-07-28 instead of the handshake of 2025. */
  readonly isModern?: boolean
}

export async function connect(
  script: string,
  { db, argv = [], cwd, isModern = false }: ConnectOptions,
): Promise<Connected> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [script, 'mcp', '--db', db, ...argv],
    stderr: 'pipe',
    ...(cwd !== undefined && { cwd }),
  })
  let errors = ''
  transport.stderr?.on('data', (chunk) => {
    errors += String(chunk)
  })
  const client = new Client(
    { name: 'a test', version: '1' },
    isModern ? { versionNegotiation: { mode: 'auto' } } : {},
  )
  await client.connect(transport)
  await client.listTools()
  return {
    client,
    errors: () => errors,
    pid: transport.pid!,
    async call(name, given = {}) {
      const result = (await client.callTool({ name, arguments: given as never })) as CallToolResult
      const [content] = result.content
      return {
        text: content?.type === 'text' ? content.text : '',
        isError: result.isError === true,
        data: result.structuredContent,
      }
    },
    close: () => client.close(),
  }
}
