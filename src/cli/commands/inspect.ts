import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { inspector } from '../../inspect/index.ts'
import type { Store } from '../../store/store.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, UNTIL_INTERRUPTED } from '../errors.ts'
import { sentence, writeLines } from '../output/layout.ts'
import { findSession } from '../references.ts'
import { untilEnded } from '../until-ended.ts'
import { hasBrowser, openBrowser } from './inspect/browser.ts'
import { gate } from './inspect/gate.ts'

/** Other machines can't reach it. */
const LOOPBACK = '127.0.0.1'
const TOKEN_BYTES = 32
const MAX_PORT = 65_535

/** Serves the page of the store until Ctrl-C. */
export async function inspect(
  context: Context,
  given: string | undefined,
  { port = 0, readonly = false, owner, open }: Given<'inspect'>,
): Promise<number> {
  if (port > MAX_PORT) throw new CliError('WRONG_USE', `--port must be at most ${MAX_PORT}.`)
  const whole = await context.open(readonly ? 'read' : 'change')
  const store = owner === undefined ? whole : whole.forOwner(owner)
  const hash = given === undefined ? '' : await sessionHash(store, given, owner)
  const server = createServer()
  await listening(server, port)
  try {
    const address = server.address() as AddressInfo
    const [token, ticket] = [newKey(), newKey()]
    const page = inspector(store, { readonly, title: context.location.path.slice(-1_000) })
    const handler = gate(page, { token, ticket, port: address.port })
    server.on('request', getRequestListener(handler, { overrideGlobalObjects: false }))
    const urlWith = (key: string): string => `http://${LOOPBACK}:${address.port}/?token=${key}${hash}`
    report(context, urlWith(token))
    if (open && !context.json && hasBrowser(context)) openBrowser(urlWith(ticket))
    await untilEnded(context)
  } finally {
    server.close()
    server.closeAllConnections()
  }
  return UNTIL_INTERRUPTED
}

function newKey(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** The place of a session on the page. */
async function sessionHash(store: Store, given: string, owner: string | undefined): Promise<string> {
  const id = await findSession(store, given)
  const own = owner === undefined ? (await store.sessions.get(id)).owner : undefined
  const query = own === undefined ? '' : `?${new URLSearchParams({ owner: own })}`
  return `#/session/${encodeURIComponent(id)}/conversation${query}`
}

async function listening(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, LOOPBACK, resolve)
  }).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'EADDRINUSE' ? 'is in use' : `can't be used (${error.code ?? error.name})`
    throw new CliError('WRONG_USE', `Port ${port} ${why}.`, { hint: 'Name another one, or omit --port.' })
  })
}

function report({ out, json, printJson, style, location }: Context, url: string): void {
  if (json) printJson({ url })
  // The address alone, for a program. It isn't wrapped, so that a terminal recognizes it.
  else if (!out.isTerminal) out.write(`${url}\n`)
  else {
    writeLines(out, sentence(`The inspector of ${location.path} is at`, out))
    out.write(`${style.cyan(url)}\n`)
    writeLines(out, sentence('Only this machine can open it. Ctrl-C ends it.', out, style.dim))
  }
}
