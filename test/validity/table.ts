import type { Rule, Scope } from '../../src/core/validity/rule.ts'
import { RULES } from '../../src/core/validity/rules.ts'

/* The table of rules in docs/validity.md, made from the rules. */

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
const GROUPS: { readonly [G in Rule['group']]: string } = {
  text: 'Texts and the form of the body',
  roles: 'Roles',
  calls: 'Calls and results',
  reasoning: 'Reasoning',
  numbers: 'Ids and signatures of the provider',
  marks: 'Cache marks',
  media: 'Pictures, files and sizes',
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

function sourceText(source: string): string {
  const [repository, number] = source.split('#') as [string, string?]
  if (source.startsWith('https://')) {
    const { hostname } = new URL(source)
    return `[${hostname}](${source})`
  }
  return `[${source}](https://github.com/${repository}/issues/${number})`
}

/** The section of the page, group by group. */
export function rulesTable(): string {
  return (Object.keys(GROUPS) as Rule['group'][])
    .map((group) => {
      const rows = RULES.filter((rule) => rule.group === group).map(
        ({ id, scopes, says, brokenBy, sources }) =>
          `| \`${id}\` | ${scopesText(scopes)} | ${says} | ${brokenBy} | ${sources.map(sourceText).join(' ')} |`,
      )
      return `### ${GROUPS[group]}\n\n| Rule | APIs | Requirement | Typical cause | Sources |\n| --- | --- | --- | --- | --- |\n${rows.join('\n')}\n`
    })
    .join('\n')
}
