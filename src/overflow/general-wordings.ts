/**
 * The grade of a wording. `certain`: it occurs in overflow errors only. `likely`: an overflow unless the error looks like a rate limit, a
 * bill, a login, a timeout or a limit of the answer. `loose`: words of many errors, an overflow only without any contrary sign.
 */
type Trust = 'certain' | 'likely' | 'loose'

export type Wording = {
  /** The provider with this wording; `null` when many have it. */
  readonly provider: string | null
  readonly trust: Trust
  /** Matched against a text of `normalizeText`. */
  readonly pattern: RegExp
  /**
   * A further condition. `tokens`: tokens in the sense of words nearby. `size`: a sign of tokens or length nearby and none of a rate; then
   * statuses and codes are ignored.
   */
  readonly needs?: 'tokens' | 'size'
  /** A sample, for people and for the page of the documentation. */
  readonly sample: string
  /** Other providers with this wording: `compatible` are all that use OpenAI's protocol. A hint decides among them. */
  readonly also?: 'anyone' | 'compatible' | readonly string[]
}

/** Providers with a protocol of their own, to which wordings of OpenAI's protocol never belong. */
export const OWN_PROTOCOLS: readonly string[] = ['anthropic', 'cohere', 'google', 'mistral', 'vertex']

/** Providers that serve Anthropic's models and pass on their errors. */
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

/** The original table in its order, with further wordings of the same providers. */
export const TABLE_WORDINGS: readonly Wording[] = [
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
    pattern:
      /your (?:input|request|prompt) exceeds? (?:the|this) (?:model's )?context window|exceeds? the context window of this model/,
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
    needs: 'size',
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
    needs: 'tokens',
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
    // The limit of the plan, 200,000 tokens: a shorter history is accepted.
    provider: 'anthropic',
    trust: 'certain',
    pattern: /extra usage is required for (?:long context|1m context)/,
    sample: 'Extra usage is required for long context requests.',
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
    also: 'anyone',
  },
]

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

/** Wordings of no particular provider: something is too long, and it concerns tokens or a context. */
export const GENERAL_WORDINGS: readonly Wording[] = [
  {
    // The error of the language model in a browser; full disks have the same name.
    ...general(
      'quotaexceedederror\\b.{0,40}: ?(?:the )?input is too large',
      'QuotaExceededError: The input is too large.',
    ),
    trust: 'certain',
  },
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
  {
    ...general(
      "\\b(?:prompt|conversation|chat|chat history|message history|input prompt|input sequence|input context)(?: history)?(?: is| was| are|'s| got)? too (?:long|large|big)\\b|\\btoo (?:long|large) (?:a )?(?:prompt|conversation|context|input context)",
      'Prompt too long',
    ),
    trust: 'loose',
  },
  {
    ...general(
      "input(?: is|'s)? too (?:long|large)\\b(?=[^.]{0,60}(?:model|token|context))|input too long",
      'Input too long',
    ),
    trust: 'loose',
  },
  general(
    `\\b(?:maximum|max)(?: allowed)?(?: number of)? (?:input|prompt|context) tokens?${near(40)}\\d[^;{}]{0,40}\\b(?:got|received|given|requested|sent|but|however|has|have|contains?|actual)\\b`,
    'maximum input tokens is N, got M',
  ),
  general(
    '\\brequested [\\d,]+ tokens,? (?:but )?(?:the )?max(?:imum)?(?: is| of)? [\\d,]+ tokens',
    'Requested N tokens, max M tokens per request',
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

function general(source: string, sample: string): Wording {
  return { provider: null, trust: 'likely', pattern: new RegExp(source), sample }
}
