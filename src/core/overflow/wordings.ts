/**
 * How far a wording can be trusted. `certain`: nobody says this of anything else. `likely`: holds unless the error
 * looks like a rate limit, a bill, a login, a timeout or a limit of the answer. `loose`: words many errors contain;
 * holds only where nothing at all speaks against it.
 */
export type Trust = 'certain' | 'likely' | 'loose'

export type Wording = {
  /** Who says it; `null` when many do. */
  readonly provider: string | null
  readonly trust: Trust
  /** Compared with a text of `normalizeText`. */
  readonly pattern: RegExp
  /** A sample, for people and for the page of the documentation. */
  readonly sample: string
  /** Who else says it: `compatible` are all that speak OpenAI's protocol. A hint decides among these. */
  readonly also?: 'compatible' | readonly string[]
}

/** Providers with a protocol of their own, whose name a wording of OpenAI's protocol never means. */
export const OWN_PROTOCOLS: readonly string[] = [
  'anthropic',
  'bedrock',
  'cohere',
  'google',
  'mistral',
  'vertex',
]

const HOSTS_OF_CLAUDE = [
  'bedrock',
  'vertex',
  'azure',
  'openrouter',
  'github-copilot',
  'databricks',
  'snowflake',
  'litellm',
]

/**
 * Wordings that belong to one provider alone. They come before the founding table, because some of them contain a
 * phrase of it ("prompt is too long: 9, model maximum context length: 8" is Fireworks, not Anthropic).
 */
const OWN: readonly Wording[] = [
  own('openrouter', /this endpoint's maximum context length/, "This endpoint's maximum context length is"),
  own(
    'github-copilot',
    /prompt token count of \d[\d,]* exceeds the limit/,
    'prompt token count of N exceeds the limit of M',
  ),
  own('github-copilot', /model_max_prompt_tokens_exceeded/, 'code model_max_prompt_tokens_exceeded'),
  own(
    'github-models',
    /tokens_limit_reached|request body too large for .{1,80} model\. max size: \d+ tokens/,
    'Request body too large for … model. Max size: N tokens, code tokens_limit_reached',
  ),
  own(
    'xai',
    /maximum prompt length is/,
    "This model's maximum prompt length is N but the request contains M tokens",
  ),
  own(
    'fireworks',
    /prompt is too long: [\d,]+, model maximum context length/,
    'The prompt is too long: N, model maximum context length: M',
  ),
  own(
    'cerebras',
    /current length is [\d,]+ while limit is/,
    'Please reduce the length of the messages or completion. Current length is N while limit is M',
  ),
  own(
    'cohere',
    /too many tokens: (?:the )?(?:total|size limit)|total number of tokens (?:in the prompt|\(prompt and prediction\)) cannot exceed/,
    'too many tokens: total number of tokens in the prompt cannot exceed N - received M',
  ),
  own(
    'perplexity',
    /total length of all messages is too long/,
    'The total length of all messages is too long',
  ),
  {
    ...own(
      'llama.cpp',
      /exceed_context_size_error|exceeds the available context size|context size has been exceeded/,
      'the request exceeds the available context size, type exceed_context_size_error',
    ),
    also: 'compatible',
  },
  {
    ...own(
      'llama.cpp',
      /requested tokens (?:\([\d,]+\) )?exceed context window of|prompt exceeds n_ctx/,
      'Requested tokens (N) exceed context window of M',
    ),
    also: 'compatible',
  },
  own(
    'lmstudio',
    /tokens to keep from the initial prompt is (?:greater|larger) than the context length/,
    'The number of tokens to keep from the initial prompt is greater than the context length',
  ),
  own(
    'lmstudio',
    /trying to keep the first [\d,]+ tokens when context|cannot truncate prompt with n_keep/,
    'Trying to keep the first N tokens when context the overflows',
  ),
  own(
    'lmstudio',
    /mid-generation context overflow|reached context length of [\d,]+ tokens with model/,
    'Reached context length of N tokens with model … that does not currently support mid-generation context overflow',
  ),
  own(
    'ollama',
    /prompt too long; exceeded (?:max )?context length|input length exceeds (?:the )?(?:maximum )?context length/,
    'prompt too long; exceeded max context length by N tokens',
  ),
  {
    ...own(
      'vllm',
      /prompt (?:\(length [\d,]+\)|length of [\d,]+) is longer than the maximum model length|passed [\d,]+ input (?:tokens|characters) and requested [\d,]+ output tokens|input prompt \([\d,]+ tokens\) is too long and exceeds limit/,
      'The decoder prompt (length N) is longer than the maximum model length of M',
    ),
    also: 'compatible',
  },
  {
    ...own(
      'sglang',
      /requested token count exceeds the model's maximum context length|input length \([\d,]+(?: tokens)?\) exceeds (?:the )?(?:model's )?maximum (?:allowed|context) length/,
      "Requested token count exceeds the model's maximum context length of N tokens",
    ),
    also: 'compatible',
  },
  {
    ...own(
      'together',
      /input \([\d,]+ tokens\) is longer than the model's context length/,
      "The input (N tokens) is longer than the model's context length (M tokens)",
    ),
    also: 'compatible',
  },
  {
    ...own(
      'together',
      /inputs tokens \+ max_new_tokens must be/,
      '`inputs` tokens + `max_new_tokens` must be <= N. Given: …',
    ),
    also: ['tgi', 'huggingface', 'sagemaker'],
  },
  {
    ...own(
      'tgi',
      /inputs must have less than [\d,]+ tokens/,
      '`inputs` must have less than N tokens. Given: M',
    ),
    also: ['together', 'huggingface', 'sagemaker'],
  },
  own('moonshot', /exceeded model token limit/, 'Your request exceeded model token limit: N (requested: M)'),
  own('minimax', /context window exceeds limit/, 'invalid params, context window exceeds limit'),
  own('zai', /prompt exceeds max(?:imum)? length|prompt 超长/, 'Prompt exceeds max length, code 1261'),
  own('dashscope', /range of input length should be/, 'Range of input length should be [1, N]'),
  own(
    'siliconflow',
    /length of prompt_tokens \([\d,]+\) must be less than max_seq_len/,
    'length of prompt_tokens (N) must be less than max_seq_len (M)',
  ),
  own(
    'cloudflare',
    /estimated number of input and maximum output tokens \([\d,]+\) exceeded/,
    'The estimated number of input and maximum output tokens (N) exceeded this model context window limit (M)',
  ),
  own(
    'watsonx',
    /number of input tokens [\d,]+ cannot exceed the total tokens limit/,
    'the number of input tokens N cannot exceed the total tokens limit M for this model',
  ),
  own('snowflake', /max tokens of [\d,]+ exceeded/, 'max tokens of N exceeded'),
  own(
    'gpt4all',
    /prompt size exceeds the context window size/,
    'The prompt size exceeds the context window size and cannot be processed',
  ),
  own(
    'baidu',
    /the max input characters is \d|prompt tokens too long/,
    'the max input characters is N; Prompt tokens too long',
  ),
  own(
    'volcengine',
    /total tokens of image and text exceed/,
    'Total tokens of image and text exceed max message tokens',
  ),
  {
    ...own(
      'nvidia',
      /prompt length \([\d,]+\) exceeds maximum input length/,
      'Prompt length (N) exceeds maximum input length (M)',
    ),
    also: 'compatible',
  },
  {
    ...own(
      'google',
      /input token count (?:is )?\(?[\d,]*\)? ?(?:exceeds the maximum|but (?:the )?model only supports)|input token count exceeds/,
      'The input token count (N) exceeds the maximum number of tokens allowed (M)',
    ),
    also: ['vertex'],
  },
  own(
    'bedrock',
    /input is too long for requested model|model returned the following errors: (?:prompt|input) is too long|too many input tokens\. max input tokens|prompt tokens \([\d,]+\) exceed model maximum/,
    'Input is too long for requested model; Too many input tokens. Max input tokens: N, request input token count: M',
  ),
  own(
    'mistral',
    /too large for model with [\d,]+ maximum context length/,
    'Prompt contains N tokens and D draft tokens, too large for model with M maximum context length',
  ),
]

/** The table of seed 003 in its order, and what the same providers say besides. */
const TABLE: readonly Wording[] = [
  {
    provider: 'openai',
    trust: 'certain',
    pattern: /this model's maximum context length is/,
    sample: "This model's maximum context length is",
    also: 'compatible',
  },
  {
    provider: 'openai',
    trust: 'certain',
    pattern: /exceeds? (?:the|this|your) (?:model's )?context window/,
    sample: 'Your input exceeds the context window of this model',
    also: 'compatible',
  },
  {
    provider: 'openai',
    trust: 'certain',
    pattern: /input tokens exceed the configured limit/,
    sample: 'Input tokens exceed the configured limit of N tokens',
    also: ['azure', 'github-copilot'],
  },
  {
    provider: 'openai',
    trust: 'likely',
    pattern: /reduce the length of the (?:input )?messages/,
    sample: 'reduce the length of the messages',
    also: 'compatible',
  },
  {
    provider: 'azure',
    trust: 'certain',
    pattern: /content_length_exceeded/,
    sample: 'content_length_exceeded',
  },
  {
    provider: 'google',
    trust: 'loose',
    pattern: /resource_exhausted/,
    sample: 'RESOURCE_EXHAUSTED',
    also: ['vertex'],
  },
  {
    provider: 'google',
    trust: 'likely',
    pattern: /exceeds the maximum number of tokens/,
    sample: 'exceeds the maximum number of tokens',
    also: ['vertex'],
  },
  {
    provider: 'google',
    trust: 'loose',
    pattern: /content is too long/,
    sample: 'content is too long',
    also: ['vertex'],
  },
  {
    provider: 'bedrock',
    trust: 'loose',
    pattern: /validationexception/,
    sample: 'ValidationException.*token',
  },
  {
    provider: 'bedrock',
    trust: 'likely',
    pattern: /expected maxlength: \d{4}/,
    sample: 'Malformed input request: expected maxLength: N, actual: M',
  },
  {
    provider: 'bedrock',
    trust: 'loose',
    pattern: /input is too long/,
    sample: 'Input is too long',
    also: ['anthropic', 'replicate', 'huggingface', 'vertex'],
  },
  {
    provider: 'bedrock',
    trust: 'loose',
    pattern: /exceeds the model's maximum/,
    sample: "exceeds the model's maximum",
    also: 'compatible',
  },
  {
    provider: 'mistral',
    trust: 'certain',
    pattern: /context length exceeded/,
    sample: 'context length exceeded',
    also: 'compatible',
  },
  {
    provider: 'mistral',
    trust: 'loose',
    pattern: /maximum number of tokens/,
    sample: 'maximum number of tokens',
    also: 'compatible',
  },
  {
    provider: 'openrouter',
    trust: 'certain',
    pattern: /context_length_exceeded/,
    sample: 'context_length_exceeded',
    also: 'compatible',
  },
  {
    provider: 'anthropic',
    trust: 'certain',
    pattern: /prompt is too long(?!.{0,60}char)/,
    sample: 'prompt is too long',
    also: HOSTS_OF_CLAUDE,
  },
  {
    provider: 'anthropic',
    trust: 'certain',
    pattern: /input length and max_tokens exceed/,
    sample: 'input length and `max_tokens` exceed context limit: A + B > C',
    also: HOSTS_OF_CLAUDE,
  },
  {
    provider: 'anthropic',
    trust: 'likely',
    pattern:
      /request_too_large.{0,200}exceeds the maximum|request (?:size )?exceeds the maximum (?:size|allowed (?:size|number of bytes))/,
    sample: 'Request exceeds the maximum size, type request_too_large',
    also: HOSTS_OF_CLAUDE,
  },
  { provider: 'anthropic', trust: 'loose', pattern: /input is too long/, sample: 'input is too long' },
  {
    provider: 'anthropic',
    trust: 'loose',
    pattern: /too many tokens/,
    sample: 'too many tokens',
    also: HOSTS_OF_CLAUDE,
  },
  {
    provider: 'litellm',
    trust: 'certain',
    pattern: /contextwindowexceedederror/,
    sample: 'litellm.ContextWindowExceededError',
  },
]

const SUBJECT = String.raw`\b(?:prompt|input|message|conversation|request|query|history|chat|context|transcript|payload|text|document|sequence)s?`
const TOO_LONG = String.raw`too (?:long|large|big|many tokens)`
const OVER = String.raw`(?:exceed(?:s|ed|ing)?|overflow(?:s|ed|ing)?|surpass(?:es|ed)?|is over|are over|went over|goes over|(?:longer|larger|greater|bigger|higher|more) than|beyond|does(?:n't| not) fit|do(?:n't| not) fit|cannot fit|can't fit|too (?:long|large|big) (?:for|to fit))`
const WINDOW = String.raw`(?:context[ _-]?(?:length|window|size|limit|budget)|max(?:imum)? context|model(?:'s)? (?:context|token limit|maximum (?:context|sequence|input|length|token)|max(?:imum)? (?:length|tokens|sequence|input))|n_ctx|num_ctx|max_model_len|max_seq_len|max_position_embeddings|max(?:imum)? (?:sequence length|model length|input length|prompt length|input tokens?|prompt tokens?|input size in tokens))`
const TOKEN_LIMIT = String.raw`(?:(?:input |prompt |context |model )?token (?:limit|budget|maximum|window)|max(?:imum)? (?:allowed )?(?:number of )?(?:input |prompt |context )?tokens?|limit of [\d,._ ]+ ?k? (?:input |prompt |context )?tokens)`

/** Wordings no provider owns: what is too long, and that it is a matter of tokens or of a context. */
const GENERAL: readonly Wording[] = [
  general(
    /context[ _-]?(?:length|window|size|limit|budget)[ _-]?(?:was |is |has been |have been |limit )?(?:exceeded|overflow|overrun|surpassed|too (?:long|large)|reached|full|exhausted|error)/,
    'Context window exceeded',
  ),
  general(
    /context[ _](?:overflow(?:ed)?|is too (?:long|large)|too (?:long|large))(?=$|[:.,\s!])/,
    'Context overflow: …',
  ),
  general(
    /context(?:length|window|size|limit|overflow)(?:exceeded|overflow|error|toolong|toolarge)|exceeded_?context_?(?:window|length|size)|(?:prompt|input)(?:is)?too(?:long|large)error|(?:prompt|input)_?(?:is_)?too_long|(?:input|prompt)_tokens?_(?:limit_)?exceeded|context_(?:window|limit|size|budget)_(?:exceeded|overflow)|context_too_(?:long|large)|max_context_(?:length_)?exceeded/,
    'codes and names such as ContextWindowExceeded, prompt_too_long',
  ),
  general(new RegExp(`${OVER}[^.;{}]{0,60}${WINDOW}`), "… exceeds the model's context length"),
  general(
    new RegExp(`${WINDOW}[^.;{}]{0,60}(?:exceeded|overflowed|surpassed|overflows?\\b)`),
    'maximum input length … exceeded',
  ),
  general(
    new RegExp(
      `${WINDOW}[^.;{}]{0,60}\\d[^;{}]{0,60}\\b(?:requested|sent|got|received|given|contains?|resulted|has|have|was|were|provided|passed)\\b[^.;{}]{0,30}\\d`,
    ),
    'context window is N tokens, you requested M tokens',
  ),
  general(
    /(?:maximum|max|the) context (?:length|window|size)[^.;{}]{0,60}(?:is|of|:) ?\d[^;{}]{0,20}(?:tokens?)?[^;{}]{0,10}(?:however|but)/,
    'The maximum context length is N tokens. However, …',
  ),
  general(
    new RegExp(`${SUBJECT}[^.;{}]{0,60}${TOO_LONG}[^.;{}]{0,40}\\b(?:model|context|tokens?)\\b`),
    'Your conversation is too long for this model',
  ),
  general(
    new RegExp(`\\btokens?\\b[^.;{}]{0,40}${SUBJECT}[^.;{}]{0,40}${TOO_LONG}`),
    'Token count: the input is too long',
  ),
  general(
    new RegExp(
      `${SUBJECT}[^.;{}]{0,60}\\btokens?\\b[^.;{}]{0,60}${OVER}[^.;{}]{0,40}\\b(?:limit|max(?:imum)?|allowed|capacity|window|model)`,
    ),
    'The prompt has N tokens, which exceeds the limit',
  ),
  general(
    new RegExp(`${SUBJECT}[^.;{}]{0,80}${OVER}[^.;{}]{0,40}${TOKEN_LIMIT}`),
    'Request exceeds the token limit',
  ),
  general(
    new RegExp(
      `\\btokens?\\b[^.;{}]{0,40}${OVER}[^.;{}]{0,60}(?:model|limit|max(?:imum)?|allowed)[^;{}]{0,60}`,
    ),
    'N tokens exceeds the maximum',
  ),
  general(
    /\b(?:input|prompt|context|total|model) ?token (?:limit|budget)s? (?:was |has been |is |of [\d,]+ )?(?:exceeded|reached)|^(?:\S+: )?token limit exceeded/,
    'Input token limit exceeded',
  ),
  general(
    /\b(?:prompt|conversation|chat history|message history|input prompt|input sequence|input context)(?: is| was| are|'s)? too (?:long|large|big)\b/,
    'Prompt too long',
  ),
  general(
    /input(?: is|'s)? too (?:long|large)\b(?=[^.]{0,60}(?:model|token|context))|input too long/,
    'Input too long',
  ),
  general(
    /\b(?:maximum|max)(?: allowed)?(?: number of)? (?:input|prompt|context) tokens?[^.;{}]{0,40}\d[^;{}]{0,40}\b(?:got|received|given|requested|sent|but|however|has|have|contains?|actual)\b/,
    'maximum input tokens is N, got M',
  ),
  general(
    /\brequested [\d,]+ tokens,? (?:but )?(?:the )?max(?:imum)?(?: is| of)? [\d,]+ tokens/,
    'Requested N tokens, max M tokens per request',
  ),
  general(
    /(?:上下文|输入|提示词?|消息|prompt|tokens?|文本|对话|messages?)[^。；]{0,24}(?:超过|超出|超长|过长|超限|太长|大于)/,
    '输入长度超过模型最大上下文限制',
  ),
  general(
    /token indices sequence length is longer than/,
    'Token indices sequence length is longer than the specified maximum sequence length',
  ),
]

/** Every wording, in the order in which they are tried: the first that holds names the provider. */
export const WORDINGS: readonly Wording[] = [...OWN, ...TABLE, ...GENERAL]

function own(provider: string, pattern: RegExp, sample: string): Wording {
  return { provider, trust: 'certain', pattern, sample }
}

function general(pattern: RegExp, sample: string): Wording {
  return { provider: null, trust: 'likely', pattern, sample }
}
