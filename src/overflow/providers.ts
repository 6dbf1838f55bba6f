import { canonicalProvider } from '../tokens/providers.ts'

/**
 * Names of providers beyond those `canonicalProvider` knows: gateways' spellings, and providers that only their errors tell
 * from others. Seed 003 says "google" of an overflow where windows say "google-ai".
 */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['google-ai', 'google'],
  ['azure_openai', 'azure'],
  ['azure_ai', 'azure'],
  ['google-ai-studio', 'google'],
  ['vertex_ai', 'vertex'],
  ['grok', 'xai'],
  ['kimi', 'moonshot'],
  ['moonshotai', 'moonshot'],
  ['copilot', 'github-copilot'],
  ['github_copilot', 'github-copilot'],
  ['lm-studio', 'lmstudio'],
  ['lm_studio', 'lmstudio'],
  ['llamacpp', 'llama.cpp'],
  ['llama-cpp', 'llama.cpp'],
  ['together-ai', 'together'],
  ['togetherai', 'together'],
  ['together_ai', 'together'],
  ['fireworks-ai', 'fireworks'],
  ['fireworks_ai', 'fireworks'],
  ['zhipu', 'zai'],
  ['zhipuai', 'zai'],
  ['z.ai', 'zai'],
  ['z-ai', 'zai'],
  ['glm', 'zai'],
  ['qwen', 'dashscope'],
  ['alibaba', 'dashscope'],
  ['hosted_vllm', 'vllm'],
  ['hosted-vllm', 'vllm'],
])

/** Ends of host names, or `host:port`, and whose they are. */
const HOSTS: readonly (readonly [end: string, provider: string])[] = [
  ['models.inference.ai.azure.com', 'github-models'],
  ['models.github.ai', 'github-models'],
  ['githubcopilot.com', 'github-copilot'],
  ['api.openai.com', 'openai'],
  ['azure.com', 'azure'],
  ['anthropic.com', 'anthropic'],
  ['googleapis.com', 'google'],
  ['mistral.ai', 'mistral'],
  ['openrouter.ai', 'openrouter'],
  ['x.ai', 'xai'],
  ['groq.com', 'groq'],
  ['deepseek.com', 'deepseek'],
  ['together.xyz', 'together'],
  ['together.ai', 'together'],
  ['fireworks.ai', 'fireworks'],
  ['cerebras.ai', 'cerebras'],
  ['moonshot.cn', 'moonshot'],
  ['moonshot.ai', 'moonshot'],
  ['kimi.com', 'moonshot'],
  ['z.ai', 'zai'],
  ['bigmodel.cn', 'zai'],
  ['dashscope.aliyuncs.com', 'dashscope'],
  ['dashscope-intl.aliyuncs.com', 'dashscope'],
  ['siliconflow.cn', 'siliconflow'],
  ['siliconflow.com', 'siliconflow'],
  ['perplexity.ai', 'perplexity'],
  ['cohere.com', 'cohere'],
  ['cohere.ai', 'cohere'],
  ['cloudflare.com', 'cloudflare'],
  ['nvidia.com', 'nvidia'],
  ['sambanova.ai', 'sambanova'],
  ['hyperbolic.xyz', 'hyperbolic'],
  ['nebius.com', 'nebius'],
  ['nebius.ai', 'nebius'],
  ['baseten.co', 'baseten'],
  ['databricks.com', 'databricks'],
  ['azuredatabricks.net', 'databricks'],
  ['huggingface.co', 'huggingface'],
  ['localhost:11434', 'ollama'],
  ['127.0.0.1:11434', 'ollama'],
  ['localhost:1234', 'lmstudio'],
  ['127.0.0.1:1234', 'lmstudio'],
]

/** A provider's name in the spelling of the wordings. Unknown names stay, in lower case. */
export function sayingProvider(name: string): string {
  const known = canonicalProvider(name)
  return ALIASES.get(known) ?? known
}

/** Whose host it is, or `undefined`. */
export function providerOfHost(host: string): string | undefined {
  if (/^bedrock[\w-]{0,40}\./.test(host) && host.endsWith('.amazonaws.com')) return 'bedrock'
  return HOSTS.find(([end]) => host === end || host.endsWith(`.${end}`))?.[1]
}

/** LiteLLM names whom it called: "AzureException - …". */
export function providerInText(text: string): string | undefined {
  const name = /\b([a-z_]{3,30}?)_?(?:exception|error)(?: badrequesterror)? -/.exec(text)?.[1]
  if (name === undefined || NO_PROVIDERS.has(name)) return undefined
  return sayingProvider(name)
}

/** Words LiteLLM puts there that name nobody: it calls everything that speaks OpenAI's protocol OpenAI. */
const NO_PROVIDERS: ReadonlySet<string> = new Set([
  'openai',
  'api',
  'apiconnection',
  'badrequest',
  'bad_request',
  'internalserver',
  'contextwindowexceeded',
  'serviceunavailable',
  'validation',
  'value',
  'runtime',
  'http',
  'unknown',
])
