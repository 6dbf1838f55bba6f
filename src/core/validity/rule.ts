import type { Form, Request } from './wire.ts'

/** Reports that a rule is broken at a path. The detail contains no text of the conversation. */
export type Report = (path: string, detail: string) => void

/** A form, for all providers or some. `providers` are canonical names. */
export type Scope = { readonly form: Form; readonly providers?: readonly string[] }

/** One rule. docs/validity.md has the same rules, with typical causes and sources. */
export type Rule = {
  /** The stable id. */
  readonly id: string
  readonly scopes: readonly Scope[]
  /** The rule, in one sentence. */
  readonly description: string
  readonly check: (request: Request, report: Report) => void
}

/** The hosts of Claude. */
export const CLAUDE_HOSTS = ['anthropic', 'bedrock', 'vertex'] as const
/** The hosts of OpenAI's own models. */
export const OPENAI_HOSTS = ['openai', 'azure'] as const
const GOOGLE_HOSTS = ['google-ai'] as const

export const EVERY_FORM: readonly Scope[] = (
  ['messages', 'converse', 'chat', 'responses', 'gemini', 'sdk'] as const
).map((form) => ({ form }))
/** Claude, through its own API, Bedrock, or an AI SDK provider. */
export const CLAUDE: readonly Scope[] = [
  { form: 'messages' },
  { form: 'converse' },
  { form: 'sdk', providers: ['anthropic', 'bedrock'] },
]
/** Claude's own form, only for Claude. */
export const MESSAGES: readonly Scope[] = [{ form: 'messages' }]
export const GEMINI: readonly Scope[] = [{ form: 'gemini' }]
export const SDK_GOOGLE: Scope = { form: 'sdk', providers: GOOGLE_HOSTS }
export const SDK_CLAUDE: Scope = { form: 'sdk', providers: ['anthropic', 'bedrock'] }
export const SDK_OPENAI: Scope = { form: 'sdk', providers: OPENAI_HOSTS }
export const CHAT_OPENAI: Scope = { form: 'chat', providers: OPENAI_HOSTS }
export const CHAT_GROQ: Scope = { form: 'chat', providers: ['groq'] }
export const CHAT_XAI: Scope = { form: 'chat', providers: ['xai'] }
export const CHAT_MISTRAL: Scope = { form: 'chat', providers: ['mistral'] }
export const RESPONSES: Scope = { form: 'responses' }

/** Returns whether a rule applies to a form and a provider. */
export function isInScope({ scopes }: Pick<Rule, 'scopes'>, form: Form, provider: string): boolean {
  return scopes.some(
    (scope) => scope.form === form && (scope.providers === undefined || scope.providers.includes(provider)),
  )
}
