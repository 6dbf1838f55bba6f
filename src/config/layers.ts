import { z } from 'zod'
import { isUndertextError } from '../errors.ts'
import { check } from '../messages/check.ts'
import { isObject, type JsonObject, jsonProblem } from '../messages/json.ts'
import {
  type CheckedCall,
  callSchema,
  type LayerValues,
  NOT_OF_A_SESSION,
  SETTING_NAMES,
  type SettingName,
  settingsSchema,
} from './settings.ts'
import { ownNames } from './spellings.ts'

const KNOWN: ReadonlySet<string> = new Set(SETTING_NAMES)
const KNOWN_OF_A_SESSION: ReadonlySet<string> = new Set(
  SETTING_NAMES.filter((name) => !NOT_OF_A_SESSION.has(name)),
)

/**
 * The settings an object gives, under their own names, checked and safe from later changes of that object. Throws
 * `INVALID_INPUT`. `snake`: names may be written_so.
 */
export function readSettings(value: object, what: string, snake = false): LayerValues {
  return kept(check(settingsSchema, ownNames(value, { known: KNOWN, what, snake }), what))
}

const previewSchema = callSchema.safeExtend({ summarize: z.boolean().optional() })

const KNOWN_OF_A_PREVIEW: ReadonlySet<string> = new Set(Object.keys(previewSchema.shape))
const KNOWN_OF_A_CALL: ReadonlySet<string> = new Set(Object.keys(callSchema.shape))

/** What a call is told, under its own names, safe from later changes of the object. Throws `INVALID_INPUT`. */
export function readCall(value: unknown, what: string): CheckedCall {
  const own = isObject(value) ? ownNames(value, { known: KNOWN_OF_A_CALL, what }) : value
  return kept(check(callSchema, own, what))
}

/** The same for a preview, which may be allowed to ask a model. */
export function readPreview(
  value: unknown,
  what: string,
): { readonly call: CheckedCall; readonly summarize: boolean } {
  const own = isObject(value) ? ownNames(value, { known: KNOWN_OF_A_PREVIEW, what }) : value
  const { summarize = false, ...call } = check(previewSchema, own, what)
  return { call: kept(call), summarize }
}

/**
 * The settings in a session's config, among whatever else an application keeps there. Throws `INVALID_INPUT` when one
 * of them cannot be.
 */
export function readSessionSettings(config: JsonObject, what: string): LayerValues {
  const own = ownNames(config, { known: KNOWN_OF_A_SESSION, what, ignoresUnknown: true })
  return kept(check(settingsSchema, own, what))
}

/** The same of a config as it is stored. What cannot be counts as not said: it was written past our checks. */
export function storedSessionSettings(config: JsonObject): LayerValues {
  try {
    return readSessionSettings(config, 'config')
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    const possible = SETTING_NAMES.filter((name) => !NOT_OF_A_SESSION.has(name) && isPossible(name, config))
    return kept(Object.fromEntries(possible.map((name) => [name, config[name]])))
  }
}

function isPossible(name: SettingName, config: JsonObject): boolean {
  return (
    Object.hasOwn(config, name) && (settingsSchema.shape[name] as z.ZodType).safeParse(config[name]).success
  )
}

/** Values that stay as they are: plain data is copied and frozen, what is no data (a summarizer, a stage) is kept. */
export function kept(values: object): LayerValues {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.freeze(Object.fromEntries(entries.map(([name, value]) => [name, frozen(value)])))
}

function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (jsonProblem(value) === undefined) return deepFrozen(structuredClone(value))
  return Array.isArray(value) ? Object.freeze(value.map(frozen)) : value
}

/** What was checked is no deeper than JSON may be here. */
function deepFrozen<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFrozen(inner)
  return Object.freeze(value)
}
