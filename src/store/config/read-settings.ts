import { z } from 'zod'
import { check, problemOf, readable } from '../../core/messages/check.ts'
import { isObject, type JsonObject, jsonProblem } from '../../core/messages/json.ts'
import {
  type CheckedCall,
  callSchema,
  type LayerValues,
  NOT_OF_A_SESSION,
  SETTING_NAMES,
  settingsSchema,
} from './settings.ts'
import { withOwnNames } from './spellings.ts'

const NAMES: ReadonlySet<string> = new Set(SETTING_NAMES)
const SESSION_SETTINGS = SETTING_NAMES.filter((name) => !NOT_OF_A_SESSION.has(name))
const SESSION_NAMES: ReadonlySet<string> = new Set(SESSION_SETTINGS)

const previewSchema = callSchema.safeExtend({ summarize: z.boolean().optional() })

/**
 * Reads the settings of an object, under the names of this package, checked and copied. Throws `INVALID_INPUT`. `snake`: names may be in
 * snake_case.
 */
export function readSettings(value: object, what: string, snake = false): LayerValues {
  return readable(what, () =>
    frozenCopy(check(settingsSchema, withOwnNames(value, { known: NAMES, what, snake }).settings, what)),
  )
}

/** Reads the options of a call, under the names of this package, checked and copied. Throws `INVALID_INPUT`. */
export function readCall(value: unknown, what: string): CheckedCall {
  return readOptions(callSchema, value, what)
}

/** Like `readCall`, for a preview, which may call a model with `summarize: true`. */
export function readPreview(
  value: unknown,
  what: string,
): { readonly call: CheckedCall; readonly summarize: boolean } {
  const { summarize = false, ...call } = readOptions(previewSchema, value, what)
  return { call: Object.freeze(call), summarize }
}

function readOptions<S extends z.ZodObject>(schema: S, value: unknown, what: string): z.output<S> {
  const known = new Set(Object.keys(schema.shape))
  return readable(what, () =>
    frozenCopy(check(schema, isObject(value) ? withOwnNames(value, { known, what }).settings : value, what)),
  )
}

/**
 * Returns a session's config as it is stored: its settings under the names of this package, and its other fields. Throws `INVALID_INPUT`
 * for an invalid setting.
 */
export function sessionConfig(config: JsonObject, what: string): JsonObject {
  const { settings, others } = withOwnNames(config, { known: SESSION_NAMES, what, isMixed: true })
  check(settingsSchema, settings, what)
  return { ...others, ...settings } as JsonObject
}

/** Returns the settings in a stored config. Invalid ones, which weren't written through this package, are ignored. */
export function storedSessionSettings(config: JsonObject): LayerValues {
  const valid = SESSION_SETTINGS.filter(
    (name) =>
      Object.hasOwn(config, name) &&
      problemOf(settingsSchema.shape[name] as z.ZodType, config[name]) === undefined,
  )
  return frozenCopy(Object.fromEntries(valid.map((name) => [name, config[name]])))
}

/** Returns a frozen object without undefined values: plain data is copied; anything else (a summarizer, a stage) stays the same object. */
export function frozenCopy<T extends object>(values: T): T {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.freeze(Object.fromEntries(entries.map(([name, value]) => [name, frozenValue(value)]))) as T
}

function frozenValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (jsonProblem(value) === undefined) return deepFreeze(structuredClone(value))
  return Array.isArray(value) ? Object.freeze(value.map(frozenValue)) : value
}

/** Checked JSON has a maximum depth, so the recursion ends. */
function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  return Object.freeze(value)
}
