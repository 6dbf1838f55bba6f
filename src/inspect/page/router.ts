import { useEffect, useState } from 'preact/hooks'

/*
 * Addresses of the page. They are in the hash, so that ids of sessions reach no server's log, and so that the page works wherever it is
 * mounted: `#/session/ID/TAB?message=12`.
 */

export const TABS = ['conversation', 'requests', 'context', 'compactions', 'costs'] as const
export type Tab = (typeof TABS)[number]

export type Route =
  | { readonly page: 'sessions' | 'costs'; readonly query: Query }
  | { readonly page: 'session'; readonly id: string; readonly tab: Tab; readonly query: Query }

export type Query = { readonly [name: string]: string }

/** Returns the route of a hash. An unknown one is the list of sessions. */
export function readRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#/, '').split('?', 2)
  const query = Object.fromEntries(new URLSearchParams(search))
  const [page, id, tab] = path.split('/').filter(Boolean)
  if (page === 'session' && id !== undefined)
    return { page, id: decoded(id), tab: TABS.find((one) => one === tab) ?? 'conversation', query }
  return { page: page === 'costs' ? 'costs' : 'sessions', query }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Returns the address of a tab of a session. Values that are undefined are left out. The owner, which a store of all owners needs, is that
 * of the page unless it is given.
 */
export function sessionLink(
  id: string,
  tab: Tab = 'conversation',
  query: { readonly [name: string]: string | number | undefined } = {},
): string {
  return `#/session/${encodeURIComponent(id)}/${tab}${queryText({ owner: ownerOfPage(), ...query })}`
}

/** The owner of the session on the page, in a store of all owners. */
export function ownerOfPage(): string | undefined {
  const route = readRoute(location.hash)
  return route.page === 'session' ? route.query.owner : undefined
}

/** Returns the address of the list of sessions. */
export function sessionsLink(query: { readonly [name: string]: string | undefined } = {}): string {
  return `#/${queryText(query)}`
}

function queryText(query: { readonly [name: string]: string | number | undefined }): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

/** The route of the address bar. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = (): void => setHash(location.hash)
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return readRoute(hash)
}

/** Goes to an address; `replace` without an entry in the history, for what is typed or scrubbed. */
export function go(link: string, { replace = false } = {}): void {
  if (!replace) {
    location.hash = link
    return
  }
  history.replaceState(null, '', link)
  dispatchEvent(new HashChangeEvent('hashchange'))
}
