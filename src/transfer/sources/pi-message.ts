/*
 * Entries of pi's session files as messages. Format: docs/session.md and src/core/session-manager.ts of packages/coding-agent in
 * badlogic/pi-mono, versions 1 to 3.
 *
 * `metadata.pi` is the entry without the content of its message, with the message's other fields (`usage`, `stopReason`, `api` …) in `message`.
 * Fields of a part without a place in the neutral form are its options under `pi`.
 */

import { keptUnder } from '../../adapters/wire.ts'
import type { Json, JsonObject } from '../../core/messages/json.ts'
import { isObject } from '../../core/messages/json.ts'
import type {
  ImagePart,
  Message,
  Part,
  ProviderPart,
  TextPart,
  ToolResultOutput,
  UnsentSource,
} from '../../core/messages/message.ts'

/** The name of pi's metadata. */
export const PI = 'pi' satisfies UnsentSource

/** Returns an entry as a message; `undefined` if its content is missing or unreadable. */
export function messageOfEntry(entry: JsonObject): Message | undefined {
  switch (entry.type) {
    case 'message':
      return isObject(entry.message) ? ofMessage(entry, entry.message as JsonObject) : undefined
    case 'custom_message': {
      const { content, ...rest } = entry
      return spokenMessage('user', content, rest)
    }
    case 'branch_summary': {
      const { summary, ...rest } = entry
      if (typeof summary !== 'string' || summary === '') return silentEntry(entry)
      return { role: 'user', content: branchSummaryText(summary), metadata: { [PI]: { ...rest, summary } } }
    }
    default:
      return silentEntry(entry)
  }
}

/** Returns a bookkeeping row with an entry. Its role is `tool`, so that it doesn't count as a turn. */
export function silentEntry(entry: JsonObject): Message {
  return { role: 'tool', content: [], metadata: { [PI]: entry } }
}

function branchSummaryText(summary: string): string {
  return `Summary of another branch of this conversation, which was left:\n\n${summary}`
}

function ofMessage(entry: JsonObject, message: JsonObject): Message | undefined {
  const { content, ...fields } = message
  switch (message.role) {
    case 'user':
    case 'assistant':
      return spokenMessage(message.role, content, { ...entry, message: fields })
    // Version 2 uses another name for it, which pi replaces in the file.
    case 'hookMessage':
    case 'custom':
      return spokenMessage('user', content, { ...entry, message: { ...fields, role: 'custom' } })
    case 'toolResult':
      return ofToolResult(entry, message)
    case 'bashExecution':
      if (message.excludeFromContext === true) return silentEntry(entry)
      return { role: 'user', content: bashText(message), metadata: { [PI]: entry } }
    case 'branchSummary':
    case 'compactionSummary':
      if (typeof message.summary !== 'string') return undefined
      return { role: 'user', content: message.summary, metadata: { [PI]: entry } }
    default:
      return undefined
  }
}

function spokenMessage(
  role: 'user' | 'assistant',
  content: Json | undefined,
  rest: JsonObject,
): Message | undefined {
  if (typeof content === 'string') return { role, content, metadata: { [PI]: rest } }
  if (!Array.isArray(content)) return undefined
  const isAnthropic = isObject(rest.message) && rest.message.api === 'anthropic-messages'
  const parts = content.map((block: Json) => partOf(block, isAnthropic))
  return { role, content: parts, metadata: { [PI]: rest } }
}

function ofToolResult(entry: JsonObject, message: JsonObject): Message | undefined {
  const { content, toolCallId, toolName, isError, ...fields } = message
  if (typeof toolCallId !== 'string' || !Array.isArray(content)) return undefined
  const result: Part = {
    type: 'tool-result',
    toolCallId,
    ...(typeof toolName === 'string' && { toolName }),
    output: outputOf(content, isError === true),
  }
  return { role: 'tool', content: [result], metadata: { [PI]: { ...entry, message: fields } } }
}

function outputOf(content: readonly Json[], failed: boolean): ToolResultOutput {
  const value = content.map(simplePartOf)
  const [only, ...more] = value
  if (more.length === 0 && only?.type === 'text' && only.providerOptions === undefined)
    return { type: failed ? 'error-text' : 'text', value: only.text }
  return { type: 'content', value, ...(failed && { isError: true }) }
}

function partOf(block: Json, isAnthropic: boolean): Part {
  if (!isObject(block)) return simplePartOf(block)
  const { type, ...rest } = block as JsonObject
  if (type === 'thinking' && typeof rest.thinking === 'string') {
    const { thinking, thinkingSignature, ...extra } = rest
    // Only Anthropic's API accepts the signature unchanged, beside the signed text.
    const isSigned = isAnthropic && typeof thinkingSignature === 'string' && extra.redacted !== true
    const signed = isSigned ? { anthropic: { signature: thinkingSignature } } : {}
    const own = thinkingSignature === undefined || isSigned ? extra : { ...extra, thinkingSignature }
    const options = { ...signed, ...keptUnder(PI, own).providerOptions }
    return {
      type: 'reasoning',
      text: thinking as string,
      ...(Object.keys(options).length > 0 && { providerOptions: options }),
    }
  }
  if (type === 'toolCall' && typeof rest.id === 'string' && typeof rest.name === 'string') {
    const { id, name, arguments: input = {}, ...extra } = rest
    return {
      type: 'tool-call',
      toolCallId: id as string,
      toolName: name as string,
      input,
      ...keptUnder(PI, extra),
    }
  }
  return simplePartOf(block)
}

/** Returns a block that a tool result can contain too. Unknown blocks are stored in full and never sent. */
function simplePartOf(block: Json): TextPart | ImagePart | ProviderPart {
  if (isObject(block)) {
    const { type, ...rest } = block as JsonObject
    if (type === 'text' && typeof rest.text === 'string') {
      const { text, ...extra } = rest
      return { type: 'text', text: text as string, ...keptUnder(PI, extra) }
    }
    if (type === 'image' && typeof rest.data === 'string' && typeof rest.mimeType === 'string') {
      const { data, mimeType, ...extra } = rest
      return { type: 'image', image: data as string, mediaType: mimeType as string, ...keptUnder(PI, extra) }
    }
  }
  return { type: 'provider', provider: PI, data: block }
}

function bashText({ command, output, exitCode, cancelled, truncated, fullOutputPath }: JsonObject): string {
  const lines = [`I ran \`${String(command)}\`:`, '', '```', ...(output ? [String(output)] : []), '```']
  if (cancelled === true) lines.push('', 'It was cancelled.')
  else if (typeof exitCode === 'number' && exitCode !== 0) lines.push('', `Its exit code was ${exitCode}.`)
  if (truncated === true && typeof fullOutputPath === 'string')
    lines.push('', `This is not all of its output; all of it is in ${fullOutputPath}.`)
  return lines.join('\n')
}
