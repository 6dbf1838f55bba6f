import { readScope } from '../../src/core/validity/rule.ts'
import { RULES } from '../../src/core/validity/validate-request.ts'

/* The tables of rules in docs/validity.md. What breaks a rule and who says so is written there alone. */

type Scope = ReturnType<typeof readScope>

const FORMS: { readonly [F in Scope['form']]: string } = {
  messages: 'Messages',
  converse: 'Converse',
  chat: 'Chat Completions',
  responses: 'Responses',
  gemini: 'Gemini',
  sdk: 'AI SDK',
}
const PROVIDERS: { readonly [name: string]: string } = {
  anthropic: 'Anthropic',
  azure: 'Azure',
  bedrock: 'Bedrock',
  deepseek: 'DeepSeek',
  'google-ai': 'Google',
  groq: 'Groq',
  huggingface: 'Hugging Face',
  mistral: 'Mistral',
  openai: 'OpenAI',
  sagemaker: 'SageMaker',
  xai: 'xAI',
}
function scopeText({ form, providers }: Scope): string {
  return providers === undefined
    ? FORMS[form]
    : `${FORMS[form]} (${providers.map((name) => PROVIDERS[name] ?? name).join(', ')})`
}

/** Adjacent scopes of one form are one entry. */
function scopesText(scopes: readonly Scope[]): string {
  const whole = new Set(scopes.filter(({ providers }) => providers === undefined).map(({ form }) => form))
  if (whole.size === Object.keys(FORMS).length) return 'all'
  const merged = (Object.keys(FORMS) as Scope['form'][]).flatMap((form): Scope[] => {
    const own = scopes.filter((scope) => scope.form === form)
    if (own.length === 0) return []
    return whole.has(form)
      ? [{ form }]
      : [{ form, providers: own.flatMap(({ providers }) => providers ?? []) }]
  })
  return merged.map(scopeText).join(', ')
}

/** A row of the page's tables. */
export type Row = {
  readonly id: string
  readonly apis: string
  readonly description: string
  readonly brokenBy: string
  readonly sources: string
}

/** The rows of the rules in docs/validity.md, in order. */
export function rowsOf(page: string): Row[] {
  const [, after = ''] = page.split('## The rules\n')
  const [section = ''] = after.split('\n## ')
  return Array.from(section.matchAll(/^\| `([\w-]+)` \| (.+) \|$/gm), ([, id, cells]) => {
    const [apis, description, brokenBy, sources] = cells!.split(' | ')
    return { id: id!, apis: apis!, description: description!, brokenBy: brokenBy!, sources: sources! }
  })
}

/** What the page says of the rules as they are. */
export function expectedRows(): Pick<Row, 'id' | 'apis' | 'description'>[] {
  return RULES.map(({ id, scopes, description }) => ({
    id,
    apis: scopesText(scopes.map(readScope)),
    description,
  }))
}
