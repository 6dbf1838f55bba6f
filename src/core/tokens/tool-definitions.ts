import { z } from 'zod'
import { taken } from '../messages/check.ts'
import { defined, isObject } from '../messages/json.ts'

/** The tools of the AI SDK's `streamText`: name to tool. */
export type ToolSet = { readonly [name: string]: object }

/** Definitions of tools in the form that is sent to the provider, or tools of the AI SDK, whose definitions are read. */
export const toolsSchema = z
  .union(
    [z.array(z.unknown().transform(taken)), z.custom<ToolSet>(isToolSet)],
    'must be an array of definitions, or the tools of the AI SDK by name',
  )
  .transform((tools, context): unknown[] => {
    if (Array.isArray(tools)) return tools
    const unreadable: string[] = []
    const definitions = Object.entries(tools).map(([name, tool]) => definitionOf(name, tool, unreadable))
    for (const name of unreadable) context.addIssue({ code: 'custom', path: [name], message: UNREADABLE })
    return definitions
  })

function isToolSet(value: unknown): boolean {
  return isObject(value) && !Array.isArray(value) && Object.values(value).every(isObject)
}

const UNREADABLE =
  "has an input schema that can't be read here; pass `await asSchema(inputSchema).jsonSchema` of the AI SDK as its inputSchema"

/** Returns the definition of an AI SDK tool, in the form in which the SDK passes it to a model. */
function definitionOf(name: string, tool: object, unreadable: string[]): object {
  const { type, id, args, description, inputSchema, parameters } = tool as { readonly [key: string]: unknown }
  // The provider runs such a tool and has its schema.
  if (typeof id === 'string' && typeof type === 'string' && type.startsWith('provider'))
    return { type, name, id, ...defined({ args: taken(args) }) }
  let schema: unknown
  try {
    schema = jsonSchemaOf(inputSchema ?? parameters)
  } catch {
    // A converter of another package may throw anything.
  }
  if (schema === undefined) unreadable.push(name)
  return {
    type: 'function',
    name,
    ...(typeof description === 'string' && { description }),
    inputSchema: schema,
  }
}

/**
 * Returns the JSON schema of a tool's input: of zod 4, of an AI SDK schema, of a standard schema, or the given schema; otherwise
 * `undefined`.
 */
function jsonSchemaOf(given: unknown): unknown {
  const schema: unknown = typeof given === 'function' ? given() : given
  if (schema === undefined || schema === null) return { type: 'object', properties: {} }
  if (!isObject(schema)) return undefined
  // Converted like the AI SDK does, so that the figures match its request.
  if ('_zod' in schema)
    return z.toJSONSchema(schema as unknown as z.ZodType, {
      ...{ target: 'draft-7', io: 'input', reused: 'inline', unrepresentable: 'any' },
      override: ({ jsonSchema: { type, additionalProperties }, jsonSchema }) => {
        if (type === 'object' && typeof additionalProperties !== 'object')
          jsonSchema.additionalProperties = false
      },
    })
  if ('jsonSchema' in schema) {
    const { jsonSchema } = schema
    return isObject(jsonSchema) && typeof jsonSchema.then !== 'function' ? taken(jsonSchema) : undefined
  }
  const standard = schema['~standard']
  if (standard === undefined) return '_def' in schema ? undefined : taken(schema)
  const converter = isObject(standard) ? standard.jsonSchema : undefined
  return isObject(converter) && typeof converter.input === 'function'
    ? converter.input({ target: 'draft-07' })
    : undefined
}
