import type { Form, Request } from './wire.ts'

/** Reports that a rule is broken at a place. The detail holds no text of the conversation. */
export type Report = (path: string, detail: string) => void

/** A form, for all its providers or for some. `providers` are canonical names. */
export type Scope = { readonly form: Form; readonly providers?: readonly string[] }

/** One rule. The page docs/validity.md has the same rules, with what breaks each in practice and who says so. */
export type Rule = {
  /** Stable. */
  readonly id: string
  readonly scopes: readonly Scope[]
  /** One sentence. */
  readonly says: string
  readonly check: (request: Request, report: Report) => void
}

/** Claude's hosts. */
export const CLAUDE_HOSTS = ['anthropic', 'bedrock', 'vertex'] as const
/** Hosts of OpenAI's own models. */
export const OPENAI_HOSTS = ['openai', 'azure'] as const
const GOOGLE_HOSTS = ['google-ai'] as const

export const EVERY_FORM: readonly Scope[] = (
  ['messages', 'converse', 'chat', 'responses', 'gemini', 'sdk'] as const
).map((form) => ({ form }))
/** Claude, through its own API, Bedrock, or a provider of the AI SDK. */
export const CLAUDE: readonly Scope[] = [
  { form: 'messages' },
  { form: 'converse' },
  { form: 'sdk', providers: ['anthropic', 'bedrock'] },
]
/** Claude's own form, for Claude alone. */
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

/** Whether a rule is one of a form and a provider. */
export function isInScope({ scopes }: Pick<Rule, 'scopes'>, form: Form, provider: string): boolean {
  return scopes.some(
    (scope) => scope.form === form && (scope.providers === undefined || scope.providers.includes(provider)),
  )
}
