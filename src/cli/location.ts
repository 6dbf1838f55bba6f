import { resolve } from 'node:path'
import { isAddress, isPostgresUrl, locationOf, shownPath } from '../storage/location.ts'
import type { Location } from './command.ts'
import { CliError } from './errors.ts'

/** The source of the store's name, for people. */
export const LOCATED_BY: { readonly [from in Location['from']]: string } = {
  option: '--db',
  environment: 'UNDERTEXT_DB',
  default: 'the default place',
}

/** The file or the server with a name. Throws `WRONG_USE` for an empty name and for other addresses. */
export function locationNamed(name: string, from: Location['from'], cwd: string): Location {
  if (name === '') throw new CliError('WRONG_USE', `${LOCATED_BY[from]} is empty.`)
  if (isPostgresUrl(name)) return { path: locationOf(name), url: name, from }
  if (looksLikeAddress(name, cwd))
    throw new CliError('WRONG_USE', `${LOCATED_BY[from]} is neither a file nor the address of a server.`, {
      hint: 'A server is postgres://USER:PASSWORD@HOST:5432/DATABASE, without quotes.',
    })
  return { path: resolve(cwd, name), from }
}

/** Whether a name is an address, or has the form of one and no such file exists. */
export function looksLikeAddress(name: string, cwd: string): boolean {
  const path = resolve(cwd, name)
  return isAddress(name) || shownPath(path) !== path
}

/** A name as it may be printed. */
export function shownName(name: string): string {
  return isPostgresUrl(name) ? locationOf(name) : isAddress(name) ? 'an address' : shownPath(name)
}

/** A text typed to name something in a store, as an error repeats it: `user:password@host` is an address in the wrong place. */
export function shownTyped(given: string): string {
  const colon = given.indexOf(':')
  return colon !== -1 && given.lastIndexOf('@') > colon ? 'an address' : given
}

/** A text without the addresses that someone typed where they do not belong, such as in place of a session. */
export function withoutAddresses(text: string): string {
  const typed =
    /\b(?:[a-z][\w+.-]{0,200}:|postgres\w{0,20}\W?)\/{1,9}(?!user:password@host)[^\s"'`@]{0,2000}@[^\s"'`]*|postgres(?:ql)?:\/{1,9}[^\s"'`?]{0,2000}\?[^\s"'`]*|\b(?:password|pwd)=[^\s"'`]+/gi
  return text.replace(typed, (address) => locationOf(address))
}
