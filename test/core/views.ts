import type {
  Part,
  Role,
  ToolResultOutput,
  ToolResultPart,
  ViewMessage,
} from '../../src/core/messages/message.ts'

export type Row = Omit<ViewMessage, 'id' | 'createdAt'>

/** A view from its rows; the ids are m0, m1 … */
export function view(...rows: readonly Row[]): ViewMessage[] {
  return rows.map((row, index) => ({ id: `m${index}`, createdAt: 0, ...row }))
}

const says =
  (role: Role) =>
  (...content: readonly (string | Part)[]): Row => {
    const [first] = content
    const only = content.length === 1 && typeof first === 'string' ? first : undefined
    return {
      kind: 'message',
      role,
      content: only ?? content.map((part) => (typeof part === 'string' ? text(part) : part)),
    }
  }

export const system = says('system')
export const user = says('user')
export const assistant = says('assistant')
export const tool = says('tool')

export const summary = (content: ViewMessage['content']): Row => ({ kind: 'summary', role: 'user', content })
export const marker = (content: ViewMessage['content']): Row => ({ kind: 'marker', role: 'user', content })

export const text = (value: string): Part => ({ type: 'text', text: value })
export const reasoning = (value: string): Part => ({ type: 'reasoning', text: value })
export const image: Part = { type: 'image', image: 'aGk=' }
/** What only OpenAI reads. */
export const opaque: Part = { type: 'provider', provider: 'openai', data: 1 }
/** What only somebody else reads. */
export const foreign: Part = { type: 'provider', provider: 'x', data: 1 }

export const call = (toolCallId: string): Part => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'look',
  input: { q: 1 },
})
/** A call of a tool the provider runs itself. */
export const hosted = (toolCallId: string): Part => ({ ...call(toolCallId), providerExecuted: true }) as Part

export function result(toolCallId: string, output: string | ToolResultOutput = 'ok'): ToolResultPart {
  const value: ToolResultOutput = typeof output === 'string' ? { type: 'text', value: output } : output
  return { type: 'tool-result', toolCallId, toolName: 'look', output: value }
}

/** What stands in place of a result nobody recorded. */
export const noResult = (toolCallId: string): ToolResultPart =>
  result(toolCallId, { type: 'error-text', value: '[No result was recorded for this tool call]' })
