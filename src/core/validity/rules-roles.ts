import { CHAT_MAX, OLD_CLAUDE, takesPrefill } from './limits.ts'
import { CLAUDE, EVERY_FORM, OPENAI_HOSTS, type Rule } from './rule.ts'
import type { Block, Form, Request, Turn } from './wire.ts'

/* Rules about the roles of messages and their order. */

const ROLES: { readonly [F in Form]: readonly string[] } = {
  messages: ['user', 'assistant', 'system'],
  converse: ['user', 'assistant', 'system'],
  chat: ['system', 'developer', 'user', 'assistant', 'tool', 'function'],
  responses: ['system', 'developer', 'user', 'assistant', 'tool'],
  gemini: ['user', 'model', 'function'],
  sdk: ['system', 'user', 'assistant', 'tool'],
}
/** Fields of a message that the Messages API accepts. */
const FIELDS = new Set(['role', 'content'])

function isSystem({ role }: Turn): boolean {
  return role === 'system' || role === 'developer'
}

/** Returns the first turn after leading system messages. */
function firstSpoken({ turns }: Request): Turn | undefined {
  return turns.find((turn) => !isSystem(turn))
}

export const ROLE_RULES: readonly Rule[] = [
  {
    id: 'no-messages',
    scopes: EVERY_FORM,
    description: 'There is at least one message besides the system prompt.',
    check: (request, report) => {
      const { body, form, turns } = request
      if (
        form === 'responses' &&
        ['previous_response_id', 'conversation', 'prompt'].some((key) => body[key] != null)
      )
        return
      // OpenAI's APIs answer a request that contains only a system message.
      const isEmpty =
        form === 'chat' || form === 'responses' ? turns.length === 0 : firstSpoken(request) === undefined
      if (isEmpty && request.malformed.length === 0) report(LISTS[form], 'no messages')
    },
  },
  {
    id: 'role',
    scopes: EVERY_FORM,
    description: 'Every message has a role that the API knows.',
    check: ({ form, provider, turns }, report) => {
      const isOpenAI = OPENAI_HOSTS.includes(provider)
      const others = form === 'chat' && KNOWN_CHAT.has(provider) && !isOpenAI ? ['developer', 'function'] : []
      const roles = ROLES[form].filter((role) => !others.includes(role))
      for (const { path, role } of turns)
        if (!roles.includes(role)) report(path, "a role that the API doesn't know")
    },
  },
  {
    id: 'fields',
    scopes: ['messages'],
    description: 'A message has the fields `role` and `content`, and no others.',
    check: ({ turns }, report) => {
      for (const { path, raw } of turns) {
        const extra = Object.keys(raw).filter((key) => !FIELDS.has(key)).length
        if (extra > 0) report(path, `${extra} ${extra === 1 ? 'field' : 'fields'} besides role and content`)
      }
    },
  },
  {
    id: 'system-inside',
    scopes: [...CLAUDE, 'chat: mistral huggingface sagemaker', 'sdk: google-ai'],
    description: 'System messages come before all others, or in their own field.',
    check: ({ form, model, turns }, report) => {
      const isOwnField = form === 'messages' || form === 'converse'
      // Newer Claude models accept system messages after a user's message.
      const isAllowed = form === 'messages' && model !== undefined && !OLD_CLAUDE.test(model.toLowerCase())
      const first = isOwnField ? 0 : turns.findIndex((turn) => !isSystem(turn))
      if (first === -1) return
      for (const [i, turn] of turns.entries())
        if (i >= first && isSystem(turn) && !(isAllowed && turns[i - 1]?.role === 'user'))
          report(turn.path, 'a system message after other messages')
    },
  },
  {
    id: 'first-user',
    scopes: CLAUDE,
    description: "The first message is the user's, or contains Anthropic's compaction block.",
    check: (request, report) => {
      const first = firstSpoken(request)
      if (first?.role === 'assistant' && !first.blocks.some(({ kind }) => kind === 'compaction'))
        report(first.path, "the first message is the assistant's")
    },
  },
  {
    id: 'alternation',
    scopes: ['converse'],
    description: 'User and assistant messages alternate.',
    check: ({ turns }, report) => {
      for (const [i, { path, role }] of turns.entries())
        if (i > 0 && turns[i - 1]!.role === role) report(path, 'the same role as the message before it')
    },
  },
  {
    id: 'user-after-tool',
    scopes: ['chat: mistral', 'sdk: mistral'],
    description: "A user message doesn't directly follow tool results.",
    check: ({ turns }, report) => {
      for (const [i, { path, role }] of turns.entries())
        if (role === 'user' && turns[i - 1]?.role === 'tool')
          report(path, 'a user message after a tool result')
    },
  },
  {
    id: 'last-not-assistant',
    scopes: [...CLAUDE, 'chat: mistral'],
    description:
      "The last message is the user's or a tool's, unless the model continues the answer: Mistral's models with `prefix`, Claude's before version 4.6 always, and later ones after a server tool or a compaction.",
    check: ({ form, model, turns }, report) => {
      const last = turns.at(-1)
      if (last?.role !== 'assistant') return
      const continues =
        form === 'chat'
          ? last.raw.prefix === true
          : model === undefined || takesPrefill(model) || last.blocks.some(isPaused)
      if (!continues) report(last.path, "the last message is the assistant's")
    },
  },
  {
    id: 'answer-empty',
    scopes: ['chat: openai azure mistral'],
    description: "An assistant message has content or calls; for Mistral, the content isn't empty.",
    check: ({ provider, turns }, report) => {
      for (const { blocks, path, raw, role } of turns) {
        if (role !== 'assistant' || blocks.some(({ kind }) => kind === 'call')) continue
        const isAbsent = raw.content === undefined || raw.content === null
        const isSpoken = [raw.refusal, raw.audio].some((field) => field !== undefined && field !== null)
        const isSilent =
          provider === 'mistral' && blocks.every((block) => block.kind === 'text' && block.text === '')
        if ((isAbsent && !isSpoken) || isSilent) report(path, 'neither content nor calls')
      }
    },
  },
  {
    id: 'message-count',
    scopes: ['chat: openai azure'],
    description: 'A request has at most 2,048 messages.',
    check: ({ turns }, report) => {
      if (turns.length > CHAT_MAX.messages)
        report(LISTS.chat, `${turns.length} messages; at most ${CHAT_MAX.messages} are allowed`)
    },
  },
]

/** Returns whether the API itself continues after a block: an answer that it paused. */
function isPaused({ kind }: Block): boolean {
  return kind === 'own-call' || kind === 'own-result' || kind === 'compaction'
}

const LISTS: { readonly [F in Form]: string } = {
  messages: 'messages',
  converse: 'messages',
  chat: 'messages',
  responses: 'input',
  gemini: 'contents',
  sdk: 'prompt',
}
const KNOWN_CHAT = new Set(['mistral', 'ollama', 'deepseek', 'huggingface', 'sagemaker'])
