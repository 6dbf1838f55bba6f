import { canonicalProvider } from '../tokens/providers.ts'
import { type ErrorNode, words } from './error-texts.ts'

/** Inverts a table of names by provider. */
function byName(names: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(names).flatMap(([provider, list]) => words(list).map((name) => [name, provider])),
  )
}

/**
 * Names of providers that `canonicalProvider` does not know: spellings of gateways, and providers that are only distinguishable by their
 * errors. Overflow functions return "google" where windows use "google-ai".
 */
const ALIASES = byName({
  google: 'google-ai',
  azure: 'azure_ai',
  xai: 'grok',
  moonshot: 'kimi moonshotai',
  'github-copilot': 'copilot github_copilot',
  lmstudio: 'lm-studio lm_studio',
  'llama.cpp': 'llamacpp llama-cpp',
  together: 'together-ai togetherai together_ai',
  fireworks: 'fireworks-ai fireworks_ai',
  zai: 'zhipu zhipuai z.ai z-ai glm',
  dashscope: 'qwen alibaba',
  vllm: 'hosted_vllm hosted-vllm',
})

/** Ends of host names, or `host:port`, with their providers. */
const HOSTS = byName({
  'github-models': 'models.inference.ai.azure.com models.github.ai',
  'github-copilot': 'githubcopilot.com',
  openai: 'api.openai.com',
  azure: 'azure.com',
  anthropic: 'anthropic.com',
  google: 'googleapis.com',
  mistral: 'mistral.ai',
  openrouter: 'openrouter.ai',
  xai: 'x.ai',
  groq: 'groq.com',
  deepseek: 'deepseek.com',
  together: 'together.xyz together.ai',
  fireworks: 'fireworks.ai',
  cerebras: 'cerebras.ai',
  moonshot: 'moonshot.cn moonshot.ai kimi.com',
  zai: 'z.ai bigmodel.cn',
  dashscope: 'dashscope.aliyuncs.com dashscope-intl.aliyuncs.com',
  siliconflow: 'siliconflow.cn siliconflow.com',
  perplexity: 'perplexity.ai',
  cohere: 'cohere.com cohere.ai',
  cloudflare: 'cloudflare.com',
  nvidia: 'nvidia.com',
  sambanova: 'sambanova.ai',
  hyperbolic: 'hyperbolic.xyz',
  nebius: 'nebius.com nebius.ai',
  baseten: 'baseten.co',
  databricks: 'databricks.com azuredatabricks.net',
  huggingface: 'huggingface.co',
  ollama: 'localhost:11434 127.0.0.1:11434',
  lmstudio: 'localhost:1234 127.0.0.1:1234',
})

/** Returns a provider's name in the spelling of the wordings. Unknown names are returned in lower case. */
export function reportingProvider(name: string): string {
  const known = canonicalProvider(name)
  return ALIASES.get(known) ?? known
}

function providerOfHost(host: string): string | undefined {
  if (/^bedrock[\w-]{0,40}\./.test(host) && host.endsWith('.amazonaws.com')) return 'bedrock'
  return [...HOSTS].find(([end]) => host === end || host.endsWith(`.${end}`))?.[1]
}

/** Returns the possible providers of an error, best evidence first: the caller's option, hosts, fields, texts. */
export function calledProviders(
  nodes: readonly ErrorNode[],
  texts: readonly string[],
  hint: string | undefined,
): string[] {
  return [
    ...[hint].map((name) => name && reportingProvider(name)),
    ...nodes.map(({ host }) => host && providerOfHost(host)),
    ...nodes.map(({ provider }) => provider && reportingProvider(provider)),
    ...texts.map(providerInText),
  ].filter((name) => name !== undefined && name !== '') as string[]
}

/** Returns whether a provider is among those of a wording. A wording without providers matches any. */
export function isProviderOf(names: readonly string[], provider: string): boolean {
  if (names.length === 0 || names.includes(provider) || names.includes('anyone')) return true
  return names.includes('compatible') && !OWN_PROTOCOLS.includes(provider)
}

/** Providers with their own protocol, to which wordings of OpenAI's protocol never belong. */
const OWN_PROTOCOLS = words('anthropic cohere google mistral vertex')

/** Returns the provider that LiteLLM's errors name: "AzureException - …". */
function providerInText(text: string): string | undefined {
  const name = /\b([a-z_]{3,30}?)_?(?:exception|error)(?: badrequesterror)? -/.exec(text)?.[1]
  if (name === undefined || NO_PROVIDERS.has(name)) return undefined
  return reportingProvider(name)
}

/** Words of LiteLLM that identify no provider: it uses OpenAI for every provider with OpenAI's protocol. */
const NO_PROVIDERS: ReadonlySet<string> = new Set(
  words(`
    openai api apiconnection badrequest bad_request internalserver
    contextwindowexceeded serviceunavailable validation value runtime http unknown
  `),
)
