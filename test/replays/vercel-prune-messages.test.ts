import { describe, expect, it } from 'vitest'
import { PRUNE_PLACEHOLDER } from '../../src/compat/arrays/index.ts'
import { partsOf } from '../../src/core/messages/message.ts'
import { estimateTokens } from '../../src/core/tokens/index.ts'
import {
  type CompactionConfig,
  type JsonObject,
  type Message,
  openStore,
  type Part,
  type Role,
  type ToolResultPart,
  validateHistory,
} from '../../src/index.ts'
import { expectSessionAccepted } from '../support/requests.ts'
import { Replay } from './counting.ts'
import { PADDING } from './messages.ts'

/* The AI SDK's pruneMessages takes parts out of a list. Our pruning shows a placeholder in place of old outputs. */

const replay = new Replay('vercel-prune-messages')
const SESSION = 's'

type ModelMessage = { readonly role: Role; readonly content: readonly (Part | ApprovalPart)[] }
type ApprovalPart = JsonObject & { readonly type: `tool-approval-${'request' | 'response'}` }
type ToolSetting = 'all' | 'before-last-message' | 'before-last-2-messages'
type Input = {
  readonly messages: readonly ModelMessage[]
  readonly reasoning?: 'all' | 'before-last-message'
  readonly toolCalls?:
    | ToolSetting
    | readonly { readonly type: ToolSetting; readonly tools: readonly string[] }[]
}

/** Their messages are ours, save that approvals are parts we do not read, and that outputs are made longer. */
function fromModelMessage({ role, content }: ModelMessage): Message {
  return {
    role,
    content: content.map((part): Part => {
      if (isApproval(part)) return { type: 'provider', provider: 'ai-sdk', data: part }
      return part.type === 'tool-result' ? withOutput(part, (text) => text + PADDING) : part
    }),
  }
}

function toModelMessage(message: Message): ModelMessage {
  const content = partsOf(message).map((part) => {
    if (part.type === 'provider') return part.data as ApprovalPart
    return part.type === 'tool-result' ? withOutput(part, (text) => text.replace(PADDING, '')) : part
  })
  return { role: message.role, content }
}

function isApproval(part: Part | ApprovalPart): part is ApprovalPart {
  return part.type.startsWith('tool-approval-')
}

function withOutput(part: ToolResultPart, change: (text: string) => string): ToolResultPart {
  const { type, value } = part.output as { type: 'text' | 'error-text'; value: string }
  return { ...part, output: { type, value: change(value) } }
}

/**
 * The prune stage alone, as near to their setting as ours come: what the last messages hold is protected by its
 * tokens; where each tool has a setting of its own, the tools that keep their outputs are protected ones.
 */
function pruneConfig({ messages, toolCalls = [] }: Input): CompactionConfig {
  const stages = { enableDeduplicate: false, enableSummarize: false, enableTruncate: false }
  const all = { targetTokens: 0, pruneMinimumSavings: 0, userTools: [], ...stages }
  if (typeof toolCalls === 'string') {
    const kept = messages.slice(messages.length - KEPT_MESSAGES[toolCalls])
    const outputs = resultsOf(kept).map(({ output }) => String(output.value) + PADDING)
    return { ...all, pruneProtectTokens: outputs.reduce((sum, text) => sum + estimateTokens(text), 0) }
  }
  const pruned = toolCalls.flatMap(({ type, tools }) => (type === 'all' ? tools : []))
  const others = toolNames(messages).filter((name) => !pruned.includes(name))
  return { ...all, pruneProtectTokens: 0, pruneProtectedTools: others }
}

const KEPT_MESSAGES = { all: 0, 'before-last-message': 1, 'before-last-2-messages': 2 } as const

function toolNames(messages: readonly ModelMessage[]): string[] {
  return messages.flatMap(({ content }) =>
    content.flatMap((part) => (part.type === 'tool-call' ? [(part as { toolName: string }).toolName] : [])),
  )
}

function resultsOf(messages: readonly ModelMessage[]): ToolResultPart[] {
  return messages.flatMap(
    ({ content }) => content.filter((part) => part.type === 'tool-result') as ToolResultPart[],
  )
}

/** A list without the reasoning their setting takes out. */
function withoutReasoning({ reasoning }: Input, messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map(({ role, content }, at) => {
    const stays = reasoning === undefined || (reasoning !== 'all' && at === messages.length - 1)
    return { role, content: stays ? content : content.filter(({ type }) => type !== 'reasoning') }
  })
}

describe('vercel-prune-messages', () => {
  it.skipIf(replay.isAbsent)('clears the outputs the AI SDK takes out, and keeps their calls', async () => {
    for (const one of replay.casesOf<readonly [Input], readonly ModelMessage[]>('pruneMessages')) {
      const [input] = one.input
      await using store = await openStore(':memory:')
      await store.append(SESSION, input.messages.map(fromModelMessage))
      const view = async (): Promise<ModelMessage[]> =>
        (await store.getEffectiveHistory(SESSION)).map(toModelMessage)
      if (input.toolCalls !== undefined) await store.compactSession(SESSION, pruneConfig(input))

      const gone = resultsOf(input.messages).filter(
        ({ toolCallId }) => !resultsOf(one.expected).some((result) => result.toolCallId === toolCallId),
      )
      const cleared = gone.filter(({ output }) => !output.type.startsWith('error'))
      const shown = input.messages.map(({ role, content }) => ({
        role,
        content: content.map((part) =>
          cleared.includes(part as ToolResultPart)
            ? withOutput(part as ToolResultPart, () => PRUNE_PLACEHOLDER)
            : part,
        ),
      }))
      expect(await view(), one.name).toEqual(shown)

      const isSame = JSON.stringify(await view()) === JSON.stringify(one.expected)
      if (isSame) expect(await view(), one.name).toEqual(one.expected)
      else expect(await view(), `${one.name} is no difference`).not.toEqual(one.expected)
      if (input.reasoning !== undefined)
        expect(withoutReasoning(input, await view()), one.name).toEqual(one.expected)
      const isOfApprovals = one.name.includes('drop unresolved approval responses')
      replay.settle(one, isOfApprovals ? 'notApplicable' : isSame ? 'equal' : 'different')

      for (const provider of ['openai', 'anthropic', 'google-ai', 'mistral']) {
        const { messages } = await store.renderHistory(SESSION, { provider })
        expect(validateHistory(messages, provider), `${one.name} ${provider}`).toEqual([])
      }
      await expectSessionAccepted(store, SESSION, one.name)
      for (const { id } of await store.listCompactions(SESSION)) await store.undoCompaction(SESSION, id)
      expect(await view(), `${one.name}, undone`).toEqual(input.messages)
      await expectSessionAccepted(store, SESSION, `${one.name}, undone`)
    }
  })
})

replay.holdToPage()
