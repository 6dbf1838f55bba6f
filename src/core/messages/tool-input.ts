import { isObject, type Json, type JsonObject, parsedJson } from './json.ts'

/**
 * The input of a call as every provider accepts it: an object. A text that is the JSON of an object becomes that object, nothing (`null`,
 * an empty text or list) an empty one; anything else, such as arguments that a limit of tokens cut, is its field `arguments`.
 */
export function objectInput(input: Json): JsonObject {
  if (isObject(input)) return input
  const value = typeof input === 'string' ? parsedJson(input) : input
  if (isObject(value)) return value
  const isNothing =
    value === null ||
    (typeof value === 'string' && value.trim() === '') ||
    (Array.isArray(value) && value.length === 0) ||
    (typeof input === 'string' && input.trim() === '')
  return isNothing ? {} : { arguments: input }
}
