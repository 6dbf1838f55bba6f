import { createHash, timingSafeEqual } from 'node:crypto'
import type { Inspector } from '../../../inspect/index.ts'
import { plain, respond } from '../../../inspect/security.ts'

/*
 * Who may use the page that the command line serves: those who open the address that it printed. The token of the address becomes a
 * cookie, so that it stays out of addresses that are shown and shared.
 */

/** Names under which a browser reaches the loopback interface. Another name is that of a site that resolves to it (DNS rebinding). */
const HOSTS = ['127.0.0.1', 'localhost', '[::1]']
const HTTP_PORT = 80

type Keys = {
  readonly token: string
  /** Opens the page once: other users of the machine can see it among the arguments of the program that opens the browser. */
  readonly ticket: string
  readonly port: number
}

/** Returns a handler that passes requests with the cookie to `inspect`. */
export function gate(inspect: Inspector, { token, ticket, port }: Keys): Inspector {
  // Cookies are shared by all ports of a host.
  const cookie = `undertext_${port}`
  const hosts = new Set(
    HOSTS.flatMap((host) => (port === HTTP_PORT ? [host, `${host}:${port}`] : [`${host}:${port}`])),
  )
  let isTicketUsed = false
  const opens = (given: string): boolean => {
    if (isSame(given, token)) return true
    if (isTicketUsed || !isSame(given, ticket)) return false
    isTicketUsed = true
    return true
  }
  return async (request) => {
    if (!hosts.has((request.headers.get('host') ?? '').toLowerCase()))
      return plain(`This page is at http://127.0.0.1:${port}/ only.`, 403)
    const { pathname, searchParams } = new URL(request.url)
    const given = pathname === '/' && request.method === 'GET' ? searchParams.get('token') : null
    if (given !== null && opens(given))
      return respond(
        null,
        { location: '/', 'set-cookie': `${cookie}=${token}; HttpOnly; SameSite=Strict; Path=/` },
        303,
      )
    return cookiesOf(request, cookie).some((one) => isSame(one, token))
      ? inspect(request)
      : plain('Open the address that `undertext inspect` printed: it has the key to this page.', 401)
  }
}

/** Compares in a time that doesn't depend on where texts differ. */
function isSame(given: string, token: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(given), hash(token))
}

/** Several, if another server of this host has set one with the same name for a path: it can't keep its owner out. */
function cookiesOf(request: Request, name: string): string[] {
  const cookies = (request.headers.get('cookie') ?? '').split(';').map((one) => one.trim())
  return cookies.filter((one) => one.startsWith(`${name}=`)).map((one) => one.slice(name.length + 1))
}
