import { z } from 'zod'
import { invalid, isUndertextError } from '../../core/errors.ts'
import { check, nameSchema, ownerOption, UNDEFINED_OWNER } from '../../core/messages/check.ts'
import { isObject } from '../../core/messages/json.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { tokensOfText } from '../../core/tokens/measure.ts'
import type { Session } from '../../storage/storage.ts'
import { contextOf, type Store } from '../store.ts'
import { type Names, TOOL_NAMES, wrong } from './remarks.ts'

/** The default tokens of an answer, and the minimum and maximum that may be chosen. */
const [DEFAULT_MAX_TOKENS, MIN_MAX_TOKENS, MAX_MAX_TOKENS] = [2_000, 300, 200_000]
/** Maximum number of sessions in a list, each of which is searched. */
const MAX_SESSIONS = 20

const scopeSchema = z.union([
  nameSchema,
  z
    .strictObject({
      /** The session of the conversation; positions without a session refer to it. */
      session: nameSchema.optional(),
      /**
       * What else may be read: all sessions of its owner, these sessions (those of the same owner), or, for an operator's tool, all
       * sessions of the store.
       */
      sessions: z
        .union([z.enum(['owner', 'all']), z.array(nameSchema).max(MAX_SESSIONS).readonly()])
        .optional(),
      /** Without a session: all sessions of this owner may be read. */
      owner: ownerOption,
    })
    .refine(
      ({ session, sessions, owner }) => session ?? owner ?? sessions === 'all',
      'must name a session or an owner',
    )
    .refine(
      ({ session, owner }) => session === undefined || owner === undefined,
      'must name either a session or an owner',
    ),
])

/** What may be read: one session, or, with `sessions`, more than one. */
export type RecallScope = z.input<typeof scopeSchema>

/** An optional text in the input of a tool, of at most `max` UTF-16 units. */
export function textInput(max: number, description: string) {
  return z.string().max(max).optional().describe(description)
}

export const boundsSchema = z.strictObject({
  /** Maximum tokens per answer, by the session's estimator. */
  maxTokens: z.int().min(MIN_MAX_TOKENS).max(MAX_MAX_TOKENS).default(DEFAULT_MAX_TOKENS),
})
/** The bounds of an answer. */
export type RecallBounds = z.input<typeof boundsSchema>

/** A scope at the time of a call. */
export type Scope = {
  readonly store: Store
  /** The session of the conversation. */
  readonly base: Session | undefined
  /** The searches that cover the whole scope. */
  readonly searched: readonly { readonly session?: string; readonly owner?: string }[]
  /**
   * Returns a session that may be read, by default that of the conversation, and its scope: without a conversation, the session's estimator
   * measures the answer. Throws `INVALID_INPUT`, `SESSION_NOT_FOUND`.
   */
  readonly sessionOf: (
    id: string | undefined,
  ) => Promise<{ readonly session: Session; readonly scope: Scope }>
  readonly owner: string | undefined
  readonly estimator: Estimator
  readonly provider: string
  readonly tokensOf: (text: string) => number
  /** The names of tools and arguments, as the reader of the answers knows them. */
  readonly names: Names
}

/** Checks a scope passed by the application. Throws `INVALID_INPUT`. */
export function checkScope(scope: RecallScope, what: string): RecallScope {
  // The error of a union doesn't name the invalid member.
  if (isObject(scope) && 'owner' in scope && scope.owner === undefined)
    throw invalid(`${what}: owner: ${UNDEFINED_OWNER}`)
  return check(scopeSchema, scope, what)
}

/** Returns a scope at the time of a call. Throws `SESSION_NOT_FOUND` if the session of the conversation no longer exists. */
export async function scopeNow(store: Store, given: RecallScope, names: Names = TOOL_NAMES): Promise<Scope> {
  const checked = checkScope(given, 'scope')
  const { session, sessions, owner } =
    typeof checked === 'string' ? { session: checked, sessions: undefined, owner: undefined } : checked
  const base = session === undefined ? undefined : await store.sessions.get(session)
  const whose = base?.owner ?? owner
  const listed = Array.isArray(sessions) ? await ofSameOwner(store, base, whose, sessions) : []
  const searched: Scope['searched'] =
    sessions === 'all'
      ? [{}]
      : whose !== undefined && (sessions === 'owner' || base === undefined)
        ? [{ owner: whose }]
        : [...new Set([...(base === undefined ? [] : [base.id]), ...listed])].map((id) => ({ session: id }))
  const isOwners = searched.some((one) => one.owner !== undefined)
  const mayRead = (found: Session): boolean =>
    found.id === base?.id ||
    sessions === 'all' ||
    listed.includes(found.id) ||
    (isOwners && found.owner === whose)
  const scope: Scope = {
    ...{ store, base, searched, owner: whose, names, ...measures(store, base) },
    async sessionOf(id) {
      if (id === undefined || id === base?.id) {
        if (base === undefined) throw wrong(`Pass the session: take it from an answer of ${names.search}.`)
        return { session: base, scope }
      }
      const session = await findSession(store, id)
      // The same words as for a session that doesn't exist: a model learns nothing about others.
      if (session === undefined || !mayRead(session))
        throw wrong(`No session with this id may be read. Take the id from an answer of ${names.search}.`)
      return { session, scope: base === undefined ? { ...scope, ...measures(store, session) } : scope }
    },
  }
  return scope
}

function measures(
  store: Store,
  session: Session | undefined,
): Pick<Scope, 'estimator' | 'provider' | 'tokensOf'> {
  const context = contextOf(store)
  const { key: provider } = context.modelFor(session)
  const estimator =
    session === undefined
      ? context.estimators.standard
      : context.estimatorNamed(session.estimator, session.id)
  return { estimator, provider, tokensOf: (text) => tokensOfText(text, estimator, provider) }
}

/** Returns the sessions of the same owner. Missing sessions and those of other owners are left out: a model learns nothing about them. */
async function ofSameOwner(
  store: Store,
  base: Session | undefined,
  owner: string | undefined,
  ids: readonly string[],
): Promise<string[]> {
  const found: string[] = []
  for (const id of ids) {
    const session = await findSession(store, id)
    if (session !== undefined && session.owner === (base === undefined ? owner : base.owner)) found.push(id)
  }
  return found
}

async function findSession(store: Store, id: string): Promise<Session | undefined> {
  try {
    return await store.sessions.get(id)
  } catch (error) {
    if (isUndertextError(error, 'SESSION_NOT_FOUND') || isUndertextError(error, 'INVALID_INPUT'))
      return undefined
    throw error
  }
}
