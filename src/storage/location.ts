import { existsSync } from 'node:fs'
import { invalid } from '../core/errors.ts'

/* The location of a store, a file or a URL of PostgreSQL, and its form in messages, without secrets. */

export function isPostgresUrl(location: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(location)
}

/**
 * Returns whether a location that isn't a URL of PostgreSQL looks like an address. Any part of a mistyped address may be the password, so
 * it is neither opened as a file nor repeated in a message.
 */
export function isAddress(location: string): boolean {
  return /:\/\/|^\W*(?:postgres\w*|pg|psql):|^\W*(?!file:)[a-z][\w+.-]+:\/|(?:^|[\s;?&])(?:password|pwd)\s*=/i.test(
    location,
  )
}

/** Returns the path of a file for messages; if there is no such file and the path may contain a password, only "an address". */
export function shownPath(path: string): string {
  // The first characters may be a drive of Windows.
  const colon = path.indexOf(':', /^[a-z]:[\\/]/i.test(path) ? 2 : 0)
  return colon !== -1 && path.lastIndexOf('@') > colon && !existsSync(path) ? 'an address' : path
}

/** Returns a URL for messages, without user, password and parameters. */
export function locationOf(url: string): string {
  // A URL of another protocol is a mistake, and any part of it may be the password.
  if (!isPostgresUrl(url) || !URL.canParse(url)) return 'PostgreSQL'
  const { username, host, pathname } = new URL(url)
  // If the password contains a / or ? that isn't encoded, a part of it is parsed as the host or the path.
  const isClear = url.split('@').length === (username === '' ? 1 : 2)
  return isClear ? `postgres://${host}${pathname}` : 'PostgreSQL'
}

/** Returns the store's settings in a URL: `?schema=NAME` and `prepare=false`. The driver ignores both. */
export function storeIn(url: string): { readonly schema: string; readonly prepare: boolean } {
  const parameters = URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams()
  const prepare = parameters.get('prepare') ?? 'true'
  if (prepare !== 'true' && prepare !== 'false')
    throw invalid('openStore: prepare in the URL must be true or false')
  return { schema: parameters.get('schema') ?? 'undertext', prepare: prepare === 'true' }
}
