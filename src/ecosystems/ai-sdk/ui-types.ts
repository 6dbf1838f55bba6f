/*
 * Messages of a chat as people see them (`UIMessage` of `ai` 5, 6 and 7), as far as the versions have them in common. Source: `UIMessage`
 * and its parts in the types of `ai` 6 and 7.
 */
import type { SdkJsonObject } from './model-types.ts'

/** What is read of a message: any `UIMessage`, whatever its metadata, data and tools are. */
export type UIMessageLike = {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly metadata?: unknown
  readonly parts: readonly { readonly type: string }[]
}

type Metadata = { [provider: string]: SdkJsonObject }
type WithMetadata = { providerMetadata?: Metadata }
type Approval = { id: string; descriptor?: unknown; signature?: string; inputSchemaInput?: unknown }
type ToolCall = {
  toolCallId: string
  title?: string
  toolMetadata?: SdkJsonObject
  providerExecuted?: boolean
  callProviderMetadata?: Metadata
}
type Result = { resultProviderMetadata?: Metadata }
type ToolState =
  | { state: 'input-streaming'; input?: unknown; rawInput?: string; inputEncoding?: 'json' | 'text' }
  | { state: 'input-available'; input: unknown }
  | { state: 'approval-requested'; input: unknown; approval: Approval }
  | {
      state: 'approval-responded'
      input: unknown
      approval: Approval & { approved: boolean; reason?: string }
    }
  | (Result & {
      state: 'output-available'
      input: unknown
      output: unknown
      preliminary?: boolean
      approval?: Approval & { approved: true; reason?: string }
    })
  | (Result & {
      state: 'output-error'
      input: unknown
      errorText: string
      approval?: Approval & { approved: true; reason?: string }
    })
  | { state: 'output-denied'; input: unknown; approval: Approval & { approved: false; reason?: string } }

/** A part of a message that `toUIMessages` makes. */
export type SdkUIPart =
  | (WithMetadata & { type: 'text'; text: string; state?: 'streaming' | 'done' })
  | (WithMetadata & { type: 'reasoning'; id?: string; text: string; state?: 'streaming' | 'done' })
  | (WithMetadata & { type: 'file'; mediaType: string; filename?: string; url: string })
  | (WithMetadata & { type: 'source-url'; sourceId: string; url: string; title?: string })
  | (WithMetadata & {
      type: 'source-document'
      sourceId: string
      mediaType: string
      title: string
      filename?: string
    })
  | { type: 'step-start' }
  | { type: `data-${string}`; id?: string; data: unknown }
  | (ToolCall & ToolState & { type: 'dynamic-tool'; toolName: string })
  | (ToolCall & ToolState & { type: `tool-${string}` })

/** A message that `toUIMessages` makes: a `UIMessage` of any version. */
export type SdkUIMessage = {
  id: string
  role: 'system' | 'user' | 'assistant'
  metadata?: unknown
  parts: SdkUIPart[]
}
