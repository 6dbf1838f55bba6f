import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Answer, Arguments, Facts, Result, Verb } from '../verbs.ts'
import { CONNECTED } from './live.ts'
import { ownerOfPage } from './router.ts'

/* Calls of the store's methods over HTTP. */

/** What the server wrote into the document. */
export const facts: Facts = JSON.parse(document.getElementById('facts')?.textContent ?? '{}')

/** Sets the title of the browser's tab: what it shows, the name of the store, and the product. */
export function setTitle(...shown: readonly (string | undefined)[]): void {
  document.title = [...shown, facts.title, 'undertext'].filter((part) => part !== undefined).join(' · ')
}

/** A call that the store or the server refused, or that didn't arrive. Its message says what to do. */
export class CallError extends Error {
  readonly code: string
  readonly facts: { readonly [name: string]: unknown }

  constructor(code: string, message: string, facts: { readonly [name: string]: unknown } = {}) {
    super(message)
    this.code = code
    this.facts = facts
  }
}

type CallOptions = {
  /** Whether long texts arrive whole. */
  readonly whole?: boolean
  /** The owner of the session; by default that of the page. */
  readonly owner?: string | undefined
  readonly signal?: AbortSignal
}

/** Calls a method of the store. Throws `CallError`. */
export async function call<V extends Verb>(
  verb: V,
  args: Arguments<V>,
  { whole, owner = ownerOfPage(), signal }: CallOptions = {},
): Promise<Result<V>> {
  const response = await post(
    'call',
    { verb, args, ...(whole && { whole }), ...(owner && { owner }) },
    signal,
  )
  const answer = (await response.json().catch(() => undefined)) as Answer<V> | undefined
  if (answer === undefined) throw unreadable(response)
  if ('error' in answer) throw new CallError(answer.error.code, answer.error.message, answer.error.facts)
  return answer.value
}

async function post(path: string, body: unknown, signal: AbortSignal | undefined): Promise<Response> {
  try {
    return await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new CallError('UNREACHABLE', 'The server doesn’t answer. Start `undertext inspect` again.')
  }
}

function unreadable({ status }: Response): CallError {
  return status === 401
    ? new CallError(
        'UNAUTHORIZED',
        'The link has expired. Open the address that `undertext inspect` printed.',
      )
    : new CallError('UNREADABLE', `The server answered with status ${status}.`)
}

/** Downloads what the server writes for an export. */
export async function download(body: { readonly [name: string]: unknown }): Promise<void> {
  const owner = ownerOfPage()
  const response = await post('export', { ...body, ...(owner && { owner }) }, undefined)
  if (!response.ok) {
    const answer = await response.json().catch(() => undefined)
    throw answer?.error === undefined
      ? unreadable(response)
      : new CallError(answer.error.code, answer.error.message, answer.error.facts)
  }
  const [, name = 'session'] =
    /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? []
  const address = URL.createObjectURL(await response.blob())
  const link = Object.assign(document.createElement('a'), { href: address, download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

/** A call as a component sees it. While it is repeated, the previous value stays. */
export type Loaded<T> = {
  readonly value: T | undefined
  readonly error: CallError | undefined
  readonly loading: boolean
  reload(): void
}

/**
 * Calls a method when the component appears, when the arguments change, and when `version` changes: the state that `useLive` returns. With
 * null as arguments, nothing is called.
 */
export function useCall<V extends Verb>(
  verb: V,
  args: Arguments<V> | null,
  version: unknown = undefined,
  options: { readonly whole?: boolean; readonly owner?: string | undefined } = {},
): Loaded<Result<V>> {
  const key = args === null ? undefined : JSON.stringify([verb, args, options.whole ?? false])
  const [state, setState] = useState<{ key?: string | undefined; value?: Result<V>; error?: CallError }>({})
  const [loading, setLoading] = useState(key !== undefined)
  const [repeats, setRepeats] = useState(0)
  const latest = useRef(args)
  latest.current = args
  useEffect(() => {
    if (key === undefined) return
    const abort = new AbortController()
    setLoading(true)
    call(verb, latest.current!, { ...options, signal: abort.signal }).then(
      (value) => {
        if (abort.signal.aborted) return
        setState({ key, value })
        setLoading(false)
      },
      (error) => {
        if (abort.signal.aborted) return
        setState({ key, error: asCallError(error) })
        setLoading(false)
      },
    )
    return () => abort.abort()
  }, [key, version, repeats])
  const reload = useCallback(() => setRepeats((count) => count + 1), [])
  const isUnreachable = state.error?.code === 'UNREACHABLE'
  useEffect(() => {
    if (!isUnreachable) return
    addEventListener(CONNECTED, reload)
    return () => removeEventListener(CONNECTED, reload)
  }, [isUnreachable, reload])
  const isOther = state.key !== key
  return {
    value: isOther ? undefined : state.value,
    error: isOther ? undefined : state.error,
    loading: loading || isOther,
    reload,
  }
}

export function asCallError(error: unknown): CallError {
  return error instanceof CallError ? error : new CallError('PAGE', 'The page failed. Reload it.')
}
