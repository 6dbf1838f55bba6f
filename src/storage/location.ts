import { existsSync } from 'node:fs'
import { invalid } from '../core/errors.ts'

/* Where a store is: a file, or a URL of PostgreSQL; and what messages may show of it. */

export function isPostgresUrl(location: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(location)
}

/**
 * Whether a location that is not a URL of PostgreSQL is meant as an address. In a mistyped one anything may be the password, so it is
 * neither taken for a file nor repeated in a message.
 */
export function isAddress(location: string): boolean {
  return /:\/\/|^\W*(?:postgres\w*|pg|psql):|^\W*(?!file:)[a-z][\w+.-]+:\/|(?:^|[\s;?&])(?:password|pwd)\s*=/i.test(
    location,
  )
}

/** A location that is the path of a file, for messages: without what may be a password when there is no such file. */
export function shownPath(path: string): string {
  // After the drive of Windows.
  const colon = path.indexOf(':', /^[a-z]:[\\/]/i.test(path) ? 2 : 0)
  return colon !== -1 && path.lastIndexOf('@') > colon && !existsSync(path) ? 'an address' : path
}

/** A URL for messages: without user, password and parameters. */
export function locationOf(url: string): string {
  // Another protocol is a mistake, in which anything may be the password.
  if (!isPostgresUrl(url) || !URL.canParse(url)) return 'PostgreSQL'
  const { username, host, pathname } = new URL(url)
  // With a / or ? in it that is not encoded, a part of the password is read as the host or the path.
  const isClear = url.split('@').length === (username === '' ? 1 : 2)
  return isClear ? `postgres://${host}${pathname}` : 'PostgreSQL'
}

/** What a URL says of the store: `?schema=NAME` and `prepare=false`. The driver ignores both. */
export function storeIn(url: string): { readonly schema: string; readonly prepare: boolean } {
  const parameters = URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams()
  const prepare = parameters.get('prepare') ?? 'true'
  if (prepare !== 'true' && prepare !== 'false')
    throw invalid('openStore: prepare in the URL must be true or false')
  return { schema: parameters.get('schema') ?? 'undertext', prepare: prepare === 'true' }
}
