import { invalid } from '../../errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import { base64At } from '../conversion.ts'
import { listAt, objectAt, stringAt } from '../wire.ts'

/*
 * What the blocks of the Messages API must have. Source: `ContentBlockParam` of `@anthropic-ai/sdk` and the types it
 * names; for blocks of betas, their pages. Only fields without which a block says nothing are looked at.
 */

type Check = (value: unknown, path: string) => unknown

const textOrNone: Check = (value, path) => {
  if (value !== undefined && value !== null) stringAt(value, path)
}
const flagOrNone: Check = (value, path) => {
  if (value !== undefined && value !== null && typeof value !== 'boolean')
    throw invalid(`${path}: must be true or false`)
}
const present: Check = (value, path) => {
  if (value === undefined) throw invalid(`${path}: is missing`)
}
const textOrList: Check = (value, path) => {
  if (typeof value !== 'string') listAt(value, path)
}

type Checks = { readonly [field: string]: Check }

/** Sources of images and documents, by their types. Others are newer than this. */
const SOURCES: ReadonlyMap<unknown, Checks> = new Map<unknown, Checks>([
  ['base64', { media_type: stringAt, data: base64At }],
  ['text', { media_type: stringAt, data: stringAt }],
  ['url', { url: stringAt }],
  ['file', { file_id: stringAt }],
  ['content', { content: textOrList }],
])

const source: Check = (value, path) => {
  const fields = objectAt(value, path)
  stringAt(fields.type, `${path}.type`)
  checkFields(fields, SOURCES.get(fields.type), path)
}

const CALL: Checks = { id: stringAt, name: stringAt, input: present }
const RESULT: Checks = { tool_use_id: stringAt }

const BLOCKS: ReadonlyMap<unknown, Checks> = new Map<unknown, Checks>([
  ['text', { text: stringAt }],
  ['image', { source }],
  ['document', { source, title: textOrNone, context: textOrNone }],
  ['search_result', { source: stringAt, title: stringAt, content: listAt }],
  ['thinking', { thinking: stringAt, signature: textOrNone }],
  ['redacted_thinking', { data: stringAt }],
  ['tool_use', CALL],
  ['tool_result', { ...RESULT, is_error: flagOrNone }],
  ['server_tool_use', CALL],
  ['mcp_tool_use', CALL],
  ['web_search_tool_result', RESULT],
  ['web_fetch_tool_result', RESULT],
  ['code_execution_tool_result', RESULT],
  ['bash_code_execution_tool_result', RESULT],
  ['text_editor_code_execution_tool_result', RESULT],
  ['tool_search_tool_result', RESULT],
  ['mcp_tool_result', RESULT],
  ['container_upload', { file_id: stringAt }],
  ['tool_reference', { tool_name: stringAt }],
  ['browser_state', { tabs: listAt }],
  ['compaction', { content: textOrNone }],
])

/** Throws `INVALID_INPUT`, with place and rule, for a block without a type, and for one that lacks what its type must have. */
export function checkBlock(block: JsonObject, path: string): void {
  stringAt(block.type, `${path}.type`)
  checkFields(block, BLOCKS.get(block.type), path)
}

function checkFields(fields: JsonObject, checks: Checks | undefined, path: string): void {
  for (const [field, check] of Object.entries(checks ?? {})) check(fields[field], `${path}.${field}`)
}

/** Whether a type of block is known here. The names of others are not repeated in notes. */
export function isKnownBlock(type: unknown): boolean {
  return BLOCKS.has(type)
}
