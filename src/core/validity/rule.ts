import type { Form, Request } from './wire.ts'

/** Reports that a rule is broken at a path. The detail contains no text of the conversation. */
export type Report = (path: string, detail: string) => void

/** An API, for all providers or for those after the colon, by their canonical names: `chat: openai azure`. */
export type Scope = Form | `${Form}: ${string}`

/** One rule. docs/validity.md has the same rules, with typical causes and sources. */
export type Rule = {
  /** The stable id. */
  readonly id: string
  readonly scopes: readonly Scope[]
  /** The rule, in one sentence. */
  readonly description: string
  readonly check: (request: Request, report: Report) => void
}

/** The hosts of OpenAI's own models. */
export const OPENAI_HOSTS: readonly string[] = ['openai', 'azure']

export const EVERY_FORM: readonly Scope[] = ['messages', 'converse', 'chat', 'responses', 'gemini', 'sdk']
/** Claude, through its own API, Bedrock, or an AI SDK provider. */
export const CLAUDE: readonly Scope[] = ['messages', 'converse', 'sdk: anthropic bedrock']

/** Returns the form and the providers of a scope; no providers if it applies to all. */
export function readScope(scope: Scope): { readonly form: Form; readonly providers?: readonly string[] } {
  const [form, providers] = scope.split(': ') as [Form, string?]
  return providers === undefined ? { form } : { form, providers: providers.split(' ') }
}

/** Returns whether a rule applies to a form and a provider. */
export function isInScope({ scopes }: Pick<Rule, 'scopes'>, form: Form, provider: string): boolean {
  return scopes
    .map(readScope)
    .some((scope) => scope.form === form && scope.providers?.includes(provider) !== false)
}
