import { z } from 'zod'
import { invalid, UndertextError } from '../core/errors.ts'
import { check, nameSchema, quotedKey } from '../core/messages/check.ts'
import { isObject } from '../core/messages/json.ts'
import type { RenderedRequest } from '../store/requests/recorded.ts'
import type { Store } from '../store/store.ts'
import { mediaAddress } from './media.ts'
import { isPreview, type Previews, previewIdIn } from './previews.ts'
import { imagesOfRequest } from './request-media.ts'
import { Refusal } from './security.ts'
import { ownedBy } from './store-owner.ts'
import { sendable } from './values.ts'
import { CHANGES, READS, type Verb } from './verbs.ts'

/* Calls of the store's methods by the page. */

const callSchema = z.strictObject({
  verb: z.string(),
  args: z.array(z.unknown()).max(10),
  whole: z.boolean().default(false),
  owner: nameSchema.optional(),
})

const VERBS: ReadonlySet<string> = new Set([...READS, ...CHANGES])
const CHANGING: ReadonlySet<string> = new Set(CHANGES)

/** The argument with the options of verbs that record who made a change. */
const OPTIONS_AT: { readonly [verb in Verb]?: number } = {
  compactSession: 1,
  previewCompaction: 1,
  undoCompaction: 2,
  redoCompaction: 2,
  rewind: 1,
  'messages.pin': 2,
  'messages.unpin': 2,
  'compactions.hide': 2,
  'sessions.fork': 1,
  'sessions.bringBack': 1,
}

/**
 * The fields that a change may give, where the method takes more: nobody writes messages, settings or metadata through the page, or gives a
 * session to another owner.
 */
const FIELDS: { readonly [verb in Verb]?: readonly string[] } = {
  rewind: ['from', 'keepCompactions', 'showRetired', 'expectedPosition', 'reason'],
  'sessions.update': ['title'],
}

/** Lists that are whole without a limit: where their options are, and the most rows of an answer. */
const PAGES: { readonly [verb in Verb]?: readonly [at: number, most: number] } = {
  getMessages: [1, 1_000],
  'sessions.list': [0, 500],
}

/** Verbs whose options take a signal, at the same place. */
const ABORTABLE: ReadonlySet<string> = new Set(['compactSession', 'previewCompaction'])

/** What all calls of a handler share. */
export type Calling = {
  readonly readonly: boolean
  readonly actor: string
  readonly previews: Previews
}

/** Calls a method and returns its result as JSON for the page. Throws the errors of the method, and `Refusal`. */
export async function callVerb(
  store: Store,
  body: unknown,
  { readonly, actor, previews }: Calling,
  signal: AbortSignal,
): Promise<unknown> {
  const { verb: name, args: given, whole, owner } = check(callSchema, body, 'call')
  if (!isVerb(name)) throw unknownVerb()
  // JSON writes an omitted argument before a given one as null.
  const args = given.map((one) => one ?? undefined)
  if (readonly && (CHANGING.has(name) || paysForSummary(name, args)))
    throw new UndertextError('STORE_READONLY', { verb: name, detail: 'This inspector is read-only' })
  checkFields(name, args)
  const own = ownedBy(store, owner)
  const method = methodOf(own, name)
  const previewId = name === 'compactSession' ? previewIdIn(args[1]) : undefined
  if (previewId !== undefined) args[1] = previews.find(own, args[0], previewId)
  else addOptions(name, args, { actor, signal })
  const result = await method(paged(name, args))
  const session = String(args[0])
  const places =
    name === 'requests.get' ? await imagesOfRequest(own, session, result as RenderedRequest) : undefined
  const value = sendable(withoutView(result, whole), {
    whole,
    address: (given, version) => {
      const place = given ?? places?.get(version)
      return place && mediaAddress({ session, owner, ...place, version })
    },
  })
  return isPreview(result) ? { ...(value as object), previewId: previews.add(own, result) } : (value ?? null)
}

function isVerb(name: string): name is Verb {
  return VERBS.has(name)
}

function unknownVerb(): Refusal {
  return new Refusal('UNKNOWN_VERB', 404, 'The inspector has no such method. Reload the page.')
}

/** Returns a method as a function of its arguments. The name is one of the lists, never one that the caller made up. */
function methodOf(store: Store, verb: Verb): (args: readonly unknown[]) => unknown {
  const [first = '', second] = verb.split('.')
  const all = store as unknown as { readonly [name: string]: unknown }
  const owner = second === undefined ? all : (all[first] as { readonly [name: string]: unknown })
  const method = owner[second ?? first]
  if (typeof method !== 'function') throw unknownVerb()
  return (args) => Reflect.apply(method, owner, args)
}

/** A preview with `summarize` calls a model and records its cost. */
function paysForSummary(verb: Verb, [, config]: readonly unknown[]): boolean {
  return verb === 'previewCompaction' && isObject(config) && config.summarize === true
}

function checkFields(verb: Verb, [, given]: readonly unknown[]): void {
  const known = FIELDS[verb]
  if (known === undefined || !isObject(given)) return
  const other = Object.keys(given).find((name) => !known.includes(name) && name !== 'actor')
  if (other !== undefined) throw invalid(`${verb}: the inspector doesn’t accept ${quotedKey(other)}`)
}

/** Returns the arguments with the limit of a page, unless they name a smaller one. */
function paged(verb: Verb, args: readonly unknown[]): readonly unknown[] {
  const [at = 0, most] = PAGES[verb] ?? []
  const options = args[at] ?? {}
  if (most === undefined || !isObject(options)) return args
  const { limit = most } = options
  const all = [...args]
  all[at] = { ...options, limit: typeof limit === 'number' ? Math.min(limit, most) : limit }
  return all
}

/** Adds the actor of a change, which a caller can't choose, and the signal of the request, which only the server has. */
function addOptions(
  verb: Verb,
  args: unknown[],
  { actor, signal }: { actor: string; signal: AbortSignal },
): void {
  const at = OPTIONS_AT[verb]
  if (at === undefined) return
  const added = { actor, ...(ABORTABLE.has(verb) && { signal }) }
  const options = args[at]
  const [, target] = args
  if (verb === 'undoCompaction' && isObject(target)) {
    // The options of an undo that stops at a size are in its target.
    if (isObject(target.ifFits)) args[1] = { ...target, ifFits: { ...target.ifFits, actor } }
  } else if (options === undefined || isObject(options)) {
    while (args.length <= at) args.push(undefined)
    args[at] = { ...options, ...added }
  }
}

/** The whole view after a compaction may be long, and the page reads the rows that it shows. */
function withoutView(result: unknown, whole: boolean): unknown {
  if (whole || !isObject(result) || !('tokensAfter' in result) || !Array.isArray(result.messages))
    return result
  return { ...result, messages: [] }
}
