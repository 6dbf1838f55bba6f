/*
 * Items of the OpenAI Agents SDK, in and out. One item becomes one message, and an item that was read is
 * written again as it was, the arguments of calls byte for byte. Types follow the schemas in `types/protocol`
 * of `@openai/agents-core` 0.20.
 *
 * What the neutral form has no place for is kept under the name `openai-agents`: fields of a message item in
 * `metadata`, fields of a part, call, result or reasoning in its `providerOptions`. Values that only this SDK
 * understands are provider parts of `openai` with the data `{ 'openai-agents': … }`: items without a neutral
 * meaning, and contents that name an uploaded file. Reserved there:
 *
 * - `type` is the type of the item or content where the neutral part does not show it; null for a message
 *   without a type;
 * - `arguments` is the text of arguments that `JSON.stringify` would write otherwise;
 * - `content` is the layout of reasoning that was not one block;
 * - `output` is the form of a result's output: the further fields of a text in an object, `'one'` for a single
 *   image or file, null where there was none;
 * - `image` and `file` are the form in which bytes or an address were given, and its further fields.
 *
 * The neutral part takes precedence: an output or input that changed since is what is sent.
 */

/** The name under which this format keeps its fields. */
export const AGENTS = 'openai-agents'

/** The provider of parts that only this SDK understands. */
export const PROVIDER = 'openai'

type Base = { id?: string | undefined; providerData?: { [name: string]: unknown } | undefined }
type Extra = Pick<Base, 'providerData'>
type Status = 'in_progress' | 'completed' | 'incomplete'
type Cached = Extra & { promptCacheBreakpoint?: { mode: 'explicit' } | undefined }
type Caller = { caller?: { type: 'direct' } | { type: 'program'; callerId: string } | undefined }

type InputText = Cached & { type: 'input_text'; text: string }
type InputImage = Cached & {
  type: 'input_image'
  image?: string | { id: string } | undefined
  detail?: string | undefined
}
type InputFile = Cached & {
  type: 'input_file'
  file?: string | { id: string } | { url: string } | undefined
  filename?: string | undefined
}
type Audio = Cached & {
  type: 'audio'
  audio: string | { id: string }
  format?: string | null | undefined
  transcript?: string | null | undefined
}

/** A message of the system, the user or the model. */
export type AgentMessageItem =
  | (Base & { type?: 'message' | undefined; role: 'system'; content: string })
  | (Base & {
      type?: 'message' | undefined
      role: 'user'
      content: string | (InputText | InputImage | InputFile | Audio)[]
    })
  | (Base & {
      type?: 'message' | undefined
      role: 'assistant'
      phase?: 'commentary' | 'final_answer' | undefined
      status: Status
      content: (
        | (Extra & { type: 'output_text'; text: string })
        | (Extra & { type: 'refusal'; refusal: string })
        | Audio
        | (Extra & { type: 'image'; image: string })
      )[]
    })

/** A call of a function. */
export type AgentFunctionCallItem = Base &
  Caller & {
    type: 'function_call'
    callId: string
    name: string
    namespace?: string | undefined
    status?: Status | undefined
    arguments: string
  }

type ToolImage = {
  type: 'image'
  image?:
    | string
    | { data: string | Uint8Array<ArrayBuffer>; mediaType?: string | undefined }
    | { url: string }
    | { fileId: string }
    | undefined
  detail?: string | undefined
}
type ToolFile = {
  type: 'file'
  file:
    | string
    | { data: string | Uint8Array<ArrayBuffer>; mediaType: string; filename: string }
    | { url: string; filename?: string | undefined }
    | { id: string; filename?: string | undefined }
}
export type AgentFunctionResultItem = Base &
  Caller & {
    type: 'function_call_result'
    name: string
    namespace?: string | undefined
    callId: string
    status: Status
    output:
      | string
      | (Extra & ({ type: 'text'; text: string } | ToolImage | ToolFile))
      | (InputText | InputImage | InputFile)[]
  }

type Point = { x: number; y: number }
type ComputerAction =
  | { type: 'screenshot' }
  | (Point & { type: 'click'; button: 'left' | 'right' | 'wheel' | 'back' | 'forward' })
  | (Point & { type: 'double_click' })
  | (Point & { type: 'scroll'; scroll_x: number; scroll_y: number })
  | { type: 'type'; text: string }
  | { type: 'wait' }
  | (Point & { type: 'move' })
  | { type: 'keypress'; keys: string[] }
  | { type: 'drag'; path: Point[] }

/** Calls of tools with item types of their own, and their results. */
export type AgentToolItem =
  | (Base & {
      type: 'computer_call'
      callId: string
      status: Status
      action?: ComputerAction | undefined
      actions?: ComputerAction[] | undefined
    })
  | (Base & {
      type: 'computer_call_result'
      callId: string
      output: Extra & { type: 'computer_screenshot'; data: string }
    })
  | (Base &
      Caller & {
        type: 'shell_call'
        callId: string
        status?: Status | undefined
        action: {
          commands: string[]
          timeoutMs?: number | undefined
          maxOutputLength?: number | undefined
        }
      })
  | (Base &
      Caller & {
        type: 'shell_call_output'
        callId: string
        status?: Status | undefined
        maxOutputLength?: number | undefined
        output: {
          stdout: string
          stderr: string
          outcome: { type: 'timeout' } | { type: 'exit'; exitCode: number | null }
          [name: string]: unknown
        }[]
      })
  | (Base &
      Caller & {
        type: 'apply_patch_call'
        callId: string
        status: 'in_progress' | 'completed'
        operation:
          | { type: 'create_file'; path: string; diff: string }
          | { type: 'update_file'; path: string; diff: string; moveTo?: string | undefined }
          | { type: 'delete_file'; path: string }
      })
  | (Base &
      Caller & {
        type: 'apply_patch_call_output'
        callId: string
        status: 'completed' | 'failed'
        output?: string | undefined
      })
  | (Base & { type: 'program'; callId: string; code: string; fingerprint: string })
  | (Base & { type: 'program_output'; callId: string; output: string; status: 'completed' | 'incomplete' })

type SearchBase = Base & {
  call_id?: string | null | undefined
  callId?: string | null | undefined
  execution?: 'client' | 'server' | undefined
  status?: string | undefined
}

/** Items without a neutral meaning. */
export type AgentKeptItem =
  | (Base &
      Caller & {
        type: 'hosted_tool_call'
        name: string
        arguments?: string | undefined
        status?: string | undefined
        output?: string | undefined
      })
  | (SearchBase & { type: 'tool_search_call'; arguments: unknown })
  | (SearchBase & {
      type: 'tool_search_output'
      toolSearchAgentName?: string | undefined
      toolSearchMcpToolNames?: string[] | undefined
      tools: { [name: string]: unknown }[]
    })
  | (Base & { type: 'compaction'; encrypted_content: string; created_by?: string | undefined })
  | (Base & { type: 'unknown' })

export type AgentReasoningItem = Base & {
  type: 'reasoning'
  content: InputText[]
  rawContent?: (Extra & { type: 'reasoning_text'; text: string })[] | undefined
}

/** An item of the SDK: its `AgentInputItem`. */
export type AgentItem =
  | AgentMessageItem
  | AgentFunctionCallItem
  | AgentFunctionResultItem
  | AgentToolItem
  | AgentKeptItem
  | AgentReasoningItem
