import { words } from './text.ts'

/**
 * The grade of a wording. `certain`: it occurs in overflow errors only. `likely`: an overflow unless the error looks like a rate limit, a
 * bill, a login, a timeout or a limit of the answer. `loose`: words of many errors, an overflow only without any contrary sign.
 */
type Trust = 'certain' | 'likely' | 'loose'

export type Wording = {
  readonly trust: Trust
  /** The provider with this wording; `null` when many have it. */
  readonly provider: string | null
  /**
   * Other providers with this wording: `compatible` are all that use OpenAI's protocol, `anyone` is every provider. A hint decides among
   * them.
   */
  readonly also: readonly string[]
  /** A sample, for people and for the page of the documentation. */
  readonly sample: string
  /** Matched against a text of `normalizeText`. */
  readonly pattern: RegExp
  /**
   * A further condition. `tokens`: tokens in the sense of words nearby. `size`: a sign of tokens or length nearby and none of a rate; then
   * statuses and codes are ignored.
   */
  readonly needs: 'tokens' | 'size' | undefined
}

/** Providers with a protocol of their own, to which wordings of OpenAI's protocol never belong. */
export const OWN_PROTOCOLS: readonly string[] = ['anthropic', 'cohere', 'google', 'mistral', 'vertex']

/** Anthropic, and the providers that serve its models and pass on their errors. */
const CLAUDE = words('anthropic bedrock vertex azure openrouter github-copilot databricks snowflake litellm')

const certain = grade('certain')
const likely = grade('likely')
const loose = grade('loose')

/** A wording of one provider, or of the first of a list and the others of it. Without a pattern the sample itself is searched. */
function grade(trust: Trust) {
  return (
    providers: string | readonly string[],
    sample: string,
    pattern = new RegExp(sample.toLowerCase()),
    needs?: Wording['needs'],
  ): Wording => {
    const [provider = null, ...also] = typeof providers === 'string' ? [providers] : providers
    return { trust, provider, also, sample, pattern, needs }
  }
}

/** Things that can be too long. */
const SUBJECT =
  '\\b(?:prompt|input|message|conversation|request|query|history|chat|context|transcript|payload|text|document|content|sequence)s?'
const TOO_LONG = 'too (?:long|large|big|many tokens)'
/** Exceeding a limit. */
const OVER =
  "(?:exceed(?:s|ed|ing)?|overflow(?:s|ed|ing)?|surpass(?:es|ed)?|is over|are over|went over|goes over|(?:longer|larger|greater|bigger|higher|more) than|beyond|does(?:n't| not) fit|do(?:n't| not) fit|cannot fit|can't fit|too (?:long|large|big) (?:for|to fit))"
/** The limit of a model. */
const WINDOW =
  "(?:context[ _-]?(?:length|window|size|limit|budget)|max(?:imum)? (?:allowed )?context|model(?:'s)? (?:context|token limit|maximum (?:context|sequence|input|length|token)|max(?:imum)? (?:length|tokens|sequence|input))|n_ctx|num_ctx|max_model_len|max_seq_len|max_position_embeddings|max(?:imum)? position embeddings|max(?:imum)? (?:allowed )?(?:sequence length|model length|input length|prompt length|input tokens?|prompt tokens?|input size in tokens))"
const TOKEN_LIMIT =
  '(?:(?:input |prompt |context |model )?token (?:limit|budget|maximum|window)|max(?:imum)? (?:allowed )?(?:number of )?(?:input |prompt |context )?tokens?|limit of [\\d,._ ]+ ?k? (?:input |prompt |context )?tokens)'
/** Up to this many characters of one sentence. */
const near = (length: number): string => `[^.;{}]{0,${length}}`

function general(source: string, sample: string, trust: Trust = 'likely'): Wording {
  return { trust, provider: null, also: [], sample, pattern: new RegExp(source), needs: undefined }
}

/** Every wording in the order of matching: the first match determines the provider. */
export const WORDINGS: readonly Wording[] = [
  // Wordings of a single provider come first, because some contain a phrase of a later one ("prompt is too long: 9, model maximum context
  // length: 8" is Fireworks, not Anthropic).
  certain(
    'openrouter',
    "This endpoint's maximum context length is",
    /this endpoint's maximum context length/,
  ),
  certain(
    'github-copilot',
    'prompt token count of N exceeds the limit of M',
    /prompt token count of \d[\d,]* exceeds the limit/,
  ),
  certain(
    ['openai', 'compatible'],
    "Invalid 'messages': array too long. Expected an array with maximum length N, but got an array with length M",
    /invalid '(?:messages|input)': array too long|\$\.messages'? (?:is too long|exceeds the maximum length of [\d,]+ items)/,
  ),
  certain('github-copilot', 'code model_max_prompt_tokens_exceeded', /model_max_prompt_tokens_exceeded/),
  certain(
    'github-models',
    'Request body too large for … model. Max size: N tokens, code tokens_limit_reached',
    /tokens_limit_reached|request body too large for .{1,80} model\. max size: \d+ tokens/,
  ),
  certain(
    'xai',
    "This model's maximum prompt length is N but the request contains M tokens",
    /maximum prompt length is/,
  ),
  certain(
    'fireworks',
    'The prompt is too long: N, model maximum context length: M',
    /prompt is too long: [\d,]+, model maximum context length/,
  ),
  certain(
    'cerebras',
    'Please reduce the length of the messages or completion. Current length is N while limit is M',
    /current length is [\d,]+ while limit is/,
  ),
  certain(
    'cohere',
    'too many tokens: total number of tokens in the prompt cannot exceed N - received M',
    /too many tokens: (?:the )?(?:total|(?:input )?size limit)|total number of tokens (?:in the prompt|\(prompt and prediction\)) cannot exceed/,
  ),
  certain(
    'perplexity',
    'The total length of all messages is too long',
    /total length of all messages is too long/,
  ),
  certain(
    ['llama.cpp', 'compatible'],
    'the request exceeds the available context size, type exceed_context_size_error',
    /exceed_context_size_error|input (?:\([\d,]+ tokens\) )?is too large to process|exceeds the available context size|context size has been exceeded/,
  ),
  certain(
    ['llama.cpp', 'compatible'],
    'Requested tokens (N) exceed context window of M',
    /requested tokens (?:\([\d,]+\) )?exceed context window of|prompt exceeds n_ctx/,
  ),
  certain(
    'lmstudio',
    'The number of tokens to keep from the initial prompt is greater than the context length',
    /tokens to keep from the initial prompt is (?:greater|larger) than the context length/,
  ),
  certain(
    'lmstudio',
    'Trying to keep the first N tokens when context the overflows',
    /trying to keep the first [\d,]+ tokens when context|cannot truncate prompt with n_keep/,
  ),
  certain(
    'lmstudio',
    'Reached context length of N tokens with model … that does not currently support mid-generation context overflow',
    /mid-generation context overflow|reached context length of [\d,]+ tokens with model/,
  ),
  certain(
    'ollama',
    'prompt too long; exceeded max context length by N tokens',
    /prompt too long; exceeded (?:max )?context length|input length exceeds (?:the )?(?:maximum )?context length/,
  ),
  certain(
    ['vllm', 'compatible'],
    'The decoder prompt (length N) is longer than the maximum model length of M',
    /prompt (?:\(length [\d,]+\)|length of [\d,]+) is longer than the maximum model length|prompt \(total length [\d,]+\) is too long to fit|max_tokens must be at least 1, got -\d{2,}|passed [\d,]+ input (?:tokens|characters) and requested [\d,]+ output tokens|input prompt \([\d,]+ tokens\) is too long and exceeds limit/,
  ),
  certain(
    ['sglang', 'compatible'],
    "Requested token count exceeds the model's maximum context length of N tokens",
    /requested token count exceeds the model's maximum context length|input length \([\d,]+(?: tokens)?\) exceeds (?:the )?(?:model's )?maximum (?:allowed|context) length/,
  ),
  certain(
    ['together', 'compatible'],
    "The input (N tokens) is longer than the model's context length (M tokens)",
    /input \([\d,]+ tokens\) is longer than the model's context length/,
  ),
  certain(
    ['together', 'tgi', 'huggingface', 'sagemaker'],
    '`inputs` tokens + `max_new_tokens` must be <= N. Given: …',
    /inputs tokens \+ max_new_tokens must be/,
  ),
  certain(
    ['tgi', 'together', 'huggingface', 'sagemaker'],
    '`inputs` must have less than N tokens. Given: M',
    /inputs must have less than [\d,]+ tokens/,
  ),
  certain(
    'moonshot',
    'Your request exceeded model token limit: N (requested: M)',
    /exceeded model token limit/,
  ),
  certain('minimax', 'invalid params, context window exceeds limit', /context window exceeds limit/),
  certain('zai', 'Prompt exceeds max length, code 1261', /prompt exceeds max(?:imum)? length|prompt 超长/),
  certain('dashscope', 'Range of input length should be [1, N]', /range of input length should be/),
  certain(
    'siliconflow',
    'length of prompt_tokens (N) must be less than max_seq_len (M)',
    /length of prompt_tokens \([\d,]+\) must be less than max_seq_len/,
  ),
  certain(
    'cloudflare',
    'The estimated number of input and maximum output tokens (N) exceeded this model context window limit (M)',
    /estimated number of input and maximum output tokens \([\d,]+\) exceeded/,
  ),
  certain(
    'watsonx',
    'the number of input tokens N cannot exceed the total tokens limit M for this model',
    /number of input tokens [\d,]+ cannot exceed the total tokens limit/,
  ),
  certain('snowflake', 'max tokens of N exceeded', /max tokens of [\d,]+ exceeded/),
  certain(
    'gpt4all',
    'The prompt size exceeds the context window size and cannot be processed',
    /prompt size exceeds the context window size/,
  ),
  certain(
    'baidu',
    'the max input characters is N; Prompt tokens too long',
    /the max input characters is \d|prompt tokens too long/,
  ),
  certain(
    'volcengine',
    'Total tokens of image and text exceed max message tokens',
    /total tokens of image and text exceed/,
  ),
  certain(
    ['nvidia', 'compatible'],
    'Prompt length (N) exceeds maximum input length (M)',
    /prompt length \([\d,]+\) exceeds maximum input length/,
  ),
  certain(
    ['google', 'vertex'],
    'The input token count (N) exceeds the maximum number of tokens allowed (M)',
    /input token count (?:is )?\(?[\d,]*\)? ?(?:exceeds the maximum|but (?:the |this )?model (?:only )?supports)|input token count exceeds/,
  ),
  certain(
    'sambanova',
    "The provided prompt's length is N, but the maximum sequence length is M",
    /provided prompt's length is [\d,]+, but the maximum sequence length is/,
  ),
  certain('google', 'Cannot truncate to N, required M', /cannot truncate to \d+, required \d/),
  certain(
    'bedrock',
    'Input is too long for requested model; Too many input tokens. Max input tokens: N, request input token count: M',
    /input is too long for requested model|input tokens exceeded: number of input tokens|model returned the following errors: (?:prompt|input) is too long|too many input tokens\. max input tokens|prompt tokens \([\d,]+\) exceed model maximum/,
  ),
  certain(
    'mistral',
    'Prompt contains N tokens and D draft tokens, too large for model with M maximum context length',
    /too large for model with [\d,]+ maximum context length/,
  ),
  // The original table in its order, with further wordings of the same providers.
  certain(['openai', 'compatible'], "This model's maximum context length is"),
  certain(
    ['openai', 'compatible'],
    'Your input exceeds the context window of this model',
    /your (?:input|request|prompt) exceeds? (?:the|this) (?:model's )?context window|exceeds? the context window of this model/,
  ),
  certain(
    ['openai', 'azure', 'github-copilot'],
    'Input tokens exceed the configured limit of N tokens',
    /input tokens exceed the configured limit/,
  ),
  likely(
    ['openai', 'compatible'],
    'reduce the length of the messages',
    /reduce the length of the (?:input )?messages/,
  ),
  certain('azure', 'content_length_exceeded'),
  loose(['google', 'vertex'], 'RESOURCE_EXHAUSTED', undefined, 'size'),
  likely(['google', 'vertex'], 'exceeds the maximum number of tokens'),
  loose(['google', 'vertex'], 'content is too long'),
  loose('bedrock', 'ValidationException.*token', /validationexception/, 'tokens'),
  likely('bedrock', 'Malformed input request: expected maxLength: N, actual: M', /expected maxlength: \d{4}/),
  loose(['bedrock', 'anthropic', 'replicate', 'huggingface', 'vertex'], 'Input is too long'),
  loose(['bedrock', 'compatible'], "exceeds the model's maximum"),
  certain(['mistral', 'compatible'], 'context length exceeded'),
  loose(['mistral', 'compatible'], 'maximum number of tokens'),
  certain(['openrouter', 'compatible'], 'context_length_exceeded'),
  certain(CLAUDE, 'prompt is too long', /prompt is too long(?!.{0,60}char)/),
  certain(
    CLAUDE,
    'input length and `max_tokens` exceed context limit: A + B > C',
    /input length and max_tokens exceed/,
  ),
  // The limit of the plan, 200,000 tokens: a shorter history is accepted.
  certain(
    CLAUDE,
    'Extra usage is required for long context requests.',
    /extra usage is required for (?:long context|1m context)/,
  ),
  loose(CLAUDE, 'too many tokens'),
  certain(['litellm', 'anyone'], 'litellm.ContextWindowExceededError', /contextwindowexceedederror/),
  // Wordings of no particular provider: something is too long, and it concerns tokens or a context.
  // The error of the language model in a browser; full disks have the same name.
  general(
    'quotaexceedederror\\b.{0,40}: ?(?:the )?input is too large',
    'QuotaExceededError: The input is too large.',
    'certain',
  ),
  general(
    'context[ _-]?(?:length|window|size|limit|budget)[ _-]?(?:was |is |has been |have been |has |limit )?(?:exceeded|overflow|overrun|surpassed|too (?:long|large)|reached|full|exhausted|error)',
    'Context window exceeded',
  ),
  general(
    'context[ _](?:overflow(?:ed)?|is too (?:long|large)|too (?:long|large))(?=$|[:.,\\s!])',
    'Context overflow: …',
  ),
  general(
    'context(?:length|window|size|limit|overflow)(?:size|limit)?(?:exceeded|overflow|error|toolong|toolarge)|exceeded_?context_?(?:window|length|size)|(?:prompt|input)_?(?:is_?)?too_?long|(?:input|prompt)_tokens?_(?:limit_)?exceeded|context_(?:window|limit|size|budget)_(?:size_)?(?:exceeded|overflow)|context_too_(?:long|large)|max_(?:prompt|input|context)_(?:tokens?|length)?[ _]?exceeded|content_length_exceeds_threshold',
    'codes and names such as ContextWindowExceeded, prompt_too_long',
  ),
  general(`${OVER}${near(60)}${WINDOW}`, "… exceeds the model's context length"),
  general(
    `${WINDOW}${near(60)}(?:exceeded|overflowed|surpassed|overflows?\\b)`,
    'maximum input length … exceeded',
  ),
  general(
    `\\d tokens?\\b${near(30)}\\bbut\\b${near(30)}${WINDOW}${near(20)}\\d|${WINDOW}${near(60)}\\d[^;{}]{0,60}\\b(?:requested|sent|got|received|given|contains?|resulted|has|have|was|were|provided|passed)\\b${near(30)}\\d`,
    'context window is N tokens, you requested M tokens',
  ),
  general(
    `\\bmax(?:imum)? context (?:length|window|size)${near(60)}(?:is|of|:|=) ?\\d`,
    'The maximum context length is N tokens',
  ),
  general(
    `${SUBJECT}${near(60)}${TOO_LONG}${near(40)}\\b(?:model|context|tokens?)\\b`,
    'Your conversation is too long for this model',
  ),
  general(`\\btokens?\\b${near(40)}${SUBJECT}${near(40)}${TOO_LONG}`, 'Token count: the input is too long'),
  general(
    `${SUBJECT}${near(60)}\\btokens?\\b${near(60)}${OVER}${near(40)}(?:\\b(?:limit|max(?:imum)?|allowed|capacity|window|model)|\\d)`,
    'The prompt has N tokens, which exceeds the limit',
  ),
  general(
    `${SUBJECT}${near(60)}\\btokens?\\b${near(60)}(?:must|should) (?:be|have|not be) (?:<=|<|at most|less than|fewer than|no more than|under|below|within|shorter than)${near(40)}\\d`,
    'The number of input tokens must be less than N',
  ),
  general(`${SUBJECT}${near(80)}${OVER}${near(40)}${TOKEN_LIMIT}`, 'Request exceeds the token limit'),
  general(
    `\\btokens?\\b${near(40)}${OVER}${near(60)}(?:model|limit|max(?:imum)?|allowed)`,
    'N tokens exceeds the maximum',
  ),
  general(
    '\\btoken (?:limit|budget)s? (?:was |has been |is |of [\\d,]+ (?:was |is |has been )?)?(?:exceeded|reached)',
    'Token limit exceeded',
  ),
  general(
    "\\b(?:prompt|conversation|chat|chat history|message history|input prompt|input sequence|input context)(?: history)?(?: is| was| are|'s| got)? too (?:long|large|big)\\b|\\btoo (?:long|large) (?:a )?(?:prompt|conversation|context|input context)",
    'Prompt too long',
    'loose',
  ),
  general(
    "input(?: is|'s)? too (?:long|large)\\b(?=[^.]{0,60}(?:model|token|context))|input too long",
    'Input too long',
    'loose',
  ),
  general(
    `\\b(?:maximum|max)(?: allowed)?(?: number of)? (?:input|prompt|context) tokens?${near(40)}\\d[^;{}]{0,40}\\b(?:got|received|given|requested|sent|but|however|has|have|contains?|actual)\\b`,
    'maximum input tokens is N, got M',
  ),
  general(
    `${SUBJECT} length(?: \\(?\\d[\\d,]{0,12}\\)?)?(?: tokens?)?(?: \\+ \\d{1,12})?${near(30)}${OVER}${near(40)}(?:max(?:imum)?|limit|allowed)${near(40)}(?:tokens?|length|len)`,
    'Input length N exceeds the maximum allowed input length of M tokens',
  ),
  general(
    `ran out of (?:room|space)${near(40)}context|out of context (?:window|length|space)`,
    "ran out of room in the model's context window",
  ),
  general(
    `(?:shorten|reduc(?:e|ing)|trim)${near(60)}(?:prompt|conversation|history|input|messages?)${near(80)}context (?:window|length|size)|(?:increas(?:e|ing)|larger|raise) (?:the )?context (?:window|length|size)${near(60)}(?:shorten|reduc)`,
    'Consider increasing the context size or shortening the prompt',
  ),
  general(
    '(?:chat|conversation)[^.;{}]{0,20} length limit|length limit for this (?:chat|conversation)|exceed the length limit',
    'Your message will exceed the length limit for this chat',
  ),
  general(
    '(?:上下文|输入|提示词?|消息|prompt|tokens?|文本|对话|messages?)[^。；]{0,24}(?:超过|超出|超长|过长|超限|太长|大于)|最大(?:上下文|输入|提示)[^。；]{0,20}(?:为|是|:|：) ?\\d',
    '输入长度超过模型最大上下文限制',
  ),
  general(
    '\\d ?k? (?:input |prompt |context )?tokens\\b[^;{}]{0,60}(?:\\bmax(?:imum)?\\b|\\blimit\\b|\\bonly\\b|\\ballowed\\b|\\bsupports?\\b|>)[^;{}]{0,40}\\d',
    'N tokens were sent, the maximum is M',
  ),
  general(
    '\\b(?:max(?:imum)?|limit|supports?)\\b[^;{}]{0,40}\\d[^{}]{0,10}tokens?[^{}]{0,40}\\b(?:sent|got|received|given|has|have|contains?|requested|provided|was|were)\\b[^;{}]{0,20}\\d',
    'Maximum is N tokens; you sent M tokens',
  ),
  general(
    '\\b(?:prompt|input|request|conversation|messages?) (?:has|have|contains?|is|was|of) [\\d,._]{1,15} tokens\\b[^{}]{0,40}\\b(?:max(?:imum)?|limit|allowed|supports?)\\b[^;{}]{0,40}\\d',
    'prompt has N tokens; max allowed is M',
  ),
  general('too many (?:input|prompt|context) tokens', 'Too many input tokens'),
  general('\\btokens? exceed(?:s|ed)? \\d', 'tokens exceed N'),
  general(
    '^(?:error: )?max(?:imum)? context (?:length|window|size)\\W{0,3}$',
    'Maximum context length, and nothing else',
  ),
  general(
    'token indices sequence length is longer than',
    'Token indices sequence length is longer than the specified maximum sequence length',
  ),
]
