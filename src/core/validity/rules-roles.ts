import { CHAT_MAX, OLD_CLAUDE, takesPrefill } from './limits.ts'
import {
  CHAT_MISTRAL,
  CHAT_OPENAI,
  CLAUDE,
  EVERY_FORM,
  MESSAGES,
  OPENAI_HOSTS,
  type Rule,
  SDK_CLAUDE,
  SDK_GOOGLE,
} from './rule.ts'
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
    says: 'There is at least one message besides the system prompt.',
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
      if (isEmpty && request.misshapen.length === 0) report(LISTS[form], 'an empty list')
    },
  },
  {
    id: 'role',
    scopes: EVERY_FORM,
    says: 'Every message has a role of the API.',
    check: ({ form, provider, turns }, report) => {
      const isOpenAI = (OPENAI_HOSTS as readonly string[]).includes(provider)
      const others = form === 'chat' && KNOWN_CHAT.has(provider) && !isOpenAI ? ['developer', 'function'] : []
      const roles = ROLES[form].filter((role) => !others.includes(role))
      for (const { path, role } of turns)
        if (!roles.includes(role)) report(path, 'a role that the API does not know')
    },
  },
  {
    id: 'fields',
    scopes: [{ form: 'messages' }],
    says: 'A message has a role and a content, and no other field.',
    check: ({ turns }, report) => {
      for (const { path, raw } of turns) {
        const extra = Object.keys(raw).filter((key) => !FIELDS.has(key)).length
        if (extra > 0) report(path, `${extra} ${extra === 1 ? 'field' : 'fields'} besides role and content`)
      }
    },
  },
  {
    id: 'system-inside',
    scopes: [...CLAUDE, CHAT_MISTRAL, { form: 'chat', providers: ['huggingface', 'sagemaker'] }, SDK_GOOGLE],
    says: 'System messages come before all others, or in the field of their own.',
    check: ({ form, model, turns }, report) => {
      const isOwnField = form === 'messages' || form === 'converse'
      // Newer Claude models accept system messages after a user's message.
      const isAllowed = form === 'messages' && model !== undefined && !OLD_CLAUDE.test(model.toLowerCase())
      const first = isOwnField ? 0 : turns.findIndex((turn) => !isSystem(turn))
      if (first === -1) return
      for (const [i, turn] of turns.entries())
        if (i >= first && isSystem(turn) && !(isAllowed && turns[i - 1]?.role === 'user'))
          report(turn.path, 'a system message among the others')
    },
  },
  {
    id: 'first-user',
    scopes: [{ form: 'messages' }, { form: 'converse' }, SDK_CLAUDE],
    says: "The first message is the user's. Anthropic's block of a compaction may come first, too.",
    check: (request, report) => {
      const first = firstSpoken(request)
      if (first?.role === 'assistant' && !first.blocks.some(({ kind }) => kind === 'compaction'))
        report(first.path, "the first message is the assistant's")
    },
  },
  {
    id: 'alternation',
    scopes: [{ form: 'converse' }],
    says: 'User and assistant alternate.',
    check: ({ turns }, report) => {
      for (const [i, { path, role }] of turns.entries())
        if (i > 0 && turns[i - 1]!.role === role) report(path, 'the role of the message before')
    },
  },
  {
    id: 'user-after-tool',
    scopes: [CHAT_MISTRAL, { form: 'sdk', providers: ['mistral'] }],
    says: "A user's message does not follow the results of tools directly.",
    check: ({ turns }, report) => {
      for (const [i, { path, role }] of turns.entries())
        if (role === 'user' && turns[i - 1]?.role === 'tool') report(path, "a user's message after a tool's")
    },
  },
  {
    id: 'last-not-assistant',
    scopes: [CHAT_MISTRAL, ...MESSAGES, { form: 'converse' }, SDK_CLAUDE],
    says: "The last message is the user's or a tool's. Mistral's models continue an answer with `prefix`, Claude's before version 4.6 any answer, and newer ones that of a tool of their provider.",
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
    scopes: [CHAT_OPENAI, CHAT_MISTRAL],
    says: "An assistant's message has a content or calls; Mistral's content is not empty.",
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
    scopes: [CHAT_OPENAI],
    says: 'A request has at most 2,048 messages.',
    check: ({ turns }, report) => {
      if (turns.length > CHAT_MAX.messages)
        report(LISTS.chat, `${turns.length} messages, and ${CHAT_MAX.messages} are allowed`)
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
