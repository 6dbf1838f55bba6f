import { canonicalProvider } from '../tokens/providers.ts'

/**
 * What says that an error is something else, although it has words of an overflow. Compared with normalised text
 * near the wording, and with codes.
 */

/** Rate limits and load. */
const RATE =
  /rate[ _-]?limit|too many requests|\b(?:tpm|rpm|tpd|rpd|itpm|otpm)\b|tokens? per (?:min|day|hour|sec|week|month)|\b(?:per|a|each)[ _-](?:minute|min\b|day|hour|second|month|week)|\/min\b|throttl|please wait|wait before|try again in|retry(?:[ _-](?:in|after)|-?after)\b|slow down|quota|overloaded|at capacity|capacity (?:is )?(?:available|exhausted)|usage limit|(?:daily|monthly|weekly|hourly)\b|too frequent|too many tokens (?:were |have been )?(?:processed|used|consumed|generated)|used too many tokens|number of request tokens|per-model limit|enqueued|\b(?:this|current) (?:minute|hour|day|month)\b|concurren|频率|限流|配额|额度|每分钟|每日|每天|稍后|并发|速率|429 (?:too|rate)/
/** Bills. */
const BILL =
  /billing|\b(?:free|paid|your|dev|pro) (?:plan|tier)\b|insufficient[ _](?:quota|balance|credit|fund)|\bcredits?\b|can only afford|payment|\bsubscription|prepaid|余额|欠费|upgrade to a paid/
/** Logins and other tokens that are no words. */
const LOGIN =
  /security token|(?:invalid|expired|missing|malformed|revoked|incorrect|bad|illegal|no|your|provided|supplied) (?:\w+ )?(?:token\b(?! (?:count|limit|length|budget|window|usage))|api[ _-]?key|credentials?)|\btoken (?:is |has |was )?(?:been )?(?:invalid|expired|missing|malformed|revoked|required|not valid|could not)|\b(?:access|refresh|auth|id|session|bearer|csrf|xsrf|jwt|oauth|device|push|verification|reset|registration|authentication|authorization|authenticity|antiforgery|login|pagination|continuation|next|client ?request|idempotency|cancellation|captcha|web|api|stop|special|eos|page|sync)[ _-]?tokens?\b|nexttoken|requesttoken|continuationtoken|csrf|\bjwt\b|unauthori[sz]ed|unauthenticated|forbidden|authentication|not authorized|access denied|permission denied|unrecognizedclient|expiredtoken|\bbearer\b|authorization header|\blifetime\b|signature/
/** Waiting too long. */
const TIMEOUT = /deadline exceeded|context cancell?ed|timed[ -]?out|time[- ]?out|etimedout|gateway time/
/** Parsers. */
const PARSER =
  /unexpected token|syntax ?error|parse error|parsing|\bparser\b|\blexer\b|json at position|unterminated|invalid json|not valid json|\bline \d+/
/** Limits of the answer alone: a shorter history does not help. */
const ANSWER =
  /max(?:imum)?[ _-]?(?:output|completion|new|generated|gen|response)?[ _-]?tokens? ?(?:\([\d,]+\) ?)?(?:value|you requested|to sample|parameter|is too|must|should|cannot|can't|has to|=|>|exceeds? the (?:model|max))|max_(?:completion_|new_|output_)?tokens\b(?! exceed)|maxtokens|maxoutputtokens|max_length\b|output tokens?|completion tokens?|output (?:token )?(?:limit|maximum)|(?:response|output|completion|generation|answer)(?: length)? (?:exceed|is too long|too long|limit)|length limit was reached|budget_tokens|thinking|tokens? (?:to|that can be|can be) (?:be )?generated?|tokens? (?:for|in) the (?:response|completion|output|answer)|finish[_ ]reason|generation (?:was )?stopped|(?:response|output|answer|reply|completion|generation|model) (?:(?:was|has been|is|were) )?(?:cut|truncated|stopped|ended|incomplete)|(?:could|can) generate|range of max_tokens/
/** Limits of one thing that is no prompt. */
const OTHER_THING =
  /\b(?:characters?|chars|bytes|kb|mb|gb|megabytes|kilobytes|pixels|items|elements|columns|rows|files?|images?|photos?|videos?|audio|attachments?|uploads?|passwords?|usernames?|titles?|subject|comments?|bio|filename|urls?|uri|headers?|cookies?|hostname|e-?mail|tweet|sms|caption|description|varchar|fields?|tool names?|function names?|tools|heap|call stack|stack size|entity|dimensions?|vectors?|labels)\b|字符/
/** Limits of a tool, on what it may return. */
const TOOL = /file content \(|tool (?:response|result|output) \(|use (?:offset|pagination|limit) |pagination/
/** Models with too little room for an application, and tokens that are money. */
const SETTING =
  /requested context size|n_ctx_train|supply|\bbalance|allowance|erc-?20|\bnft|wallet|reverted|context (?:window|length|size) (?:is )?too small|minimum (?:is|of|context)/

/** Codes, types and names that mean something else. */
const OTHER_CODE =
  /rate_?limit|throttl|toomanyrequests|too_many_requests|too many requests|quota|insufficient|billing|payment|credit|authentication|unauthori|unauthenticated|permission|forbidden|access_?denied|invalid_api_key|unrecognizedclient|expiredtoken|invalidsignature|timeout|timedout|aborterror|econn|syntaxerror|string_above_max_length|array_above_max_length|overloaded|model_capacity|zoderror/

/** Whether something near a `likely` wording speaks against it. */
export function speaksAgainst(near: string): boolean {
  return (
    RATE.test(near) ||
    BILL.test(near) ||
    LOGIN.test(near) ||
    TIMEOUT.test(near) ||
    PARSER.test(near) ||
    TOOL.test(near) ||
    SETTING.test(near)
  )
}

/** Words before a wording that somebody else said it: a message, a tool, a test, or advice about such errors. */
const MENTIONS =
  /\b(?:what to do|how to (?:fix|solve|handle|avoid|prevent)|when(?:ever)? (?:you|we|i|users?) (?:see|get)|mention(?:s|ed|ing)?|quot(?:es?|ed|ing)|(?:the|a) phrases?|the words|wrote|writes|asked|asks|asking)\b[^.;{}]{0,80}$/

/** Whether a wording stands in a sentence that tells of it, such as `the file mentions that the prompt is too long`. */
export function isMentioned(text: string, at: number): boolean {
  return MENTIONS.test(text.slice(Math.max(0, at - 100), at))
}

/** Whether it is the answer that is too long, not the question. Input named beside it says otherwise. */
export function isAboutAnswer(near: string): boolean {
  return (
    ANSWER.test(near) &&
    !/\b(?:input|prompt|messages?|context|request)\b/.test(near.replace(ANSWERS_IN_PASSING, ''))
  )
}

/** Words of a request that sentences about the answer use as well. */
const ANSWERS_IN_PASSING =
  /malformed input request|request(?:ed|s)?\b|try again|context_window for this model|less than the context_window|prompt_tokens=\d+/g

/** Whether the limit is one of characters, bytes, files or fields. Tokens or a model beside it say otherwise. */
export function isAboutOtherThing(near: string): boolean {
  return OTHER_THING.test(near) && !/\btokens?\b|\bmodel\b|context (?:length|window|size)/.test(near)
}

export function isOtherCode(code: string): boolean {
  return OTHER_CODE.test(code.toLowerCase())
}

/** Statuses of logins, bills and rate limits: only a certain wording is believed under them. */
export function isOtherStatus(status: number | undefined): boolean {
  return status === 401 || status === 402 || status === 403 || status === 408 || status === 429
}

/** Whether RESOURCE_EXHAUSTED is about the size of a request. Source: conflict C-28. */
export function hintsAtSize(near: string): boolean {
  return (
    /\btokens?\b|context|prompt|too long|length/.test(near) &&
    !RATE.test(near) &&
    !BILL.test(near) &&
    !TIMEOUT.test(near)
  )
}

/** Whether tokens are named behind a wording, as behind a ValidationException. Source: seed 003, `ValidationException.*token`. */
export function speaksOfTokens(text: string, at: number): boolean {
  return /\btokens?\b/.test(text.slice(at, at + 2000))
}

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
