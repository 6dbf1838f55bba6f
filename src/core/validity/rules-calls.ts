import { CHAT_LISTS, MOST_ARGUMENTS } from './limits.ts'
import { pairedCalls } from './pairs.ts'
import {
  CHAT_MISTRAL,
  CHAT_OPENAI,
  CLAUDE,
  EVERY_FORM,
  GEMINI,
  MESSAGES,
  OPENAI_HOSTS,
  RESPONSES,
  type Report,
  type Rule,
  SDK_GOOGLE,
} from './rule.ts'
import { isObject, type Plain } from './snapshot.ts'
import type { BlockOf, Form, Request, Turn } from './wire.ts'

/* Rules about the calls of tools and their results. */

function* callsOf({ turns }: Request): Generator<BlockOf<'call'>> {
  for (const { blocks } of turns) for (const block of blocks) if (block.kind === 'call') yield block
}

/** The alphabet and the length of ids. Missing for forms whose ids are free. */
function idForm(form: Form, provider: string): { readonly form: RegExp; readonly says: string } | undefined {
  if (form === 'messages' || (form === 'sdk' && provider === 'anthropic'))
    return { form: /^[a-zA-Z0-9_-]+$/, says: 'letters, digits, _ and -' }
  if (form === 'converse' || (form === 'sdk' && provider === 'bedrock'))
    return { form: /^[a-zA-Z0-9_-]{1,64}$/, says: '1 to 64 letters, digits, _ and -' }
  if (form === 'responses') return { form: /^[\s\S]{1,64}$/, says: '1 to 64 characters' }
  if (form === 'chat' && provider === 'mistral')
    return { form: /^[a-zA-Z0-9]{9}$/, says: '9 letters and digits' }
  if (form === 'chat' && (OPENAI_HOSTS as readonly string[]).includes(provider))
    return { form: /^[\s\S]{1,40}$/, says: '1 to 40 characters' }
  return form === 'chat' ? { form: /^[\s\S]+$/, says: 'at least one character' } : undefined
}

/** Names of tools. Gemini also takes dots and colons. */
function nameForm(form: Form, provider: string): RegExp {
  if (form === 'gemini' || (form === 'sdk' && provider === 'google-ai'))
    return /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/
  if (form === 'converse' || (form === 'sdk' && provider === 'bedrock')) return /^[a-zA-Z0-9_-]{1,64}$/
  return /^[a-zA-Z0-9_-]{1,200}$/
}

/** Whether a text is the JSON of an object. */
function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function kindOf(value: Plain | undefined): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return `a ${typeof value}`
}

/** Calls of Anthropic's own tools and their results, in one message; a paused turn may end in a call. */
function checkOwnTools({ turns }: Request, report: Report): void {
  const called = new Set<string>()
  for (const [at, { blocks, role }] of turns.entries()) {
    if (role !== 'assistant') continue
    const waiting = new Map<string, string>()
    for (const block of blocks) {
      if (block.kind === 'own-call' && typeof block.id === 'string') {
        called.add(block.id)
        waiting.set(block.id, block.path)
      } else if (block.kind === 'own-result') {
        if (typeof block.id === 'string' && called.has(block.id)) waiting.delete(block.id)
        else report(block.path, 'a result without its call before it')
      }
    }
    // A program of the provider's waits for the application's tools, and its result comes in a later answer.
    const waits = at === turns.length - 1 || blocks.some(({ kind }) => kind === 'call')
    if (!waits)
      for (const path of waiting.values()) report(path, 'a call without its result in the same message')
  }
}

function isResultTurn({ blocks }: Turn): boolean {
  return blocks.some(({ kind }) => kind === 'result')
}

export const CALL_RULES: readonly Rule[] = [
  {
    id: 'call-unanswered',
    group: 'calls',
    scopes: EVERY_FORM,
    says: 'Every call has its result, where the API wants it: in the next message, or (Responses) anywhere after it.',
    brokenBy:
      'a run that was stopped, a compaction that hides the result alone, a message between call and result',
    sources: [
      'anthropics/claude-code#2697',
      'anthropics/claude-code#1237',
      'agno-agi/agno#3105',
      'google-gemini/gemini-cli#16415',
      'leookun/cursor-byok#307',
    ],
    check: (request, report) => {
      for (const call of pairedCalls(request).unanswered) report(call.path, 'a call without its result')
    },
  },
  {
    id: 'result-without-call',
    group: 'calls',
    scopes: EVERY_FORM,
    says: 'Every result has its call, directly before it or (Responses) anywhere before it.',
    brokenBy: 'a window that begins with a result, a compaction that hides the call alone',
    sources: [
      'router-for-me/CLIProxyAPI#497',
      'decocms/studio#1803',
      'itmisx/deepx-code#94',
      'miurla/morphic#136',
      'can1357/oh-my-pi#106',
      'microsoft/vscode#320060',
    ],
    check: (request, report) => {
      for (const { path } of pairedCalls(request).orphans) report(path, 'a result without its call')
    },
  },
  {
    id: 'result-twice',
    group: 'calls',
    scopes: EVERY_FORM,
    says: 'Every call has one result.',
    brokenBy: 'a tool that ran again after a crash, two processes that append the same result',
    sources: ['anthropics/claude-code#14110', 'sipeed/picoclaw#1793', 'google-gemini/gemini-cli#4217'],
    check: (request, report) => {
      for (const { path } of pairedCalls(request).repeated) report(path, 'a second result of a call')
    },
  },
  {
    id: 'results-first',
    group: 'calls',
    scopes: [...MESSAGES, { form: 'converse' }],
    says: "In a user's message with results, the results come first.",
    brokenBy: "the user's words or a reminder before the results",
    sources: [
      'anthropics/anthropic-sdk-typescript#653',
      'https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls',
    ],
    check: ({ turns }, report) => {
      for (const { blocks, role } of turns) {
        if (role !== 'user') continue
        let others = false
        for (const { kind, path } of blocks)
          if (kind !== 'result') others ||= kind !== 'other'
          else if (others) report(path, 'a result after other content')
      }
    },
  },
  {
    id: 'result-order',
    group: 'calls',
    scopes: GEMINI,
    says: 'Results without ids are in the order of their calls, under the same names.',
    brokenBy: 'parallel calls whose results come in the order in which they ended',
    sources: ['router-for-me/CLIProxyAPI#5199', 'cloudwego/eino-ext#571'],
    check: ({ turns }, report) => {
      for (const [i, turn] of turns.entries()) {
        if (!isResultTurn(turn)) continue
        const calls = (turns[i - 1]?.blocks ?? []).filter((block) => block.kind === 'call')
        const results = turn.blocks.filter((block) => block.kind === 'result')
        const wrong = results.find(
          ({ id, name }, at) => id === undefined && calls[at] !== undefined && calls[at].name !== name,
        )
        if (wrong !== undefined) report(wrong.path, 'a result under another name than its call')
      }
    },
  },
  {
    id: 'call-id-form',
    group: 'calls',
    scopes: [...CLAUDE, { form: 'chat' }, RESPONSES],
    says: 'Ids of calls have the form of the provider. Messages: letters, digits, `_`, `-`; Converse: the same, at most 64; Mistral: 9 letters and digits; OpenAI: at most 40 characters, 64 in the Responses API.',
    brokenBy: 'a history of another provider, ids that an SDK or a server of tools makes',
    sources: [
      'RooCodeInc/Roo-Code#10649',
      'CommandCodeAI/command-code#323',
      'anomalyco/opencode#1680',
      'agno-agi/agno#5382',
      'camel-ai/camel#2215',
      'decolua/9router#393',
      'https://docs.aws.amazon.com/sdk-for-python/v1/reference/clients/bedrock-runtime/structures/ToolUseBlock/',
    ],
    check: (request, report) => {
      const rule = idForm(request.form, request.provider)
      if (rule === undefined) return
      for (const { id, path, isOld } of callsOf(request))
        if (isOld !== true && !(typeof id === 'string' && rule.form.test(id)))
          report(path, `the id must be ${rule.says}`)
    },
  },
  {
    id: 'call-id-twice',
    group: 'calls',
    scopes: [...CLAUDE, CHAT_MISTRAL],
    says: 'No two calls of a request have the same id.',
    brokenBy: 'a message that is sent twice, a server that counts its calls from 0 in every answer',
    sources: ['NachoSEO/claudegram#12'],
    check: (request, report) => {
      const seen = new Set<Plain>()
      for (const { id, path } of callsOf(request)) {
        if (id === undefined) continue
        if (seen.has(id)) report(path, 'the id of a call before')
        seen.add(id)
      }
    },
  },
  {
    id: 'call-name',
    group: 'calls',
    scopes: EVERY_FORM,
    says: 'Names of tools in calls are letters, digits, `_` and `-`: at most 64 for Bedrock, at most 200 elsewhere; Gemini also takes dots and colons.',
    brokenBy: 'a name that a model made up, and a name with dots of a server of tools',
    sources: [
      'anomalyco/opencode#48750',
      'mastra-ai/mastra#13632',
      'mcp-use/mcp-use#90',
      'strands-agents/sdk-typescript#1017',
    ],
    check: (request, report) => {
      const form = nameForm(request.form, request.provider)
      for (const { name, path } of callsOf(request))
        if (!(typeof name === 'string' && form.test(name)))
          report(path, 'the name of the tool has another form')
    },
  },
  {
    id: 'input-object',
    group: 'calls',
    scopes: [...CLAUDE, { form: 'gemini' }, SDK_GOOGLE],
    says: 'The input of a call is an object.',
    brokenBy: 'a call without arguments that was put together from a stream, arguments that were cut',
    sources: [
      'anthropics/claude-code#6696',
      'lijunzh/koda#501',
      'CopilotKit/CopilotKit#3300',
      'anthropics/anthropic-sdk-typescript#648',
      'cloudflare/agents#1661',
    ],
    check: (request, report) => {
      for (const { input, path } of callsOf(request))
        if (input !== undefined && !isObject(input)) report(path, `the input is ${kindOf(input)}`)
    },
  },
  {
    id: 'arguments-json',
    group: 'calls',
    scopes: [{ form: 'chat' }, RESPONSES],
    says: 'The arguments of a call are the JSON of an object, as a text.',
    brokenBy: 'an answer that reached its limit of tokens within a call, a compaction that cuts arguments',
    sources: [
      'justrach/codegraff#752',
      'NousResearch/hermes-agent#10631',
      'NousResearch/hermes-agent#11788',
      'ollama/ollama#15647',
      'MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark#55',
    ],
    check: (request, report) => {
      for (const { json, path } of callsOf(request)) {
        if (json === undefined) continue
        if (typeof json !== 'string') report(path, `the arguments are ${kindOf(json)}`)
        else if (!isObjectText(json)) report(path, 'the arguments are not the JSON of an object')
      }
    },
  },
  {
    id: 'arguments-length',
    group: 'calls',
    scopes: [CHAT_OPENAI, RESPONSES],
    says: 'The arguments of a call have at most 1,048,576 characters.',
    brokenBy: 'a model that writes a whole file into a call: answers have no such limit',
    sources: ['UKGovernmentBEIS/inspect_ai#4682', 'UKGovernmentBEIS/inspect_ai#4683'],
    check: (request, report) => {
      for (const { json, path } of callsOf(request))
        if (typeof json === 'string' && json.length > MOST_ARGUMENTS)
          report(path, `${json.length} characters of arguments`)
    },
  },
  {
    id: 'own-tools',
    group: 'calls',
    scopes: MESSAGES,
    says: "Results of the provider's own tools have their call before them, and the calls their results.",
    brokenBy: 'an answer that was cut or filtered between a search and its result',
    sources: [
      'anthropics/claude-code#95406',
      'anthropics/claude-code#66944',
      'anthropics/claude-code#66548',
      'ding113/claude-code-hub#470',
    ],
    check: checkOwnTools,
  },
  {
    id: 'tools-missing',
    group: 'calls',
    scopes: [{ form: 'converse' }],
    says: 'A request whose messages have calls or results defines tools.',
    brokenBy: 'a summary or a side chat that is made from a history with tools, without tools',
    sources: ['vxcontrol/pentagi#196', 'patriceckhart/zot#18', 'langgenius/dify#17545'],
    check: ({ hasTools, turns }, report) => {
      if (hasTools) return
      for (const { blocks } of turns)
        for (const { kind, path } of blocks)
          if (kind === 'call' || kind === 'result') {
            report(path, 'a call or a result, while the request has no toolConfig')
            return
          }
    },
  },
  {
    id: 'empty-failure',
    group: 'calls',
    scopes: MESSAGES,
    says: 'The result of a tool that failed is not empty.',
    brokenBy: 'a tool that failed and printed nothing',
    sources: ['bytedance/trae-agent#231', 'jlevy/markform#153', 'can1357/oh-my-pi#2250'],
    check: ({ turns }, report) => {
      for (const { blocks } of turns)
        for (const block of blocks)
          if (block.kind === 'result' && block.raw.is_error === true && block.blocks.every(isEmptyText))
            report(block.path, 'an empty result with is_error')
    },
  },
  {
    id: 'failure-text',
    group: 'calls',
    scopes: MESSAGES,
    says: 'The result of a tool that failed has only text.',
    brokenBy: 'a tool that failed and returned a screenshot',
    sources: ['vellum-ai/vellum-assistant#18387', 'caozhiyuan/copilot-api#196'],
    check: ({ turns }, report) => {
      for (const { blocks } of turns)
        for (const block of blocks)
          if (
            block.kind === 'result' &&
            block.raw.is_error === true &&
            block.blocks.some(({ kind }) => kind !== 'text')
          )
            report(block.path, 'more than text in a result with is_error')
    },
  },
  {
    id: 'result-name',
    group: 'calls',
    scopes: GEMINI,
    says: 'Every result has the name of its tool, in the form of names.',
    brokenBy: 'a result of a format that knows the name from the call alone',
    sources: ['router-for-me/CLIProxyAPI#2104', 'langflow-ai/langflow#9437'],
    check: ({ form, provider, turns }, report) => {
      for (const { blocks } of turns)
        for (const block of blocks)
          if (
            block.kind === 'result' &&
            !(typeof block.name === 'string' && nameForm(form, provider).test(block.name))
          )
            report(block.path, 'a result without the name of its tool')
    },
  },
  {
    id: 'call-count',
    group: 'calls',
    scopes: [CHAT_OPENAI],
    says: 'A message has at most 128 calls.',
    brokenBy: 'a model that calls a tool for each file of a folder',
    sources: ['pydantic/pydantic-ai#1105', 'openai/openai-dotnet#317', 'github/copilot-cli#669'],
    check: ({ turns }, report) => {
      for (const { blocks, path } of turns) {
        const calls = blocks.filter(({ kind }) => kind === 'call').length
        if (calls > CHAT_LISTS.calls) report(path, `${calls} calls, and ${CHAT_LISTS.calls} are allowed`)
      }
    },
  },
]

function isEmptyText(block: { readonly kind: string; readonly text?: unknown }): boolean {
  return block.kind === 'text' && block.text === ''
}
