import { taken } from '../messages/check.ts'
import { isObject } from '../messages/json.ts'
import { pricePackage } from './prices.ts'
import { canonicalProvider } from './providers.ts'

/*
 * Usage as providers and SDKs report it. Nothing here throws: a response was paid for, and an unreadable usage must not prevent its
 * messages from being recorded. @pydantic/genai-prices reads the forms of providers, this file those of SDKs.
 */

/** Tokens of one request. Input excludes tokens that were read from or written to a cache. */
export type ReportedUsage = {
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
  readonly outputTokens?: number
}

type Fields = { readonly [name: string]: unknown }

/**
 * Reads the usage in a response or in its `usage` object: Chat Completions, Responses, Anthropic, Gemini, Bedrock Converse, Cohere,
 * Ollama, AI SDK (including `await`ed results of streams), LangChain, OpenAI Agents, and messages of pi, opencode and Cline. Returns
 * `undefined` if no usage can be read.
 */
export async function readUsage(response: unknown, provider?: string): Promise<ReportedUsage | undefined> {
  try {
    const [usages, prices] = await Promise.all([usagesIn(response), pricePackage()])
    for (const usage of usages) {
      const found = sdkUsage(usage) ?? providerUsage(usage, provider, prices)
      if (found !== undefined) return found
    }
  } catch {
    // A getter or a promise of the response failed.
  }
  return undefined
}

/** The fields of a response that may contain its usage, the likeliest first, and the fields that may contain such fields. */
const USAGES = ['usage', 'usageMetadata', 'usage_metadata', 'totalUsage', 'tokenUsage'] as const
const AROUND = [
  ...['response', 'message', 'data', 'metadata', 'meta', 'x_groq', 'response_metadata', 'llmOutput'],
  'metrics',
]

/** Returns objects that may be the usage of a response, the likeliest first. */
async function usagesIn(given: unknown): Promise<readonly Fields[]> {
  const response = taken(given)
  if (!isObject(response)) return []
  const inner = AROUND.map((name) => response[name]).filter(isObject)
  const held = [response, ...inner].flatMap((one) => USAGES.map((name) => one[name]))
  const found = (await Promise.all(held.map(taken))).filter(isObject)
  const parts = [...found, ...inner].flatMap(({ tokens, billed_units }) => [tokens, billed_units])
  return [...found, ...parts.filter(isObject), response]
}

/** Reads the forms of SDKs, and Ollama's. */
export function sdkUsage(usage: Fields): ReportedUsage | undefined {
  const { inputTokens: input, outputTokens: output } = usage
  // The AI SDK's models, version 3 of the interface.
  if (isObject(input)) {
    const { total, noCache, cacheRead, cacheWrite } = input
    const count = countOf(noCache)
    const sum =
      count === undefined ? undefined : count + (countOf(cacheRead) ?? 0) + (countOf(cacheWrite) ?? 0)
    return ofTotal(total ?? sum, cacheRead, cacheWrite, isObject(output) ? output.total : output)
  }
  if (typeof input === 'number') return camelCaseUsage(usage, input, output)
  // LangChain's `usage_metadata`.
  const { input_token_details: details } = usage
  if (isObject(details))
    return ofTotal(usage.input_tokens, details.cache_read, details.cache_creation, usage.output_tokens)
  if (usage.promptTokens !== undefined)
    return ofTotal(usage.promptTokens, undefined, undefined, usage.completionTokens)
  if (usage.prompt_eval_count !== undefined)
    return ofTotal(usage.prompt_eval_count, undefined, undefined, usage.eval_count)
  return agentUsage(usage)
}

/** Reads the forms of agents' files: pi, opencode and Cline count cached tokens separately. */
function agentUsage(usage: Fields): ReportedUsage | undefined {
  const { input, output, cacheRead, cacheWrite, cache, prompt, completion, cached } = usage
  if (countOf(input) !== undefined && (cacheRead !== undefined || isObject(cache))) {
    const { read = cacheRead, write = cacheWrite } = isObject(cache) ? cache : {}
    return apart(input, read, write, output)
  }
  if (countOf(prompt) === undefined || countOf(completion) === undefined) return undefined
  return apart(prompt, cached, undefined, completion)
}

/** Returns a report from an input that excludes cached tokens. */
function apart(input: unknown, read: unknown, written: unknown, output: unknown): ReportedUsage | undefined {
  const cached = (countOf(read) ?? 0) + (countOf(written) ?? 0)
  return ofTotal((countOf(input) ?? 0) + cached, read, written, output)
}

/**
 * Reads the AI SDK's results, the OpenAI Agents SDK's, and those of Bedrock's Converse, the only one that counts cached tokens
 * separately.
 */
function camelCaseUsage(usage: Fields, input: number, output: unknown): ReportedUsage | undefined {
  const { cacheReadInputTokens: read, cacheWriteInputTokens: written } = usage
  if (read !== undefined || written !== undefined) return apart(input, read, written, output)
  const { inputTokenDetails: ofAiSdk, inputTokensDetails: ofAgents } = usage
  if (isObject(ofAiSdk)) return ofTotal(input, ofAiSdk.cacheReadTokens, ofAiSdk.cacheWriteTokens, output)
  const details = (Array.isArray(ofAgents) ? ofAgents : [ofAgents]).filter(isObject)
  const sum = (name: string) => details.reduce((all, one) => all + (countOf(one[name]) ?? 0), 0)
  return ofTotal(input, usage.cachedInputTokens ?? sum('cached_tokens'), sum('cache_write_tokens'), output)
}

/** Reads the forms of providers. */
function providerUsage(
  usage: Fields,
  provider: string | undefined,
  { extractUsage, findProvider }: Awaited<ReturnType<typeof pricePackage>>,
): ReportedUsage | undefined {
  const read = (providerId: string, flavor: string, response: Fields): ReportedUsage | undefined => {
    const from = findProvider({ providerId })
    if (from?.extractors?.some(({ api_flavor }) => api_flavor === flavor) !== true) return undefined
    try {
      const { usage: tokens } = extractUsage(from, response, flavor)
      const { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens } = tokens
      return ofTotal(input_tokens, cache_read_tokens, cache_write_tokens, output_tokens)
    } catch {
      return undefined
    }
  }
  if (usage.promptTokenCount !== undefined)
    return read('google', 'default', { usageMetadata: { candidatesTokenCount: 0, ...usage } })
  if (usage.prompt_tokens !== undefined) {
    const response = { usage: { completion_tokens: 0, ...usage, prompt_tokens_details: cacheOf(usage) } }
    const own = provider === undefined ? undefined : canonicalProvider(provider)
    return (own === undefined ? undefined : read(own, 'chat', response)) ?? read('openai', 'chat', response)
  }
  if (usage.input_tokens === undefined) return undefined
  const isResponses = usage.input_tokens_details !== undefined || usage.total_tokens !== undefined
  const response = { usage: { output_tokens: 0, ...usage } }
  return isResponses ? read('openai', 'responses', response) : read('anthropic', 'default', response)
}

/** Returns the cached tokens of a prompt in OpenAI's form, including DeepSeek's and LiteLLM's. */
function cacheOf(usage: Fields): Fields {
  const {
    prompt_tokens_details: details,
    prompt_cache_hit_tokens: hit,
    cache_read_input_tokens: read,
  } = usage
  return {
    cached_tokens: countOf(hit) ?? countOf(read) ?? 0,
    cache_write_tokens: countOf(usage.cache_creation_input_tokens) ?? 0,
    ...(isObject(details) && details),
  }
}

/** Returns a report from a total that includes cached tokens. */
function ofTotal(
  total: unknown,
  read: unknown,
  written: unknown,
  output: unknown,
): ReportedUsage | undefined {
  const input = countOf(total)
  if (input === undefined) return undefined
  const [cached, created, answer] = [countOf(read) ?? 0, countOf(written) ?? 0, countOf(output)]
  return {
    inputTokens: Math.max(0, input - cached - created),
    ...(cached > 0 && { cacheReadTokens: cached }),
    ...(created > 0 && { cacheCreationTokens: created }),
    ...(answer !== undefined && { outputTokens: answer }),
  }
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
