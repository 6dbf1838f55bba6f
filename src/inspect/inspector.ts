import { z } from 'zod'
import { check, functionSchema, nameSchema } from '../core/messages/check.ts'
import { PACKAGE_VERSION } from '../core/version.ts'
import { storeSchema } from '../store/arguments.ts'
import { contextOf, type Store } from '../store/store.ts'
import { callVerb } from './call.ts'
import { pageDocument } from './document.ts'
import { serveEvents } from './events.ts'
import { serveExport } from './export.ts'
import { serveMedia } from './media.ts'
import { Previews } from './previews.ts'
import { jsonBody } from './request-body.ts'
import { failed, isFromPage, json, plain, Refusal, respond } from './security.ts'
import { isAssetName, serveAsset } from './serve-assets.ts'
import { ownedBy } from './store-owner.ts'
import type { Facts } from './verbs.ts'
import { Watches } from './watch.ts'

const optionsSchema = z.strictObject({
  /** Whether the page only reads. Calls that would change something are refused with `STORE_READONLY`. Default `false`. */
  readonly: z.boolean().default(false),
  /** Shown in the header of the page, such as the name of the application. */
  title: z.string().max(1_000).optional(),
  /** The name of the actor of changes, in the audit. Default "inspector". */
  actor: nameSchema.default('inspector'),
  /**
   * The path at which the page is mounted, for frameworks that remove it from the address of a request. Default: the path of the request.
   */
  basePath: z
    .string()
    .regex(/^\/(?![/\\])[^\\?#\s]*$/, 'must be a path that begins with one slash')
    .optional(),
})

/** Options of `inspector`. */
export type InspectorOptions = z.input<typeof optionsSchema>

/**
 * The store that the page shows, or a function that returns the store of the user who makes a request, such as `store.forOwner(user.id)`;
 * `undefined` for a request without a user, which is answered with status 401.
 */
export type InspectorStore = Store | ((request: Request) => Store | undefined | Promise<Store | undefined>)

/** A handler of requests, as web frameworks and servers take it. It never throws. */
export type Inspector = (request: Request) => Promise<Response>

const storeOption = z.union(
  [functionSchema<Exclude<InspectorStore, Store>>(), storeSchema<Store>('sessions', 'getMessages')],
  'must be a store, or a function that returns the store of a request',
)

/**
 * Returns a handler that serves the inspector: a page that shows what is stored, what the model saw and what each compaction did, and that
 * undoes and previews compactions. Mount it behind the authentication of the application (docs/inspect.md): everyone who reaches it can read
 * the store, and unless `readonly` is set, change it.
 *
 * Requests that come from other sites are refused. All responses forbid inline scripts, frames and other hosts; stored content is never
 * executed. Throws `INVALID_INPUT` for invalid options.
 */
export function inspector(store: InspectorStore, options: InspectorOptions = {}): Inspector {
  const given = check(storeOption, store, 'inspector: store')
  const { readonly, title, actor, basePath } = check(optionsSchema, options, 'inspector')
  const handler = new Handler(given, { readonly, title, actor, basePath })
  return (request) => handler.handle(request)
}

type Settings = z.output<typeof optionsSchema>
type Route = 'call' | 'export' | 'events' | 'media'
/** The methods that each route accepts. */
const ROUTES: { readonly [route in Route]: readonly string[] } = {
  call: ['POST'],
  export: ['POST'],
  events: ['GET'],
  media: ['GET', 'HEAD'],
}
const READING = ['GET', 'HEAD']

class Handler {
  readonly #store: InspectorStore
  readonly #settings: Settings
  readonly #previews = new Previews()
  readonly #watches = new Watches()

  constructor(store: InspectorStore, settings: Settings) {
    this.#store = store
    this.#settings = settings
  }

  async handle(request: Request): Promise<Response> {
    try {
      const response = await this.#response(request)
      return request.method === 'HEAD' ? new Response(null, response) : response
    } catch (error) {
      try {
        return failed(error)
      } catch {
        // An error of another copy of this package may hold what JSON can't.
        return failed(undefined)
      }
    }
  }

  async #response(request: Request): Promise<Response> {
    const url = new URL(request.url)
    const name = this.#isPage(url) ? '' : url.pathname.slice(url.pathname.lastIndexOf('/') + 1)
    const route = isRoute(name) ? name : undefined
    const allowed = route === undefined ? READING : ROUTES[route]
    if (!allowed.includes(request.method)) return plain('Wrong method.', 405, { allow: allowed.join(', ') })
    if (route !== undefined && !isFromPage(request))
      return failed(new Refusal('CROSS_SITE', 403, 'Requests from other sites are refused.'))
    if (isAssetName(name)) return serveAsset(name, request)
    const store = await this.#storeOf(request)
    if (store === undefined) return unauthorized(route)
    switch (route) {
      case undefined:
        return this.#page(store, url)
      case 'call': {
        const calling = { ...this.#settings, previews: this.#previews }
        return json({ value: await callVerb(store, await jsonBody(request), calling, request.signal) })
      }
      case 'export':
        return serveExport(store, await jsonBody(request))
      case 'media':
        return serveMedia(store, url.searchParams)
      case 'events': {
        const { session, owner } = check(watchedSchema, Object.fromEntries(url.searchParams), 'events')
        return serveEvents(ownedBy(store, owner), session, this.#watches, request.signal)
      }
    }
  }

  /** The page may be mounted at a path that ends like a route. */
  #isPage({ pathname }: URL): boolean {
    const { basePath } = this.#settings
    return basePath !== undefined && withSlash(pathname) === withSlash(basePath)
  }

  async #storeOf(request: Request): Promise<Store | undefined> {
    return typeof this.#store === 'function' ? this.#store(request) : this.#store
  }

  #page(store: Store, { pathname }: URL): Response {
    const { readonly, title, actor, basePath = pathname } = this.#settings
    const owners = contextOf(store).owner === undefined
    const facts: Facts = { version: PACKAGE_VERSION, readonly, title, owners, actor }
    return respond(pageDocument(facts, withSlash(basePath)), { 'content-type': 'text/html; charset=utf-8' })
  }
}

const watchedSchema = z.object({ session: nameSchema.optional(), owner: nameSchema.optional() })

function isRoute(name: string): name is Route {
  return Object.hasOwn(ROUTES, name)
}

/** A path that begins with two slashes would name another host. */
function withSlash(path: string): string {
  return `/${path.replaceAll(/^\/+|\/+$/g, '')}/`.replace(/^\/\/$/, '/')
}

function unauthorized(route: Route | undefined): Response {
  return route === undefined
    ? plain('Sign in to see this page.', 401)
    : failed(new Refusal('UNAUTHORIZED', 401, 'Sign in again, and reload the page.'))
}
