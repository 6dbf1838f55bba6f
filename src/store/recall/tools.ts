import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { check } from '../../core/messages/check.ts'
import { isObject, type JsonObject } from '../../core/messages/json.ts'
import type { Store } from '../store.ts'
import { type Ask, answered, problemAnswer } from './answer.ts'
import type { RecallAnswer } from './data.ts'
import { NOTES } from './log-notes.ts'
import { type MakeRoomPolicy, roomBy } from './make-room.ts'
import { OPEN } from './open-row.ts'
import { READ } from './read-log.ts'
import { boundsSchema, checkScope, type RecallScope } from './scope.ts'
import { SEARCH } from './search-log.ts'

/** A tool for a model. Its parameters are a JSON Schema of draft 2020-12. */
export type RecallTool = {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  /**
   * Runs the tool and returns the text of the answer. A mistake of the model returns an answer that explains what to do; a failure of the
   * store throws.
   */
  readonly execute: (input: unknown) => Promise<string>
  /** Runs the tool and returns the answer as plain values, including its text. */
  readonly answer: (input: unknown) => Promise<RecallAnswer>
}

const optionsSchema = z.strictObject({
  /** Whether models may read and write notes. */
  notes: z.boolean().default(false),
  /** A prefix of each name, followed by `__`. Later pruning recognizes the tools by the rest of the name. */
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,40}$/, 'must be 1 to 40 letters, digits, _ and -')
    .optional(),
  /**
   * Whether the model may propose a compaction with `make_room`. With `true`, a proposal is applied if it reaches the share that it asks
   * for; otherwise, a `policy` decides.
   */
  makeRoom: z
    .union([
      z.boolean(),
      z.strictObject({
        policy: z.custom<MakeRoomPolicy>((value) => typeof value === 'function', 'must be a function'),
      }),
    ])
    .default(false),
  ...boundsSchema.shape,
})
/** Options of `recallTools`. */
export type RecallToolsOptions = z.input<typeof optionsSchema>

const DESCRIPTIONS: { readonly [tool: string]: string } = {
  search_history:
    'Searches the stored messages, tool calls and tool outputs of this conversation and of other sessions that you may read, including messages that you no longer see. Returns passages with their positions. Use it before you say that you do not know something that was written or done earlier.',
  read_history:
    'Reads stored messages in order: the one at a position with its neighbors. Use it after search_history for the context of a hit.',
  open_history:
    'Opens a shortened text: the whole output of a tool call, the whole text of a message, or the messages that a summary replaces. To continue, pass the cursor of the answer.',
  history_notes:
    'Notes apart from the conversation: recall, remember and forget preferences, decisions and facts.',
  make_room:
    'Proposes to hide older parts of this conversation, when it gets too long. Nothing is lost: hidden messages stay stored, can be searched, and a person can undo it.',
}

/**
 * Returns the tools with which a model reads a stored conversation, including what compaction hid: `search_history`, `read_history`,
 * `open_history`, with `notes` also `history_notes`, and with `makeRoom` also `make_room`. Throws `INVALID_INPUT` for invalid options.
 */
export function recallTools(
  store: Store,
  scope: RecallScope,
  options: RecallToolsOptions = {},
): RecallTool[] {
  const whole = checkScope(scope, 'recallTools: scope')
  const { notes, makeRoom: room, prefix, maxTokens } = check(optionsSchema, options, 'recallTools')
  const bounds = { maxTokens }
  const asks: Ask<z.ZodType>[] = [SEARCH, READ, OPEN]
  if (notes) asks.push(NOTES)
  if (room !== false) asks.push(roomBy(room === true ? undefined : room.policy))
  return asks.map((ask) => {
    const answer = async (input: unknown): Promise<RecallAnswer> => {
      const given = inputOf(input)
      if (given === undefined)
        return problemAnswer('INVALID_INPUT', `${ask.tool}: the input must be an object.`)
      return answered(store, whole, ask, given, bounds)
    }
    return {
      name: prefix === undefined ? ask.tool : `${prefix}__${ask.tool}`,
      description: DESCRIPTIONS[ask.tool]!,
      parameters: parametersOf(ask.input),
      answer,
      execute: async (input) => (await answer(input)).text,
    }
  })
}

/** Models pass `null` for omitted arguments, and some pass all arguments as a text. */
function inputOf(input: unknown): object | undefined {
  if (typeof input === 'string') {
    try {
      return inputOf(JSON.parse(input))
    } catch {
      return undefined
    }
  }
  if (!isObject(input)) return undefined
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))
}

function parametersOf(schema: z.ZodType): JsonObject {
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' })
  if (!isObject(parameters)) throw invalid('parameters')
  return parameters as JsonObject
}

/* The same tools in the forms of frameworks. No framework is imported; the function that makes its tools is passed in. */

/** A tool of the AI SDK, versions 5 to 7. */
export type AiSdkRecallTool<Schema> = {
  readonly description: string
  readonly inputSchema: Schema
  /** Returns the answer as text. Rejects with the store's errors. */
  readonly execute: (input: unknown) => Promise<string>
}

/** Returns the tools for `generateText` and `streamText` of the AI SDK, by name. Pass the function `jsonSchema` of the package `ai`. */
export function aiSdkTools<Schema>(
  tools: readonly RecallTool[],
  jsonSchema: (schema: never) => Schema,
): Record<string, AiSdkRecallTool<Schema>> {
  return Object.fromEntries(
    tools.map(({ name, description, parameters, execute }) => [
      name,
      {
        description,
        inputSchema: jsonSchema(parameters as never),
        execute: (input: unknown) => execute(input),
      },
    ]),
  )
}

/** Returns the tools for agents of the OpenAI Agents SDK. Pass the function `tool` of the package `@openai/agents`. */
export function agentsTools<Tool>(tools: readonly RecallTool[], tool: (options: never) => Tool): Tool[] {
  return tools.map(({ name, description, parameters, execute }) => {
    // Without strict mode, which would make every parameter required. In that mode the SDK accepts only schemas with `additionalProperties:
    // true`.
    const schema: JsonObject = { required: [], ...parameters, additionalProperties: true }
    const options = {
      name,
      description,
      parameters: schema,
      strict: false,
      execute: (input: unknown) => execute(input),
    }
    return tool(options as never)
  })
}

/** Returns the tools for models and agents of LangChain. Pass the function `tool` of `@langchain/core/tools`. */
export function langchainTools<Tool>(
  tools: readonly RecallTool[],
  tool: (run: (input: unknown) => Promise<string>, fields: never) => Tool,
): Tool[] {
  return tools.map(({ name, description, parameters, execute }) =>
    tool((input) => execute(input), { name, description, schema: parameters } as never),
  )
}
