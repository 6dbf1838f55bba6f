import type { JsonObject } from '../../core/messages/json.ts'
import type { RecallTool } from './tools.ts'

/* The same tools in the forms of frameworks. None of them is imported: what makes a tool of theirs is passed in. */

/** A tool of the AI SDK, versions 5 to 7. */
export type AiSdkRecallTool<Schema> = {
  readonly description: string
  readonly inputSchema: Schema
  /** Returns the answer as text. Rejects with the store's errors. */
  readonly execute: (input: unknown) => Promise<string>
}

/**
 * The tools for `generateText` and `streamText` of the AI SDK, by name. `jsonSchema` is the function of that name of the package `ai`.
 */
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

/** The tools for agents of the OpenAI Agents SDK. `tool` is the function of that name of the package `@openai/agents`. */
export function agentsTools<Tool>(tools: readonly RecallTool[], tool: (options: never) => Tool): Tool[] {
  return tools.map(({ name, description, parameters, execute }) => {
    // Without strict mode, which would make every parameter required. The SDK then accepts only objects that say this.
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

/** The tools for models and agents of LangChain. `tool` is the function of that name of `@langchain/core/tools`. */
export function langchainTools<Tool>(
  tools: readonly RecallTool[],
  tool: (run: (input: unknown) => Promise<string>, fields: never) => Tool,
): Tool[] {
  return tools.map(({ name, description, parameters, execute }) =>
    tool((input) => execute(input), { name, description, schema: parameters } as never),
  )
}
