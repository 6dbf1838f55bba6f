import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { errorName, isUndertextError } from '../../core/errors.ts'
import { check } from '../../core/messages/check.ts'
import { boundsSchema } from '../../store/recall/scope.ts'
import type { Store } from '../../store/store.ts'
import type { Context } from '../command.ts'
import { CliError, EXIT } from '../errors.ts'
import { safeLine } from '../output/safe-text.ts'
import { Access } from './mcp/access.ts'
import { Importer } from './mcp/importer.ts'
import { createServer } from './mcp/server.ts'
import type { Permission } from './mcp/tool.ts'
import { FolderWatch } from './mcp/watch.ts'
import { Wire } from './mcp/wire.ts'

type McpOptions = {
  readonly allow?: readonly Permission[]
  readonly owner?: string
  readonly watch?: readonly string[]
  readonly maxTokens?: number
}

/** Serves the store to a client of the Model Context Protocol until the input ends. */
export async function serveMcp(context: Context, options: McpOptions): Promise<number> {
  const { allow = [], owner, watch = [] } = options
  const { maxTokens } = check(boundsSchema, { maxTokens: options.maxTokens }, '--max-tokens')
  if (context.json)
    throw new CliError('WRONG_USE', 'The output of mcp is the protocol; --json does not apply.')
  const permissions = new Set(allow)
  if (watch.length > 0 && !permissions.has('import'))
    throw new CliError('WRONG_USE', '--watch imports files, which must be allowed.', {
      hint: 'Add --allow import.',
    })
  const folders = await Promise.all(watch.map((folder) => folderNamed(context, folder)))
  const access = new Access(await openFor(context, permissions), owner)
  const importer = new Importer(access, context, folders)
  const report = (line: string): void => context.err.write(`undertext mcp: ${safeLine(line)}\n`)

  let server: McpServer | undefined
  const wire = new Wire(context)
  const handle = serveStdio(
    () => {
      server = createServer({ context, access, permissions, maxTokens, importer })
      return server
    },
    { transport: wire, onerror: (error) => report(`A message was not handled (${errorName(error)}).`) },
  )
  const watches = folders.map(
    (folder) =>
      new FolderWatch(folder, {
        ...{ importer, report, signal: context.signal },
        changed: () => {
          // Not by the method of `McpServer`, which leaves the promise alone.
          if (server?.isConnected())
            server.server
              .sendResourceListChanged()
              .catch((error: unknown) => report(`A change was not announced (${errorName(error)}).`))
        },
      }),
  )
  for (const one of watches) one.start()
  await ended(context, wire)
  await handle.close()
  for (const one of watches) await one.end()
  return EXIT.done
}

/** Resolves when the client has gone, its input has ended, or the process is asked to end. */
function ended({ signal, readerLeft }: Context, wire: Wire): Promise<void> {
  return new Promise((resolve) => {
    wire.closed.then(resolve, resolve)
    for (const one of [signal, readerLeft]) {
      if (one?.aborted) resolve()
      one?.addEventListener('abort', () => resolve(), { once: true })
    }
  })
}

async function folderNamed({ cwd }: Context, name: string): Promise<string> {
  const folder = resolve(cwd, name)
  const facts = await stat(folder).catch(() => undefined)
  if (facts?.isDirectory() === true) return folder
  throw new CliError('NOT_THERE', `There is no folder ${folder} to watch.`, { facts: { folder } })
}

/**
 * Opens the store. Without permissions no tool writes, and only the search adds to its index; where the store cannot be written, it is
 * opened read-only. An import may create the store.
 */
async function openFor(context: Context, permissions: ReadonlySet<Permission>): Promise<Store> {
  if (permissions.has('import')) return context.open('write')
  try {
    return await context.open('change')
  } catch (error) {
    if (permissions.size > 0 || !isUndertextError(error, 'STORE_READONLY')) throw error
    return context.open('read')
  }
}
