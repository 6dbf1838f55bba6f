import { PACKAGE_WINDOWS } from './package-windows-data.ts'

/*
 * Context windows from the maintained package @pydantic/genai-prices. Windows are looked up synchronously, at the first turn of a
 * process, and importing that package takes about as long as importing this one. Therefore the windows alone are in a generated file,
 * which a test compares with the installed package.
 */

/**
 * A rule for names: a single name, a list of alternatives, or by kind: starts with, ends with, contains, regular expression, all of a
 * list.
 */
export type PackedMatch =
  | string
  | readonly PackedMatch[]
  | { readonly s: string }
  | { readonly e: string }
  | { readonly c: string }
  | { readonly r: string }
  | { readonly a: readonly PackedMatch[] }

type PackedProvider = {
  readonly provider?: PackedMatch
  readonly fallback?: readonly string[]
  /** For each model: its name, its tokens (0 if the package has none), and the rule for its names. The first match decides. */
  readonly models: readonly (readonly [string, number, PackedMatch])[]
}

/** A model of the package and its window. */
type PackageWindow = { readonly model: string; readonly tokens: number }

/** The package's names for providers that have another name here. */
const PACKAGE_IDS: ReadonlyMap<string, string> = new Map([
  ['bedrock', 'aws'],
  ['google-ai', 'google'],
  ['vertex', 'google'],
  ['togetherai', 'together'],
])

/** Returns the package's id of a provider, or `undefined`. */
export function packageProvider(provider: string): string | undefined {
  const id = PACKAGE_IDS.get(provider) ?? provider
  if (Object.hasOwn(PACKAGE_WINDOWS, id)) return id
  return Object.keys(PACKAGE_WINDOWS).find((other) => {
    const { provider: names } = providerData(other)!
    return names !== undefined && matchesModel(names, id)
  })
}

type PackageName = { readonly provider: string; readonly model: string }

/**
 * Returns the provider and the name of a model in the package. If the package doesn't have the provider, the first part of the model's
 * name is the provider (`openai/gpt-5` from a gateway).
 */
export function packageName(provider: string, model: string): PackageName {
  const name = model.toLowerCase().trim()
  const id = packageProvider(provider)
  return (id === undefined && ownersName(name)) || { provider: id ?? provider, model: name }
}

/** Returns a model by its owner: the first part of a gateway's name for it. */
function ownersName(name: string): PackageName | undefined {
  const slash = name.indexOf('/')
  const owner = slash > 0 ? packageProvider(name.slice(0, slash)) : undefined
  return owner === undefined ? undefined : { provider: owner, model: name.slice(slash + 1) }
}

/**
 * Returns the window of a model in the package: the provider's own entry, or else that of a provider whose models it serves, or else its
 * owner's.
 */
export function packageWindow(provider: string, model: string): PackageWindow | undefined {
  const asked = packageName(provider, model)
  const owners = ownersName(asked.model)
  for (const { provider: id, model: name } of owners === undefined ? [asked] : [asked, owners]) {
    const found = modelOf(id, name) ?? modelOf(id, dated(name))
    if (found !== undefined) return found
  }
  return undefined
}

function modelOf(id: string, name: string, isFallback = false): PackageWindow | undefined {
  const data = providerData(id)
  const found = data?.models.find(([, , match]) => matchesModel(match, name))
  if (found !== undefined && found[1] > 0) return { model: found[0], tokens: found[1] }
  if (isFallback) return undefined
  for (const other of data?.fallback ?? []) {
    const served = modelOf(other, name, true)
    if (served !== undefined) return served
  }
  return undefined
}

/** Returns whether a lower-case name matches a rule. */
export function matchesModel(match: PackedMatch, name: string): boolean {
  if (typeof match === 'string') return name === match
  if (isList(match)) return match.some((one) => matchesModel(one, name))
  if ('s' in match) return name.startsWith(match.s)
  if ('e' in match) return name.endsWith(match.e)
  if ('c' in match) return name.includes(match.c)
  if ('a' in match) return match.a.every((one) => matchesModel(one, name))
  return new RegExp(match.r).test(name)
}

function isList(match: PackedMatch): match is readonly PackedMatch[] {
  return Array.isArray(match)
}

/** Converts `-20250929` to `-2025-09-29`, the other format of dates in names. */
function dated(name: string): string {
  return name.replace(/-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g, '-$1-$2-$3')
}

const parsed = new Map<string, PackedProvider>()

function providerData(id: string): PackedProvider | undefined {
  const known = parsed.get(id)
  if (known !== undefined || !Object.hasOwn(PACKAGE_WINDOWS, id)) return known
  const data = JSON.parse(PACKAGE_WINDOWS[id]!) as PackedProvider
  parsed.set(id, data)
  return data
}
