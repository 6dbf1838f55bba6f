/*
 * An application's own messages (`ModelMessage` of `ai` 5, 6 and 7), written down as far as they have them in common, so that what is
 * made here fits each of them and the package needs none to be installed. Source: `ModelMessage` and its parts in the types of
 * `@ai-sdk/provider-utils` 3, 4 and 5.
 */

/** Any JSON value, as the AI SDK writes it: lists may be changed. */
type SdkJson = null | string | number | boolean | SdkJson[] | SdkJsonObject
export type SdkJsonObject = { [key: string]: SdkJson | undefined }

type Options = { providerOptions?: { [provider: string]: SdkJsonObject } }
type Data = string | Uint8Array | URL

type ModelText = Options & { type: 'text'; text: string }
type ModelReasoning = Options & { type: 'reasoning'; text: string }
type ModelImage = Options & { type: 'image'; image: Data; mediaType?: string }
type ModelFile = Options & { type: 'file'; data: Data; mediaType: string; filename?: string }
type ModelToolCall = Options & {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  input: unknown
  providerExecuted?: boolean
}
type ModelToolItem = Options &
  (
    | { type: 'text'; text: string }
    | { type: 'image-data'; data: string; mediaType: string }
    | { type: 'image-url'; url: string }
    | { type: 'file-data'; data: string; mediaType: string; filename?: string }
    | { type: 'file-url'; url: string; mediaType?: string }
    | { type: 'custom' }
  )
type ModelToolOutput =
  | (Options & { type: 'text' | 'error-text'; value: string })
  | (Options & { type: 'json' | 'error-json'; value: SdkJson })
  | (Options & { type: 'execution-denied'; reason?: string })
  | { type: 'content'; value: ModelToolItem[] }
type ModelToolResult = Options & {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: ModelToolOutput
}
type ModelApprovalRequest = {
  type: 'tool-approval-request'
  approvalId: string
  toolCallId: string
  signature?: string
  inputSchemaInput?: unknown
}
type ModelApprovalResponse = {
  type: 'tool-approval-response'
  approvalId: string
  approved: boolean
  reason?: string
  providerExecuted?: boolean
}

/**
 * A message for `generateText`, `streamText` and what is built on them: a `ModelMessage` of any version. What one version alone
 * knows (a `custom` part of ai 7, a `media` item of ai 5) comes out as it was read, and is not in this type.
 */
export type SdkModelMessage =
  | (Options & { role: 'system'; content: string })
  | (Options & { role: 'user'; content: string | (ModelText | ModelImage | ModelFile)[] })
  | (Options & {
      role: 'assistant'
      content:
        | string
        | (ModelText | ModelFile | ModelReasoning | ModelToolCall | ModelToolResult | ModelApprovalRequest)[]
    })
  | (Options & { role: 'tool'; content: (ModelToolResult | ModelApprovalResponse)[] })
